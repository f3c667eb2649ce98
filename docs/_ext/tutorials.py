"""What the tutorials need beside sphinx-gallery: an order, a place to write to, and pictures without pyplot.

`examples/plot_*.py` are executed from a copy in the build folder, so that the files which they write lie
there and not beside the sources. Pages (HTML) among those files are copied next to the tutorials, which
show them.
"""

import shutil
from pathlib import Path

# Jobs of users first, from small to large; then what goes with all of them.
ORDER = [
    "plot_molecules",
    "plot_slides",
    "plot_recordings",
    "plot_threads",
    "plot_positive_unlabeled",
    "plot_counts",
    "plot_many_labels",
    "plot_comparison",
    "plot_larger_than_memory",
    "plot_cluster",
    "plot_with_scikit_learn",
    "plot_pictures",
]
COPY = Path(__file__).parents[1] / "_build" / "examples"


def index_of(filename: str) -> int:
    """Give the place of a tutorial in the gallery; one that has none ends the build."""
    name = Path(filename).stem
    if name not in ORDER:
        raise ValueError(f"examples/{name}.py has no place in ORDER of docs/_ext/tutorials.py; give it one.")
    return ORDER.index(name)


def scrape_displays(block, block_vars, gallery_conf) -> str:
    """Show every `Display` that a cell made: those with a name, and the value of its last line.

    sphinx-gallery knows figures of pyplot; ours are made without it, and are seen once each.
    """
    from sphinx_gallery.scrapers import figure_rst

    from bagwise._display.pictures import Display

    paths, sets = [], []
    for value in list(block_vars["example_globals"].values()):
        figure = getattr(value, "figure_", None)
        # Those of pyplot, which have a number, were shown by sphinx-gallery.
        if not isinstance(value, Display) or hasattr(figure, "number") or hasattr(figure, "was_shown"):
            continue
        figure.was_shown = True
        path = Path(next(block_vars["image_path_iterator"]))
        sharp = path.with_name(f"{path.stem}_2_00x{path.suffix}")
        for target, dpi in ((path, 100), (sharp, 200)):
            figure.savefig(target, dpi=dpi, bbox_inches="tight")
        paths.append(path)
        sets.append({0: path, 2.0: sharp})
    return "\n".join(
        figure_rst([path], gallery_conf["src_dir"], srcsetpaths=[found])
        for path, found in zip(paths, sets, strict=True)
    )


def copy_examples(app, config) -> None:
    """Copy the examples to where they are executed; what they wrote before stays."""
    COPY.mkdir(parents=True, exist_ok=True)
    for path in COPY.glob("*.py"):
        path.unlink()
    for path in (COPY.parents[2] / "examples").glob("*.*"):
        shutil.copy(path, COPY)


def copy_pages(app, error) -> None:
    """Put the pages that examples wrote next to the tutorials."""
    target = Path(app.outdir) / "tutorials"
    if error is None and target.exists():
        for page in COPY.glob("*.html"):
            shutil.copy(page, target)


def setup(app):
    """Copy before sphinx-gallery looks for examples, and after everything is written."""
    app.connect("config-inited", copy_examples, priority=1)
    app.connect("build-finished", copy_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
