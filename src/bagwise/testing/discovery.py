"""Find the public estimators and rules, so that a new one is tested without being listed anywhere."""

from __future__ import annotations

import inspect
from importlib.util import find_spec
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.preprocessing import StandardScaler

import bagwise
from bagwise.rules import Link, Rule


def all_estimators() -> list[type[BaseEstimator]]:
    """All classes that `bagwise` exports and that predict or transform bags, by name.

    Those that need a package to be fitted (``_requires``) are left out where it is not installed.
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
    """Whether the packages that a class needs to be fitted are installed."""
    return all(find_spec(package) for package in getattr(cls, "_requires", ()))


def all_rules() -> list[type[Rule]]:
    """All rules and links that `bagwise` exports, by name."""
    return _exported(lambda cls: issubclass(cls, Rule) and cls not in (Rule, Link))


def _exported(wanted: Any) -> list[type]:
    public = (getattr(bagwise, name) for name in bagwise.__all__)
    return [item for item in public if inspect.isclass(item) and wanted(item)]


def example_of(cls: type[BaseEstimator]) -> BaseEstimator:
    """Make an instance for tests: defaults, and something simple for what has none.

    A required `estimator` becomes a `MILogisticRegression`, a required `transformer` a `StandardScaler`. A
    class may have `_example_parameters`, to be tested with less work than its defaults do.
    """
    simple = {
        # Fits that are equivalent are compared to seven digits, which the default tolerance does not promise.
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
