"""The two pictures of the page Start, drawn when a build begins: what is known, and what is learned.

Each is there twice, for light and for dark pages.
"""

from pathlib import Path

import numpy as np

GROUNDS = {"light": "#ffffff", "dark": "#14181e"}  # those of the theme's pages


def draw(folder: Path) -> None:
    """Draw a few bags of digits, without and with what a model says of their instances."""
    import matplotlib.style

    from bagwise import MILogisticRegression, load_digit_bags, plot_bags

    data = load_digit_bags(random_state=0)
    model = MILogisticRegression(random_state=0).fit(data.bags[:150], data.y[:150])
    new, y = data.bags[150:], data.y[150:]
    some = np.concatenate([np.flatnonzero(y == 1)[:3], np.flatnonzero(y == 0)[:3]])
    bags, y = new[some], y[some]
    probability = model.predict_proba_instances(bags)[:, 1]
    folder.mkdir(parents=True, exist_ok=True)
    for ground, color in GROUNDS.items():
        colors = {f"{what}.facecolor": color for what in ("figure", "axes", "savefig")}
        with matplotlib.style.context(["default" if ground == "light" else "dark_background", colors]):
            known = draw_known(bags, y)
            learned = plot_bags(bags, probability, y=y, image_shape=(8, 8)).figure_
            for name, figure in (("known", known), ("learned", learned)):
                figure.savefig(folder / f"start-{name}-{ground}.png", dpi=130, bbox_inches="tight")


def draw_known(bags, y):
    """Draw bags as rows of images, with nothing but their labels."""
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
    """Draw before pages are read."""
    app.connect("builder-inited", lambda app: draw(Path(app.srcdir) / "_static" / "drawn"))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
