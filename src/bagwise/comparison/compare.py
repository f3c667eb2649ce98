"""`compare`: models side by side on the same folds."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike

from bagwise._version import __version__
from bagwise.base import BagsLike
from bagwise.base.digest import training_digest
from bagwise.comparison.assemble import assemble
from bagwise.comparison.baselines import majority, size_alone
from bagwise.comparison.cells import run_cell
from bagwise.comparison.comparison import Comparison
from bagwise.comparison.plan import cut_folds, read_labelled, read_models, read_seed, seeded
from bagwise.comparison.portfolio import Entry
from bagwise.comparison.scoring import DEFAULT_SCORING, read_scoring
from bagwise.comparison.suited import suited_models


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
) -> Comparison:
    """Hold models against each other on the same folds, every choice nested inside the training bags.

    Examples
    --------
    >>> from bagwise import MILogisticRegression, compare, load_digit_bags
    >>> data = load_digit_bags(60, random_state=0)
    >>> models = {"or": MILogisticRegression(), "mean": MILogisticRegression("mean")}
    >>> comparison = compare(data.bags, data.y, models, random_state=0)
    >>> [one.name for one in comparison.results]
    ['or', 'mean']
    """
    data = read_labelled(X, y, groups)
    scorers = read_scoring(scoring, len(data.classes))
    seed = read_seed(random_state)
    folds = cut_folds(data, cv, repeats, seed)
    if isinstance(models, str):
        entries, notes = suited_models(models, data, folds, next(iter(scorers)), seed)
    else:
        entries = [
            Entry(name, "given", None, seeded(model, seed)) for name, model in read_models(models).items()
        ]
        notes = []
    below = [
        Entry("most frequent label", "baseline", None, majority()),
        Entry("size of the bag", "baseline", None, size_alone()),
    ]
    tasks = [(entry, split) for entry in [*below, *entries] for split in folds]
    cells = Parallel(n_jobs=n_jobs)(
        delayed(run_cell)(entry.estimator, data.bags, data.y, data.groups, *split) for entry, split in tasks
    )
    rows = [
        assemble(entry, cells[k * len(folds) : (k + 1) * len(folds)], data, folds, int(repeats), scorers)
        for k, entry in enumerate([*below, *entries])
    ]
    return Comparison(
        results=rows[len(below) :],
        baselines=rows[: len(below)],
        scoring=tuple(scorers),
        classes_=data.classes,
        y_=data.y,
        groups_=data.groups,
        folds_=folds,
        n_repeats=int(repeats),
        assumption_=None,
        notes_=tuple(notes),
        is_complete=True,
        seed_=seed,
        digest_=training_digest(data.bags, data.y, np.ones(len(data.y))),
        versions_=_versions(),
        code_=f"compare(X, y, cv={cv!r}, repeats={repeats}, random_state={seed})",
    )


def _versions() -> dict[str, str]:
    from importlib.metadata import version

    known = {name: version(name) for name in ("numpy", "scipy", "scikit-learn", "numba")}
    return {"bagwise": __version__, "python": platform.python_version(), **known}
