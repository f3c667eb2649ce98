"""Run a contest: every library solves every problem in a separate process.

A problem module defines ``KIND`` (selects the solvers of the adapters), ``PROBLEMS`` (arguments of
`make_data` by name), ``WARM_UP`` (arguments of a small problem), ``make_data(**arguments)`` and
``objective(data, solution)``. A new process first solves the small problem, which imports the library and
compiles code, and then creates the data. It returns the median seconds of three runs, and the memory that the
runs add.
"""

import importlib
import json
import sys

from benchmarks.harness import COMPARING, begin_peak, in_process, megabytes, peak, race, seconds
from benchmarks.libraries import adapters

MEMORY_NOTE = (
    "Every solver runs in a separate process. Memory is the growth of the process's peak memory during the "
    "solution; data and library are loaded beforehand."
)


def contest(module_name: str) -> list[dict]:
    """Run all solvers on all problems; return rows with seconds, memory and objective."""
    module = importlib.import_module(module_name)
    rows = []
    for problem in module.PROBLEMS:
        results = {
            solver: (library, in_process("benchmarks.contest", module_name, problem, library, solver))
            for library, adapter in adapters().items()
            for solver in adapter.SOLVERS.get(module.KIND, {})
            if library == "ours" or not COMPARING
        }
        ours = next(iter(results.values()))[1]["seconds"]
        best = min(result["objective"] for _, result in results.values())
        for solver, (library, result) in results.items():
            excess = (result["objective"] - best) / max(1.0, abs(best))
            time, memory = seconds(result["seconds"], 3), megabytes(result["memory"])
            rows.append(
                {
                    "problem": problem,
                    "library": solver,
                    "time (s)": time if library == "ours" else str(time),
                    "ours / theirs": f"{ours / result['seconds']:.2f}",
                    "memory (MB)": memory if library == "ours" else str(memory),
                    "objective": f"{result['objective']:.6f}",
                    "excess": f"{excess:.1e}",
                }
            )
    return rows


def measure(module_name: str, problem: str, library: str, solver: str) -> dict:
    """Solve one problem with one solver in the current process."""
    module = importlib.import_module(module_name)
    solve = adapters()[library].SOLVERS[module.KIND][solver]
    solve(module.make_data(**module.WARM_UP))
    data = module.make_data(**module.PROBLEMS[problem])
    before = begin_peak()
    time = race(3, ours=lambda: solve(data))["ours"]
    memory = peak() - before
    return {"seconds": time, "memory": memory, "objective": module.objective(data, solve(data))}


if __name__ == "__main__":
    print(json.dumps(measure(*sys.argv[1:])))
