"""Data frames in and out, pandas or polars alike (by narwhals)."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np

from bagwise.bags import Bags, as_bags


def bags_from_frame(frame, *, bag: str, features=None) -> Bags:
    """Group the rows of a data frame into bags; `Bags.from_frame` documents it."""
    import narwhals as nw

    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError:
        raise TypeError(
            f"from_frame takes a pandas or polars data frame; got {type(frame).__name__}. "
            "For arrays there is Bags.from_groups(X, bag_ids)."
        ) from None
    columns = table.columns
    wanted = [bag] if features is None else [bag, *features]
    absent = [name for name in wanted if name not in columns]
    if absent:
        raise ValueError(f"the frame has no column {absent[0]!r}; it has {columns}.")
    if features is not None and bag in features:
        raise ValueError(f"the bag column {bag!r} cannot be a feature as well.")

    others = [name for name in columns if name != bag and name not in (features or ())]
    rows = Bags.from_groups(
        np.empty((len(table), 0)),
        table.get_column(bag).to_numpy(),
        instance_columns={name: table.get_column(name).to_numpy() for name in others},
    )
    sides = rows.instance_columns
    of_bags = [name for name in others if _describes_bags(sides[name], rows.offsets)]
    if features is None:
        if len(rows) == rows.n_instances:
            raise ValueError(
                "every bag has one instance, so columns that describe bags (such as a label) cannot be "
                "told from features; name the features: from_frame(..., features=[...])."
            )
        schema = table.schema
        features = [
            name
            for name in others
            if name not in of_bags and (schema[name].is_numeric() or schema[name] == nw.Boolean)
        ]
    matrix = table.select(list(features)).to_numpy() if features else np.empty((len(table), 0))
    if not (np.issubdtype(matrix.dtype, np.number) or matrix.dtype == bool):
        try:
            matrix = matrix.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"features must be numeric columns; got {features} of the types "
                f"{[str(table.schema[name]) for name in features]}."
            ) from None
    per_instance = {k: v for k, v in sides.items() if k not in features and k not in of_bags}
    per_bag = {k: sides[k][rows.offsets[:-1]] for k in of_bags if k not in features}
    bags = Bags(
        matrix[rows.source_rows],
        rows.offsets,
        ids=rows.ids,
        feature_names=features,
        instance_columns=per_instance,
        bag_columns=per_bag,
    )
    return bags._replace(source_rows=rows.source_rows, n_source_rows=len(table))


def _describes_bags(values: np.ndarray, offsets: np.ndarray) -> bool:
    """Whether a column is constant inside every bag, but not everywhere."""
    changes = values[1:] != values[:-1]
    at_border = np.zeros(len(changes), dtype=bool)
    at_border[offsets[1:-1] - 1] = True
    return bool(changes.any() and not changes[~at_border].any())


def instance_frame(model, bags, y=None, *, features: bool = False, backend: str | None = None):
    """Tabulate what a fitted model says of every instance, one row each.

    Parameters
    ----------
    model : fitted estimator
        With `predict_proba_instances`, or `decision_function_instances`.
    bags : Bags, or anything that a fit takes
        The bags to look at.
    y : array of shape (n_bags,), optional
        The labels of the bags. Adds a column `posterior`: the probability that the instance is positive
        *given the label of its bag*, which answers who made a bag positive.
    features : bool, default=False
        Whether the features are columns too.
    backend : "pandas" or "polars", optional
        The kind of data frame; by default pandas if it is installed, else polars.

    Returns
    -------
    data frame
        `bag` (its id), `instance` (the place in its bag, from 0), the side columns of the bags,
        `bag_probability`, `instance_probability` (`..._score` for models without probabilities), and
        `rank`, 1 for the most positive instance of each bag.

    Examples
    --------
    >>> from bagwise import MILogisticRegression, instance_frame, make_noisy_or_bags
    >>> data = make_noisy_or_bags(50, random_state=0)
    >>> model = MILogisticRegression().fit(data.bags, data.y)
    >>> list(instance_frame(model, data.bags).columns)
    ['bag', 'instance', 'bag_probability', 'instance_probability', 'rank']
    """
    import narwhals as nw

    bags = as_bags(bags)
    bag_index = bags.bag_index
    values, kind = _instance_values(model, bags)
    columns = {
        "bag": bags.ids[bag_index],
        "instance": np.arange(bags.n_instances) - bags.offsets[bag_index],
    }
    scores = {
        f"bag_{kind}": (
            model.predict_proba(bags)[:, 1] if kind == "probability" else model.decision_function(bags)
        )[bag_index],
        f"instance_{kind}": values,
    }
    if y is not None:
        scores["posterior"] = model.posterior_instances(bags, y)
    scores["rank"] = _rank_in_bag(values, bags)

    side = {name: column[bag_index] for name, column in bags.bag_columns.items()}
    side.update(bags.instance_columns)
    if features:
        side.update(_feature_columns(bags))
    for name, column in side.items():
        while name in columns or name in scores:
            name += "_"
        flat = [column] if column.ndim == 1 else column.reshape(len(column), -1).T
        names = [name] if column.ndim == 1 else [f"{name}_{i}" for i in range(len(flat))]
        columns.update(zip(names, flat, strict=True))
    columns.update(scores)
    return nw.from_dict(columns, backend=_frame_backend(backend)).to_native()


def key_instances(model, bags, y=None, *, k: int = 3, features: bool = False, backend=None):
    """Tabulate the `k` most positive instances of every bag, best first.

    Parameters and columns are those of `instance_frame`. Ranks follow the instance's own probability, so
    they do not depend on `y`.

    Examples
    --------
    >>> from bagwise import MILogisticRegression, key_instances, make_noisy_or_bags
    >>> data = make_noisy_or_bags(50, random_state=0)
    >>> model = MILogisticRegression().fit(data.bags, data.y)
    >>> len(key_instances(model, data.bags, k=1))
    50
    """
    import narwhals as nw

    if not k >= 1:
        raise ValueError(f"k must be at least 1; got {k!r}.")
    table = nw.from_native(instance_frame(model, bags, y, features=features, backend=backend))
    # Sort by position, not by id: ids may repeat (a bootstrap sample), and bags keep their order.
    bags = as_bags(bags)
    rank = table.get_column("rank").to_numpy()
    order = np.lexsort((rank, bags.bag_index))
    return table[order[rank[order] <= k].tolist()].to_native()


def _instance_values(model, bags: Bags) -> tuple[np.ndarray, str]:
    if hasattr(model, "predict_proba_instances"):
        return model.predict_proba_instances(bags)[:, 1], "probability"
    if hasattr(model, "decision_function_instances"):
        return model.decision_function_instances(bags), "score"
    raise TypeError(
        f"{type(model).__name__} says nothing of instances; instance_frame needs a model with "
        "predict_proba_instances or decision_function_instances."
    )


def _rank_in_bag(values: np.ndarray, bags: Bags) -> np.ndarray:
    order = np.lexsort((-values, bags.bag_index))
    rank = np.empty(len(values), dtype=np.int64)
    rank[order] = np.arange(len(values)) - bags.offsets[bags.bag_index] + 1
    return rank


def _feature_columns(bags: Bags) -> dict[str, np.ndarray]:
    names = bags.feature_names
    if names is None:
        names = np.asarray([f"x{i}" for i in range(bags.n_features)])
    X = bags.instances
    return {
        str(n): X[:, i] if isinstance(X, np.ndarray) else X[:, [i]].toarray()[:, 0]
        for i, n in enumerate(names)
    }


def _frame_backend(backend: str | None) -> Any:
    if backend is not None:
        return backend
    for name in ("pandas", "polars"):
        if find_spec(name):
            return name
    raise ImportError("data frames need pandas or polars: pip install pandas")
