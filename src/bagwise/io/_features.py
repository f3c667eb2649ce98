"""Selection of the features to read, by name or from a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bagwise.data.bags import Bags
from bagwise.data.bags.parts import as_python


def wanted_features(features: Sequence[str] | None, like: Any) -> list[str] | None:
    """Return the names of the features to read; None if they are not specified.

    Parameters
    ----------
    features : sequence of str or None
        The names.
    like : fitted estimator, Bags, ScannedBags or None
        The object whose features are read. The object can be without feature names.
    """
    if features is not None and like is not None:
        raise ValueError("features and like both specify which features to read; pass only one of them.")
    if isinstance(features, str):
        raise ValueError(f"features is {features!r}; expected a list of names, such as [{features!r}].")
    if features is None and like is not None:
        features = _names_of(like)
    if features is None:
        return None
    names = [str(name) for name in features]
    if not names:
        raise ValueError("features is empty; expected the names of one or more columns.")
    if len(set(names)) < len(names):
        raise ValueError(f"features contains {next(n for n in names if names.count(n) > 1)!r} twice.")
    return names


def _names_of(like: Any) -> Sequence[str] | None:
    if hasattr(like, "feature_names"):
        return like.feature_names
    if not hasattr(like, "get_params"):
        raise TypeError(f"like is {like!r}; expected a fitted model or bags.")
    if not hasattr(like, "n_features_in_"):
        raise ValueError(
            f"like is a {type(like).__name__} that is not fitted; fit it, or name the features "
            "(features=[...])."
        )
    return getattr(like, "feature_names_in_", None)


def with_features(bags: Bags, names: list[str], where: str) -> Bags:
    """Return bags with these features, in this order.

    They are selected from the features and from the numeric bag and instance columns of `bags`. Features
    that are not selected become instance columns.
    """
    stored = None if bags.feature_names is None else bags.feature_names.tolist()
    if stored == names:
        return bags
    if stored is None:
        raise ValueError(
            f"{where} has features without names, so {names[0]!r} cannot be selected; store the file with "
            "feature names, or omit the names to read the features in their stored order."
        )
    columns = {name: bags.instances[:, [i]] for i, name in enumerate(stored)}
    if set(names) <= set(stored):
        instances = bags.instances[:, [stored.index(name) for name in names]]
    else:
        sides = {**bags.instance_columns, **{n: v[bags.bag_index] for n, v in bags.bag_columns.items()}}
        columns = {
            **{name: values.reshape(-1, 1) for name, values in _numeric_columns(sides).items()},
            **columns,
        }
        absent = [name for name in names if name not in columns]
        if absent:
            has = ", ".join(map(repr, list(columns)[:8]))
            raise ValueError(
                f"{where} has no numeric column {absent[0]!r} for a feature; its numeric columns are {has}."
            )
        if not isinstance(bags.instances, np.ndarray):
            raise ValueError(
                f"{where} has sparse features, which do not include all of {names!r}; columns cannot be "
                "added to sparse features."
            )
        instances = np.hstack([columns[name] for name in names])
    left = [name for name in stored if name not in names]
    if isinstance(bags.instances, np.ndarray):
        others = {name: np.ascontiguousarray(columns[name][:, 0]) for name in left}
    else:
        others = {}
    return Bags(
        instances,
        bags.offsets,
        ids=bags._ids,
        feature_names=names,
        instance_columns={n: v for n, v in bags.instance_columns.items() if n not in names} | others,
        bag_columns={n: v for n, v in bags.bag_columns.items() if n not in names},
    )


def _numeric_columns(columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: v for name, v in columns.items() if v.ndim == 1 and v.dtype.kind in "biuf"}


def refuse_other_count(bags: Bags, like: Any, where: str) -> None:
    """Raise an error if the number of features differs from that of a model without feature names."""
    expected = as_python(getattr(like, "n_features_in_", None) or getattr(like, "n_features", None))
    if expected is not None and bags.n_features != expected:
        raise ValueError(
            f"{where} has {bags.n_features} features, but {type(like).__name__} has {expected} features "
            "without names; name the features to read: features=[...]."
        )
