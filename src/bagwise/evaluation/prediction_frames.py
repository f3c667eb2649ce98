"""Predictions of bags and instances by a fitted model, as a data frame or in a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Real
from pathlib import Path
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from bagwise._core.types import FilePath
from bagwise.data.bags import Bags, aligned, as_bags, is_scan
from bagwise.data.bags.instance_groups import group_instances
from bagwise.data.blocks import block_rows, cut, is_large
from bagwise.data.frames import frame_backend, instance_columns_of
from bagwise.data.types import BagsLike
from bagwise.io._table import RowFile
from bagwise.models.base.estimators import warn_about_rows
from bagwise.models.base.labels import require_label_per_bag
from bagwise.models.wrappers.instance_level import (
    bag_predictions,
    group_probabilities,
    instance_predictions,
    label_names,
    learned_from_several,
    only_ranks_instances,
    positive_column,
    posterior_of_instances,
)

Columns = dict[str, np.ndarray]


def predict_frame(
    model: Any,
    X: BagsLike,
    *,
    path: FilePath | None = None,
    backend: str | type[dict[Any, Any]] | None = None,
) -> Any:
    """Return the predictions of a fitted model as a table with one row per bag, in the order of the bags.

    Parameters
    ----------
    model : fitted estimator
        Any fitted model with `predict`.
    X : Bags, ScannedBags, or any input that `fit` accepts
        The bags.
    path : path, optional
        A .csv or .parquet file to write to. Predictions are written in parts as they are computed; if writing
        fails, no incomplete file is left. For a scan on a cluster, `path` can also be a folder, in which
        every worker writes Parquet files for its bags.
    backend : "pandas", "polars" or dict, optional
        Type of the data frame; by default pandas if it is installed, otherwise polars. With `dict`, the
        result is a dictionary of columns, which needs neither library.

    Returns
    -------
    data frame, or pathlib.Path of the file
        The columns are `bag` (the id of the bag), `prediction`, and probabilities or scores. For two classes,
        the probability column contains the probability of the positive class and has its label in the name
        (`probability_active`); for more classes, there is one column per class. For models without
        probabilities, there is a column `score`, or one score column per class. With several labels per bag,
        there are columns for each label, with its name if `fit` received a data frame of labels, otherwise
        with its index.

    See Also
    --------
    instance_frame : Return a table with one row per instance.

    Examples
    --------
    >>> from bagwise import MILogisticRegression, make_noisy_or_bags, predict_frame
    >>> data = make_noisy_or_bags(50, random_state=0)
    >>> model = MILogisticRegression().fit(data.bags, data.y)
    >>> list(predict_frame(model, data.bags).columns)
    ['bag', 'prediction', 'probability_1']
    """
    bags = read_bags(model, X)
    return _tabulate(bags, None, lambda part, _: _bag_columns(model, part), path, backend, sides=False)


def read_bags(model: Any, X: Any) -> Any:
    """Convert any input to bags; warn if the rows of a matrix are read as bags by mistake."""
    if is_scan(X):
        return X
    bags = as_bags(X)
    if learned_from_several(model):
        warn_about_rows(type(model).__name__, X, bags)
    return bags


def _bag_columns(model: Any, bags: Any) -> Columns:
    columns = {"bag": bags.ids}
    prediction = np.asarray(model.predict(bags))
    labels = label_names(model)
    _spread(columns, "prediction", prediction, labels)
    if prediction.ndim == 2 and labels is not None and isinstance(getattr(model, "classes_", None), list):
        return _with_classes_of_labels(columns, model, bags)
    scores = bag_predictions(model, bags)
    if scores is not None:
        kind, values = scores
        classes = getattr(model, "classes_", None)
        if kind == "probability" and values.ndim == 1 and classes is not None:
            kind = f"probability_{classes[positive_column(model)]}"
        _spread(columns, kind, values, classes if labels is None else labels)
    return columns


def _with_classes_of_labels(columns: Columns, model: Any, bags: Any) -> Columns:
    """Add probabilities for models in which each label has separate classes (`MultiOutputClassifier`)."""
    tables = model.predict_proba(bags) if hasattr(model, "predict_proba") else []
    for label_index, (table, classes) in enumerate(zip(tables, model.classes_, strict=False)):
        if len(classes) == 2 and classes.tolist() == [0, 1]:
            columns[f"probability_{label_index}"] = table[:, 1]
        else:
            _spread(columns, f"probability_{label_index}", table, classes)
    return columns


def _spread(columns: Columns, name: str, values: np.ndarray, names: Any) -> None:
    """Add values to `columns`: one column, or one column per class or label."""
    if values.ndim == 1:
        columns[name] = values
        return
    is_named = names is not None and len(names) == values.shape[1]
    for index, column in enumerate(values.T):
        columns[f"{name}_{names[index] if is_named else index}"] = column


def instance_frame(
    model: Any,
    bags: BagsLike,
    y: ArrayLike | None = None,
    *,
    features: bool = False,
    path: FilePath | None = None,
    backend: str | type[dict[Any, Any]] | None = None,
) -> Any:
    """Return the instance-level predictions of a fitted model as a table with one row per instance.

    Parameters
    ----------
    model : fitted estimator
        A model with `predict_proba_instances` or `decision_function_instances`, or a meta-estimator from
        scikit-learn around such a model:

        - a pipeline, a search (`GridSearchCV`: its best estimator) or a classifier with a tuned threshold;
        - `CalibratedClassifierCV`: bags have the calibrated probability, and instances have the mean of the
          uncalibrated predictions of the wrapped models;
        - `OneVsRestClassifier`, `MultiOutputClassifier`: instances have the prediction of the model of each
          class or label; the probabilities of an instance may not sum to one.
    bags : Bags, ScannedBags, or any input that `fit` accepts
        The bags.
    y : array of shape (n_bags,), or (n_bags, n_labels), optional
        Labels of the bags. If passed, the table has a column `posterior`: the probability that the instance
        is positive *given the label of its bag*. It shows which instances made a bag positive.
    features : bool, default=False
        Whether to add the features as columns.
    path : path, optional
        A .csv or .parquet file to write to. Predictions are written in parts as they are computed; if writing
        fails, no incomplete file is left. For a scan on a cluster, `path` can also be a folder, in which
        every worker writes Parquet files for its bags.
    backend : "pandas", "polars" or dict, optional
        Type of the data frame; by default pandas if it is installed, otherwise polars. With `dict`, the
        result is a dictionary of columns, which needs neither library.

    Returns
    -------
    data frame, or pathlib.Path of the file
        The columns are `bag` (the id of the bag), `instance` (the index in its bag, from 0), the bag and
        instance columns of the bags, `bag_probability`, `instance_probability` (`..._score` for models
        without probabilities) and `rank`, which is 1 for the most positive instance of each bag. An ensemble
        (`BagEnsembleClassifier`) has `bag_probability` and `instance_score`, because its instance values are
        not probabilities of instance labels.

        With more than two classes, there is one column per class (`instance_score_cat`) and the column
        `bag_prediction`; rank 1 is the instance with the highest value for the predicted class of its bag.
        With several labels per bag, there is one row for each instance *and label*; the column `label`
        contains the label, and ranks are computed separately for each label.

    Examples
    --------
    >>> from bagwise import MILogisticRegression, instance_frame, make_noisy_or_bags
    >>> data = make_noisy_or_bags(50, random_state=0)
    >>> model = MILogisticRegression().fit(data.bags, data.y)
    >>> list(instance_frame(model, data.bags).columns)
    ['bag', 'instance', 'bag_probability', 'instance_probability', 'rank']
    """
    bags = read_bags(model, bags)
    if y is not None:
        y = cast(Any, y).toarray() if sp.issparse(y) else np.asarray(aligned("y", y, bags))
        require_label_per_bag(y, bags)

    def make_columns(part: Any, labels: Any) -> Columns:
        return _instance_columns(model, part, labels, features)

    return _tabulate(bags, y, make_columns, path, backend, sides=True)


def _instance_columns(model: Any, bags: Any, y: Any, features: bool) -> Columns:
    labels = label_names(model)
    scores = _scores_of_instances(model, bags, y, several_labels=labels is not None)
    n_each = 1 if labels is None else len(labels)
    index_in_bag = np.arange(bags.n_instances) - bags.offsets[bags.bag_index]
    columns = {
        "bag": np.repeat(bags.ids[bags.bag_index], n_each),
        "instance": np.repeat(index_in_bag, n_each),
    }
    if labels is not None:
        columns["label"] = np.tile(labels, bags.n_instances)
    for name, column in instance_columns_of(bags, features=features).items():
        while name in columns or name in scores:
            name += "_"
        columns[name] = np.repeat(column, n_each)
    return {**columns, **scores}


def _scores_of_instances(model: Any, bags: Any, y: Any, *, several_labels: bool) -> Columns:
    """Return columns of instance values, bag values and ranks; rows iterate over instances, then labels."""
    index = bags.bag_index
    kind, values = instance_predictions(model, bags)
    shown = {f"instance_{kind}": values}
    of_bags = bag_predictions(model, bags, preferred="probability" if only_ranks_instances(model) else kind)
    if of_bags is not None:
        shown = {f"bag_{of_bags[0]}": of_bags[1][index], **shown}
    if y is not None:
        shown["posterior"] = posterior_of_instances(model, bags, y)

    if values.ndim == 1 or several_labels:
        scores = {name: column.ravel() for name, column in shown.items()}
        scores["rank"] = _rank_in_bag(values, bags).ravel()
        return scores
    prediction = model.predict(bags)
    scores = {"bag_prediction": prediction[index]}
    for name, table in shown.items():
        _spread(scores, name, table, model.classes_)
    foremost = np.searchsorted(model.classes_, prediction) if of_bags is None else of_bags[1].argmax(axis=1)
    scores["rank"] = _rank_in_bag(values[np.arange(len(values)), foremost[index]], bags)
    return scores


def key_instances(
    model: Any,
    bags: BagsLike,
    y: ArrayLike | None = None,
    *,
    k: int = 3,
    features: bool = False,
    backend: str | type[dict[Any, Any]] | None = None,
) -> Any:
    """Return a table of the `k` most positive instances of every bag, sorted by rank.

    Ranks are computed from the probabilities of the instances, so they do not depend on `y`. With more than
    two classes, the `k` instances have the highest values for the predicted class of their bag. With several
    labels per bag, there are `k` instances for each label.

    Parameters
    ----------
    model, bags, y, features, backend
        See `instance_frame`.
    k : int, default=3
        Number of instances per bag.

    Returns
    -------
    data frame
        The columns are those of `instance_frame`.

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
    # Sort by position, not by id: ids may not be unique (bootstrap samples), and bags keep their order.
    checked_bags: Any = bags if is_scan(bags) else as_bags(bags)
    rank = table.get_column("rank").to_numpy()
    row = np.arange(len(rank))
    n_each = len(rank) // max(1, checked_bags.n_instances)  # labels
    order = np.lexsort((rank, row % n_each, checked_bags.bag_index[row // n_each]))
    return table[order[rank[order] <= k].tolist()].to_native()


def group_frame(
    model: Any,
    bags: BagsLike,
    y: ArrayLike | None = None,
    *,
    by: str | ArrayLike,
    backend: str | type[dict[Any, Any]] | None = None,
) -> Any:
    """Return a table with one row per group of instances, such as each slide of every patient.

    `Bags.merge` merges the slides of every patient into one bag, and stores the slide of every instance in a
    column. A model fitted to these bags then predicts patients, slides and patches.

    Parameters
    ----------
    model : fitted estimator
        A model whose rule has latent instance labels (`posterior_groups`), or a pipeline or search around it.
    bags : Bags, or any input that `fit` accepts
        The bags.
    y : array of shape (n_bags,), optional
        Labels of the bags. If passed, the table has a column `posterior`.
    by : str, or array of shape (n_instances,)
        Name of an instance column, such as "slide", or the group of every instance.
    backend : "pandas", "polars" or dict, optional
        Type of the data frame, as in `instance_frame`.

    Returns
    -------
    data frame
        The columns are `bag` (the id of the bag), the name of the instance column (or `group`), `instances`
        (their number), `bag_probability`, `group_probability` (the probability that the group contains a
        positive instance) and, if `y` is passed, `posterior` (the same probability, given the label of the
        bag).

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise import MILogisticRegression, group_frame, make_noisy_or_bags
    >>> slides = make_noisy_or_bags(40, random_state=0)
    >>> patients = slides.bags.merge(np.repeat(np.arange(20), 2), column="slide")
    >>> y = slides.y.reshape(20, 2).max(axis=1)
    >>> model = MILogisticRegression(random_state=0).fit(patients, y)
    >>> frame = group_frame(model, patients, y, by="slide")
    >>> len(frame), list(frame.columns)[-2:]
    (40, ['group_probability', 'posterior'])
    """
    import narwhals as nw

    bags = as_bags(read_bags(model, bags))
    labels = None if y is None else np.asarray(aligned("y", y, bags))
    if labels is not None:
        require_label_per_bag(labels, bags)
    columns = group_columns(model, bags, labels, by)
    if isinstance(backend, type):
        return columns
    return nw.from_dict(columns, backend=frame_backend(backend)).to_native()


def group_columns(model: Any, bags: Bags, y: np.ndarray | None, by: Any) -> Columns:
    """Return the columns of `group_frame`."""
    groups = group_instances(bags, by)
    proba, posterior = group_probabilities(model, bags, y, by)
    columns = {"bag": bags.ids[groups.bag], by if isinstance(by, str) else "group": groups.names}
    columns["instances"] = np.bincount(groups.of_instance)
    of_bags = bag_predictions(model, bags)
    if of_bags is not None:
        columns[f"bag_{of_bags[0]}"] = of_bags[1][groups.bag]
    columns["group_probability"] = proba
    return columns if posterior is None else {**columns, "posterior": posterior}


def _rank_in_bag(values: np.ndarray, bags: Bags) -> np.ndarray:
    """Rank instances within their bags, 1 for the largest value; each column is ranked separately."""
    if values.ndim == 2:
        return np.column_stack([_rank_in_bag(column, bags) for column in values.T])
    order = np.lexsort((-values, bags.bag_index))
    rank = np.empty(len(values), dtype=np.int64)
    rank[order] = np.arange(len(values)) - bags.offsets[bags.bag_index] + 1
    return rank


def _tabulate(
    bags: Any,
    y: np.ndarray | None,
    make_columns: Callable[[Any, Any], Columns],
    path: FilePath | None,
    backend: str | type[dict[Any, Any]] | None,
    *,
    sides: bool,
) -> Any:
    """Compute the columns for one part of the bags at a time; return a frame, dictionary or file path."""
    parts: Iterator[Columns] = (make_columns(part, labels) for part, labels in _parts(bags, y, sides))
    if is_scan(bags) and not bags.in_order:
        parts = _out_of_order(bags, y, make_columns, sides)
    elif is_scan(bags) and bags.cluster is not None:
        from bagwise.evaluation.cluster_frames import columns_of_parts, write_folder

        if path is not None and not Path(path).suffix:
            return write_folder(bags.cluster, bags, y, make_columns, path, sides=sides)
        parts = columns_of_parts(bags.cluster, bags, y, make_columns, sides=sides)
    if path is not None:
        with RowFile(path) as file:
            for columns in parts:
                file.write({name: _without_none(column) for name, column in columns.items()})
        return Path(path)
    if isinstance(backend, type):
        return _joined(list(parts))
    import narwhals as nw

    return nw.from_dict(_joined(list(parts)), backend=frame_backend(backend)).to_native()


def _without_none(column: np.ndarray) -> np.ndarray:
    """Replace None in an object column (a missing label) by NaN, or by empty text in columns of text."""
    if column.dtype != object:
        return column
    if all(value is None or isinstance(value, Real) for value in column):
        return column.astype(np.float64)
    return np.asarray(["" if value is None else value for value in column], dtype=object)


def _joined(parts: list[Columns]) -> Columns:
    return {name: np.concatenate([columns[name] for columns in parts]) for name in parts[0]}


def _parts(bags: Any, y: np.ndarray | None, sides: bool) -> Iterator[tuple[Bags, np.ndarray | None]]:
    """Yield parts of the bags with their labels, in order; bags of a scan are read part by part."""
    runs = cut(bags.offsets, block_rows(bags.n_features))
    read: Iterator[Bags]
    if is_scan(bags):
        read = (part for part, _ in bags.parts(block_rows(bags.n_features), columns=sides))
    elif isinstance(bags.instances, np.ndarray) and is_large(bags.instances.size):
        read = (bags[run] for run in runs)
    else:
        runs, read = [slice(0, len(bags))], iter([bags])
    for run, part in zip(runs, read, strict=True):
        yield part, None if y is None else y[run]


def _out_of_order(
    scan: Any, y: np.ndarray | None, make_columns: Callable[[Any, Any], Columns], sides: bool
) -> Iterator[Columns]:
    """Compute the columns in file order, so that every file is read once, and restore the bag order."""
    order = scan.file_order
    sorted_scan = scan[order]
    columns = _joined(
        [make_columns(*part) for part in _parts(sorted_scan, None if y is None else y[order], sides)]
    )
    back = np.argsort(order)
    if sides:  # rows are instances, or pairs of instance and label
        n_each = len(columns["bag"]) // scan.n_instances
        begins = n_each * sorted_scan.offsets[:-1][back]
        back = np.arange(n_each * scan.n_instances) + np.repeat(
            begins - n_each * scan.offsets[:-1], n_each * scan.sizes
        )
    yield {name: values[back] for name, values in columns.items()}
