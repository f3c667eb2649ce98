"""Pictures of mixtures, by matplotlib (``pip install 'bagwise[plot]'``), made without pyplot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from bagwise._display.pictures import Display, axes_for, new_panels, palette_of
from bagwise.data.bags import Bags

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_information_cost(
    probability: ArrayLike = (), bits: ArrayLike = (), *, ax: Axes | None = None
) -> Display:
    """Draw what is lost by ignoring a positive label, over the probability that the bag is positive.

    Parameters
    ----------
    probability, bits : arrays, optional
        Bags to mark on the curve, such as ``model.predict_proba(bags)[:, 1]`` and
        ``model.information_cost(bags)``.
    ax : matplotlib axes, optional
        Where to draw; by default into a new figure.

    Returns
    -------
    Display
        With `figure_` and `ax_`.

    Examples
    --------
    >>> from bagwise.models.mixture.plots import plot_information_cost
    >>> plot_information_cost([0.5], [1.0]).ax_.get_xlabel()
    'P(+) before the label is seen'
    """
    ax, palette = axes_for(ax, 5.0, 3.4)
    grid = np.linspace(0.005, 1.0, 400)
    ax.plot(grid, -np.log2(grid), color=palette.faint, linewidth=1.5, zorder=1)
    ax.scatter(probability, bits, s=22, color=palette.positive, zorder=2)
    ax.set(
        xlim=(0, 1.01),
        ylim=(0, 8),
        xlabel="P(+) before the label is seen",
        ylabel="information in the label (bits)",
    )
    return Display(ax.figure, ax)


def plot_error_curves(panels: Mapping[str, Mapping[str, Any]]) -> Display:
    """Draw errors by the number of training bags, a panel a scenario, with bands of two standard errors.

    Parameters
    ----------
    panels : mapping of title to panel
        Each panel has ``n_bags`` (a list), ``bayes`` (the least error possible) and ``errors``: for each
        method, a list of (mean, standard error), one for every entry of ``n_bags``.

    Returns
    -------
    Display
        With `figure_`, and `ax_`, the first panel.

    Examples
    --------
    >>> from bagwise.models.mixture.plots import plot_error_curves
    >>> panel = {"n_bags": [10, 20], "bayes": 0.1, "errors": {"MIMM": [(0.3, 0.02), (0.2, 0.01)]}}
    >>> plot_error_curves({"a scenario": panel}).ax_.get_title(loc="left")
    'a scenario'
    """
    columns = min(3, len(panels))
    n_rows = -(-len(panels) // columns)
    figure, panes = new_panels(3.1 * columns + 0.4, 2.3 * n_rows + 0.4, n_rows, columns, sharex=True)
    grid = panes.ravel()
    palette = palette_of(grid[0])
    colors = {"MIMM": palette.positive, "MM": palette.negative, "MMU": "#6d8f5a"}
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    for axes, (title, panel) in zip(grid, panels.items(), strict=False):
        n_bags = panel["n_bags"]
        axes.axhline(100 * panel["bayes"], color=palette.faint, linestyle=":", linewidth=1)
        for method, errors in panel["errors"].items():
            mean, error = 100 * np.array(errors).T
            color = colors.get(method)
            (line,) = axes.plot(n_bags, mean, color=color, marker="o", markersize=3, label=method)
            low, high = mean - 2 * error, mean + 2 * error
            axes.fill_between(n_bags, low, high, color=line.get_color(), alpha=0.18, linewidth=0)
        axes.set_title(title, fontsize="small", loc="left")
        axes.set_xscale("log")
        axes.set_xticks(n_bags, [str(n) for n in n_bags], fontsize="small")
        axes.minorticks_off()
        axes.set_ylim(0, None)
    for axes in grid[max(0, len(panels) - columns) : len(panels)]:
        axes.set_xlabel("training bags", fontsize="small")
        axes.tick_params(labelbottom=True)  # also where the last row does not reach
    for axes in grid[::columns]:
        axes.set_ylabel("error (%)", fontsize="small")
    handles, labels = grid[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False)
    return Display(figure, grid[0])


def plot_components(
    model: Any,
    bags: Bags,
    y: ArrayLike,
    *,
    features: tuple[int, int] = (0, 1),
    max_lines: int = 60,
    ax: Axes | None = None,
) -> Display:
    """Draw instances of two features, joined within their bags, and the fitted Gaussian components.

    Instances are coloured by the posterior that they are positive, given the label of their bag; a thin
    star joins the instances of a bag to their middle; ellipses hold 68 and 95 percent of a component.

    Parameters
    ----------
    model : MIMixture
        Fitted, with a Gaussian family.
    bags, y : Bags, array of shape (n_bags,)
        The bags and their labels.
    features : (int, int), default=(0, 1)
        The features to draw.
    max_lines : int, default=60
        Only so many bags get their star, so that the picture stays readable.
    ax : matplotlib axes, optional
        Where to draw; by default into a new figure.

    Returns
    -------
    Display
        With `figure_` and `ax_`.

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
    positive = np.asarray(y) == model.classes_[1]
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
            # Squared radii that hold 68 and 95 percent of a Gaussian in the plane: -2 log(1 - share).
            for share, width in ((0.68, 1.8), (0.95, 0.9)):
                radii = np.sqrt(-2 * np.log(1 - share) * values)
                shape = Ellipse(mean, 2 * radii[1], 2 * radii[0], angle=angle)
                shape.set(facecolor="none", edgecolor=color, linewidth=width, zorder=3)
                axes.add_patch(shape)
            axes.plot(*mean, marker="+", color=color, markersize=9, zorder=4)
    names = getattr(bags, "feature_names", None)
    labels = [f"feature {k}" if names is None else str(names[k]) for k in features]
    axes.set(xlabel=labels[0], ylabel=labels[1])
    axes.figure.colorbar(drawn, ax=axes, label="P(positive | label of the bag)", shrink=0.8)
    return Display(axes.figure, axes)


def _mean_and_covariance(component: Any, features: Any) -> Any:
    if not hasattr(component, "mean"):
        raise TypeError("plot_components draws Gaussian components; this model has another family.")
    chosen = list(features)
    if hasattr(component, "covariance"):
        return component.mean[chosen], component.covariance[np.ix_(chosen, chosen)]
    variance = np.broadcast_to(component.variance, component.mean.shape)
    return component.mean[chosen], np.diag(variance[chosen])
