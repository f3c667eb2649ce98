"""Comparison of count rules by BIC and held-out likelihood: `diagnose_rule`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_random_state

from bagwise._core.types import Folds, Seed
from bagwise._display.notebook import Shown, as_text
from bagwise._display.parts import Table
from bagwise.data.bags import aligned
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
    "threshold": "a bag is positive if it has at least {k} positive instances",
    "logistic": "the probability of a positive label increases with every positive instance and is one half "
    "at {half:.1f} of them",
    "table": "the label depends on the number of positive instances in a way that neither a threshold nor a "
    "logistic curve describes",
}


@dataclass(frozen=True, repr=False)
class RuleDiagnosis(Shown):
    """Result of `diagnose_rule`. All arrays are in the order of `names`.

    Attributes
    ----------
    names : list of str
        The compared rules: "or", "threshold", "logistic", "table".
    bic : array
        -2 log-likelihood + log(n_bags) * (number of coefficients + number of rule parameters); lower is
        better. The number of coefficients is the same for all rules. A threshold has one parameter; a table
        has one parameter for each distinct value.
    log_likelihood, n_parameters : array
        Log-likelihood of the training bags, and number of parameters of the rule (without coefficients).
    held_out, held_out_error : array, or None
        Mean log-likelihood per held-out bag, and the standard error of its difference from the best rule.
    models : dict
        The fitted `SoftORLogisticRegression` for every name.
    best : str
        The rule with the smallest BIC. A threshold of 1 is called "or".
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
        """One sentence that states which rule the data support, and how strongly."""
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
        text += f" (BIC is {lead:.1f} lower than for {second!r}"
        if self.held_out is not None and self.held_out_error is not None:
            index = int(np.argmax(self.held_out))
            gap = self.held_out[index] - self.held_out[self.names.index(self.best)]
            agrees = gap <= 2 * self.held_out_error[self.names.index(self.best)]
            text += "; held-out bags agree" if agrees else f", but held-out bags favor {self.names[index]!r}"
        return text + ")."

    def summary(self) -> str:
        """Return the comparison as a text table."""
        return as_text(self._parts())

    def _parts(self) -> list[str | Table]:
        rows: list[dict[str, Any]] = []
        for i, name in enumerate(self.names):
            log_likelihood, n_parameters = f"{self.log_likelihood[i]:.2f}", int(self.n_parameters[i])
            row: dict[str, Any] = {
                "rule": name,
                "BIC": f"{self.bic[i]:.1f}",
                "log-likelihood": log_likelihood,
            }
            row["parameters"] = n_parameters
            if self.held_out is not None and self.held_out_error is not None:
                row["held-out, per bag"] = f"{self.held_out[i]:.4f} ± {self.held_out_error[i]:.4f}"
            rows.append(row)
        return [Table("", rows), self.sentence]

    def plot(self, *, ax: Axes | None = None) -> Display:
        """Plot P(+ | n) for every rule, with the best one highlighted, and the expected numbers of bags.

        Parameters
        ----------
        ax : matplotlib axes, optional
            The axes to draw on; by default a new figure is created.

        Returns
        -------
        Display
            The plot, with the attributes `figure_` and `ax_`.
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
    """Determine how the label of a bag depends on the number of its positive instances.

    The function fits `SoftORLogisticRegression` with four rules: or, threshold, logistic and non-decreasing
    table. It compares them by BIC and by the likelihood of held-out bags.

    Parameters
    ----------
    X : Bags, list of arrays, 3-D or 2-D array
        The bags.
    y : array of shape (n_bags,)
        The labels of the bags.
    estimator : SoftORLogisticRegression, default=None
        The model to fit with every `rule`. None means ``alpha=0.1`` and two starts. To use random features or
        other preprocessing steps, transform `X` before the call.
    cv : int, splitter or None, default=5
        Number of stratified folds of bags, or a splitter. None skips the held-out likelihood and saves five
        sixths of the computation time of the default.
    random_state : int, RandomState or None, default=None
        Seed of the starts and folds.

    Returns
    -------
    RuleDiagnosis
        The result, with `sentence`, `summary()` and `plot()`.

    Notes
    -----
    If the features hardly separate positive from negative instances, a soft rule with certain instances and
    a sharp rule with uncertain instances explain the bags equally well, and no method can distinguish them.
    The differences in BIC are then small, and the sentence reports weak support.

    Examples
    --------
    >>> from bagwise import diagnose_rule, make_count_bags
    >>> data = make_count_bags(300, size=8, labeler=3, coef=[4.0, -4.0], random_state=0)
    >>> diagnosis = diagnose_rule(data.bags, data.y, cv=None, random_state=0)
    >>> print(diagnosis.sentence)
    The data clearly support the rule 'threshold': a bag is positive if it has at least 3 positive ...
    """
    rng = check_random_state(random_state)
    seed = int(rng.randint(np.iinfo(np.int32).max))
    # BIC compares maxima of the likelihood. The small penalty only keeps them finite.
    base = SoftORLogisticRegression(alpha=0.1, n_init=2) if estimator is None else estimator
    bags = clone(base)._read(X, reset=True)
    y = np.asarray(aligned("y", y, bags))
    if base.positive is None and y.dtype.kind not in "biuf":  # one direction for all rules and folds
        by_or = clone(base).set_params(rule="or", random_state=seed).fit(bags, y)
        base = clone(base).set_params(positive=by_or.positive_label_)
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
    """Return the log-likelihood of every bag under a model that was fitted without it."""
    held = cross_predict(model, bags, y, splits, outputs=["predict_log_proba"])
    log_likelihood = held.outputs["predict_log_proba"][np.arange(len(bags)), held.codes]
    # A rule can exclude a label that occurs. The limit prevents one such bag from deciding the comparison.
    return np.maximum(log_likelihood, np.log(1e-6))
