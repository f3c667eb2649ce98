"""Causes of differences from Foulds and Smyth's table 1: experiments with one changed setting each."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bagwise.data.blocks import Block, Blocks, Sums
from bagwise.families.parts import statistics_of
from bagwise.models.mixture import MIMixture
from bagwise.models.mixture.model import BagMixture, MixtureParams
from reproduction.framework import Cell, Settings, Table, with_error
from reproduction.labelled import fit_labelled
from reproduction.mimm import SUPERVISION
from reproduction.mimm_data import Fold, family_of, folds

# Changes to the features, the start, the prior, the iteration limit, or the use of the fit; for data columns
# ("raw"), principal components ("pca_train"), or both.
CAUSES: dict[str, dict[str, Any]] = {
    "as in the table": {},
    "kappa = 0": {"prior": "free_mean"},
    "prior per feature": {"prior": "per_feature", "raw": "raw"},
    "standardised": {"raw": "standard"},
    "scaled by their ranges": {"raw": "range", "pca_train": "pca_range"},
    "not standardized": {"pca_train": "pca_plain"},
    "without constant columns": {"raw": "varying"},
    "without columns of variance below 0.1": {"raw": "spread", "pca_train": "pca_spread"},
    "without these, start from random shares": {
        "raw": "spread",
        "pca_train": "pca_spread",
        "start": "shares",
    },
    "start from random shares": {"start": "shares"},
    "start from the labels": {"start": "labels", "n_init": 1},
    "one start": {"n_init": 1},
    "5 iterations": {"max_iter": 5},
    "test bags in the fit, unlabeled": {"transductive": True},
    "threshold tuned on the training bags": {"tuned": True},
    "without columns of variance below 0.001": {"raw": "spread0.001", "pca_train": "pca_spread0.001"},
    "without columns of variance below 0.5": {"raw": "spread0.5", "pca_train": "pca_spread0.5"},
}
CAUSE_DATASETS = ("musk1", "elephant", "tiger")
COMPARED = ("MIMM", "MM")

MILR_CAUSES: dict[str, dict[str, Any]] = {
    "as in the table": {"alpha": 0.01},
    "penalty 1": {"alpha": 1.0},
    "penalty 1e-6": {"alpha": 1e-6},
    "as in WEKA: BFGS": {"max_iter": 400},
    "the same, scaled with equal instance weights": {"max_iter": 400, "equal_bags": False},
    "the same, 20 iterations": {"max_iter": 20},
}


# ---------------------------------------------------------------------- starts


def start_from_shares(share):
    """Make a start that assigns a share of every unlabeled instance to the positive class.

    Parameters
    ----------
    share : callable
        ``(n, rng) -> (n,)``.
    """

    def start(model: BagMixture, blocks: Blocks, rng) -> MixtureParams:
        positive = share(blocks.n_instances, rng)
        sums, weights = blocks.total(_shared_out, model, blocks.begins, positive)
        if model.fixed_sums is not None:
            sums[1] += model.fixed_sums.sums
            weights[1] += model.fixed_sums.weight
        components = model.family.mstep_all(sums, weights, model.prior)
        log_rate = np.log(weights[::-1] / weights.sum())
        return MixtureParams(log_rate, np.zeros(2), components, 1, model.rule)

    return start


def _shared_out(block: Block, model: BagMixture, begins, positive) -> Sums:
    """Return sums and weights of both classes, with the given shares of instances in one class."""
    mine = positive[block.rows(begins)]
    shares = mine, 1 - mine
    sums = np.stack([statistics_of(model.family, block.X, part, None, model.prior) for part in shares])
    return Sums((sums, np.array([part.sum() for part in shares])))


STARTS = {
    "instances": BagMixture.draw_either_way_round,
    "shares": start_from_shares(lambda n, rng: rng.random_sample(n)),
    "labels": start_from_shares(lambda n, rng: np.ones(n)),
}


# ---------------------------------------------------------------------- one cross-validation


def changed_accuracy(
    dataset,
    features,
    method,
    repeat,
    n_folds,
    seed,
    n_init,
    prior="default",
    start="instances",
    max_iter=200,
    transductive=False,
    tuned=False,
) -> float:
    """Return the accuracy of a mixture in one cross-validation, with one changed setting (see `CAUSES`)."""
    from bagwise.families import FraleyRaftery

    right, total = 0, 0
    for fold in folds(dataset, features, repeat, n_folds, seed):
        bags, y, train, test = fold
        model = MIMixture(
            family_of(features),
            prior=FraleyRaftery(kappa=0.0) if prior == "free_mean" else prior,
            n_init=n_init,
            max_iter=max_iter,
            random_state=seed + repeat,
            supervision=SUPERVISION[method],
        )
        labels, used = y, train
        if transductive:
            # MM ignores the labels of positive training bags; the test bags are unlabeled for both models.
            seen_labels = np.where(y == 1, -1, 0) if method == "MM" else y
            labels, used = np.where(np.isin(np.arange(len(y)), test), -1, seen_labels), np.arange(len(y))
            model.set_params(supervision="bags")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # 200 iterations, as in the paper
            fit_labelled(model, bags[used], labels[used], STARTS[start])
        threshold = _best_threshold(model.decision_function(bags[train]), y[train]) if tuned else 0.0
        right += int(((model.decision_function(bags[test]) > threshold) == (y[test] == 1)).sum())
        total += len(test)
    return right / total


def _best_threshold(scores, y) -> float:
    """Return the threshold with the highest accuracy, midway between two neighboring scores."""
    ordered = np.unique(scores)
    middles = 0.5 * (ordered[1:] + ordered[:-1]) if len(ordered) > 1 else ordered
    return float(middles[np.argmax([np.mean((scores > middle) == (y == 1)) for middle in middles])])


def logistic_accuracy(
    dataset, repeat, n_folds, seed, alpha=None, max_iter=None, equal_bags=True
) -> dict[str, float]:
    """Return test and training accuracy of MILR on raw features; with `max_iter`, as in WEKA."""
    from bagwise.models.linear_model import MILogisticRegression

    right, total, fitted = 0, 0, []
    for fold in folds(dataset, "raw", repeat, n_folds, seed):
        if max_iter is not None:
            predicted = _as_weka(fold, max_iter, equal_bags)
        else:
            model = MILogisticRegression(
                alpha=alpha, l1_ratio=0.0, n_init=1, tol=1e-3, random_state=seed + repeat
            )
            predicted = model.fit(fold.bags[fold.train], fold.y[fold.train]).predict(fold.bags)
        is_right = predicted == fold.y
        right += int(is_right[fold.test].sum())
        total += len(fold.test)
        fitted.append(is_right[fold.train].mean())
    return {"test": right / total, "train": float(np.mean(fitted))}


def _as_weka(fold: Fold, max_iter: int, equal_bags: bool) -> np.ndarray:
    """Fit MILR as in WEKA and predict all bags: a ridge of 1e-6, and BFGS from the intercept-only model.

    WEKA standardizes features with equal bag weights; without `equal_bags`, instances have equal weights.
    """
    from scipy.optimize import minimize

    from bagwise import Or

    train, labels = fold.bags[fold.train], fold.y[fold.train].astype(np.int8)
    weight = np.repeat(1.0 / train.sizes if equal_bags else np.ones(len(train)), train.sizes)
    weight = weight / weight.sum()
    mean = weight @ train.instances
    variance = weight @ np.square(train.instances - mean)
    scale = np.sqrt(np.where(variance > 0, variance, 1.0))

    def design(bags) -> np.ndarray:
        return np.column_stack([np.ones(bags.n_instances), (bags.instances - mean) / scale])

    X, ridge = design(train), 1e-6 * np.r_[0.0, np.ones(train.n_features)]

    def objective(beta):
        log_likelihood, by_log_odds = Or().gradient(X @ beta, train.offsets, labels)
        value = -log_likelihood.sum() + ridge @ np.square(beta)
        return value, -(by_log_odds @ X) + 2 * ridge * beta

    start = np.zeros(X.shape[1])
    start[0] = np.log((1.0 + (labels == 1).sum()) / (1.0 + (labels == 0).sum()))
    result = minimize(objective, start, jac=True, method="BFGS", options={"maxiter": max_iter})
    log_proba = Or().log_proba(design(fold.bags) @ result.x, fold.bags.offsets)
    return (log_proba[:, 1] > log_proba[:, 0]).astype(int)


# ---------------------------------------------------------------------- cells and tables


def cause_cells(settings: Settings) -> list[Cell]:
    """Return a cell for every change, data set, kind of features, method and repeat."""
    common = {"n_folds": 2 if settings.quick else 10, "seed": settings.seed}
    cells = []
    for repeat in range(1 if settings.quick else 3):
        for dataset in CAUSE_DATASETS[: 1 if settings.quick else None]:
            for i, change in enumerate(CAUSES.values()):
                for kind in _kinds(dataset, change):
                    for method in COMPARED:
                        arguments = {k: v for k, v in change.items() if k not in ("raw", "pca_train")}
                        arguments = {"n_init": 1 if settings.quick else 10} | arguments
                        arguments |= {"dataset": dataset, "features": change.get(kind, kind)}
                        arguments |= {"method": method, "repeat": repeat}
                        key = f"cause{i}-{dataset}-{kind}-{method}-{repeat}"
                        cells.append(Cell(key, changed_accuracy, common | arguments))
            for i, change in enumerate(MILR_CAUSES.values()):
                arguments = common | change | {"dataset": dataset, "repeat": repeat}
                cells.append(Cell(f"milr{i}-{dataset}-{repeat}", logistic_accuracy, arguments))
    return cells


def _kinds(dataset: str, change: Mapping[str, Any]) -> list[str]:
    """Return the kinds of features that a change applies to; Musk has no constant columns."""
    if dataset == "musk1" and change.get("raw", "").startswith(("varying", "spread")):
        return []
    return [kind for kind in ("raw", "pca_train") if kind in change] or ["raw", "pca_train"]


def cause_tables(
    grouped: Mapping[str, list[Any]], printed: Mapping[tuple[str, str], Sequence[float]]
) -> list[Table]:
    """Make the tables of the changes, for mixtures and for logistic regression."""
    rows, logistic = [], []
    for dataset in CAUSE_DATASETS:
        for kind, suffix in (("raw", ""), ("pca_train", " (PCA)")):
            title = dataset.capitalize() + suffix
            for i, changed in enumerate(CAUSES):
                keys = {method: f"cause{i}-{dataset}-{kind}-{method}" for method in COMPARED}
                if keys["MIMM"] in grouped:
                    accuracies = {method: with_error(grouped[key]) for method, key in keys.items()}
                    rows.append({"data": title, "changed": changed, **accuracies})
            if f"cause0-{dataset}-{kind}-MIMM" in grouped:
                paper = {m: f"{v:.1f}" for m, v in zip(COMPARED, printed[dataset, kind], strict=False)}
                rows.append({"data": title, "changed": "the paper", **paper})
        for i, changed in enumerate(MILR_CAUSES):
            if runs := grouped.get(f"milr{i}-{dataset}"):
                both = {part: with_error([run[part] for run in runs]) for part in ("test", "train")}
                logistic.append(
                    {"data": dataset.capitalize(), "fit": changed, "MILR": both["test"]}
                    | {"on training bags": both["train"], "the paper": f"{printed[dataset, 'raw'][5]:.1f}"}
                )
    return [
        Table("Causes of differences: mixtures", rows, CAUSES_NOTE),
        Table("Causes of differences: logistic regression on raw features", logistic, MILR_NOTE),
    ]


CAUSES_NOTE = (
    "Each row is based on three shuffles. The rows show the effect of a setting on the result, not the "
    "settings of the paper. We selected them from about eighty settings and combinations that we tried "
    "(other priors, starts, scalings and thresholds). With this many trials, some results are close to a "
    "printed value by chance.\n\n"
    "*Constant columns*: 106 to 120 of the 230 columns in the image sets are constant, and others differ "
    "from zero in only a few instances. `MIMixture` leaves constant columns out, but these experiments "
    "include them, as in the paper. With a shared prior on the variances, a constant column adds a "
    "constant to the log-odds; this constant grows with the class imbalance. After standardization, a "
    "nearly constant column has the same influence on the principal components as any other column. "
    "Depending on the treatment of these columns, the accuracy of MIMM is between 55 and 77 on Tiger (PCA) "
    "and between 61 and 74 on Elephant (PCA). The printed values are within these ranges. On Tiger (PCA), "
    "MIMM without columns of variance below 0.1 reaches exactly the printed accuracy of 60.8. This depends "
    "on the threshold: the other values tried, 0.001 and 0.5, lead to different results (last rows). On the "
    "raw features of Elephant, MIMM gains 2.5 points without constant columns. It gains 5 of the 6 missing "
    "points without columns of variance below 0.1 and with a start from random shares.\n\n"
    "*Starts*: with random shares, every instance of a positive bag starts with a share between 0 and 1 in "
    "the positive class. With a start from the labels, all these instances start as positive. Both starts "
    "increase the accuracy of MM on Musk1 (PCA) from 69 to over 80, and that of MIMM on Elephant (PCA) by "
    "four points. In more than half of the folds, these starts lead to a mode with a lower posterior, which "
    "classifies better.\n\n"
    "*Prior*: MM on the raw features of Musk1 collapses because of the prior. The shared prior on 166 "
    "variances has the weight of 171 instances. In the best mode, the positive class has the prior's "
    "variances and almost no instances. With one prior per feature, MM is within three points of the "
    "printed value, but MIMM drops to 63, below its printed value.\n\n"
    "*Threshold*: tuning the threshold for the bag probability on the training bags gains up to ten points. "
    "If features are not Gaussian, the odds are poorly calibrated, and every shift of the odds changes the "
    "accuracy.\n\n"
    "No setting reproduces the paper's difference of six to nine points between MIMM and MM on Elephant, "
    "and no setting reproduces all results on a data set."
)
MILR_NOTE = (
    "With a very small penalty, the models fit all training bags. The optimum is then poorly determined, "
    "and the result depends on the optimizer. The paper's baseline is WEKA's implementation, a quasi-Newton "
    "method with a ridge of 1e-6. A similar fit agrees with the printed value on Musk1. On Elephant, it "
    "differs by two points, which is within its error. On Tiger, three of the six points remain unexplained."
)
