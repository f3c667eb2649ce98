"""Plots of mixtures with matplotlib (``pip install 'bagwise[plot]'``), without pyplot state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from bagwise._display.pictures import Display, axes_for
from bagwise.data.bags import Bags

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_information_cost(
    probability: ArrayLike = (), bits: ArrayLike = (), *, ax: Axes | None = None
) -> Display:
    """Plot the information in a positive label against the predicted probability of a positive bag.

    Parameters
    ----------
    probability, bits : arrays, optional
        Bags to mark on the curve, for example ``model.predict_proba(bags)[:, 1]`` and
        ``model.information_cost(bags)``.
    ax : matplotlib axes, optional
        Axes to plot on; by default, a new figure is created.

    Returns
    -------
    Display
        The plot, with the attributes `figure_` and `ax_`.

    Examples
    --------
    >>> from bagwise.models.mixture.plots import plot_information_cost
    >>> plot_information_cost([0.5], [1.0]).ax_.get_xlabel()
    'predicted P(+), without the label'
    """
    ax, palette = axes_for(ax, 5.0, 3.4)
    grid = np.linspace(0.005, 1.0, 400)
    ax.plot(grid, -np.log2(grid), color=palette.faint, linewidth=1.5, zorder=1)
    ax.scatter(probability, bits, s=22, color=palette.positive, zorder=2)
    ax.set(
        xlim=(0, 1.01),
        ylim=(0, 8),
        xlabel="predicted P(+), without the label",
        ylabel="information in the label (bits)",
    )
    return Display(ax.figure, ax)


def plot_components(
    model: Any,
    bags: Bags,
    y: ArrayLike,
    *,
    features: tuple[int, int] = (0, 1),
    max_lines: int = 60,
    ax: Axes | None = None,
) -> Display:
    """Plot the instances of bags and the fitted Gaussian components, for two features.

    Instances are colored by their posterior probability of being positive, given the label of their bag.
    Thin lines connect the instances of a bag with their mean. Ellipses contain 68 and 95 percent of the
    probability of a component.

    Parameters
    ----------
    model : MIMixture
        Fitted model with a Gaussian family.
    bags, y : Bags, array of shape (n_bags,)
        The bags and their labels.
    features : (int, int), default=(0, 1)
        Indices of the features to plot.
    max_lines : int, default=60
        Maximum number of bags with connecting lines. A limit keeps the plot readable.
    ax : matplotlib axes, optional
        Axes to plot on; by default, a new figure is created.

    Returns
    -------
    Display
        The plot, with the attributes `figure_` and `ax_`.

    Examples
    --------
    >>> from bagwise import MIMixture, make_mixture_bags
    >>> from bagwise.models.mixture.plots import plot_components
    >>> data = make_mixture_bags(40, random_state=0)
    >>> model = MIMixture(random_state=0).fit(data.bags, data.y)
    >>> plot_components(model, data.bags, data.y).ax_.get_xlabel()
    'feature 0'
    """
    axes, palette = axes_for(ax, 6.2, 5.2)
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Ellipse

    posterior = model.posterior_instances(bags, y)
    X = np.asarray(bags.instances)[:, list(features)]
    colors = LinearSegmentedColormap.from_list("label", [palette.negative, "#c9c3bb", palette.positive])
    positive = model._encode_known(y, bags) == 1
    for i in np.linspace(0, len(bags) - 1, min(max_lines, len(bags))).astype(int):
        members = X[bags.offsets[i] : bags.offsets[i + 1]]
        middle = members.mean(axis=0)
        star = np.column_stack([np.broadcast_to(middle, members.shape), members]).reshape(-1, 2)
        color = palette.positive if positive[i] else palette.negative
        axes.plot(star[:, 0], star[:, 1], color=color, alpha=0.16, linewidth=0.6, zorder=1)
    order = np.argsort(posterior)
    drawn = axes.scatter(
        X[order, 0], X[order, 1], c=posterior[order], cmap=colors, vmin=0, vmax=1, s=14, zorder=2
    )
    classes = (
        (palette.positive, model.positive_components_),
        (palette.negative, model.negative_components_),
    )
    for color, components in classes:
        for component in components:
            mean, covariance = _mean_and_covariance(component, features)
            values, vectors = np.linalg.eigh(covariance)
            angle = float(np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1])))
            # Squared radii that contain 68 and 95 percent of a two-dimensional Gaussian: -2 log(1 - share).
            for share, width in ((0.68, 1.8), (0.95, 0.9)):
                radii = np.sqrt(-2 * np.log(1 - share) * values)
                shape = Ellipse(mean, 2 * radii[1], 2 * radii[0], angle=angle)
                shape.set(facecolor="none", edgecolor=color, linewidth=width, zorder=3)
                axes.add_patch(shape)
            axes.plot(*mean, marker="+", color=color, markersize=9, zorder=4)
    names = getattr(bags, "feature_names", None)
    labels = [f"feature {k}" if names is None else str(names[k]) for k in features]
    axes.set(xlabel=labels[0], ylabel=labels[1])
    axes.figure.colorbar(drawn, ax=axes, label="P(positive | bag label)", shrink=0.8)
    return Display(axes.figure, axes)


def _mean_and_covariance(component: Any, features: Any) -> Any:
    if not hasattr(component, "mean"):
        raise TypeError(
            "plot_components needs a model with a Gaussian family; this model has a different family."
        )
    chosen = list(features)
    if hasattr(component, "covariance"):
        return component.mean[chosen], component.covariance[np.ix_(chosen, chosen)]
    variance = np.broadcast_to(component.variance, component.mean.shape)
    return component.mean[chosen], np.diag(variance[chosen])
