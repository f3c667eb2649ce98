"""PU-SKC (Bao et al. 2018): protocols, methods, and cells of Table 3."""

from __future__ import annotations

import time
import warnings
from functools import cache, partial
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, StratifiedShuffleSplit
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils import Bunch

from bagwise import datasets
from bagwise.exceptions import ClassPriorWarning
from reproduction.framework import Cell, Settings

PAPER = (
    "Bao, Sakai, Sato and Sugiyama (2018), Convex formulation of multiple instance learning from positive "
    "and unlabeled bags, Neural Networks 105"
)
DATASETS = ("musk1", "musk2", "elephant", "fox", "tiger")
PRIORS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
PROTOCOLS = ("printed", "clean")
METHODS = {
    "skc": "PU-SKC",
    "known": "PU-SKC, prior known",
    "lsdd": "LSDD",
    "dsdd": "DSDD",
    "pumil": "puMIL",
}
N_POSITIVE, N_UNLABELED, N_TEST = 20, 180, 200
BLOCK, N_BLOCKS = 5, 4

# Accuracies printed in Table 3, for the priors 0.1 to 0.7.
PRINTED = {
    "skc": {
        "musk1": (0.865, 0.844, 0.818, 0.776, 0.763, 0.735, 0.737),
        "musk2": (0.810, 0.802, 0.801, 0.724, 0.742, 0.706, 0.726),
        "elephant": (0.845, 0.783, 0.746, 0.701, 0.607, 0.528, 0.421),
        "fox": (0.840, 0.754, 0.689, 0.613, 0.538, 0.468, 0.430),
        "tiger": (0.839, 0.783, 0.729, 0.672, 0.584, 0.508, 0.410),
    },
    "lsdd": {
        "musk1": (0.928, 0.707, 0.622, 0.618, 0.553, 0.522, 0.538),
        "musk2": (0.702, 0.691, 0.621, 0.590, 0.522, 0.499, 0.508),
        "elephant": (0.734, 0.671, 0.652, 0.573, 0.552, 0.520, 0.602),
        "fox": (0.634, 0.689, 0.576, 0.542, 0.527, 0.538, 0.559),
        "tiger": (0.689, 0.695, 0.636, 0.596, 0.566, 0.530, 0.490),
    },
    "dsdd": {
        "musk1": (0.931, 0.876, 0.778, 0.708, 0.597, 0.505, 0.392),
        "musk2": (0.840, 0.789, 0.720, 0.621, 0.537, 0.466, 0.364),
        "elephant": (0.747, 0.715, 0.685, 0.608, 0.575, 0.503, 0.453),
        "fox": (0.717, 0.669, 0.615, 0.588, 0.545, 0.464, 0.430),
        "tiger": (0.730, 0.707, 0.651, 0.606, 0.540, 0.523, 0.463),
    },
    "pumil": {
        "musk1": (0.757, 0.733, 0.717, 0.699, 0.665, 0.649, 0.606),
        "musk2": (0.688, 0.730, 0.732, 0.704, 0.654, 0.637, 0.599),
        "elephant": (0.722, 0.686, 0.698, 0.642, 0.667, 0.614, 0.597),
        "fox": (0.561, 0.575, 0.544, 0.552, 0.547, 0.550, 0.536),
        "tiger": (0.706, 0.680, 0.659, 0.668, 0.609, 0.608, 0.585),
    },
}
# Assumed priors; each is used for all true priors, to explain the printed results on the three image sets.
ASSUMED = (0.05, 0.1, 0.15, 0.2, 0.3, 0.5)
IMAGES = ("elephant", "fox", "tiger")


@cache
def _fetched(dataset: str, standardised: bool = False) -> Any:
    data = getattr(datasets, f"fetch_{dataset}")()
    if standardised:
        data.bags = data.bags.with_instances(StandardScaler().fit_transform(data.bags.instances))
    return data


