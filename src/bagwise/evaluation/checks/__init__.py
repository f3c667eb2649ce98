"""Checks of bags and labels before a model is fitted: `inspect_bags` returns a `Report` of findings.

`inspect` runs the checks. `instances`, `labels`, `groups` and `repeats` contain them, one function per
check. `data` holds the data set and its summaries, `rows` finds equal rows, and `report` defines the result.
"""

from bagwise.evaluation.checks.inspect import inspect_any, inspect_bags, inspect_scan
from bagwise.evaluation.checks.report import Finding, Report

__all__ = ["Finding", "Report", "inspect_any", "inspect_bags", "inspect_scan"]
