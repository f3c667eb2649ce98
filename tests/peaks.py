"""The peak of memory of a program, measured in a process of its own."""

import json
import subprocess
import sys

import pytest

only_linux = pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process is read from /proc")

_PREAMBLE = """
import json, sys, warnings
import numba  # bagwise imports it with the first kernel or threads: 60 MB that are not of the fit
import numpy as np
import bagwise.data.blocks.base as base
from bagwise import *

task = json.loads(sys.argv[1])
warnings.simplefilter("ignore")  # a few iterations are enough to see

def of_process(name):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))

def peak_of(run):
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")  # forget what was before
    before = of_process("VmRSS")
    run()
    return of_process("VmHWM") - before

def as_if_large(run):
    \"\"\"Compile what is needed, on a few bags that are taken for many.\"\"\"
    limit, base.LARGE = base.LARGE, 1000
    result = run()
    base.LARGE = limit
    return result
"""


def measured(program: str, task) -> list:
    """Run a program after the preamble; give what it prints as JSON."""
    command = [sys.executable, "-c", _PREAMBLE + program, json.dumps(task)]
    found = subprocess.run(command, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)
