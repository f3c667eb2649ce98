"""Run cases in child processes, count their outcomes, and report failures."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
# The number of cases of each kind in a round of one hundred cases.
SHARES = {
    "estimators": 53,
    "rules": 8,
    "kernels": 6,
    "formats": 5,
    "damage": 20,
    "forgeries": 6,
    "commands": 2,
}
_SLICE = 400
# Seconds without output after which a child process is killed; processor time has a separate limit.
_SILENCE = 900


@dataclass
class Tally:
    """Outcomes of the cases of one kind."""

    kind: str
    outcomes: Counter = field(default_factory=Counter)
    failures: list[tuple[int, str]] = field(default_factory=list)
    spent: float = 0.0
    slowest: tuple[float, int] = (0.0, -1)

    def add(self, seed: int, outcome: str, message: str, spent: float) -> None:
        """Add the outcome of one case."""
        self.outcomes[outcome] += 1
        self.spent += spent
        self.slowest = max(self.slowest, (spent, seed))
        if outcome == "failed":
            self.failures.append((seed, message))

    def include(self, part: Tally) -> None:
        """Add the outcomes of another tally."""
        self.outcomes += part.outcomes
        self.failures += part.failures
        self.spent += part.spent
        self.slowest = max(self.slowest, part.slowest)

    def report(self) -> str:
        """Return all failures, each with the command that repeats it."""
        return "\n\n".join(
            f"{message}\n  repeat: python -m tests.fuzz --kind {self.kind} --seed {seed}"
            for seed, message in self.failures
        )

    def __str__(self) -> str:
        counts = ", ".join(f"{self.outcomes[name]:,} {name}" for name in ("good", "refused", "failed"))
        total = sum(self.outcomes.values())
        return (
            f"{self.kind}: {total:,} cases, {counts}; {self.spent:,.0f} s of processor time, the longest "
            f"{self.slowest[0]:.1f} s (seed {self.slowest[1]})"
        )


def campaign(
    kind: str, first: int, count: int, *, only: str | None = None, show=None, jobs: int = 1
) -> Tally:
    """Run `count` cases of a kind from the seed `first` on, in `jobs` child processes at a time."""
    tally, stop = Tally(kind), first + count
    starts = range(first, stop, _SLICE)
    with ThreadPoolExecutor(jobs) as pool:
        for part in pool.map(lambda at: _slice(kind, at, min(at + _SLICE, stop), only, show), starts):
            tally.include(part)
    return tally


def _slice(kind: str, first: int, stop: int, only: str | None, show) -> Tally:
    """Run cases in sequence; after a crash, a new child process continues with the next case."""
    tally, seed = Tally(kind), first
    while seed < stop:
        for event in _child(kind, seed, stop - seed, only):
            tally.add(event["seed"], event["outcome"], event["message"], event["spent"])
            seed = event["seed"] + 1
            if show is not None:
                show(kind, event)
    return tally


def _child(kind: str, first: int, count: int, only: str | None) -> Iterator[dict]:
    """Start a child process for several cases; a crash counts as a failure of the current case."""
    arguments = [kind, str(first), str(count), *([only] if only else [])]
    environment = {
        **os.environ,
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]),
        "PYTHONFAULTHANDLER": "1",
    }
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.fuzz.worker", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=environment,
    )
    stderr: list[str] = []
    reader = threading.Thread(target=lambda: stderr.append(child.stderr.read()[-3000:]), daemon=True)
    reader.start()
    at = first
    timer = threading.Timer(_SILENCE, child.kill)
    timer.start()
    try:
        for line in child.stdout:
            timer.cancel()
            timer = threading.Timer(_SILENCE, child.kill)
            timer.start()
            event = json.loads(line)
            at = event.get("begin", at)
            if "seed" in event:
                yield event
                at = event["seed"] + 1
        child.wait()
    finally:
        timer.cancel()
        if child.poll() is None:
            child.kill()
            child.wait()
        reader.join()
        child.stdout.close()
        child.stderr.close()
    if at < first + count:  # the process ended before the last case
        reason = (
            f"ended by {signal.Signals(-child.returncode).name}" if child.returncode < 0 else "ended early"
        )
        yield {
            "seed": at,
            "outcome": "failed",
            "message": f"the process {reason}\n{''.join(stderr)}",
            "spent": 0.0,
        }


def long_run(first: int, seconds: float, jobs: int, show) -> list[Tally]:
    """Run cases of all kinds in rounds, in `jobs` child processes at a time, until the time is over."""
    until = time.monotonic() + seconds
    tallies = {kind: Tally(kind) for kind in SHARES}
    rounds = iter(range(10**9))
    lock = threading.Lock()

    def play() -> None:
        while time.monotonic() < until:
            with lock:
                index = next(rounds)
            for kind, share in SHARES.items():
                if time.monotonic() >= until:
                    return
                part = campaign(kind, first + index * share, share)
                with lock:
                    tallies[kind].include(part)
                    show(part)

    with ThreadPoolExecutor(jobs) as pool:
        for future in [pool.submit(play) for _ in range(jobs)]:
            future.result()
    return list(tallies.values())
