"""What a classifier of positive and unlabeled bags makes of the class prior it is told."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from bagwise._pictures import ACCENT, CHOSEN, QUIET, new_axes
from bagwise.base import is_positive
from bagwise.pu.losses import risk_of_scores

_RISK, _CALLED, _FOUND, _ASSUMED = ACCENT, CHOSEN, QUIET, "#b9b4a8"


def prior_sensitivity(model, X, y, *, class_priors=None, cv=5) -> dict[str, np.ndarray]:
    """Fit at one assumed class prior after another, and judge held-out bags.

    Returns arrays by name: `class_prior`, `risk` (zero-one PU risk at that prior), `called` and `found`
    (shares of the unlabeled and of the positive bags that are called positive).

    Examples
    --------
    >>> from bagwise import PUSetKernelClassifier, make_noisy_or_bags
    >>> from bagwise.pu.plots import prior_sensitivity
    >>> data = make_noisy_or_bags(60, random_state=0)
    >>> found = prior_sensitivity(PUSetKernelClassifier(), data.bags, data.y, class_priors=[0.2, 0.6])
    >>> sorted(found)
    ['called', 'class_prior', 'found', 'risk']
    """
    y = np.asarray(y)
    positive = y == np.unique(y)[-1]
    priors = np.linspace(0.05, 0.95, 19) if class_priors is None else np.asarray(class_priors, dtype=float)
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


def plot_prior_sensitivity(model, X, y, *, class_priors=None, cv=5, estimate=None, interval=None):
    """Draw risk and decisions of held-out bags against the class prior that is assumed.

    A prior that is known only roughly does no harm where the decisions hardly move. The share of unlabeled
    bags that are called positive should be near the prior assumed, which the dotted diagonal shows. Risks at
    different priors are those of different populations: where they are least is no estimate of the prior.

    Parameters
    ----------
    model : classifier with a parameter `class_prior`
        It is cloned, and fitted at every assumed prior, on all folds but one.
    X, y
        Positive and unlabeled bags, and their labels.
    class_priors : array, optional
        The priors assumed; by default 0.05, 0.10, ..., 0.95.
    cv : int, default=5
        Number of folds.
    estimate : float, optional
        An estimate of the prior, drawn as a line; such as `class_prior_` of a `ClassPriorEstimator`.
    interval : (low, high), optional
        Its interval, drawn as a band.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> from bagwise import PUSetKernelClassifier, make_noisy_or_bags, plot_prior_sensitivity
    >>> data = make_noisy_or_bags(60, random_state=0)
    >>> figure = plot_prior_sensitivity(
    ...     PUSetKernelClassifier(), data.bags, data.y, class_priors=[0.2, 0.4, 0.6], cv=3, estimate=0.4
    ... )
    >>> type(figure).__name__
    'Figure'
    """
    found = prior_sensitivity(model, X, y, class_priors=class_priors, cv=cv)
    figure, axes = new_axes(7.0, 4.5)
    priors = found["class_prior"]
    lines = (("found", _FOUND, "positive bags found"), ("called", _CALLED, "unlabeled bags called positive"))
    for name, color, label in (*lines, ("risk", _RISK, "zero-one PU risk")):
        axes.plot(priors, found[name], color=color, linewidth=1.8, marker="o", markersize=3, label=label)
    axes.plot(priors, priors, color=_ASSUMED, linewidth=1.2, linestyle=":", label="the prior assumed")
    if interval is not None:
        axes.axvspan(*interval, color=_ASSUMED, alpha=0.3, linewidth=0)
    if estimate is not None:
        axes.axvline(estimate, color=_CALLED, linewidth=1.0, linestyle="--")
        on_left = estimate > 0.5 * (priors.min() + priors.max())  # the name stays inside the picture
        axes.annotate(
            f"estimate {estimate:.2f}", (estimate, 1.0), xycoords=("data", "axes fraction"),
            xytext=(-4 if on_left else 4, -2), textcoords="offset points", va="top",
            ha="right" if on_left else "left", color=_CALLED, fontsize=9,
        )  # fmt: skip
    axes.axhline(0.0, color="black", linewidth=0.6)
    axes.set_ylim(top=1.12)  # room for the name of the estimate
    axes.set_xlabel("class prior assumed")
    axes.set_ylabel("share of bags, held out")
    axes.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure
