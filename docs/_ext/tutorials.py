"""Settings of sphinx-gallery for the tutorials: their order, their working folder, and their figures.

`examples/plot_*.py` are executed from a copy in the build folder, so that they do not write files into the
source folder. HTML pages that they write are copied next to the tutorials, which show them.
"""

import shutil
from pathlib import Path

# Use cases first, from small to large data; then tools for all of them.
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
    """Return the index of a tutorial in the gallery; raise an error if it has none."""
    name = Path(filename).stem
    if name not in ORDER:
        raise ValueError(f"examples/{name}.py is not in ORDER of docs/_ext/tutorials.py; add it.")
    return ORDER.index(name)


def scrape_displays(block, block_vars, gallery_conf) -> str:
    """Show every `Display` that a cell created: variables, and the value of the last line.

    sphinx-gallery only shows figures of pyplot. bagwise draws its figures without pyplot, so this scraper
    saves them, once each.
    """
    from sphinx_gallery.scrapers import figure_rst

    from bagwise._display.pictures import Display

    paths, sets = [], []
    for value in list(block_vars["example_globals"].values()):
        figure = getattr(value, "figure_", None)
        # Figures of pyplot have a number; sphinx-gallery has already shown them.
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
        figure_rst([path], gallery_conf["src_dir"], srcsetpaths=[sources])
        for path, sources in zip(paths, sets, strict=True)
    )


def copy_examples(app, config) -> None:
    """Copy the examples to the folder in which they are executed; keep the files of earlier runs."""
    COPY.mkdir(parents=True, exist_ok=True)
    for path in COPY.glob("*.py"):
        path.unlink()
    for path in (COPY.parents[2] / "examples").glob("*.*"):
        shutil.copy(path, COPY)


def copy_pages(app, error) -> None:
    """Copy the pages that the examples wrote next to the tutorials."""
    target = Path(app.outdir) / "tutorials"
    if error is None and target.exists():
        for page in COPY.glob("*.html"):
            shutil.copy(page, target)


def setup(app):
    """Copy the examples before sphinx-gallery reads them, and their pages at the end of the build."""
    app.connect("config-inited", copy_examples, priority=1)
    app.connect("build-finished", copy_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
