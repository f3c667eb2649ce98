"""`compare`: compare models on the same cross-validation folds."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from bagwise.data.bags import aligned
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
    """Compare models on the same cross-validation folds, to choose one of them.

    In each split, each model is fitted to the training bags and evaluated on the held-out bags. Settings such
    as the penalty or the number of components are chosen using only the training bags, so held-out bags have
    no influence on them. Two baselines are included: the most frequent label, and a logistic regression on
    the logarithm of the bag size. A model that is not better than the baselines has learned nothing from
    instances.

    Use this function before you decide on a model. The score of the best model is slightly optimistic,
    because the model was selected by the same score.

    Parameters
    ----------
    X : Bags, ScannedBags, list of arrays, 3-D or 2-D array
        The bags.
    y : array of shape (n_bags,)
        Bag labels of two or more classes. If labels are missing (NaN, None) and all other labels are equal,
        the bags are treated as positive and unlabeled.
    models : "default", "positive_unlabeled", list of str or dict, default="default"
        A dict contains names and unfitted classifiers. A search such as `GridSearchCV` is nested: it uses
        only the training bags. "default" uses one or two models of each family that suit the data, with small
        grids of settings. `Comparison.notes_` lists the models that are left out, with the reason. A list
        selects some of them by the names in the table, such as ``["ensemble", "MI-SVM"]``.
        "positive_unlabeled" does the same for positive and unlabeled bags. The greater label marks positive
        bags.
    groups : array of shape (n_bags,), optional
        Group of each bag, such as the patient. Bags of one group are never on both sides of a split. This
        also applies to splits of the training bags.
    cv : int, splitter or list of (train, test), default=5
        Number of stratified folds; fewer folds are used if a class has fewer bags (or groups). Splitters and
        lists of splits work as in scikit-learn, but must not hold out a bag more than once.
    repeats : int, default=1
        Number of times to repeat the cross-validation with new folds.
    scoring : str, sequence of str, or dict from names to scorers
        Scores as in scikit-learn; higher is better. The first score ranks the models and chooses their
        settings. Scorers receive stored predictions instead of models. With more than two classes, the
        default uses "roc_auc_ovr". With unlabeled bags, it uses "neg_pu_risk" and "roc_auc", the AUC of
        positive against unlabeled bags.
    n_jobs : int or None, default=None
        Number of splits that are computed in parallel, in joblib processes. The result does not depend on it.
    checkpoint : path, optional
        A file that stores finished splits. After a crash, the same call resumes from it.
    random_state : int, RandomState or None, default=None
        Seed for the folds, and for models that have no seed.
    verbose : int, default=1
        If 1, show the models, the estimated time and the progress on standard error; if 0, show nothing.

    Returns
    -------
    Comparison
        Printed as a table; see `differences()`, `to_frame()`, `plot()`, `report(path)` and `assumption_`.

    Raises
    ------
    ComparisonInterrupted
        After Ctrl-C. The exception is a KeyboardInterrupt. Its attribute `comparison` contains the finished
        models.

    Notes
    -----
    **Intervals** (95 %) describe the score of the fitted models on more bags like these. They do not include
    the variation between training sets. Proportions use Wilson's interval. The AUC uses Newcombe's interval,
    for pairs within folds. Log loss and Brier score use the interval of a mean over bags. Grouped bags are
    down-weighted by the design effect. Other scores use the interval of the corrected t-test over splits.
    With repeats, the limits are averaged over the repeats, so the interval is slightly too wide.

    **Differences** are paired by split and tested with the corrected resampled t-test of Nadeau and Bengio
    (2003). Training sets overlap, so a plain t-test would report false differences too often. The p values
    are not corrected for multiple comparisons: among pairs of equally good models, one in twenty has p <
    0.05. docs/compare.md contains the coverage and the error rates in simulations.

    **Cost**: the number of models times the number of splits times the cost of one model including its
    search, about 10 fits. The models are listed first. The time is then estimated from fits to a few small
    bags (accurate to a factor of three), shown before the start and stored in `notes_`.

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
    >>> [result.name for result in comparison.results], comparison.oof_["or"].shape
    (['or', 'mean'], (1, 60))
    """
    with shared_live_line():
        reporter = Reporter("compare", verbose)
        y, groups = aligned("y", y, X), aligned("groups", groups, X)
        plan = Plan(X, y, models, groups, cv, repeats, scoring, random_state)
        return perform(
            plan, n_jobs=n_jobs, checkpoint=checkpoint, note=reporter.log, progress=reporter.progress
        )
