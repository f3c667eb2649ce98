"""The families of models: what is in each, what it needs and costs, and which of them are taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from bagwise.models.ensemble.kernel_part import Kernels
from bagwise.models.ensemble.linear_part import LinearStatistics
from bagwise.models.ensemble.machines import PENALTIES
from bagwise.models.ensemble.model_part import InstanceModels
from bagwise.models.ensemble.prototypes import PrototypeView
from bagwise.models.ensemble.sets import SetView
from bagwise.models.ensemble.vectors import DistanceView, RankedExtremesView, StatisticsView
from bagwise.similarity import available_memory

_SCALES, _SCALES_OF_INSTANCES = ("standard", "rank"), ("standard", "rank", "minmax")
# Matrices of all bags that are in memory at the same time, and the share of it that they may have.
MATRICES, _SHARE = 26, 0.5
# More bags than these, and machines on their matrices take hours; more instances, and all pairs of them do.
MOST_BAGS, MOST_INSTANCES = 5_000, 100_000


@dataclass(frozen=True)
class Family:
    """Models of one kind, each with a small grid of settings.

    Attributes
    ----------
    title : str
        What they are, in words.
    members : tuple
        What is fitted; each has several settings.
    has_matrices, visits_pairs : bool
        Whether there are matrices of all bags, and whether all pairs of instances are visited.
    """

    title: str
    members: tuple[Any, ...]
    has_matrices: bool = False
    visits_pairs: bool = False


FAMILIES = {
    "extremes": Family(
        "Gaussian machines on minima and maxima of every feature",
        tuple(Kernels(StatisticsView(("min", "max"), scale)) for scale in _SCALES),
        has_matrices=True,
    ),
    "moments": Family(
        "Gaussian machines on means and spreads of every feature",
        tuple(Kernels(StatisticsView(("mean", "std"), scale)) for scale in _SCALES),
        has_matrices=True,
    ),
    "sets": Family(
        "machines on kernels of sets",
        tuple(Kernels(SetView(scale)) for scale in _SCALES_OF_INSTANCES),
        has_matrices=True,
        visits_pairs=True,
    ),
    "distances": Family(
        "Gaussian machines on distances to training bags",
        tuple(Kernels(DistanceView(scale)) for scale in _SCALES_OF_INSTANCES),
        has_matrices=True,
        visits_pairs=True,
    ),
    "prototypes": Family(
        "machines on nearness to instances of training bags",
        tuple(Kernels(PrototypeView(scale)) for scale in _SCALES_OF_INSTANCES),
        has_matrices=True,
    ),
    "ranks": Family(
        "Gaussian machines on minima and maxima of ranks of instances",
        (Kernels(RankedExtremesView()),),
        has_matrices=True,
    ),
    "linear": Family(
        "logistic regression of statistics of every feature",
        tuple(LinearStatistics(scale) for scale in _SCALES),
    ),
    "instances": Family(
        "logistic regression of instances",
        tuple(InstanceModels(rule) for rule in ("mean", "or")),
    ),
}
_DEFAULT = ("extremes", "moments", "sets", "distances", "prototypes", "ranks")
_WITHOUT_PAIRS = ("extremes", "moments", "prototypes", "instances")
_STREAMING = ("linear", "instances")


class Choice(NamedTuple):
    """Which families are fitted, and why others are left out, in a sentence or ""."""

    fitted: tuple[str, ...]
    reason: str = ""


def choose(families: str | Sequence[str], n_bags: int, n_instances: int, *, is_held: bool) -> Choice:
    """Choose the families of a fit, before anything is computed.

    Parameters
    ----------
    families : "default" or sequence of str
        As it was given; names are all fitted.
    n_bags, n_instances : int
        How many there are.
    is_held : bool
        Whether the instances are in memory.
    """
    if not isinstance(families, str):
        return Choice(tuple(families))
    needed, limit = 8.0 * MATRICES * n_bags**2, _SHARE * available_memory()
    reason = ""
    if not is_held:
        reason = "the instances lie in files and are not held in memory"
    elif needed > limit:
        reason = (
            f"matrices of {n_bags:,} bags take {needed / 1e9:,.2g} GB, and half of the memory is "
            f"{limit / 1e9:,.2g} GB"
        )
    elif n_bags > MOST_BAGS:
        reason = f"machines on matrices of {n_bags:,} bags, more than {MOST_BAGS:,}, take hours"
    if reason:
        return Choice(_STREAMING, f"{reason}: families that stream take the place of kernels")
    if n_instances > MOST_INSTANCES:
        reason = (
            f"there are {n_instances:,} instances, and all pairs of more than {MOST_INSTANCES:,} take long: "
            "kernels of sets and distances of bags are left out"
        )
        return Choice(_WITHOUT_PAIRS, reason)
    return Choice(_DEFAULT)


def refuse_unknown(families: str | Sequence[str]) -> None:
    """Refuse names that are no families."""
    known = ", ".join(map(repr, FAMILIES))
    if isinstance(families, str):
        if families != "default":
            raise ValueError(f"families is {families!r}; expected 'default', or a list of some of {known}.")
        return
    if not len(families) or len(set(families)) < len(families):
        raise ValueError(f"families is {families!r}; expected different ones, at least one, of {known}.")
    unknown = [name for name in families if name not in FAMILIES]
    if unknown:
        raise ValueError(f"families has {unknown[0]!r}; expected some of {known}.")


# Seconds on one core of 2020, measured: a pair of instances beside a product of two features, a machine by
# the square of its bags, and beside that; a value of an instance in a pass.
_PAIR, _PRODUCT, _MACHINE, _LEAST, _VALUE = 1e-8, 1e-10, 2e-8, 7e-4, 1e-8
_PASSES = 200  # over the instances, of all folds, by the models that stream


class Cost(NamedTuple):
    """About how long a fit takes on one core, and the most memory that it adds."""

    seconds: float
    bytes: float

    def __str__(self) -> str:
        long = f"{self.seconds:.0f} s" if self.seconds < 90 else f"{self.seconds / 60:.0f} minutes"
        return f"about {long} on one core, and {max(1.0, self.bytes / 1e6):,.0f} MB beside the bags"


def estimate(choice: Choice, n_bags: int, n_instances: int, n_features: int, n_folds: int) -> Cost:
    """Estimate what a fit costs: the order of magnitude, not the last third."""
    pairs = 0.5 * float(n_instances) ** 2 * (_PAIR + n_features * _PRODUCT)
    values = float(n_instances) * n_features
    seconds, most = 0.0, 0.0
    for name in choice.fitted:
        family = FAMILIES[name]
        n_parts = len(family.members)
        if family.has_matrices:
            n_matrices = sum(len(member.view.names) for member in family.members)
            each = _LEAST + _MACHINE * n_bags**2
            seconds += (n_folds + 1) * n_matrices * len(PENALTIES) * each + 10 * n_parts * values * _VALUE
            most = max(most, 8.0 * MATRICES * n_bags**2)
        else:
            seconds += n_parts * _PASSES * values * _VALUE
        if family.visits_pairs:
            seconds += 2 * n_parts * pairs  # once plain, once with weights
    return Cost(seconds, most + 16.0 * values)
