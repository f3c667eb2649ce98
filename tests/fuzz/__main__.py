"""The command line of the campaign: one case, many, or as many as time allows."""

from __future__ import annotations

import argparse
import sys

from tests.fuzz.driver import SHARES, campaign, long_run


def main() -> int:
    """Play cases, tell of failures as they come, and count at the end; the status is 1 if there are any."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--kind", choices=list(SHARES), help="what to try; all in turn by default")
    parser.add_argument("--seed", type=int, default=0, help="the first case")
    parser.add_argument("--cases", type=int, default=1, help="how many cases of the kind")
    parser.add_argument("--seconds", type=float, help="all kinds, for so long")
    parser.add_argument("--jobs", type=int, default=2, help="children at a time")
    parser.add_argument("--only", help="the estimator, rule, kernel, format or command to try")
    parser.add_argument("--verbose", action="store_true", help="tell what became of every case")
    arguments = parser.parse_args()
    if arguments.seconds is not None:
        tallies = long_run(arguments.seed, arguments.seconds, arguments.jobs, _show_part)
    else:
        kinds = [arguments.kind] if arguments.kind else list(SHARES)
        show = _show_all if arguments.verbose or arguments.cases == 1 else _show_failures
        how = {"only": arguments.only, "show": show, "jobs": arguments.jobs}
        tallies = [campaign(kind, arguments.seed, arguments.cases, **how) for kind in kinds]
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
        _line(tally.told())


def _show_all(kind: str, event: dict) -> None:
    _line(f"{kind} {event['seed']}: {event['outcome']} in {event['spent']:.3f} s. {event['told']}")


def _show_failures(kind: str, event: dict) -> None:
    if event["outcome"] == "failed":
        _line(f"{event['told']}\n  again: python -m tests.fuzz --kind {kind} --seed {event['seed']}\n")


if __name__ == "__main__":
    sys.exit(main())
