"""Run code in a process that cannot import certain libraries, even if they are installed."""

import subprocess
import sys

_HIDE = """
import sys


class Hiding:
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        return None if name.split(".")[0] in {names!r} else self.finder.find_spec(name, path, target)


sys.meta_path[:] = [Hiding(finder) for finder in sys.meta_path]
"""


def run_without(names, code, *arguments):
    """Run code in a new process where warnings are errors, and return its output."""
    command = [sys.executable, "-W", "error", "-c", _HIDE.format(names=names) + code, *map(str, arguments)]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0 and run.stderr == "", run.stderr
    return run.stdout
