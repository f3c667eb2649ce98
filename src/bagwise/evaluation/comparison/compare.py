"""`compare`: models side by side on the same folds."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from bagwise.data.types import BagsLike
from bagwise.evaluation.comparison.comparison import Comparison
from bagwise.evaluation.comparison.perform import Plan, perform
from bagwise.evaluation.comparison.scoring import DEFAULT_SCORING
from bagwise.solvers.reporting import Reporter, shared_live_line


def compare(
    X: BagsLike,
    y: ArrayLike,
    models: Any = "default",
    *,
    groups: ArrayLike | None = None,
    cv: Any = 5,
    repeats: int = 1,
    scoring: Any = DEFAULT_SCORING,
    n_jobs: int | None = None,
    checkpoint: Any = None,
    random_state: Any = None,
    verbose: int = 1,
) -> Comparison:
    """Hold models against each other on the same folds, to see which one to use.

    Every model is fitted to the training bags of every split and judged on the others. Whatever it chooses
    (penalties, numbers of components) it chooses inside its training bags, so that no held-out bag has a say
    in it. Two baselines stand beside them: always the most frequent label, and a logistic regression of the
    logarithm of a bag's size. A model that is no better than these has learned nothing from instances.

    Use it before deciding on a model. It does not say how good the winner is once it was picked as the best
    of many by these very scores: that is a little less than its row shows.

    Parameters
    ----------
    X : Bags, ScannedBags, list of arrays, 3-D or 2-D array
        The bags.
    y : array of shape (n_bags,)
        Their labels, of two classes or more. Where labels are missing (NaN, None) and all others are one,
        bags are positive and unlabeled.
    models : "default", "positive_unlabeled" or dict, default="default"
        Names and classifiers, not fitted; of the latter, a search such as `GridSearchCV` is nested by itself.
        "default" takes one or two of every family that suit the data (`Comparison.notes_` says which are left
        out, and why), with small grids of settings. "positive_unlabeled" does so where the greater label
        marks positive bags, and the other unlabeled ones.
    groups : array of shape (n_bags,), optional
        Bags of one group (a patient) are never on both sides of a split, in splits inside training bags
        neither.
    cv : int, splitter or list of (train, test), default=5
        Stratified folds, fewer if a class has fewer bags (or groups); or what scikit-learn takes, if it holds
        out no bag twice.
    repeats : int, default=1
        How often all bags are cut into folds anew.
    scoring : str, sequence of str, or dict from names to scorers
        Scores, higher is better, as in scikit-learn. The first orders the models, and chooses their settings.
        Scorers are shown predictions, not models. With more than two classes the default takes "roc_auc_ovr";
        with unlabeled bags "roc_auc" of positive against unlabeled bags, and "neg_pu_risk".
    n_jobs : int or None, default=None
        Splits computed at the same time, by joblib in processes. The result does not depend on it.
    checkpoint : path, optional
        A file that remembers what has finished: after a crash the same call goes on from there.
    random_state : int, RandomState or None, default=None
        Draws folds and whatever models draw, where these have no seed of their own.
    verbose : int, default=1
        1 says on standard error what will run and how long it may take, and how far it is; 0 is silent.

    Returns
    -------
    Comparison
        A table when printed; `differences()`, `to_frame()`, `plot()`, `report(path)`, `assumption_`.

    Raises
    ------
    ComparisonInterrupted
        A KeyboardInterrupt, at Ctrl-C: what has finished is its `comparison`.

    Notes
    -----
    **Intervals** (95 %) say how well the models that were fitted here would do on more bags like these; they
    leave out how another training set would change the models. Shares have Wilson's interval, the AUC
    Newcombe's (of pairs inside folds), log loss and Brier score that of a mean over bags; bags of one group
    count for as many as the spread between groups says. Other scores have the interval of the corrected
    t-test over splits. With repeats, ends are means over them, which is a little too wide.

    **Differences** are paired, split by split, and tested by the corrected resampled t-test of Nadeau and
    Bengio (2003): training sets overlap, and a plain t-test would find differences that are not there. Its
    p values are of one pair: of many pairs that do not differ, one in twenty falls below 0.05.
    docs/compare.md has the coverage and the error rates that simulations found.

    **Cost**: number of models times splits times what a model costs with its choices, about 10 fits each. An
    estimate, from fits to a few bags, is in `notes_` and said before anything else runs.

    References
    ----------
    C. Nadeau and Y. Bengio (2003), Inference for the generalization error, Machine Learning 52, 239-281.
    P. Bayle, A. Bayle, L. Janson and L. Mackey (2020), Cross-validation confidence intervals for test error,
    NeurIPS 33.

    Examples
    --------
    >>> from bagwise import MILogisticRegression, compare, load_digit_bags
    >>> data = load_digit_bags(60, random_state=0)
    >>> models = {"or": MILogisticRegression(), "mean": MILogisticRegression("mean")}
    >>> comparison = compare(data.bags, data.y, models, random_state=0, verbose=0)
    >>> [one.name for one in comparison.results], comparison.oof_["or"].shape
    (['or', 'mean'], (1, 60))
    """
    with shared_live_line():
        reporter = Reporter("compare", verbose)
        plan = Plan(X, y, models, groups, cv, repeats, scoring, random_state)
        return perform(
            plan, n_jobs=n_jobs, checkpoint=checkpoint, note=reporter.log, progress=reporter.progress
        )
