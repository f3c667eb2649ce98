"""Plot how the assumed class prior affects a classifier of positive and unlabeled bags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from bagwise._display.pictures import Display, axes_for, legend_above
from bagwise.models.base import BagsLike, is_positive
from bagwise.models.pu.losses import risk_of_scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_PRIORS = np.linspace(0.05, 0.95, 19)


def prior_sensitivity(
    model: Any, X: BagsLike, y: ArrayLike, *, class_priors: ArrayLike | None = None, cv: int = 5
) -> dict[str, np.ndarray]:
    """Fit a model at each assumed class prior and evaluate it on held-out bags.

    Returns arrays by name: `class_prior`, `risk` (zero-one PU risk at that prior), `called` and `found`
    (shares of the unlabeled bags and of the positive bags that are classified as positive).

    Examples
    --------
    >>> from bagwise import PUSetKernelClassifier, make_noisy_or_bags
    >>> from bagwise.models.pu.plots import prior_sensitivity
    >>> data = make_noisy_or_bags(60, random_state=0)
    >>> found = prior_sensitivity(PUSetKernelClassifier(), data.bags, data.y, class_priors=[0.2, 0.6])
    >>> sorted(found)
    ['called', 'class_prior', 'found', 'risk']
    """
    y = np.asarray(y)
    positive = y == np.unique(y)[-1]
    priors = _PRIORS if class_priors is None else np.asarray(class_priors, dtype=float)
    folds = StratifiedKFold(
        min(cv, int(positive.sum()), int((~positive).sum())), shuffle=True, random_state=0
    )
    rows = []
    for prior in priors:
        assumed = clone(model).set_params(class_prior=float(prior))
        score = cross_val_predict(assumed, X, y, cv=folds, method="decision_function")
        risk = risk_of_scores(positive, score, np.ones(len(score)), prior, "zero_one")
        rows.append((prior, risk, is_positive(score[~positive]).mean(), is_positive(score[positive]).mean()))
    names = ("class_prior", "risk", "called", "found")
    return dict(zip(names, np.array(rows).T, strict=True))


def plot_prior_sensitivity(
    model: Any,
    X: BagsLike,
    y: ArrayLike,
    *,
    class_priors: ArrayLike | None = None,
    cv: int = 5,
    estimate: float | None = None,
    interval: tuple[float, float] | None = None,
    ax: Axes | None = None,
) -> Display:
    """Plot the risk and the decisions for held-out bags against the assumed class prior.

    If the decisions hardly change over the plausible priors, a rough estimate of the prior is sufficient. The
    share of unlabeled bags that are classified as positive should be close to the assumed prior, which is the
    dotted diagonal. Risks at different priors refer to different populations: the prior with the lowest risk
    is not an estimate of the class prior.

    Parameters
    ----------
    model : classifier with a parameter `class_prior`
        A clone is fitted to the training bags of every fold, for every assumed prior.
    X, y
        Positive and unlabeled bags, and their labels.
    class_priors : array, optional
        The assumed priors; by default 0.05, 0.10, ..., 0.95. If `estimate` or a limit of `interval` is
        outside their range, it is added, so that the curves reach it.
    cv : int, default=5
        Number of folds.
    estimate : float, optional
        An estimate of the prior, for example `class_prior_` of a `ClassPriorEstimator`; drawn as a line.
    interval : (low, high), optional
        Interval of the estimate; drawn as a band.
    ax : matplotlib axes, optional
        Axes to draw into; by default, the axes of a new figure.

    Returns
    -------
    Display
        Display with `figure_` and `ax_`.

    Examples
    --------
    >>> from bagwise import PUSetKernelClassifier, make_noisy_or_bags, plot_prior_sensitivity
    >>> data = make_noisy_or_bags(60, random_state=0)
    >>> display = plot_prior_sensitivity(
    ...     PUSetKernelClassifier(), data.bags, data.y, class_priors=[0.2, 0.4, 0.6], cv=3, estimate=0.4
    ... )
    >>> display.ax_.get_xlabel()
    'assumed class prior'
    """
    marks = [*([] if estimate is None else [estimate]), *([] if interval is None else interval)]
    sensitivity = prior_sensitivity(model, X, y, class_priors=_reaching(class_priors, marks), cv=cv)
    ax, palette = axes_for(ax, 7.0, 4.5)
    priors = sensitivity["class_prior"]
    lines = (
        ("found", palette.quiet, "positive bags found"),
        ("called", palette.chosen, "unlabeled bags classified as positive"),
        ("risk", palette.accent, "zero-one PU risk"),
    )
    for name, color, label in lines:
        ax.plot(priors, sensitivity[name], color=color, linewidth=1.8, marker="o", markersize=3, label=label)
    ax.plot(priors, priors, color=palette.faint, linewidth=1.2, linestyle=":", label="assumed prior")
    if interval is not None:
        ax.axvspan(*interval, color=palette.faint, alpha=0.25, linewidth=0)
    if estimate is not None:
        ax.axvline(estimate, color=palette.chosen, linewidth=1.0, linestyle="--")
        on_left = estimate > 0.5 * (priors.min() + priors.max())  # keep the label inside the axes
        ax.annotate(
            f"estimate {estimate:.2f}", (estimate, 1.0), xycoords=("data", "axes fraction"),
            xytext=(-4 if on_left else 4, -2), textcoords="offset points", va="top",
            ha="right" if on_left else "left", color=palette.chosen, fontsize="small",
        )  # fmt: skip
    ax.axhline(0.0, color=palette.ink, linewidth=0.6)
    ax.set_ylim(top=1.12)  # space for the label of the estimate
    ax.set_xlabel("assumed class prior")
    ax.set_ylabel("share of held-out bags")
    legend_above(ax, n_columns=2)
    return Display(ax.figure, ax)


def _reaching(class_priors: ArrayLike | None, marks: list[float]) -> np.ndarray:
    """Return the priors to assume, with those of `marks` that are outside their range."""
    priors = np.sort(_PRIORS if class_priors is None else np.asarray(class_priors, dtype=float))
    beyond = [mark for mark in marks if 0 < mark < 1 and not priors[0] <= mark <= priors[-1]]
    return np.union1d(priors, beyond)
