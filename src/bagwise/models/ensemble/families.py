"""The model families: their settings, their cost, and their selection for a data set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from bagwise.models.ensemble.kernel_part import Kernels
from bagwise.models.ensemble.linear_part import LinearStatistics
from bagwise.models.ensemble.machines import PENALTIES
from bagwise.models.ensemble.model_part import COSTS, N_TREES, InstanceModels, TreeModels, WitnessModels
from bagwise.models.ensemble.prototypes import PrototypeView
from bagwise.models.ensemble.sets import SetView
from bagwise.models.ensemble.vectors import DistanceView, RankedExtremesView, StatisticsView
from bagwise.similarity import available_memory

_SCALES, _SCALES_OF_INSTANCES = ("standard", "rank"), ("standard", "rank", "minmax")
# Number of n_bags x n_bags matrices that are in memory at the same time, and the largest fraction of the
# memory that they may use.
MATRICES, _SHARE = 26, 0.5
# With more bags than this, fitting SVMs to kernel matrices takes hours; with more instances than this,
# computing all instance pairs takes hours.
MOST_BAGS, MOST_INSTANCES = 5_000, 100_000


@dataclass(frozen=True)
class ModelFamily:
    """Family of similar models, with a small grid of settings.

    Attributes
    ----------
    title : str
        Description for logs and reports.
    members : tuple
        Models to fit; each has several settings.
    has_matrices, visits_pairs : bool
        Whether the family computes kernel matrices of all bags, and whether it visits all pairs of instances.
    n_witness_fits, n_trees : int
        Number of SVMs on instances and of trees, for every fold.
    """

    title: str
    members: tuple[Any, ...]
    has_matrices: bool = False
    visits_pairs: bool = False
    n_witness_fits: int = 0
    n_trees: int = 0


FAMILIES = {
    "extremes": ModelFamily(
        "RBF SVMs on the minimum and maximum of every feature",
        tuple(Kernels(StatisticsView(("min", "max"), scale)) for scale in _SCALES),
        has_matrices=True,
    ),
    "moments": ModelFamily(
        "RBF SVMs on the mean and standard deviation of every feature",
        tuple(Kernels(StatisticsView(("mean", "std"), scale)) for scale in _SCALES),
        has_matrices=True,
    ),
    "sets": ModelFamily(
        "SVMs on set kernels",
        tuple(Kernels(SetView(scale)) for scale in _SCALES_OF_INSTANCES),
        has_matrices=True,
        visits_pairs=True,
    ),
    "distances": ModelFamily(
        "RBF SVMs on distances to training bags",
        tuple(Kernels(DistanceView(scale)) for scale in _SCALES_OF_INSTANCES),
        has_matrices=True,
        visits_pairs=True,
    ),
    "prototypes": ModelFamily(
        "SVMs on similarities to instances of training bags",
        tuple(Kernels(PrototypeView(scale)) for scale in _SCALES_OF_INSTANCES),
        has_matrices=True,
    ),
    "ranks": ModelFamily(
        "RBF SVMs on the minimum and maximum of instance ranks",
        (Kernels(RankedExtremesView()),),
        has_matrices=True,
    ),
    "linear": ModelFamily(
        "logistic regression on statistics of every feature",
        tuple(LinearStatistics(scale) for scale in _SCALES),
    ),
    "instances": ModelFamily(
        "logistic regression on instances",
        tuple(InstanceModels(rule=rule) for rule in ("mean", "or")),
    ),
    "witnesses": ModelFamily(
        "MI-SVMs, in which one instance represents a positive bag",
        (WitnessModels(scale="minmax"), WitnessModels(scale="rank")),
        n_witness_fits=2 * len(COSTS),
    ),
    "trees": ModelFamily("gradient-boosted trees on instances", (TreeModels(),), n_trees=N_TREES),
}
_DEFAULT = ("extremes", "moments", "sets", "distances", "prototypes", "ranks")
_WITHOUT_PAIRS = ("extremes", "moments", "prototypes", "instances")
_STREAMING = ("linear", "instances")
# Families that can be fitted to instances in files, if they are passed by name.
_ON_FILES = ("extremes", "moments", *_STREAMING)
# Families with members that cannot learn from absence, and the maximum number of instances for kernel SVMs.
_STANDARD = ("instances", "witnesses", "trees")
_MOST_WITNESSES = 8_000


class Choice(NamedTuple):
    """Families to fit, and the reason why others are left out (empty if none are).

    With `both_directions`, models that are not symmetric in the classes are fitted with each class as the
    positive one. With `is_standard`, only the members that cannot learn from absence are fitted.
    """

    fitted: tuple[str, ...]
    reason: str = ""
    both_directions: bool = False
    is_standard: bool = False

    def members(self, name: str) -> tuple[Any, ...]:
        """Return the members of a family that are fitted."""
        members = FAMILIES[name].members
        directed = tuple(member for member in members if not getattr(member, "can_use_absence", True))
        if self.is_standard:
            return directed
        if not self.both_directions:
            return members
        return (*members, *(replace(member, is_reversed=True) for member in directed))


def choose(
    families: str | Sequence[str],
    n_bags: int,
    n_instances: int,
    *,
    is_held: bool,
    assumption: str | None = None,
) -> Choice:
    """Choose the families to fit, based on the size of the data.

    Parameters
    ----------
    families : "default" or sequence of str
        The parameter of the estimator. If it is a sequence of names, all of them are chosen.
    n_bags, n_instances : int
        Number of bags and of instances.
    is_held : bool
        Whether the instances are in memory.
    assumption : "standard" or None
        The parameter of the estimator.
    """
    if not isinstance(families, str):
        in_memory = [name for name in families if name not in _ON_FILES]
        if in_memory and not is_held:
            raise ValueError(
                f"families contains {in_memory[0]!r}, which needs all instances in memory; pass scan.load() "
                f"if they fit, or use families from {', '.join(map(repr, _ON_FILES))}."
            )
        return Choice(tuple(families), is_standard=assumption is not None)
    if assumption is not None:
        return _choose_standard(n_instances, is_held=is_held)
    needed, limit = 8.0 * MATRICES * n_bags**2, _SHARE * available_memory()
    reason = ""
    if not is_held:
        reason = "the instances are read from files and do not fit into memory"
    elif needed > limit:
        reason = (
            f"kernel matrices of {n_bags:,} bags take {needed / 1e9:,.2g} GB, more than half of the memory "
            f"({limit / 1e9:,.2g} GB)"
        )
    elif n_bags > MOST_BAGS:
        reason = f"fitting SVMs to kernel matrices of {n_bags:,} bags (more than {MOST_BAGS:,}) takes hours"
    if reason:
        return Choice(_STREAMING, f"{reason}; using families that stream the data instead of kernel families")
    if n_instances > MOST_INSTANCES:
        reason = (
            f"computing all pairs of {n_instances:,} instances (more than {MOST_INSTANCES:,}) takes hours; "
            "leaving out the families with set kernels and bag distances"
        )
        return Choice(_WITHOUT_PAIRS, reason)
    return Choice(_DEFAULT)


def _choose_standard(n_instances: int, *, is_held: bool) -> Choice:
    """Choose among the families with members that cannot learn from the absence of instances."""
    if not is_held:
        reason = (
            "the instances are read from files and do not fit into memory; only logistic regression votes"
        )
        return Choice(("instances",), reason, is_standard=True)
    if n_instances > MOST_INSTANCES:
        reason = (
            f"fitting trees and SVMs to {n_instances:,} instances (more than {MOST_INSTANCES:,}) takes hours"
        )
        return Choice(("instances",), f"{reason}; only logistic regression votes", is_standard=True)
    if n_instances > _MOST_WITNESSES:
        reason = f"fitting SVMs to {n_instances:,} instances (more than {_MOST_WITNESSES:,}) takes hours"
        return Choice(("instances", "trees"), f"{reason}; leaving out MI-SVMs", is_standard=True)
    return Choice(_STANDARD, is_standard=True)


def refuse_unknown(families: str | Sequence[str], assumption: str | None = None) -> None:
    """Raise an error if the parameter `families` contains unknown or repeated names.

    With an assumption, also raise an error for families without a member that respects it.
    """
    names = ", ".join(map(repr, FAMILIES))
    if isinstance(families, str):
        if families != "default":
            raise ValueError(f"families is {families!r}; expected 'default' or a list of {names}.")
        return
    if not len(families) or len(set(families)) < len(families):
        raise ValueError(f"families is {families!r}; expected one or more of {names}, without duplicates.")
    unknown = [name for name in families if name not in FAMILIES]
    if unknown:
        raise ValueError(f"families contains the unknown name {unknown[0]!r}; valid names are {names}.")
    other = [name for name in families if name not in _STANDARD]
    if assumption is not None and other:
        raise ValueError(
            f"families contains {other[0]!r}, which does not respect assumption={assumption!r}; expected "
            f"families from {', '.join(map(repr, _STANDARD))}."
        )


# Seconds measured on one core of a CPU from 2020: per instance pair; per pair and feature; per SVM and
# squared bag; fixed cost of an SVM; per instance value and pass.
_PAIR, _PRODUCT, _MACHINE, _LEAST, _VALUE = 1e-8, 1e-10, 2e-8, 7e-4, 1e-8
# Seconds per instance pair of an instance-level SVM; seconds per tree on a few thousand instances.
_WITNESS_PAIR, _TREE = 2e-8, 8e-3
_PASSES = 200  # passes over the instances in all folds, for a model that reads the data in blocks


class Cost(NamedTuple):
    """Estimated time of a fit on one core, and its peak memory in addition to the bags."""

    seconds: float
    bytes: float

    def __str__(self) -> str:
        long = f"{self.seconds:.0f} s" if self.seconds < 90 else f"{self.seconds / 60:.0f} minutes"
        return f"about {long} on one core and {max(1.0, self.bytes / 1e6):,.0f} MB in addition to the bags"


def estimate(choice: Choice, n_bags: int, n_instances: int, n_features: int, n_folds: int) -> Cost:
    """Estimate the cost of a fit, to the order of magnitude."""
    pairs = 0.5 * float(n_instances) ** 2 * (_PAIR + n_features * _PRODUCT)
    values = float(n_instances) * n_features
    seconds, most = 0.0, 0.0
    for name in choice.fitted:
        family = FAMILIES[name]
        n_parts = len(choice.members(name))
        if family.has_matrices:
            n_matrices = sum(len(member.view.names) for member in family.members)
            each = _LEAST + _MACHINE * n_bags**2
            seconds += (n_folds + 1) * n_matrices * len(PENALTIES) * each + 10 * n_parts * values * _VALUE
            most = max(most, 8.0 * MATRICES * n_bags**2)
        else:
            seconds += n_parts * _PASSES * values * _VALUE
        seconds += (n_folds + 1) * (
            family.n_witness_fits * _WITNESS_PAIR * n_instances**2 / 2
            + family.n_trees * (_TREE + 2 * values * _VALUE)
        )
        if family.visits_pairs:
            seconds += 2 * n_parts * pairs  # once without weights, once with them
    return Cost(seconds, most + 16.0 * values)
