"""Look at bags and labels before a model is fitted: `inspect_bags` gives a `Report` of findings."""

from bagwise._inspection.inspect import inspect_any, inspect_bags, inspect_scan
from bagwise._inspection.report import Finding, Report

__all__ = ["Finding", "Report", "inspect_any", "inspect_bags", "inspect_scan"]
