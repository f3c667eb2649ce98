"""What a fit will cost, before it begins."""

from __future__ import annotations

from typing import NamedTuple

from bagwise.models.ensemble.families import FAMILIES, MATRICES, Choice
from bagwise.models.ensemble.machines import PENALTIES

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
