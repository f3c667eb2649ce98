"""Measure the peak memory of a program in a new process."""

import json
import subprocess
import sys

import pytest

only_linux = pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")

_PREAMBLE = """
import json, sys, warnings
import numba  # bagwise imports it with the first kernel: 60 MB that do not belong to the fit
import numpy as np
import bagwise.data.blocks.base as base
from bagwise import *

task = json.loads(sys.argv[1])
warnings.simplefilter("ignore")  # fits stop after a few iterations, which are enough to measure memory

def of_process(name):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))

def peak_of(run):
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")  # reset the peak
    before = of_process("VmRSS")
    run()
    return of_process("VmHWM") - before

def as_if_large(run):
    \"\"\"Compile the kernels for large data by a run on a few bags with a lower limit.\"\"\"
    limit, base.LARGE = base.LARGE, 1000
    result = run()
    base.LARGE = limit
    return result
"""


def measured(program: str, task) -> list:
    """Run a program after the preamble; parse its output as JSON and return it."""
    command = [sys.executable, "-c", _PREAMBLE + program, json.dumps(task)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)
