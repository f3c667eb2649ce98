"""HTML pages about a model, a comparison or a data set."""

from bagwise.report.writing import write_report

__all__ = ["write_report"]
