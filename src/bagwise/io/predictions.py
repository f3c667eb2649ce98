"""What a fitted model says of bags and instances, as a data frame or in a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bagwise.bags import Bags, as_bags, is_scan
from bagwise.blocks import block_rows, cut, is_large
from bagwise.io._table import RowFile
from bagwise.io.frames import frame_backend

Columns = dict[str, np.ndarray]


def predict_frame(model, X, *, path=None, backend: str | None = None):
    """Tabulate what a fitted model predicts of every bag, a row each in the order of the bags.

    Parameters
    ----------
    model : fitted estimator
        With `predict`.
    X : Bags, ScannedBags, or anything that a fit takes
        The bags.
    path : path, optional
        A file to write to, .csv or .parquet, part by part as predictions are made; it is complete or absent.
    backend : "pandas" or "polars", optional
        The kind of data frame; by default pandas if it is installed, else polars.

    Returns
    -------
    data frame, or pathlib.Path of the file
        `bag` (its id), `prediction`, and where the model has them for two classes the probability of the
        positive one, named by its label (`probability_active`), for more classes that of each; or else
        `score`, or one for each class. With several labels a bag there are several columns of each.

    See Also
    --------
    instance_frame : a row per instance.

    Examples
    --------
    >>> from bagwise import MILogisticRegression, make_noisy_or_bags, predict_frame
    >>> data = make_noisy_or_bags(50, random_state=0)
    >>> model = MILogisticRegression().fit(data.bags, data.y)
    >>> list(predict_frame(model, data.bags).columns)
    ['bag', 'prediction', 'probability_1']
    """
    bags = X if is_scan(X) else as_bags(X)
    return _tabulate(bags, None, lambda some, _: _said_of_bags(model, some), path, backend, sides=False)


def _said_of_bags(model, bags) -> Columns:
    columns = {"bag": bags.ids}
    prediction = np.asarray(model.predict(bags))
    _spread(columns, "prediction", prediction, None)
    classes = getattr(model, "classes_", None) if prediction.ndim == 1 else None
    if hasattr(model, "predict_proba"):
        proba = np.asarray(model.predict_proba(bags))
        if classes is not None and proba.ndim == 2 and proba.shape[1] == len(classes) == 2:
            proba, classes = proba[:, 1:], classes[1:]
        _spread(columns, "probability", proba, classes)
    elif hasattr(model, "decision_function"):
        _spread(columns, "score", np.asarray(model.decision_function(bags)), classes)
    return columns


def _spread(columns: Columns, name: str, values: np.ndarray, labels) -> None:
    """Put values into columns: one, or one for each label or number."""
    if values.ndim == 1:
        columns[name] = values
        return
    known = labels is not None and np.ndim(labels) == 1 and len(labels) == values.shape[1]
    for number, column in enumerate(values.T):
        columns[f"{name}_{labels[number] if known else number}"] = column


def instance_frame(model, bags, y=None, *, features: bool = False, path=None, backend: str | None = None):
    """Tabulate what a fitted model says of every instance, one row each.

    Parameters
    ----------
    model : fitted estimator
        With `predict_proba_instances`, or `decision_function_instances`.
    bags : Bags, ScannedBags, or anything that a fit takes
        The bags to look at.
    y : array of shape (n_bags,), optional
        The labels of the bags. Adds a column `posterior`: the probability that the instance is positive
        *given the label of its bag*, which answers who made a bag positive.
    features : bool, default=False
        Whether the features are columns too.
    path : path, optional
        A file to write to, .csv or .parquet, part by part as predictions are made; it is complete or absent.
    backend : "pandas" or "polars", optional
        The kind of data frame; by default pandas if it is installed, else polars.

    Returns
    -------
    data frame, or pathlib.Path of the file
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
    bags = bags if is_scan(bags) else as_bags(bags)
    if y is not None and len(y) != len(bags):
        raise ValueError(f"X has {len(bags)} bags but y has {len(y)} labels.")

    def said(some: Any, labels: Any) -> Columns:
        return _said_of_instances(model, some, labels, features)

    return _tabulate(bags, None if y is None else np.asarray(y), said, path, backend, sides=True)


def _said_of_instances(model, bags, y, features: bool) -> Columns:
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
    return columns


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
    bags = bags if is_scan(bags) else as_bags(bags)
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


def _tabulate(
    bags, y: np.ndarray | None, said: Callable[[Any, Any], Columns], path, backend: str | None, *, sides: bool
) -> Any:
    """Make a frame, or a file, of what is said of bags part by part."""
    parts: Iterator[Columns] = (said(some, labels) for some, labels in _parts(bags, y, sides))
    if is_scan(bags) and not bags.in_order:
        parts = _out_of_order(bags, y, said, sides)
    if path is not None:
        with RowFile(path) as file:
            for columns in parts:
                file.write(columns)
        return Path(path)
    import narwhals as nw

    return nw.from_dict(_joined(list(parts)), backend=frame_backend(backend)).to_native()


def _joined(parts: list[Columns]) -> Columns:
    return {name: np.concatenate([columns[name] for columns in parts]) for name in parts[0]}


def _parts(bags, y: np.ndarray | None, sides: bool) -> Iterator[tuple[Bags, np.ndarray | None]]:
    """Give bags part by part in their order, with their labels: those of a file as it is read."""
    runs = cut(bags.offsets, block_rows(bags.n_features))
    read: Iterator[Bags]
    if is_scan(bags):
        read = (some for some, _ in bags.parts(block_rows(bags.n_features), columns=sides))
    elif isinstance(bags.instances, np.ndarray) and is_large(bags.instances.size):
        read = (bags[run] for run in runs)
    else:
        runs, read = [slice(0, len(bags))], iter([bags])
    for run, some in zip(runs, read, strict=True):
        yield some, None if y is None else y[run]


def _out_of_order(
    scan, y: np.ndarray | None, said: Callable[[Any, Any], Columns], sides: bool
) -> Iterator[Columns]:
    """Say what is to be said in the order of the files, which are then read once, and put it in order."""
    order = scan.file_order
    sorted_scan = scan[order]
    found = _joined([said(*part) for part in _parts(sorted_scan, None if y is None else y[order], sides)])
    back = np.argsort(order)
    if len(found["bag"]) == scan.n_instances:
        sizes = scan.sizes
        begins = sorted_scan.offsets[:-1][back]
        back = np.arange(scan.n_instances) + np.repeat(begins - scan.offsets[:-1], sizes)
    yield {name: values[back] for name, values in found.items()}
