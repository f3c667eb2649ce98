"""`plot_heatmap`: plot predictions of instances at their coordinates in a slide or image."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from bagwise._display.pictures import LIGHT, Display, axes_for, heat_map
from bagwise.data.bags import Bags
from bagwise.evaluation.plotting.one_bag import predict_one_bag

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
    group: tuple[str, Any] | None = None,
    ax: Axes | None = None,
) -> Display:
    """Plot the predictions of a bag's instances at their coordinates.

    Parameters
    ----------
    model : fitted estimator
        A model with instance-level predictions; see `instance_frame`. Probabilities are plotted, or scores if
        the model has no probabilities.
    bags : Bags or ScannedBags
        The bags, with instance columns for the coordinates. The coordinates of CLAM and TRIDENT are the upper
        left corners of patches.
    id : object
        Id of the bag to plot, or its index if the bags have no ids.
    coords : str, or two str, default=("x", "y")
        Instance columns with the coordinates, which increase to the right and downwards, or one column with
        both. By default, the column "coords" of `load_h5` is used if there are no columns x and y.
    image : array of shape (height, width) or (height, width, 3), optional
        Thumbnail of the whole slide, drawn below the patches.
    downsample : float, optional
        Width of a pixel of `image` in units of the coordinates. By default, the smallest value for which all
        patches fit into the image; it is correct if the image ends at the last patches.
    patch_size : float, optional
        Edge length of a patch in units of the coordinates; by default the median distance between
        neighboring patches.
    label : object, optional
        Class to plot if there are more than two; by default the predicted class. Required if the bags have
        several labels.
    group : (str, value), optional
        An instance column and one of its values, such as ("slide", "s1"), if the bag is a patient with
        several slides (`Bags.merge`). Only these instances are plotted. If the model has group probabilities,
        the title contains the probability that the group contains a positive instance.
    ax : matplotlib axes, optional
        Axes to draw into; by default those of a new figure.

    Returns
    -------
    Display
        Display with the attributes `figure_` and `ax_`.

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
    prediction = predict_one_bag(model, bags, id, label, group)
    coordinates = _coordinates(prediction.bag, coords)
    if patch_size is not None and not patch_size > 0:
        raise ValueError(f"patch_size must be positive; got {patch_size!r}.")
    size = _usual_distance(coordinates) if patch_size is None else float(patch_size)
    low, high = coordinates.min(axis=0), coordinates.max(axis=0) + size
    width, height = high - low
    ax, palette = axes_for(ax, 6.0, 1.0 + 5.0 * min(2.0, max(0.4, height / width)))
    from matplotlib.cm import ScalarMappable
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import Normalize

    ends = (
        (0.0, 1.0) if prediction.kind == "probability" else (prediction.values.min(), prediction.values.max())
    )
    scale = ScalarMappable(Normalize(*ends), heat_map(palette if image is None else LIGHT))
    colors = scale.to_rgba(prediction.values)
    if image is not None:
        low, high = np.minimum(low, 0.0), _draw_image(ax, image, high, downsample)
        # Patches with small values are transparent, so that the image below remains visible.
        colors[:, 3] = 0.05 + 0.8 * np.sqrt(np.clip(scale.norm(prediction.values), 0.0, 1.0))
    corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1]]) * size
    patches = PolyCollection(
        list(coordinates[:, None, :] + corners),
        facecolors=colors,
        edgecolors="face" if image is None else "none",
        linewidths=0.2,
        rasterized=len(coordinates) > 2000,
    )
    ax.add_collection(patches, autolim=False)
    ax.set(xlim=(low[0], high[0]), ylim=(high[1], low[1]), aspect="equal")
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_visible(False)
    ax.set_title(prediction.title, loc="left", fontsize="medium", parse_math=False)
    bar = ax.figure.colorbar(scale, ax=ax, fraction=0.05, pad=0.02, shrink=0.8)
    bar.set_label(prediction.value_label, parse_math=False)
    bar.outline.set_visible(False)
    if prediction.note:
        bar.set_ticks([float(prediction.values[0])])
        ax.set_xlabel(textwrap.fill(prediction.note, 60), fontsize="small")
    return Display(ax.figure, ax)


def _coordinates(bag: Bags, coords: str | Sequence[str]) -> np.ndarray:
    """Return the coordinates of the instances, shape (n_instances, 2)."""
    columns = bag.instance_columns
    names = [coords] if isinstance(coords, str) else list(coords)
    if tuple(names) == ("x", "y") and not {"x", "y"} <= set(columns) and "coords" in columns:
        names = ["coords"]
    absent = [name for name in names if name not in columns]
    if absent:
        raise ValueError(
            f"the bags have no instance column {absent[0]!r}; pass coords=, one or two of the available "
            f"columns {sorted(columns)}."
        )
    coordinates = np.column_stack([columns[name] for name in names])
    if coordinates.shape[1] != 2 or coordinates.dtype.kind not in "biuf":
        raise ValueError(
            f"coords={coords!r} has {coordinates.shape[1]} columns of type {coordinates.dtype}; expected two "
            "numeric columns."
        )
    if not np.isfinite(coordinates).all():
        raise ValueError(f"coords={coords!r} has values that are not finite.")
    return coordinates.astype(np.float64)


def _usual_distance(coordinates: np.ndarray) -> float:
    """Return the median distance to the nearest other coordinates (Chebyshev distance)."""
    from scipy.spatial import KDTree

    distinct = np.unique(coordinates, axis=0)
    if len(distinct) < 2:
        return 1.0
    nearest = KDTree(distinct).query(distinct, k=2, p=np.inf)[0][:, 1]
    return float(np.median(nearest))


def _draw_image(ax: Any, image: Any, last: np.ndarray, downsample: float | None) -> np.ndarray:
    """Draw a thumbnail with its upper left corner at the origin, and return its lower right corner."""
    image = np.asarray(image)
    if image.ndim not in (2, 3):
        raise ValueError(f"image has shape {image.shape}; expected (height, width) or (height, width, 3).")
    size = np.array([image.shape[1], image.shape[0]], dtype=np.float64)
    if downsample is not None and not downsample > 0:
        raise ValueError(f"downsample must be positive (coordinate units per pixel); got {downsample!r}.")
    end = size * (float(np.max(last / size)) if downsample is None else float(downsample))
    ax.imshow(image, extent=(0, end[0], end[1], 0), cmap="gray", aspect="equal")
    return np.maximum(end, last)
