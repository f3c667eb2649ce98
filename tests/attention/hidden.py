"""A process in which torch is not installed, whether or not it is."""

import subprocess
import sys

_HIDE = """
import sys


class Hiding:
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        return None if name.split(".")[0] == "torch" else self.finder.find_spec(name, path, target)


sys.meta_path[:] = [Hiding(finder) for finder in sys.meta_path]
"""


def run_without_torch(code, *arguments):
    """Run code in a process of its own, and give what it printed."""
    command = [sys.executable, "-c", _HIDE + code, *map(str, arguments)]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout
