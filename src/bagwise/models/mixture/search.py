"""EM under one rule or several, from all starts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from bagwise.models.mixture.build import Ground, build_model
from bagwise.models.mixture.model import Start
from bagwise.rules import Rule
from bagwise.solvers.control import Control
from bagwise.solvers.em import EMResult, run_em
from bagwise.solvers.result import SolverResult, best_of

# Rules in a row that may be worse than the best before the search for a better one ends.
_PATIENCE = 2


def search(
    ground: Ground,
    rules: Sequence[Rule],
    control: Control,
    *,
    n_init: int,
    rng: np.random.RandomState,
    n_jobs: int | None = None,
    on_start: Callable[[int, int, SolverResult], None] | None = None,
    start: Start | None = None,
    keeps_cost: bool = False,
) -> list[EMResult]:
    """Fit under one rule after the other, and give the results of the best, one for every start.

    Parameters
    ----------
    ground : Ground
        What all fits stand on.
    rules : sequence of Rule
        Alternatives in order, such as thresholds: when some in a row have been worse than the best, so are
        the rest.
    control, n_init, rng, n_jobs, on_start
        As in `run_em`.
    start : callable, optional
        Where EM begins, as in `BagMixture`.
    keeps_cost : bool
        As in `BagMixture`.
    """
    tried: list[list[EMResult]] = []
    for number, rule in enumerate(rules):
        model, unknown = build_model(ground, rule, start, keeps_cost=keeps_cost)
        tried.append(
            run_em(
                model,
                unknown,
                control.within(f"rule {number + 1}"),
                n_init=n_init,
                rng=rng,
                n_jobs=n_jobs,
                on_start=on_start,
            )
        )
        if control.is_stopped or _place_of_best(tried) < len(tried) - _PATIENCE:
            break
    return tried[_place_of_best(tried)]


def _place_of_best(tried: list[list[EMResult]]) -> int:
    return int(np.argmin([best_of(results).value for results in tried]))
