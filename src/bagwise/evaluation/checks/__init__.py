"""Checks of bags and labels before a model is fitted: `inspect_bags` returns a `Report` of findings.

`inspect` runs the checks. `instances`, `labels`, `groups` and `repeats` contain them, one function per
check. `data` holds the data set and its summaries, `rows` finds equal rows, and `report` defines the result.
`splits` checks split files, which need no features.
"""

from bagwise.evaluation.checks.inspect import inspect_any, inspect_bags, inspect_scan
from bagwise.evaluation.checks.report import Finding, Report
from bagwise.evaluation.checks.splits import Overlap, SplitReport, check_splits

__all__ = [
    "Finding",
    "Overlap",
    "Report",
    "SplitReport",
    "check_splits",
    "inspect_any",
    "inspect_bags",
    "inspect_scan",
]
