"""Reports: one type of table and of figure for all who show something, and pages made of them."""

from bagwise.report.parts import Bar, Beside, Code, Figure, Findings, Fold, Page, Section, Table
from bagwise.report.writing import write_report

__all__ = ["Bar", "Beside", "Code", "Figure", "Findings", "Fold", "Page", "Section", "Table", "write_report"]
