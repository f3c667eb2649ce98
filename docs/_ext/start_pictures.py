"""Draw the two pictures of the page Start at the start of a build: bags with labels, and probabilities.

Each picture is drawn twice, for light and for dark pages. ``python docs/_ext/start_pictures.py`` redraws the
picture of the README, which is committed.
"""

from pathlib import Path

import numpy as np

BACKGROUNDS = {"light": "#ffffff", "dark": "#14181e"}  # page backgrounds of the theme


def draw(folder: Path) -> None:
    """Draw bags of digits, without and with the instance probabilities of a model."""
    bags, y, probability = predicted_bags(n_positive=3, n_negative=3)
    folder.mkdir(parents=True, exist_ok=True)
    for background in BACKGROUNDS:
        with style(background):
            for name, figure in (
                ("known", draw_known(bags, y)),
                ("learned", draw_learned(bags, y, probability)),
            ):
                figure.savefig(folder / f"start-{name}-{background}.png", dpi=130, bbox_inches="tight")


def draw_for_readme(folder: Path) -> None:
    """Draw four bags with instance probabilities, as small files."""
    bags, y, probability = predicted_bags(n_positive=3, n_negative=1)
    for background in BACKGROUNDS:
        with style(background):
            figure = draw_learned(bags, y, probability)
            figure.savefig(folder / f"digits-{background}.png", dpi=75, bbox_inches="tight")


def predicted_bags(n_positive: int, n_negative: int):
    """Return new bags of digits, their labels, and the probabilities of their images."""
    from bagwise import MILogisticRegression, load_digit_bags

    data = load_digit_bags(random_state=0)
    model = MILogisticRegression(random_state=0).fit(data.bags[:150], data.y[:150])
    new, y = data.bags[150:], data.y[150:]
    indices = np.concatenate([np.flatnonzero(y == 1)[:n_positive], np.flatnonzero(y == 0)[:n_negative]])
    bags = new[indices]
    return bags, y[indices], model.predict_proba_instances(bags)[:, 1]


def style(background: str):
    """Return the matplotlib style for a light or dark page."""
    import matplotlib.style

    color = BACKGROUNDS[background]
    colors = {f"{part}.facecolor": color for part in ("figure", "axes", "savefig")}
    return matplotlib.style.context(["default" if background == "light" else "dark_background", colors])


def draw_learned(bags, y, probability):
    """Draw bags as rows of images, each highlighted by its probability."""
    from bagwise import plot_bags

    return plot_bags(bags, probability, y=y, image_shape=(8, 8)).figure_


def draw_known(bags, y):
    """Draw bags as rows of images, with their labels only."""
    from matplotlib.figure import Figure

    widest = int(bags.sizes.max())
    figure = Figure(figsize=(0.6 * widest + 1.2, 0.66 * len(bags)))
    axes = figure.subplots(len(bags), widest + 1, squeeze=False)
    for row, bag, label in zip(axes, bags, y, strict=True):
        for ax in row:
            ax.axis("off")
        row[0].text(
            0.5, 0.5, "+" if label else "\N{MINUS SIGN}", ha="center", va="center", size=15, weight="bold"
        )
        for ax, image in zip(row[1:], np.asarray(bag), strict=False):
            ax.imshow(image.reshape(8, 8), cmap="gray", interpolation="bilinear")
    figure.subplots_adjust(0.0, 0.0, 1.0, 1.0, wspace=0.08, hspace=0.12)
    return figure


def setup(app):
    """Draw the pictures before pages are read."""
    app.connect("builder-inited", lambda app: draw(Path(app.srcdir) / "_static" / "drawn"))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    draw_for_readme(Path(__file__).parents[1] / "_static")