def draw(
    protocol: str,
    dataset: str,
    prior: float,
    seed: int,
    n_positive: int = N_POSITIVE,
    standardised: bool = False,
) -> Bunch:
    """Draw training and test bags: `train`, `y`, `test`, `truth`, and 5 folds within the training bags.

    "printed": bags are copied with noise (Musk to 10 times their number, images to 5 times), and training and
    test bags are drawn from all copies. "clean": the original bags are split in half, and each half is copied
    to the same number of bags; folds keep the copies of a bag together. `standardised`: features are
    standardized over all instances before copying.
    """
    data = _fetched(dataset, standardised)
    n_bags = len(data.y) * (10 if dataset.startswith("musk") else 5)
    # Make more copies if there are not enough positive bags.
    needed = n_positive + prior * (N_UNLABELED + N_TEST)
    n_bags = max(n_bags, int(1.2 * needed / np.mean(data.y)))
    if protocol == "printed":
        sides = [(np.arange(len(data.y)), N_UNLABELED + N_TEST)]
    else:
        halves = StratifiedShuffleSplit(1, train_size=0.5, random_state=seed)
        train, test = next(halves.split(data.y, data.y))
        sides = [(train, N_UNLABELED), (test, N_TEST)]
    drawn = []
    for side, (part, n_unlabeled) in enumerate(sides):
        counts = {"n_positive": 1 if side else n_positive, "n_unlabeled": n_unlabeled, "class_prior": prior}
        drawn.append(_copied_sample(data.bags[part], data.y[part], n_bags, counts, 2 * seed + side))
    sample, source = drawn[0]
    n_train = n_positive + N_UNLABELED
    y = sample.y[:n_train]
    folds: Any = 5
    if protocol == "printed":
        test, truth = sample.bags[n_train:], sample.y_true[n_train:]
    else:
        test, truth = drawn[1][0].bags[1:], drawn[1][0].y_true[1:]
        groups = StratifiedGroupKFold(5, shuffle=True, random_state=seed)
        folds = list(groups.split(y, y, groups=source[:n_train]))
    return Bunch(train=sample.bags[:n_train], y=y, test=test, truth=truth, folds=folds)


def _copied_sample(bags, y, n_bags: int, counts: dict, seed: int) -> tuple[Bunch, np.ndarray]:
    """Draw a sample from bags and their noisy copies; return it with the index of each original bag."""
    rng = np.random.RandomState(seed)
    source = np.append(np.arange(len(y)), rng.randint(len(y), size=n_bags - len(y)))
    # The draw depends only on labels, so only the copies that are drawn are computed.
    sample = datasets.make_positive_unlabeled(np.zeros((n_bags, 1)), y[source], **counts, random_state=seed)
    origin = source[sample.index]
    pairs = datasets.augment_bags(bags[origin], n_copies=1, random_state=seed).bags
    is_copy = sample.index >= len(y)
    return Bunch(
        bags=pairs[np.arange(len(origin)) + len(origin) * is_copy], y=sample.y, y_true=sample.y_true
    ), origin


def make_model(method: str, dataset: str, prior: float, seed: int, folds, quick: bool = False):
    """Make a model from the table, with the grids from section 5.2."""
    from bagwise.models import pu

    if method in ("skc", "known"):
        class_prior = prior if method == "known" else None
        return pu.PUSetKernelClassifierCV(class_prior=class_prior, cv=folds, random_state=seed)
    # The paper's widths, 1e-2 to 1e-6, are for unscaled features.
    grid = {"gammas": [1e-2, 1e-4, 1e-6], "alphas": [1.0, 1e-3, 1e-6], "cv": folds, "scale": None}
    if method == "lsdd":
        return pu.LSDDClassifierCV(**grid, random_state=seed)
    if method == "dsdd":
        return pu.DSDDClassifierCV(**grid, tol=1e-3, max_instances=200 if quick else 1000, random_state=seed)
    return pu.PUMILClassifier(
        n_candidates=5,
        max_iter=10,
        max_negatives=100 if dataset == "musk2" else 500,
        random_state=seed,
    )


