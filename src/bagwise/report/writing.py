"""`write_report`: one HTML file about a comparison, a model or a data set."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from bagwise._display.parts import Page

# A page is sent by mail and kept for years.
_LARGEST = 2 * 10**6
# Where pictures take too much room they are made coarser: dots an inch, and letters of a drawing.
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
    """Write a page about a comparison, a fitted model with its cross-validation, or a data set.

    One HTML file that can be read offline for years: pictures stand in it as SVG, nothing is fetched, and it
    is below 2 MB whatever the data. In this order: a verdict in a sentence; the data, and what could leak;
    models compared; curves of held-out bags with bands, and confusions; bags opened to their instances; the
    rule; coefficients; stability; and how to repeat it. Sections without content are left out. docs/report.md
    says what each means.

    Parameters
    ----------
    what : Comparison, fitted classifier, Bags or ScannedBags
        What the page is about: what `compare` gave; a model, which is judged by folds of `X`, clones of it
        being fitted to the others; or bags, which are looked over (`bagwise check`).
    path : path
        Where it goes, ending in .html; a file that is there is replaced.
    X : Bags, or anything that a fit takes, optional
        The bags that the model was fitted on. With a comparison they let the best model be fitted to all
        bags, and bags be opened to their instances.
    y : array of shape (n_bags,), optional
        Their labels.
    groups : array of shape (n_bags,), optional
        For a model: bags of one group are held out together.
    cv : int, default=5
        For a model: the number of folds.
    random_state : int, default=0
        For a model: draws the folds.

    Returns
    -------
    pathlib.Path
        The file.

    Notes
    -----
    A model is fitted `cv` times. Of large data, tables show the first rows, pictures are drawn of
    aggregates, and the page says what was left out. Needs jinja2 and matplotlib: ``pip install
    'bagwise[report]'``.

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
            "what must be a comparison, a fitted classifier or bags (Bags, ScannedBags); got "
            f"{type(what).__name__}."
        )
    return write_page(make_page(subject), target)


def write_page(page: Page, path: Path) -> Path:
    """Write a page as HTML, whole or not at all."""
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
    """Refuse a path that no page can be written to, before any work is done."""
    target = Path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"path must end in .html; got {str(target)!r}.")
    if not target.absolute().parent.is_dir():
        raise ValueError(f"there is no folder {str(target.parent)!r} for the page.")
    if target.is_dir() or not os.access(target if target.exists() else target.absolute().parent, os.W_OK):
        raise ValueError(f"{str(target)!r} cannot be written.")
    return target


def require_packages() -> None:
    """Refuse to begin where a package is missing that only the end needs."""
    from importlib.util import find_spec

    for name in ("jinja2", "matplotlib"):
        if find_spec(name) is None:
            raise ImportError(f"pages need {name}, which is not installed: pip install 'bagwise[report]'")
