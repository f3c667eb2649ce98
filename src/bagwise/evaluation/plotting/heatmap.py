"""Where in a slide or picture the positive instances lie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from bagwise._display.pictures import LIGHT, Display, axes_for, heat_map
from bagwise.data.bags import Bags
from bagwise.evaluation.plotting.one_bag import say_of_one

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bagwise.data.scanned import ScannedBags


def plot_heatmap(
    model: Any,
    bags: Bags | ScannedBags,
    id: Any,
    *,
    coords: str | Sequence[str] = ("x", "y"),
    image: ArrayLike | None = None,
    downsample: float | None = None,
    patch_size: float | None = None,
    label: Any = None,
    ax: Axes | None = None,
) -> Display:
    """Draw what a model says of the instances of one bag at the places where they lie.

    Parameters
    ----------
    model : fitted estimator
        As `instance_frame` takes it: probabilities are drawn, or scores where there are none.
    bags : Bags or ScannedBags
        The bags, with coordinates that came with the features: those of CLAM and TRIDENT are the left upper
        corners of patches.
    id : object
        The id of the bag to draw, or its number if bags have no ids.
    coords : str, or two str, default=("x", "y")
        The instance columns with the coordinates, which grow to the right and downwards; or one column with
        both. By default "coords", as `load_h5` gives it, where there are no columns x and y.
    image : array of shape (height, width) or (height, width, 3), optional
        A thumbnail of the whole slide, drawn below.
    downsample : float, optional
        How many units of the coordinates a pixel of `image` is wide. By default so many that the patches just
        fit into the image, which is right for one that ends where the last patches do.
    patch_size : float, optional
        The edge of a patch in units of the coordinates; by default the usual distance of a patch to the
        nearest one.
    label : object, optional
        Of many classes the one to speak of, by default the predicted one; of several labels a bag, the label.
    ax : matplotlib axes, optional
        Where to draw; by default into a new figure.

    Returns
    -------
    Display
        With `figure_` and `ax_`.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise import Bags, MILogisticRegression, make_noisy_or_bags, plot_heatmap
    >>> data = make_noisy_or_bags(40, size=25, intercept=-5.0, random_state=0)
    >>> model = MILogisticRegression(n_init=1, random_state=0).fit(data.bags, data.y)
    >>> grid = np.stack(np.meshgrid(np.arange(5), np.arange(5)), axis=-1).reshape(25, 2) * 256
    >>> slides = Bags(data.bags.instances, data.bags.offsets, ids=[f"s{i}" for i in range(40)],
    ...               instance_columns={"coords": np.tile(grid, (40, 1))})
    >>> plot_heatmap(model, slides, "s3").ax_.get_title(loc="left")[:10]
    'bag s3: P('
    """
    said = say_of_one(model, bags, id, label)
    places = _places(said.bag, coords)
    if patch_size is not None and not patch_size > 0:
        raise ValueError(f"patch_size must be a positive length; got {patch_size!r}.")
    size = _usual_distance(places) if patch_size is None else float(patch_size)
    low, high = places.min(axis=0), places.max(axis=0) + size
    width, height = high - low
    ax, palette = axes_for(ax, 6.0, 1.0 + 5.0 * min(2.0, max(0.4, height / width)))
    from matplotlib.cm import ScalarMappable
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import Normalize

    ends = (0.0, 1.0) if said.kind == "probability" else (said.values.min(), said.values.max())
    scale = ScalarMappable(Normalize(*ends), heat_map(palette if image is None else LIGHT))
    colors = scale.to_rgba(said.values)
    if image is not None:
        low, high = np.minimum(low, 0.0), _draw_image(ax, image, high, downsample)
        # What is nothing hides nothing.
        colors[:, 3] = 0.05 + 0.8 * np.sqrt(np.clip(scale.norm(said.values), 0.0, 1.0))
    corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1]]) * size
    patches = PolyCollection(
        list(places[:, None, :] + corners),
        facecolors=colors,
        edgecolors="face" if image is None else "none",
        linewidths=0.2,
        rasterized=len(places) > 2000,
    )
    ax.add_collection(patches, autolim=False)
    ax.set(xlim=(low[0], high[0]), ylim=(high[1], low[1]), aspect="equal")
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_visible(False)
    ax.set_title(said.title, loc="left", fontsize="medium", parse_math=False)
    bar = ax.figure.colorbar(scale, ax=ax, fraction=0.05, pad=0.02, shrink=0.8)
    bar.set_label(said.value_label, parse_math=False)
    bar.outline.set_visible(False)
    return Display(ax.figure, ax)


def _places(bag: Bags, coords: str | Sequence[str]) -> np.ndarray:
    """Coordinates of the instances, shape (n_instances, 2)."""
    columns = bag.instance_columns
    names = [coords] if isinstance(coords, str) else list(coords)
    if tuple(names) == ("x", "y") and not {"x", "y"} <= set(columns) and "coords" in columns:
        names = ["coords"]
    absent = [name for name in names if name not in columns]
    if absent:
        raise ValueError(
            f"the bags have no instance column {absent[0]!r} for coordinates; there are {sorted(columns)}: "
            "pass coords=, two of them or one with both."
        )
    places = np.column_stack([columns[name] for name in names])
    if places.shape[1] != 2 or places.dtype.kind not in "biuf":
        raise ValueError(
            f"coords={coords!r} are {places.shape[1]} columns of the type {places.dtype}; expected two of "
            "numbers."
        )
    if not np.isfinite(places).all():
        raise ValueError(f"coords={coords!r} have values that are not finite.")
    return places.astype(np.float64)


def _usual_distance(places: np.ndarray) -> float:
    """The median distance to the nearest other place, along the axis where it is larger."""
    from scipy.spatial import KDTree

    distinct = np.unique(places, axis=0)
    if len(distinct) < 2:
        return 1.0
    nearest = KDTree(distinct).query(distinct, k=2, p=np.inf)[0][:, 1]
    return float(np.median(nearest))


def _draw_image(ax: Any, image: Any, last: np.ndarray, downsample: float | None) -> np.ndarray:
    """Draw a thumbnail that begins at the origin; give where it ends."""
    image = np.asarray(image)
    if image.ndim not in (2, 3):
        raise ValueError(f"image has the shape {image.shape}; expected (height, width), or that and 3.")
    size = np.array([image.shape[1], image.shape[0]], dtype=np.float64)
    if downsample is not None and not downsample > 0:
        raise ValueError(f"downsample must be positive, units of coordinates per pixel; got {downsample!r}.")
    end = size * (float(np.max(last / size)) if downsample is None else float(downsample))
    ax.imshow(image, extent=(0, end[0], end[1], 0), cmap="gray", aspect="equal")
    return np.maximum(end, last)
