"""Which rule do the data follow? Fits of several, compared on the bags they saw and on others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_random_state

from bagwise._core.types import Folds, Seed
from bagwise.models.base import BagsLike
from bagwise.models.base.folds import Split
from bagwise.models.base.held_out import cross_predict
from bagwise.models.linear_model.labeler import Labeler
from bagwise.models.linear_model.soft_or import SoftORLogisticRegression
from bagwise.rules import CountTable, Threshold

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bagwise._display.pictures import Display


_CANDIDATES = {
    "or": "or",
    "threshold": Threshold(),
    "logistic": "count_logistic",
    "table": CountTable(monotone=True),
}
_SENTENCES = {
    "or": "one positive instance makes a bag positive",
    "threshold": "a bag is positive from {k} positive instances on",
    "logistic": "a positive label grows more probable with every positive instance, and the odds are even "
    "at {half:.1f} of them",
    "table": "the label follows the number of positive instances in a way that neither a threshold nor a "
    "logistic curve describes",
}


@dataclass(frozen=True)
class RuleDiagnosis:
    """What `diagnose_rule` found. All arrays are in the order of `names`.

    Attributes
    ----------
    names : list of str
        The rules compared: "or", "threshold", "logistic", "table".
    bic : array
        -2 log-likelihood + log(n_bags) * parameters of coefficients and rule; lower is better. The
        coefficients are counted alike for all. A threshold counts as one parameter, a table as many as it
        has different values.
    log_likelihood, n_parameters : array
        Of the training bags, and parameters of the rule alone.
    held_out, held_out_error : array, or None
        Mean log-likelihood of a bag that a fit did not see, and the standard error of its difference from
        the best.
    models : dict
        The fitted `SoftORLogisticRegression` of every name.
    best : str
        The rule with the least BIC. A threshold of 1 is called "or".
    """

    names: list[str]
    bic: np.ndarray
    log_likelihood: np.ndarray
    n_parameters: np.ndarray
    held_out: np.ndarray | None
    held_out_error: np.ndarray | None
    models: dict[Any, Any]
    best: str

    @property
    def sentence(self) -> str:
        """Say in one sentence which assumption the data support, and how firmly."""
        labeler: Labeler = self.models[self.best].labeler_
        rule = labeler.rule
        facts = {"k": getattr(rule, "k", None)}
        if self.best == "logistic":
            facts["half"] = -rule.intercept / rule.slope
        order = np.argsort(self.bic, kind="stable")
        second = next(self.names[i] for i in order if self.names[i] != self.best)
        lead = self.bic[self.names.index(second)] - self.bic[self.names.index(self.best)]
        firmly = "strongly" if lead > 10 else "clearly" if lead > 6 else "slightly" if lead > 2 else "barely"
        text = f"The data {firmly} support the rule {self.best!r}: {_SENTENCES[self.best].format(**facts)}"
        text += f" (BIC lower than that of {second!r} by {lead:.1f}"
        if self.held_out is not None and self.held_out_error is not None:
            place = int(np.argmax(self.held_out))
            gap = self.held_out[place] - self.held_out[self.names.index(self.best)]
            agrees = gap <= 2 * self.held_out_error[self.names.index(self.best)]
            text += "; held-out bags agree" if agrees else f"; but held-out bags favour {self.names[place]!r}"
        return text + ")."

    def summary(self) -> str:
        """Lay the comparison out as text."""
        lines = [f"{'rule':<12}{'BIC':>10}{'log-lik.':>12}{'parameters':>12}{'held out, a bag':>22}"]
        for i, name in enumerate(self.names):
            line = f"{name:<12}{self.bic[i]:>10.1f}{self.log_likelihood[i]:>12.2f}{self.n_parameters[i]:>12d}"
            if self.held_out is not None and self.held_out_error is not None:
                line += f"{self.held_out[i]:>14.4f} ± {self.held_out_error[i]:.4f}"
            lines.append(line)
        return "\n".join([*lines, "", self.sentence])

    def __str__(self) -> str:
        return self.summary()

    def plot(self, *, ax: Axes | None = None) -> Display:
        """Draw P(+ | n) under every rule, the best one strong, over the expected numbers of bags.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; by default into a new figure.

        Returns
        -------
        Display
            With `figure_` and `ax_`.
        """
        from bagwise.models.linear_model.plots import plot_diagnosis

        return plot_diagnosis(self, ax=ax)


def diagnose_rule(
    X: BagsLike,
    y: ArrayLike,
    *,
    estimator: SoftORLogisticRegression | None = None,
    cv: Folds | None = 5,
    random_state: Seed = None,
) -> RuleDiagnosis:
    """Find out how the number of positive instances makes the label of a bag.

    Fits `SoftORLogisticRegression` with the rules or, threshold, logistic and (rising) table, and compares
    them by BIC and by the likelihood of bags that were held out.

    Parameters
    ----------
    X : Bags, list of arrays, 3-D or 2-D array
        The bags.
    y : array of shape (n_bags,)
        Their labels.
    estimator : SoftORLogisticRegression, default=None
        The model whose `rule` is varied; None means alpha=0.1 and 2 starts. Random features or other steps
        before it are done to `X` first.
    cv : int, splitter or None, default=5
        Stratified folds of bags; None leaves out the held-out likelihood, and five sixths of the work.
    random_state : int, RandomState or None, default=None
        Source of starts and folds.

    Returns
    -------
    RuleDiagnosis
        Read its `sentence`, `summary()` and `plot()`.

    Notes
    -----
    Where features hardly tell positive from negative instances, a soft rule with certain instances and a
    sharp rule with uncertain ones explain bags alike, and no method can tell them apart: the differences of
    BIC are then small, and the sentence says so.

    Examples
    --------
    >>> from bagwise import diagnose_rule, make_count_bags
    >>> data = make_count_bags(300, size=8, labeler=3, coef=[4.0, -4.0], random_state=0)
    >>> diagnosis = diagnose_rule(data.bags, data.y, cv=None, random_state=0)
    >>> print(diagnosis.sentence)
    The data clearly support the rule 'threshold': a bag is positive from 3 positive instances on (BIC ...).
    """
    rng = check_random_state(random_state)
    seed = int(rng.randint(np.iinfo(np.int32).max))
    # BIC compares maxima of the likelihood: the penalty is only to keep them finite.
    base = SoftORLogisticRegression(alpha=0.1, n_init=2) if estimator is None else estimator
    bags = clone(base)._read(X, reset=True)
    y = np.asarray(y)
    models = {
        name: clone(base).set_params(rule=rule, random_state=seed).fit(bags, y)
        for name, rule in _CANDIDATES.items()
    }
    if models["threshold"].rule_.k == 1:
        del models["threshold"]
    names = list(models)
    log_likelihood = np.array([model.log_likelihood_ for model in models.values()])
    n_parameters = np.array([model.rule_.n_parameters for model in models.values()])
    shared = bags.n_features + 1
    bic = -2 * log_likelihood + np.log(len(bags)) * (shared + n_parameters)
    held_out = error = None
    if cv is not None:
        folds: Any = StratifiedKFold(cv, shuffle=True, random_state=seed) if isinstance(cv, int) else cv
        splits = list(folds.split(np.zeros(len(bags)), y))
        tested = np.unique(np.concatenate([test for _, test in splits]))  # a splitter may leave bags out
        by_bag = np.column_stack([_held_out(model, bags, y, splits) for model in models.values()])[tested]
        held_out = by_bag.mean(axis=0)
        behind = by_bag[:, [int(np.argmax(held_out))]] - by_bag
        error = behind.std(axis=0) / np.sqrt(len(tested))
    best = names[int(np.argmin(bic))]
    return RuleDiagnosis(names, bic, log_likelihood, n_parameters, held_out, error, models, best)


def _held_out(model: SoftORLogisticRegression, bags: Any, y: Any, splits: list[Split]) -> np.ndarray:
    """Log-likelihood of every bag under a fit that did not see it."""
    held = cross_predict(model, bags, y, splits, outputs=["predict_log_proba"])
    log_likelihood = held.outputs["predict_log_proba"][np.arange(len(bags)), held.codes]
    # A rule that excludes a label which did occur is as wrong as can be, but one bag must not decide alone.
    return np.maximum(log_likelihood, np.log(1e-6))
