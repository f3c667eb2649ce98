"""The data: bags and their sizes, and possible leaks of the labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise._display.parts import Figure, Findings, Fold, SideBySide, Table
from bagwise.data.bags import is_scan
from bagwise.evaluation.checks.data import row_blocks
from bagwise.evaluation.checks.report import Finding, count
from bagwise.report.subject import Subject, percent, short

# Topics of findings about leaks, which allow models to predict labels without learning from instances.
_LEAKS = ("size and label", "groups", "repeated rows", "repeated bags", "order")
_MOST_CLASSES = 12
_MOST_DRAWN = 4
_WIDE_SPREAD = 30  # use a logarithmic axis above this ratio of bag sizes


def data_parts(subject: Subject) -> list[Any]:
    """Describe the bags and the sizes of each class."""
    parts: list[Any] = []
    facts: list[Any] = []
    if subject.inspection is not None:
        facts.append(Table.of_facts(subject.inspection.facts))
    if subject.bags is not None and len(np.unique(subject.bags.sizes)) > 1:
        facts.append(_sizes(subject))
    if facts:
        parts.append(SideBySide(tuple(facts)))
    if subject.bags is not None:
        parts.append(_classes(subject))
    if subject.groups is not None:
        parts.append(_groups(subject.groups))
    return parts


def leak_parts(subject: Subject) -> list[Any]:
    """Return the findings: all findings about leaks, and the warnings and notes of other checks."""
    if subject.inspection is None:
        return []
    findings = subject.inspection.findings
    if subject.groups is not None:
        n_groups = count(len(np.unique(subject.groups)), "group")
        held = Finding("ok", "groups", f"bags of one group were held out together ({n_groups}).")
        findings = tuple(held if finding.topic == "groups" else finding for finding in findings)
    shown = [finding for finding in findings if finding.topic in _LEAKS or finding.level != "ok"]
    shown.sort(key=lambda finding: ("warning", "note", "ok").index(finding.level))
    rest = tuple(finding for finding in findings if finding not in shown)
    parts: list[Any] = [
        "Bag sizes that predict the label, groups that are split between training and test data, and "
        "duplicates can make any model look better than it is."
    ]
    if shown:
        parts.append(Findings(tuple(shown)))
    if rest:
        parts.append(Fold("Other checks", f"{len(rest)} without problems", (Findings(rest),)))
    return parts


def _classes(subject: Subject) -> Table:
    """Return a table with the number of bags, instances and missing values of each class."""
    bags, sizes = subject.bags, np.asarray(subject.bags.sizes)
    has_missing = _bags_with_missing(bags)
    rows = []
    for name, chosen in _by_class(subject)[:_MOST_CLASSES]:
        class_sizes = sizes[chosen]
        rows.append(
            {
                "label": short(name),
                "bags": f"{len(class_sizes):,}",
                "share": percent(len(class_sizes) / max(1, len(sizes))),
                "instances": f"{int(class_sizes.sum()):,}",
                "smallest bag": f"{int(class_sizes.min(initial=10**12 if len(class_sizes) else 0)):,}",
                "median size": f"{np.median(class_sizes):g}" if len(class_sizes) else "-",
                "largest bag": f"{int(class_sizes.max(initial=0)):,}",
            }
            | ({} if has_missing is None else {"with missing values": f"{int(has_missing[chosen].sum()):,}"})
        )
    left_out = len(_by_class(subject)) - len(rows)
    note = f"{count(left_out, 'more class')} are not shown." if left_out > 0 else ""
    return Table("Bags by label", rows, note)


def _by_class(subject: Subject) -> list[tuple[str, np.ndarray]]:
    """Return names and bag masks of the classes, the largest first; one class of all bags without labels."""
    y = subject.y
    if y is None or y.ndim != 1 or not subject.names:
        return [("all", np.ones(len(subject.bags), dtype=bool))]
    codes = subject.codes
    classes = [(name, codes == code) for code, name in enumerate(subject.names)]
    if len(classes) <= 2:
        return classes[::-1]  # the positive class first
    return sorted(classes, key=lambda pair: -int(pair[1].sum()))


def _bags_with_missing(bags: Any) -> np.ndarray | None:
    """Return which bags have NaN; None for scanned bags and for instances that are not numeric."""
    if is_scan(bags) or not hasattr(bags.instances, "dtype") or bags.instances.dtype.kind not in "biuf":
        return None
    X = bags.instances
    if X.dtype.kind != "f":
        return np.zeros(len(bags), dtype=bool)
    if sp.issparse(X):
        rows = np.zeros(X.shape[0], dtype=bool)
        bad = np.flatnonzero(np.isnan(X.data))
        rows[np.searchsorted(X.indptr, bad, side="right") - 1] = True
    else:
        rows = np.concatenate(
            [np.isnan(block).any(axis=1) for _, block in row_blocks(X)] or [np.zeros(0, bool)]
        )
    return np.bincount(bags.bag_index[rows], minlength=len(bags)) > 0


def _groups(groups: np.ndarray) -> str:
    _, sizes = np.unique(groups, return_counts=True)
    low, high = int(sizes.min()), int(sizes.max())
    each = f"{low:,} to {high:,} (median {np.median(sizes):g})" if low < high else f"{low:,}"
    return (
        f"The bags belong to {count(len(sizes), 'group')} with {each} bags each. Bags of one group were held "
        "out together."
    )


def _sizes(subject: Subject) -> Figure:
    """Return a histogram of the bag sizes of each class."""
    shown = _by_class(subject)[:_MOST_DRAWN]
    sizes = np.asarray(subject.bags.sizes)

    def draw() -> Any:
        from bagwise._display.pictures import STYLES, legend_above, new_axes, palette_of

        figure, ax = new_axes(4.4, 2.4)
        palette = palette_of(ax)
        edges, is_wide = _edges(sizes)
        colors = (palette.positive, palette.negative, palette.chosen, palette.quiet)
        for (name, chosen), color, style in zip(shown, colors, STYLES, strict=False):
            share = np.histogram(sizes[chosen], edges)[0] / max(1, chosen.sum())
            ax.stairs(share, edges, color=color, linewidth=1.4, linestyle=style, label=short(name, 24))
            ax.stairs(share, edges, color=color, alpha=0.12, fill=True)
        if is_wide:
            ax.set_xscale("log")
            ax.xaxis.set_major_formatter("{x:,.0f}")
            ax.xaxis.set_minor_formatter("")
        ax.set_xlabel("instances in a bag")
        ax.set_ylabel("share of the bags with this label")
        ax.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
        if len(shown) > 1:
            legend_above(ax)
        return figure

    n_left = len(_by_class(subject)) - len(shown)
    note = f"Only the {len(shown)} largest of {n_left + len(shown)} classes are shown." if n_left else ""
    return Figure("sizes", draw, "Bag sizes", note, is_wide=True)


def _edges(sizes: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return bin edges for sizes: one bin per size, equal widths, or equal ratios for a wide range."""
    low, high = max(1, int(sizes.min())), int(sizes.max())
    if high - low < _WIDE_SPREAD:
        return np.arange(int(sizes.min()), high + 2) - 0.5, False
    if high / low <= _WIDE_SPREAD:
        return np.linspace(low, high, 25), False
    return np.unique(np.round(np.geomspace(low, high + 1, 25))), True
