"""Command line of the fuzz tests: runs one case, several cases, or cases for a given time."""

from __future__ import annotations

import argparse
import sys

from tests.fuzz.driver import SHARES, campaign, long_run


def main() -> int:
    """Run cases, print failures immediately and counts at the end; return 1 if a case failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--kind", choices=list(SHARES), help="kind of cases; default: all kinds")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first case")
    parser.add_argument("--cases", type=int, default=1, help="number of cases per kind")
    parser.add_argument("--seconds", type=float, help="run cases of all kinds for this many seconds")
    parser.add_argument("--jobs", type=int, default=2, help="number of parallel processes")
    parser.add_argument("--only", help="test only this estimator, rule, kernel, format or command")
    parser.add_argument("--verbose", action="store_true", help="print the outcome of every case")
    arguments = parser.parse_args()
    if arguments.seconds is not None:
        tallies = long_run(arguments.seed, arguments.seconds, arguments.jobs, _show_part)
    else:
        kinds = [arguments.kind] if arguments.kind else list(SHARES)
        show = _show_all if arguments.verbose or arguments.cases == 1 else _show_failures
        options = {"only": arguments.only, "show": show, "jobs": arguments.jobs}
        tallies = [campaign(kind, arguments.seed, arguments.cases, **options) for kind in kinds]
    for tally in tallies:
        _line(str(tally))
    failures = [(tally.kind, seed) for tally in tallies for seed, _ in tally.failures]
    for kind, seed in failures:
        _line(f"FAILED {kind} {seed}")
    n_cases = sum(tally.outcomes.total() for tally in tallies)
    _line(f"{n_cases:,} cases, {len(failures):,} failures")
    return int(bool(failures))


def _line(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _show_part(tally) -> None:
    if tally.failures:
        _line(tally.report())


def _show_all(kind: str, event: dict) -> None:
    _line(f"{kind} {event['seed']}: {event['outcome']} in {event['spent']:.3f} s. {event['message']}")


def _show_failures(kind: str, event: dict) -> None:
    if event["outcome"] == "failed":
        _line(f"{event['message']}\n  repeat: python -m tests.fuzz --kind {kind} --seed {event['seed']}\n")


if __name__ == "__main__":
    sys.exit(main())
