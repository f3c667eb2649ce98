"""The one file that knows what scikit-learn keeps private; no other imports or calls it (a test sees to it).

Each name says what we need it for, and what public name would replace it. What has a public replacement is
not here: `OneToOneFeatureMixin.get_feature_names_out` checks feature names, `make_pipeline` names steps. One
that is public, but has no types, gets them here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from sklearn.base import BaseEstimator, _fit_context

# The words of `_parameter_constraints`, the table of what each parameter may be, for uniform messages:
# "The 'tol' parameter of X must be ... Got ... instead." The table is itself a private convention. No
# public replacement.
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

# Votes of pairs of classes, with their scores to break ties, so that one-vs-one means here what it means in
# scikit-learn. No public replacement.
from sklearn.utils.multiclass import _ovr_decision_function as votes_and_scores

__all__ = [
    "HasMethods",
    "Interval",
    "StrOptions",
    "available_if",
    "check_parameters",
    "validated",
    "votes_and_scores",
]

_Fit = TypeVar("_Fit", bound=Callable[..., Any])

# For methods that an estimator has or lacks. It is public, but has no types, and would take a method's own.
if TYPE_CHECKING:

    def available_if(check: Callable[[Any], bool]) -> Callable[[_Fit], _Fit]: ...

else:
    from sklearn.utils.metaestimators import available_if


def validated(fit: _Fit) -> _Fit:
    """Decorate `fit` so that it checks `_parameter_constraints` first, once for nested estimators.

    No public replacement.
    """
    return _fit_context(prefer_skip_nested_validation=True)(fit)


def check_parameters(estimator: BaseEstimator) -> None:
    """Check `_parameter_constraints` of an estimator that a function makes of its arguments.

    No public replacement but a `fit`.
    """
    estimator._validate_params()
