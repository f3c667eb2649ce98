"""Problems x libraries: every library solves every problem in a process of its own.

A module of problems has a ``KIND`` (which solvers of the adapters it asks for), ``PROBLEMS`` (arguments of
`make_data` by name), ``WARM_UP`` (arguments that make a small one), ``make_data(**arguments)`` and
``objective(data, solution)``. A fresh process solves the small problem first, which imports and compiles, and
then makes the data; seconds are the median of three solutions, and memory is what they add.
"""

import importlib
import json
import resource
import statistics
import subprocess
import sys
import time
import warnings
from contextlib import suppress
from pathlib import Path

from benchmarks.libraries import adapters

MEMORY_NOTE = (
    "Every solver runs in a process of its own; memory is the growth of the process's largest resident set "
    "(ru_maxrss) while it solves, with data and library loaded before."
)
_ROUNDS = 3


def contest(module_name: str) -> list[dict]:
    """Run all solvers on all problems, and lay out seconds, memory and the objective reached."""
    module = importlib.import_module(module_name)
    rows = []
    for problem in module.PROBLEMS:
        found = {
            solver: _in_process(module_name, problem, library, solver)
            for library, adapter in adapters().items()
            for solver in adapter.SOLVERS.get(module.KIND, {})
        }
        ours = next(iter(found.values()))["seconds"]
        best = min(result["objective"] for result in found.values())
        for solver, result in found.items():
            excess = (result["objective"] - best) / max(1.0, abs(best))
            rows.append(
                {
                    "problem": problem,
                    "library": solver,
                    "time (s)": f"{result['seconds']:.3f}",
                    "ours / theirs": f"{ours / result['seconds']:.2f}",
                    "memory (MB)": f"{result['memory']:.0f}",
                    "objective": f"{result['objective']:.6f}",
                    "excess": f"{excess:.1e}",
                }
            )
    return rows


def _in_process(module_name: str, problem: str, library: str, solver: str) -> dict:
    command = [sys.executable, "-m", "benchmarks.contest", module_name, problem, library, solver]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        raise RuntimeError(f"{solver} on {problem} failed:\n{run.stderr}")
    return json.loads(run.stdout.splitlines()[-1])


def measure(module_name: str, problem: str, library: str, solver: str) -> dict:
    """Solve one problem by one solver, in this process."""
    module = importlib.import_module(module_name)
    solve = adapters()[library].SOLVERS[module.KIND][solver]
    solve(module.make_data(**module.WARM_UP))
    data = module.make_data(**module.PROBLEMS[problem])
    _forget_peak()
    before = _peak_megabytes()
    seconds = []
    solution = None
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        solution = solve(data)
        seconds.append(time.perf_counter() - start)
    memory = _peak_megabytes() - before
    return {
        "seconds": statistics.median(seconds),
        "memory": memory,
        "objective": module.objective(data, solution),
    }


def _forget_peak() -> None:
    """Let the largest resident set begin anew, where the system can: compiling had one of its own."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak_megabytes() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak / 1e3  # bytes there, kilobytes elsewhere


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(measure(*sys.argv[1:])))
