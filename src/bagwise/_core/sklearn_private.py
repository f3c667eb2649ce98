"""The only file that imports or calls private parts of scikit-learn; a test enforces this.

The comment or docstring of each name states what we need it for and whether a public name could replace it.
Private functions with a public replacement are not imported: `OneToOneFeatureMixin.get_feature_names_out`
checks feature names, and `make_pipeline` names steps. `available_if` is public but untyped; it is typed here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from sklearn.base import BaseEstimator, _fit_context

# Used in `_parameter_constraints`, the table of allowed parameter values, which leads to uniform messages:
# "The 'tol' parameter of X must be ... Got ... instead." The table itself is a private convention. No
# public replacement.
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

# Counts votes for pairs of classes and breaks ties by score, so that one-vs-one works as in scikit-learn. No
# public replacement.
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

# Decorator for methods that exist only under a condition. The public decorator is untyped, so a decorated
# method would lose its types.
if TYPE_CHECKING:

    def available_if(check: Callable[[Any], bool]) -> Callable[[_Fit], _Fit]: ...

else:
    from sklearn.utils.metaestimators import available_if


def validated(fit: _Fit) -> _Fit:
    """Decorate `fit` to check `_parameter_constraints` first, and to skip this check in nested estimators.

    No public replacement.
    """
    return _fit_context(prefer_skip_nested_validation=True)(fit)


def check_parameters(estimator: BaseEstimator) -> None:
    """Check `_parameter_constraints` of an estimator that a function creates from its arguments.

    The only public alternative is to call `fit`.
    """
    estimator._validate_params()
