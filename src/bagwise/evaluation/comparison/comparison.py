"""`Comparison`: the result of `compare`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bagwise.evaluation.comparison.assumption import Assumption
from bagwise.evaluation.comparison.differences import Difference, paired_differences
from bagwise.evaluation.comparison.results import ModelResult

if TYPE_CHECKING:
    from bagwise._display.pictures import Display


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Results of models on the same cross-validation folds, returned by `compare`.

    Attributes
    ----------
    results : list of ModelResult
        The models, in the order of `models`.
    baselines : list of ModelResult
        The most frequent label, and logistic regression on the logarithm of the bag size.
    scoring : tuple of str
        Names of the scores. The first one ranks the models.
    classes_ : array
        The class labels.
    y_ : array of shape (n_bags,)
        The bag labels used for training.
    groups_ : array of shape (n_bags,) or None
        Group of each bag.
    from_unlabeled : bool
        Whether the bags are positive and unlabeled. The label True then marks positive bags.
    folds_ : list of (train, test)
        Indices of bags. The splits are the same for all models and sorted by repeat.
    n_repeats : int
        Number of repeats of the cross-validation.
    assumption_ : Assumption or None
        The assumption about bag labels that the data support: its `sentence` and its `evidence`.
    notes_ : tuple of str
        Notes from before the start: the models, the models left out with the reason, and the estimated time.
    is_complete : bool
        False if Ctrl-C stopped the comparison. It then contains only models with results for all splits.
    seed_ : int
        The seed. Passed as `random_state`, it reproduces the comparison.
    digest_ : str
        Digest of the bags and their labels, like ``training_digest_`` of a fitted model.
    versions_ : dict
        Versions of bagwise, Python and the main dependencies.
    code_ : str
        Python code that repeats the comparison.

    See Also
    --------
    compare : Compare models on the same cross-validation folds.

    Examples
    --------
    >>> from bagwise import MILogisticRegression, compare, make_noisy_or_bags
    >>> data = make_noisy_or_bags(60, random_state=0)
    >>> models = {"or": MILogisticRegression(n_init=1)}
    >>> comparison = compare(data.bags, data.y, models, random_state=0, verbose=0)
    >>> len(comparison.folds_), comparison.is_complete, comparison.scoring[0] in str(comparison)
    (5, True, True)
    """

    results: list[ModelResult]
    baselines: list[ModelResult]
    scoring: tuple[str, ...]
    classes_: np.ndarray
    y_: np.ndarray
    groups_: np.ndarray | None
    from_unlabeled: bool
    folds_: list[tuple[np.ndarray, np.ndarray]]
    n_repeats: int
    assumption_: Assumption | Any  # or None
    notes_: tuple[str, ...]
    is_complete: bool
    seed_: int
    digest_: str
    versions_: dict[str, str]
    code_: str

    @property
    def rows(self) -> list[ModelResult]:
        """Models and baselines, sorted by the first score, best first; failed models are last."""
        first = self.scoring[0]
        all_results = [*self.results, *self.baselines]
        return sorted(all_results, key=lambda result: (np.isnan(result.mean[first]), -result.mean[first]))

    @property
    def best(self) -> ModelResult | None:
        """Model with the best value of the first score, without the baselines; None if all models failed."""
        finished = [result for result in self.rows if not result.is_baseline and result.error is None]
        return finished[0] if finished else None

    @property
    def oof_(self) -> dict[str, np.ndarray | None]:
        """Out-of-fold probabilities or scores, by model name."""
        return {result.name: result.oof for result in self.rows}

    def __getitem__(self, name: str) -> ModelResult:
        """Return the result of a model or baseline by its name."""
        for result in self.rows:
            if result.name == name:
                return result
        raise KeyError(f"there is no model {name!r}; expected {', '.join(repr(r.name) for r in self.rows)}.")

    def differences(self, scoring: str | None = None, *, against: str | None = None) -> list[Difference]:
        """Compare all models with a reference model by their score differences on the same splits.

        Parameters
        ----------
        scoring : str, optional
            Name of the score; by default the first one.
        against : str, optional
            Name of the reference model; by default the best model.

        Returns
        -------
        list of Difference
            Difference of the scores on all held-out bags, 95 % interval and p value (corrected resampled
            t-test) of each model.
        """
        scoring = self.scoring[0] if scoring is None else scoring
        if scoring not in self.scoring:
            raise ValueError(f"scoring must be one of {', '.join(map(repr, self.scoring))}; got {scoring!r}.")
        reference = self.best if against is None else self[against]
        if reference is None:
            return []
        return paired_differences(self.rows, reference, scoring, self.folds_)

    def to_frame(self) -> Any:
        """Return a pandas data frame with one row per model, best first."""
        from bagwise.evaluation.comparison.table import as_frame

        return as_frame(self)

    def plot(self, scoring: str | None = None, *, ax: Any = None) -> Display:
        """Plot the score of each model with its interval and the scores of the splits.

        Parameters
        ----------
        scoring : str, optional
            Name of the score; by default the first one.
        ax : matplotlib axes, optional
            Axes to draw into; by default those of a new figure.

        Returns
        -------
        Display
            Display with the attributes `figure_` and `ax_`.
        """
        from bagwise.evaluation.comparison.table import plot_comparison

        return plot_comparison(self, scoring, ax=ax)

    def report(self, path: Any, X: Any = None, y: Any = None) -> Any:
        """Write an HTML report, with more details if the bags are passed: see `bagwise.write_report`."""
        from bagwise.report import write_report

        return write_report(self, path, X, y)

    def __repr__(self) -> str:
        from bagwise.evaluation.comparison.table import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        from bagwise._display.notebook import as_html
        from bagwise.evaluation.comparison.table import as_table, remarks

        return as_html([as_table(self), *remarks(self)])
