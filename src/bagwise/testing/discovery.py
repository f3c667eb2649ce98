"""Discovery of the public estimators and rules, so that new classes are tested automatically."""

from __future__ import annotations

import inspect
from importlib.util import find_spec
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.preprocessing import StandardScaler

import bagwise
from bagwise.rules import Link, Rule


def all_estimators() -> list[type[BaseEstimator]]:
    """Return all classes exported by `bagwise` that predict or transform bags, sorted by name.

    Classes whose fit needs a package that is not installed (``_requires``) are omitted.
    """
    from bagwise.models.base import BagEstimator

    return _exported(
        lambda cls: (
            issubclass(cls, BagEstimator)
            and (hasattr(cls, "predict") or hasattr(cls, "transform"))
            and can_be_fitted(cls)
        )
    )


def can_be_fitted(cls: type[BaseEstimator]) -> bool:
    """Return whether the packages that a class needs for `fit` are installed."""
    return all(find_spec(package) for package in getattr(cls, "_requires", ()))


def all_rules() -> list[type[Rule]]:
    """Return all rules and links exported by `bagwise`, sorted by name."""
    return _exported(lambda cls: issubclass(cls, Rule) and cls not in (Rule, Link))


def _exported(wanted: Any) -> list[type]:
    public = (getattr(bagwise, name) for name in bagwise.__all__)
    return [item for item in public if inspect.isclass(item) and wanted(item)]


def example_of(cls: type[BaseEstimator]) -> BaseEstimator:
    """Return an object of the class for tests, with default values and simple required parameters.

    A required `estimator` becomes a `MILogisticRegression`, a required `transformer` a `StandardScaler`. A
    class can define `_example_parameters`, so that its tests are faster than with the default values.
    """
    simple = {
        # Equivalent fits are compared up to seven digits, for which the default tolerance is too large.
        "estimator": lambda: bagwise.MILogisticRegression(tol=1e-9, random_state=0),
        "transformer": StandardScaler,
    }
    arguments = dict(getattr(cls, "_example_parameters", {}))
    for name, parameter in inspect.signature(cls).parameters.items():
        if name in arguments:
            continue
        if parameter.default is inspect.Parameter.empty:
            arguments[name] = simple[name]()
        elif name == "random_state":
            arguments[name] = 0
    return cls(**arguments)
