"""Pages of reports: the sections of a subject in a fixed order."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np

from bagwise._display.parts import Page, Section
from bagwise._version import __version__
from bagwise.evaluation.checks import inspect_any
from bagwise.evaluation.checks.report import Report, count
from bagwise.report.data_section import data_parts, leak_parts
from bagwise.report.instances import instance_parts
from bagwise.report.learned import coefficient_parts, rule_parts
from bagwise.report.models import tiles_of
from bagwise.report.performance import confusion_parts, curve_parts
from bagwise.report.repeat import repeat_parts, versions
from bagwise.report.stability import stability_parts
from bagwise.report.subject import Subject, names_of

# All reports use the same order, so that readers find the sections quickly.
_ORDER = (
    ("The data", data_parts),
    ("What could leak", leak_parts),
    ("Models compared", lambda subject: list(subject.compared)),
    ("Held-out bags", curve_parts),
    ("Correct and wrong predictions", confusion_parts),
    ("Bags and their instances", instance_parts),
    ("The rule", rule_parts),
    ("Coefficients", coefficient_parts),
    ("Stability", stability_parts),
    ("Reproduce this report", lambda subject: list(subject.repeat)),
)


def make_page(subject: Subject) -> Page:
    """Return the page of a subject; empty sections are omitted."""
    sections = [Section(title, tuple(parts)) for title, give in _ORDER if (parts := give(subject))]
    return Page(
        title=subject.title,
        verdict=subject.verdict,
        sections=tuple(sections),
        kicker=subject.kicker,
        facts=subject.tiles,
        footer=f"Written by bagwise {__version__} on {date.today().isoformat()}. This file works offline.",
    )


def check_subject(
    inspection: Report | None, bags: Any = None, y: Any = None, *, title: str = "A data set", code: str = ""
) -> Subject:
    """Return the subject of a report about a data set.

    Parameters
    ----------
    inspection : Report or None
        Findings about the data; None checks `bags`.
    bags : Bags or ScannedBags, optional
        The data, for the bag sizes of each class.
    y : array, optional
        Labels of the bags.
    title : str
        Title of the report.
    code : str
        Code that repeats the report; by default Python code.
    """
    if inspection is None:
        inspection = inspect_any(bags, y)
    labels = None if y is None else np.asarray(y)
    is_classes = labels is not None and labels.ndim == 1 and labels.dtype.kind != "O" and not _has_nan(labels)
    tiles = {} if bags is None else tiles_of(bags)
    n_warnings, n_notes = inspection.count("warning"), inspection.count("note")
    tiles["warnings"] = (str(n_warnings), "")
    tiles["notes"] = (str(n_notes), "")
    code = code or 'from bagwise import write_report\n\nwrite_report(X, "check.html", y=y)'
    names: tuple[str, ...] = ()
    if is_classes and labels is not None:
        classes = np.unique(labels)
        names = names_of(classes) if len(classes) <= 1000 else ()
    return Subject(
        kicker="Data check",
        title=title,
        verdict=_verdict(inspection),
        tiles=tiles,
        bags=bags,
        y=labels if names else None,
        names=names,
        inspection=inspection,
        repeat=repeat_parts(code, [], versions()),
    )


def _has_nan(labels: np.ndarray) -> bool:
    return labels.dtype.kind == "f" and bool(np.isnan(labels).any())


def _verdict(inspection: Report) -> str:
    """Return a sentence that summarizes the findings."""
    warnings = [finding for finding in inspection.findings if finding.level == "warning"]
    notes = inspection.count("note")
    if not warnings:
        also = f"; {count(notes, 'note')} {'is' if notes == 1 else 'are'} worth reading" if notes else ""
        return f"No problems were found that would affect a model or its evaluation{also}."
    topics = ", ".join(finding.topic for finding in warnings)
    return (
        f"{count(len(warnings), 'problem')} {'is' if len(warnings) == 1 else 'are'} likely to affect a model "
        f"or its evaluation: {topics}."
    )
