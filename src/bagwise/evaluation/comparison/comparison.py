"""What `compare` gives."""

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
    """Models side by side, on the same folds: what `compare` gives.

    Attributes
    ----------
    results : list of ModelResult
        The models, in the order in which they were given.
    baselines : list of ModelResult
        Always the most frequent label, and logistic regression of the logarithm of a bag's size.
    scoring : tuple of str
        The scores. The first is what models are ordered by.
    classes_ : array
        The labels.
    y_ : array of shape (n_bags,)
        The labels of the bags, as they were learned.
    groups_ : array of shape (n_bags,) or None
        Their groups.
    from_unlabeled : bool
        Whether True marks positive bags, and False unlabeled ones.
    folds_ : list of (train, test)
        Numbers of bags, the same for all models; all folds of the first repeat, then those of the second.
    n_repeats : int
        How often all bags were cut into folds.
    assumption_ : Assumption or None
        What the data say of how instances make a label: its `sentence` and its `evidence`.
    notes_ : tuple of str
        What was said before anything ran: which models, why not others, and how long it would take.
    is_complete : bool
        False if Ctrl-C ended it: models have then fewer scores than there are splits.
    seed_ : int
        Give it as `random_state`, and all comes out the same.
    digest_ : str
        Of the bags and their labels, as ``training_digest_`` of a fitted model.
    versions_ : dict
        Of bagwise and what it stands on.
    code_ : str
        Python that repeats the comparison.

    See Also
    --------
    compare : makes it.

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
        """Models and baselines, by the first score, best first; those that failed at the end."""
        first = self.scoring[0]
        everybody = [*self.results, *self.baselines]
        return sorted(everybody, key=lambda one: (np.isnan(one.mean[first]), -one.mean[first]))

    @property
    def best(self) -> ModelResult | None:
        """The model with the best first score, baselines left out; None if all failed."""
        finished = [one for one in self.rows if not one.is_baseline and one.error is None]
        return finished[0] if finished else None

    @property
    def oof_(self) -> dict[str, np.ndarray | None]:
        """Probabilities or scores out of fold, by the name of the model."""
        return {one.name: one.oof for one in self.rows}

    def __getitem__(self, name: str) -> ModelResult:
        """Give a model, or a baseline, by its name."""
        for one in self.rows:
            if one.name == name:
                return one
        raise KeyError(f"there is no model {name!r}; there are {', '.join(repr(r.name) for r in self.rows)}.")

    def differences(self, scoring: str | None = None, *, against: str | None = None) -> list[Difference]:
        """Compare every model with one of them, by the differences of their scores on the same splits.

        Parameters
        ----------
        scoring : str, optional
            Which score; the first by default.
        against : str, optional
            The name of the model that the others are compared with; the best by default.

        Returns
        -------
        list of Difference
            Each with its mean, a 95 % interval and a p value of the corrected resampled t-test.
        """
        scoring = self.scoring[0] if scoring is None else scoring
        if scoring not in self.scoring:
            raise ValueError(f"scoring must be one of {', '.join(map(repr, self.scoring))}; got {scoring!r}.")
        reference = self.best if against is None else self[against]
        if reference is None:
            return []
        return paired_differences(self.rows, reference, scoring, self.folds_)

    def to_frame(self) -> Any:
        """Give a pandas frame with a row for every model, best first."""
        from bagwise.evaluation.comparison.table import as_frame

        return as_frame(self)

    def plot(self, scoring: str | None = None, *, ax: Any = None) -> Display:
        """Draw every model's score with its interval, and the scores of the splits behind it.

        Parameters
        ----------
        scoring : str, optional
            Which score; the first by default.
        ax : matplotlib axes, optional
            Where to draw; by default into a new figure.

        Returns
        -------
        Display
            With `figure_` and `ax_`.
        """
        from bagwise.evaluation.comparison.table import plot_comparison

        return plot_comparison(self, scoring, ax=ax)

    def report(self, path: Any, X: Any = None, y: Any = None) -> Any:
        """Write a page (HTML) that shows all of it, and with the bags more: see `bagwise.write_report`."""
        from bagwise.report import write_report

        return write_report(self, path, X, y)

    def __repr__(self) -> str:
        from bagwise.evaluation.comparison.table import as_text

        return as_text(self)