def fit_quietly(model, X, y) -> Any:
    """Fit a model without warnings about its class prior; the report evaluates the estimates."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ClassPriorWarning)
        return model.fit(X, y)


def trials(
    protocol: str, dataset: str, prior: float, block: int, n_trials: int, seed: int, quick: bool
) -> list[dict]:
    """Return the accuracy and the run time of every method on a few draws."""
    rows = []
    for trial in range(BLOCK * block, BLOCK * block + n_trials):
        draw_seed = 1000 * seed + trial
        data = draw(protocol, dataset, prior, draw_seed)
        row: dict[str, Any] = {"positive": float(data.truth.mean())}
        for method in METHODS:
            model = make_model(method, dataset, prior, draw_seed, data.folds, quick)
            start = time.perf_counter()
            fit_quietly(model, data.train, data.y)
            row[f"{method}-seconds"] = time.perf_counter() - start
            row[method] = float(model.score(data.test, data.truth))
            if method == "skc":
                row["prior"] = model.class_prior_
        rows.append(row)
    return rows


def pumil_without_intercept(dataset: str, prior: float, n_trials: int, seed: int) -> list[float]:
    """Return accuracies of puMIL with the printed SVM (B.1) without intercept, under the printed protocol."""
    accuracies = []
    for trial in range(n_trials):
        draw_seed = 1000 * seed + trial
        data = draw("printed", dataset, prior, draw_seed)
        model = make_model("pumil", dataset, prior, draw_seed, data.folds).set_params(fit_intercept=False)
        accuracies.append(float(model.fit(data.train, data.y).score(data.test, data.truth)))
    return accuracies


def printed_estimate(bags, y, *, scaled: bool, degree: int, ridge: float) -> float:
    """Estimate the class prior as printed in section 3.3."""
    from bagwise.models.pu import pearson_class_prior
    from bagwise.similarity import minimax_kernel

    if scaled:
        bags = bags.with_instances(MinMaxScaler().fit_transform(bags.instances))
    return pearson_class_prior(
        bags, y, kernel=partial(minimax_kernel, degree=degree), ridge=ridge, as_printed=True
    )


def assumed_priors(dataset: str, prior: float, n_trials: int, seed: int) -> dict[str, Any]:
    """Return accuracies of PU-SKC with unscaled features and degree 1, for several assumed priors.

    The keys of the accuracies are the assumed priors; "printed" stands for the result of `printed_estimate`
    on scaled features with a ridge of 1. The results of `printed_estimate` are also returned.
    """
    from bagwise.models.pu import PUSetKernelClassifierCV
    from bagwise.similarity import minimax_kernel

    accuracies: dict[str, list[float]] = {key: [] for key in (*map(str, ASSUMED), "printed", "true")}
    estimates: dict[str, list[float]] = {"scaled": [], "raw 1": [], "raw 2": []}
    for trial in range(n_trials):
        data = draw("printed", dataset, prior, 1000 * seed + trial)
        sample = data.train, data.y
        estimates["scaled"].append(printed_estimate(*sample, scaled=True, degree=1, ridge=1.0))
        for degree in (1, 2):
            estimate = printed_estimate(*sample, scaled=False, degree=degree, ridge=1e5)
            estimates[f"raw {degree}"].append(estimate)
        priors = {str(assumed): assumed for assumed in ASSUMED} | {"true": prior}
        priors["printed"] = float(np.clip(estimates["scaled"][-1], 1e-3, 1 - 1e-3))
        for key, assumed in priors.items():
            model = PUSetKernelClassifierCV(
                minimax_kernel, class_prior=assumed, scale=None, cv=data.folds, random_state=trial
            ).fit(data.train, data.y)
            accuracies[key].append(float(model.score(data.test, data.truth)))
    return {"accuracies": accuracies, "estimates": estimates}


def cells(settings: Settings) -> list[Cell]:
    """Return cells with a few draws per data set and prior, and cells for PU-SKC with an assumed prior."""
    quick = settings.quick
    names, priors, n_blocks, n_trials = (
        (("musk1",), (0.3,), 1, 1) if quick else (DATASETS, PRIORS, N_BLOCKS, BLOCK)
    )
    all_cells = [
        Cell(
            f"{protocol}-{dataset}-{prior}-{block}",
            trials,
            {
                "protocol": protocol,
                "dataset": dataset,
                "prior": prior,
                "block": block,
                "n_trials": n_trials,
                "seed": settings.seed,
                "quick": quick,
            },
        )
        for block in range(n_blocks)
        for dataset in names
        for prior in priors
        for protocol in PROTOCOLS
    ]
    all_cells += [
        Cell(
            f"assumed-{dataset}-{prior}",
            assumed_priors,
            {"dataset": dataset, "prior": prior, "n_trials": 1 if quick else 5, "seed": settings.seed},
        )
        for dataset in (("elephant",) if quick else IMAGES)
        for prior in priors
    ]
    all_cells += [
        Cell(
            f"pumil-{dataset}-{prior}",
            pumil_without_intercept,
            {"dataset": dataset, "prior": prior, "n_trials": n_trials, "seed": settings.seed},
        )
        for dataset in names
        for prior in priors
    ]
    return all_cells
