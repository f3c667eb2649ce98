"""What is known of a model that somebody gives: its family, and what it takes a label to depend on."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from bagwise.evaluation.comparison.portfolio import COUNT, ONE, SHARE, WHOLE, Entry

# Families by the package or module of `bagwise.models` that defines a class; modules come first.
_FAMILIES = {
    "linear_model": "linear model",
    "mixture": "mixture",
    "prototypes.diverse_density": "diverse density",
    "prototypes.emdd": "diverse density",
    "prototypes.apr": "box",
    "prototypes": "prototypes",
    "svm": "kernel machine",
    "wrappers.single_instance": "single instance",
    "trees": "boosting",
    "neighbors": "neighbors",
    "pu": "kernel machine",
    "embedding": "embedding",
}
_OF_RULES = {"or": ONE, "max": ONE, "softmax": ONE, "mean": SHARE, "geometric_mean": SHARE}
_OF_RULES |= {"threshold": COUNT, "count_logistic": COUNT, "count_table": COUNT}
_OF_FAMILIES = {
    "diverse density": ONE,
    "prototypes": WHOLE,
    "neighbors": WHOLE,
    "box": ONE,
    "embedding": WHOLE,
}
_OF_CLASSES = {"MISVC": ONE, "InstanceMISVC": ONE, "MissSVC": ONE, "SparseMISVC": ONE, "SetKernelSVC": WHOLE}


def entry_of(name: str, estimator: Any, seed: int) -> Entry:
    """Make a row of a model: its open seeds are set, so that a fit can be repeated."""
    core = _core(estimator)
    module = type(core).__module__
    family = next(
        (name for part, name in _FAMILIES.items() if f"{module}.".startswith(f"bagwise.models.{part}.")),
        "given",
    )
    rule = getattr(core, "rule", None)
    assumes = _OF_RULES.get(rule) if isinstance(rule, str) else None
    assumes = assumes or _OF_CLASSES.get(type(core).__name__) or _OF_FAMILIES.get(family)
    return Entry(name, family, assumes, _seeded(estimator, seed))


def _core(estimator: Any) -> Any:
    """Look through searches and pipelines: what turns bags into vectors, or else the last step."""
    if hasattr(estimator, "refit") and hasattr(estimator, "estimator"):
        return _core(estimator.estimator)
    for _, step in getattr(estimator, "steps", ()):
        if ".embedding." in type(step).__module__ or ".prototypes." in type(step).__module__:
            return step
    steps = getattr(estimator, "steps", None)
    return _core(steps[-1][1]) if steps else estimator


def _seeded(estimator: Any, seed: int) -> Any:
    estimator = clone(estimator)
    open_seeds = {
        name: seed
        for name, value in estimator.get_params().items()
        if name.rpartition("__")[2] == "random_state" and value is None
    }
    return estimator.set_params(**open_seeds)
