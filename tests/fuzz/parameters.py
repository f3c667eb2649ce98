"""Random parameters of any estimator, drawn from its `_parameter_constraints`."""

from __future__ import annotations

import inspect
from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.preprocessing import StandardScaler

from bagwise import CountLogistic, CountTable, Threshold
from bagwise._core.sklearn_private import HasMethods, Interval, StrOptions
from bagwise.rules import Rule
from bagwise.testing import all_rules, example_of

# The probability that a parameter is drawn instead of keeping the value of the example.
_SHARE = 0.4
# Parameters that are never drawn, because they do not affect the results.
_KEPT = {"verbose", "n_jobs", "cache_size", "memory"}
# Values that the constraints do not define. A case must take milliseconds, so iterations, starts and folds
# are few.
_VALUES = {
    "max_iter": (1, 3, 30),
    "n_init": (1, 2),
    "cv": (2, 3),
    "max_passes": (1, 2),
    "tol": (1e-3, 1e-6),
    "n_clusters": (1, 3),
    "alphas": ((0.1,), (1.0, 0.01)),
    "statistics": (("min", "max"), ("mean", "std", "size"), ("median",)),
    "quantiles": ((), (0.0, 0.3, 1.0)),
    "degrees": ((1,), (1, 3)),
}
# Small values for parameters that are not drawn.
_QUICK = {"max_iter": 30, "n_init": 1, "n_candidates": 3}


def draw_estimator(cls: type[BaseEstimator], rng: np.random.Generator, classes=None) -> BaseEstimator:
    """Return an estimator with random parameters; `classes` are the labels for `class_weight`."""
    estimator = example_of(cls)
    has = estimator.get_params(deep=False)
    estimator.set_params(**{name: value for name, value in _QUICK.items() if name in has})
    for name, allowed in sorted(getattr(cls, "_parameter_constraints", {}).items()):
        if name not in has or name in _KEPT or not isinstance(allowed, list):
            continue
        if isinstance(has[name], BaseEstimator) and not isinstance(has[name], Rule):
            # A transformer of scikit-learn, or a nested bagwise estimator; only the latter is drawn.
            if hasattr(has[name], "_parameter_constraints") and type(has[name]).__module__.startswith(
                "bagwise"
            ):
                estimator.set_params(**{name: draw_estimator(type(has[name]), rng, classes)})
        elif rng.random() < _SHARE:
            value = _draw(name, allowed, rng, classes)
            if value is not _SAME:
                estimator.set_params(**{name: value})
    if estimator.get_params(deep=False).get("l1_ratio") and "rule" in has:
        estimator.set_params(max_iter=4)  # with a learned rule, the solver has nested loops
    return estimator


_SAME = object()


def _draw(name: str, allowed: list, rng, classes):
    if name in _VALUES:
        return _pick(rng, _VALUES[name])
    kind = allowed[rng.integers(len(allowed))]
    if isinstance(kind, StrOptions):
        return _pick(rng, sorted(kind.options - {"precomputed"}))
    if isinstance(kind, Interval):
        return _draw_value(kind, rng)
    if isinstance(kind, HasMethods):
        return StandardScaler() if "transform" in kind.methods else _SAME
    if kind == "boolean":
        return bool(rng.integers(2))
    if kind is None:
        return None
    if name == "class_weight" and kind is dict and classes is not None:
        return {label: float(rng.choice([0.5, 1.0, 7.0, 1e-6, 1e6])) for label in classes.tolist()}
    if kind is Rule:
        return draw_rule(rng)
    if kind == "random_state":
        return int(rng.integers(100))
    return _SAME


def _pick(rng, values):
    return values[rng.integers(len(values))]


def _draw_value(interval: Interval, rng):
    low = -np.inf if interval.left is None else float(interval.left)
    high = np.inf if interval.right is None else float(interval.right)
    if issubclass(interval.type, Integral):
        first = 0 if low == -np.inf else int(low) + (interval.closed in ("right", "neither"))
        return int(min(first + rng.integers(0, 6), high))
    value = float(rng.choice([10.0 ** rng.uniform(-6, 4), rng.uniform(0, 1)]))
    if low == -np.inf and rng.random() < 0.5:
        value = -value
    value = min(max(value, low), high)
    inside = low < value < high
    return value if inside or interval.closed == "both" else (1.0 if high > 1.0 else 0.5)


def draw_rule(rng, of: type[Rule] | None = None) -> Rule:
    """Draw a public rule, or a rule of a given class, with random parameters; some of them are left free."""
    cls = of or _pick(rng, all_rules())
    if cls is Threshold:
        return Threshold(int(rng.integers(1, 4)))
    if cls is CountTable and rng.random() < 0.5:
        return CountTable(rng.choice([0.0, 0.2, 0.7, 1.0], size=rng.integers(1, 5)).tolist())
    if cls is CountLogistic and rng.random() < 0.5:
        return CountLogistic(float(rng.normal() * 3), float(10 ** rng.uniform(-2, 2)))
    values = {}
    for name, parameter in inspect.signature(cls).parameters.items():
        if isinstance(parameter.default, float) and rng.random() < 0.5:
            values[name] = float(10 ** rng.uniform(-2, 2))
        elif isinstance(parameter.default, bool):
            values[name] = bool(rng.integers(2))
    return cls(**values)
