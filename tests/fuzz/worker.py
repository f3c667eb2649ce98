"""Child process that runs cases in sequence, with resource limits, and reports their outcomes on a pipe."""

from __future__ import annotations

import importlib
import json
import os
import resource
import sys
import time
import traceback
import warnings

from tests.fuzz.judging import Refused

# Seconds of processor time: the limit for a case without compilation, and the limit that ends the process.
SLOW, HANGS = 10.0, 240
# Memory in bytes that a case may add to the memory of the process.
MEMORY = 3 * 2**30


def work(kind: str, seeds, only: str | None = None) -> None:
    """Run cases; write a line of JSON before and after each case, and nothing else, to standard output."""
    pipe = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    run = importlib.import_module(f"tests.fuzz.{kind}").run
    _limit_memory()
    for seed in seeds:
        print(json.dumps({"begin": seed}), file=pipe)
        resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + HANGS, resource.RLIM_INFINITY))
        outcome, message, spent = play(run, seed, only)
        if spent > SLOW and outcome != "failed":
            outcome, message, spent = play(run, seed, only)  # the first run may have compiled kernels
            if spent > SLOW and outcome != "failed":
                outcome, message = "failed", f"took {spent:.1f} s of processor time. {message}"
        print(json.dumps({"seed": seed, "outcome": outcome, "message": message, "spent": spent}), file=pipe)


def play(run, seed: int, only: str | None = None) -> tuple[str, str, float]:
    """Run one case; return its outcome (good, refused or failed), a description, and its processor time."""
    begin = time.process_time()
    try:
        outcome, message = "good", run(seed) if only is None else run(seed, only)
    except Refused as refused:
        outcome, message = "refused", " | ".join([str(refused), *getattr(refused, "__notes__", [])])
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        outcome = "failed"
        notes = " | ".join(getattr(error, "__notes__", []))
        lines = traceback.format_exception(error)[-6:] if not isinstance(error, AssertionError) else []
        message = f"{type(error).__name__}: {error} | {notes}\n{''.join(lines)}".strip()
    return outcome, message, time.process_time() - begin


def _limit_memory() -> None:
    """Limit the memory of the process, so that allocations of sizes declared in a damaged file fail."""
    try:
        with open("/proc/self/statm") as file:
            held = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return  # not Linux
    resource.setrlimit(resource.RLIMIT_AS, (held + MEMORY, resource.RLIM_INFINITY))


def main(argv: list[str]) -> None:
    """Run the cases of the arguments: kind, first seed, number of cases, and optionally the tested object."""
    kind, first, count = argv[0], int(argv[1]), int(argv[2])
    work(kind, range(first, first + count), *argv[3:])


if __name__ == "__main__":
    main(sys.argv[1:])
