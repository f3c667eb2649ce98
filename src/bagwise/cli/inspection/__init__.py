"""Look at bags and labels before a model is fitted: `inspect_bags` gives a `Report` of findings."""

from bagwise.cli.inspection.inspect import inspect_bags
from bagwise.cli.inspection.report import Finding, Report

__all__ = ["Finding", "Report", "inspect_bags"]
