"""`write_report`: a single HTML file about a comparison, a model or a data set."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from bagwise._display.parts import Page

# Maximum size in bytes: a report should be small enough to be sent by mail.
_LARGEST = 2 * 10**6
# If the plots are too large, they are drawn again with fewer dots per inch and characters per SVG plot.
_COARSER = ((120, 400_000), (70, 120_000), (40, 50_000))


def write_report(
    what: Any,
    path: Any,
    X: Any = None,
    y: Any = None,
    *,
    groups: Any = None,
    cv: int = 5,
    random_state: int = 0,
) -> Path:
    """Write a report about a comparison, a fitted model with its cross-validation, or a data set.

    The report is a single, self-contained HTML file. Plots are embedded as SVG, the file needs no network
    connection, and it is smaller than 2 MB for any data. The sections are, in this order: a short summary;
    the data, and possible leaks; the compared models; curves of held-out bags with confidence bands, and
    confusion matrices; individual bags and their instances; the rule; coefficients; stability; and how to
    reproduce the report. Empty sections are omitted. docs/report.md describes the sections.

    Parameters
    ----------
    what : Comparison, fitted classifier, Bags or ScannedBags
        Subject of the report: a result of `compare`; a fitted model, whose clones are evaluated by
        cross-validation on `X`; or bags, which are checked for problems (as in ``bagwise check``).
    path : path
        File to write, ending in .html; an existing file is overwritten.
    X : Bags, or any input that `fit` accepts, optional
        The bags that the model was fitted to. For a comparison, the best model is fitted to all of them, and
        the report shows individual bags with their instances.
    y : array of shape (n_bags,), optional
        Labels of the bags.
    groups : array of shape (n_bags,), optional
        For a model: the group of each bag. Bags of one group are held out together.
    cv : int, default=5
        For a model: number of folds.
    random_state : int, default=0
        For a model: seed of the folds.

    Returns
    -------
    pathlib.Path
        Path of the file.

    Notes
    -----
    A model is fitted `cv` times. For large data, tables show the first rows, plots show aggregates, and the
    report states what was omitted. Reports need jinja2 and matplotlib: ``pip install 'bagwise[report]'``.

    Examples
    --------
    >>> import tempfile
    >>> from bagwise import MILogisticRegression, make_noisy_or_bags, write_report
    >>> data = make_noisy_or_bags(60, random_state=0)
    >>> model = MILogisticRegression(n_init=1, random_state=0).fit(data.bags, data.y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_report(model, f"{folder}/report.html", data.bags, data.y, cv=3)
    ...     path.read_text().startswith("<!doctype html>")
    True
    """
    target = check_path(path)
    require_packages()
    from bagwise.data.bags import describes_bags
    from bagwise.evaluation.checks.report import Report
    from bagwise.evaluation.comparison import Comparison
    from bagwise.report.comparisons import comparison_subject
    from bagwise.report.models import model_subject
    from bagwise.report.pages import check_subject, make_page
    from bagwise.report.subject import Subject

    if isinstance(what, Comparison):
        subject = comparison_subject(what, X, y)
    elif isinstance(what, Report):
        subject = check_subject(what, X, y)
    elif isinstance(what, Subject):
        subject = what
    elif hasattr(what, "predict") and not isinstance(what, type):
        subject = model_subject(what, X, y, groups=groups, cv=cv, random_state=random_state)
    elif describes_bags(what) and not isinstance(what, (str, bytes)):
        subject = check_subject(None, what, y)
    else:
        raise TypeError(
            "`what` must be a comparison, a fitted classifier or bags (Bags, ScannedBags); got "
            f"{type(what).__name__}."
        )
    return write_page(make_page(subject), target)


def write_page(page: Page, path: Path) -> Path:
    """Write a page to an HTML file atomically."""
    from bagwise._core.files.atomic import replacing
    from bagwise.report.html import page_as_html
    from bagwise.report.svg import Fineness

    for fineness in _COARSER:
        text = page_as_html(page, Fineness(*fineness)).encode()
        if len(text) < _LARGEST:
            break
    else:
        text = page_as_html(page, None).encode()
    with replacing(path) as part:
        part.write_bytes(text)
    return path


def check_path(path: Any) -> Path:
    """Raise an error if a report cannot be written to a path, before any computation."""
    target = Path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"path must end in .html; got {str(target)!r}.")
    if not target.absolute().parent.is_dir():
        raise ValueError(f"there is no folder {str(target.parent)!r} for the report.")
    is_writable = os.access(target if target.exists() else target.absolute().parent, os.W_OK)
    if not is_writable or (target.exists() and not target.is_file()):
        raise ValueError(f"{str(target)!r} cannot be written.")
    return target


def require_packages() -> None:
    """Raise an error before any computation if a required package is missing."""
    from importlib.util import find_spec

    for name in ("jinja2", "matplotlib"):
        if find_spec(name) is None:
            raise ImportError(f"reports need {name}, which is not installed: pip install 'bagwise[report]'")
