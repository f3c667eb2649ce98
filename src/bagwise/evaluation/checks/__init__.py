"""Checks of bags and labels before a model is fitted: `inspect_bags` returns a `Report` of findings.

`inspect` runs the checks; `data`, `instances`, `labels`, `groups` and `repeats` contain them, a function
for each; `rows` finds equal rows; `report` is the result.
"""

from bagwise.evaluation.checks.inspect import inspect_any, inspect_bags, inspect_scan
from bagwise.evaluation.checks.report import Finding, Report

__all__ = ["Finding", "Report", "inspect_any", "inspect_bags", "inspect_scan"]
