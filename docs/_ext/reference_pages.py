"""Pages of the reference: one page for every public name, listed by purpose.

The pages are written at the start of a build, from the names that `bagwise` exports. The build fails if a
name has no chapter, so that none is forgotten. In Markdown pages, public names in backticks become links to
the reference.
"""

import re
from pathlib import Path

from docutils import nodes
from sphinx import addnodes

import bagwise

# Chapters of the reference with their packages, in the order in which new users need them.
CHAPTERS = {
    "Data": ["data.bags", "data.scanned", "data.sequences", "io", "datasets"],
    "Linear models": ["models.linear_model"],
    "Rules: from instances to bags": ["rules"],
    "Mixtures": ["models.mixture", "families"],
    "Support vector machines": ["models.svm"],
    "Kernels and distances": ["similarity"],
    "Diverse density, prototypes, boxes, neighbors": ["models.prototypes", "models.neighbors"],
    "Trees, networks, ensembles": ["models.trees", "models.attention", "models.ensemble"],
    "Positive and unlabeled bags": ["models.pu", "evaluation.pu_reports", "evaluation.metrics"],
    "Bags as vectors, and third-party models": [
        "models.embedding",
        "models.base.rank_scaler",
        "models.wrappers.pipeline",
        "models.wrappers.single_instance",
    ],
    "Many classes and labels": ["models.wrappers.multiclass", "models.multilabel"],
    "Comparing, explaining, reporting": [
        "evaluation.checks",
        "evaluation.site_folds",
        "evaluation.comparison",
        "models.base.tags",
        "report",
        "evaluation.explanations",
        "evaluation.importance",
        "evaluation.prediction_frames",
        "evaluation.calibration_plots",
        "evaluation.plotting",
    ],
    "Model files and warnings": ["persist", "exceptions"],
}


def write_pages(folder: Path) -> None:
    """Write the index of the reference and a page for every public name."""
    packages = [package for listed in CHAPTERS.values() for package in listed]
    missing = sorted(set(bagwise._PUBLIC) ^ set(packages))
    if missing:
        raise ValueError(f"docs/_ext/reference_pages.py and bagwise._PUBLIC differ by {', '.join(missing)}.")
    folder.mkdir(exist_ok=True)
    lines = [
        "Reference",
        "=========",
        "",
        "All public names, grouped by purpose. Import them from ``bagwise``.",
        "",
    ]
    for chapter, listed in CHAPTERS.items():
        names = [name for package in listed for name in bagwise._PUBLIC[package]]
        lines += [chapter, "-" * len(chapter), "", ".. currentmodule:: bagwise", ""]
        lines += [".. autosummary::", "   :toctree: .", "", *(f"   {name}" for name in names), ""]
    _write(folder / "index.rst", "\n".join(lines))


def _write(path: Path, text: str) -> None:
    # Unchanged pages keep their modification time, so that Sphinx does not read them again.
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def skip_inherited(app, kind, name, member, skip, options):
    """Skip the methods that estimators inherit from scikit-learn, which documents them."""
    from_elsewhere = getattr(member, "__module__", None) or ""
    return True if from_elsewhere.startswith("sklearn.") else None


def link_names(app, doctree) -> None:
    """Turn public names in inline code into links: `Bags`, `compare(bags, y)`, `Bags.from_list`.

    In docstrings, the default role creates these links. In Markdown, backticks have no role.
    """
    for code in list(doctree.findall(nodes.literal)):
        name = re.match(r"(\w+)(?=[(.]|$)", code.astext())
        is_link = isinstance(code.parent, nodes.reference | addnodes.pending_xref)
        if name and name.group(1) in bagwise.__all__ and not is_link:
            target = {"refdomain": "py", "reftype": "obj", "reftarget": f"bagwise.{name.group(1)}"}
            link = addnodes.pending_xref("", code.deepcopy(), refexplicit=True, **target)
            link["refdoc"] = app.env.docname
            code.replace_self(link)


def setup(app):
    """Write the pages before autosummary reads them, and link names after a page is parsed."""
    app.connect("doctree-read", link_names)
    app.connect("autodoc-skip-member", skip_inherited)
    app.connect("builder-inited", lambda app: write_pages(Path(app.srcdir) / "reference"), priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
