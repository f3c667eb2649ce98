"""`save` and `load`: a model to a file, and back; what was restored is checked."""

from __future__ import annotations

import inspect
import io
import json
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bagwise._core.files.damage import refuse_false_sizes
from bagwise._core.types import FilePath
from bagwise._version import __version__
from bagwise.persist.archive import (
    all_types,
    mend_keys,
    read_schema,
    rename_for_files,
    rename_for_skops,
    unknown_functions,
    unknown_types,
    with_schema,
)
from bagwise.persist.card import make_card, name_of
from bagwise.persist.files import read_model, write_model
from bagwise.persist.known_types import is_known
from bagwise.persist.upgrades import upgrade


def save(model: Any, path: FilePath, *, about: dict[str, Any] | None = None) -> Path:
    """Save a model to a file that can do no harm to whoever loads it, unlike a pickle.

    Use it for models that are kept, sent or published; pickle and joblib work as well, for files that nobody
    else could have written. The file has a checksum, and says what is in it: ``bagwise show FILE`` shows the
    class, parameters, features, classes, versions, and a digest of the training bags. It is restored once
    before it is written, to be sure, and written whole or not at all.

    Parameters
    ----------
    model : estimator
        One of bagwise, or a pipeline, a search or another meta-estimator of scikit-learn around one, fitted
        or not. Parameters that are functions are refused, for code is what a harmless file cannot hold;
        functions of scikit-learn that score features or predictions may stand in it.
    path : path
        The file; by convention it ends with ".bagwise". One that stands there is replaced.
    about : dict, optional
        What else the file is to say, for those who read its card (``bagwise show``,
        `bagwise.persist.read_card`): anything that JSON has. ``bagwise fit`` notes here the words of the
        labels, the columns of the data and the scores.

    Returns
    -------
    Path

    See Also
    --------
    load : the way back.

    Notes
    -----
    The training bags are not in the file, but for those that a model itself consists of (support vectors,
    the bags behind a kernel). Needs skops: ``pip install 'bagwise[persist]'``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import bagwise
    >>> data = bagwise.make_noisy_or_bags(40, random_state=0)
    >>> model = bagwise.MILogisticRegression(random_state=0).fit(data.bags, data.y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = bagwise.save(model, pathlib.Path(folder) / "model.bagwise")
    ...     again = bagwise.load(path)
    >>> bool((again.predict_proba(data.bags) == model.predict_proba(data.bags)).all())
    True
    """
    if not hasattr(model, "get_params") or isinstance(model, type):
        raise TypeError(f"model is {_shown(model)}; expected an estimator, such as MILogisticRegression().")
    _refuse_other_than_json(about)
    skops = _skops()
    for name, value in model.get_params().items():
        if _is_function(value):
            raise TypeError(
                f"the parameter {name!r} is the function {_shown(value)}, and a file that can do no "
                "harm holds no code; give it by name if there is one, or keep the model as a pickle."
            )
    try:
        archive = skops.dumps(model)
        schema = read_schema(archive)
        mend_keys(schema)
        rename_for_files(schema)
    except Exception as error:
        why = "a part of it contains itself." if isinstance(error, RecursionError) else _sentence(error)
        raise TypeError(f"this {type(model).__name__} cannot be saved: {why}") from error
    functions = unknown_functions(schema)
    if functions:
        raise TypeError(
            f"this {type(model).__name__} holds the function {functions[0]!r}, and a file that can do no "
            "harm holds no code; keep the model as a pickle, or do without the function."
        )
    card = make_card(model, trusted=unknown_types(schema), about=about)
    archive = with_schema(archive, schema)
    try:  # a file that cannot be read back is worse than none
        _restored(skops, archive, schema)
    except Exception as error:
        raise TypeError(
            f"this {type(model).__name__} cannot be saved, for it could not be restored: {_sentence(error)}"
        ) from error
    return write_model(path, card, archive)


def load(path: FilePath, *, trusted: Iterable[str | type] = ()) -> Any:
    """Load a model that `save` wrote; nothing in the file is run, whoever wrote it.

    Parameters
    ----------
    path : path
        The file.
    trusted : sequence of str or type
        Types that may be restored beside those of bagwise and the harmless ones of scikit-learn, by name or
        themselves: classes of your own, or ``"sklearn.tree._tree.Tree"`` for models made of trees. The error
        without them names them; so does ``bagwise show``. Trust only types that you know, and trees, machines
        of libsvm and trees of neighbours only from people whom you know: what is written in them can crash
        the process.

    Returns
    -------
    estimator

    Raises
    ------
    ValueError
        If the file is damaged, is no model, or holds a type that is not known.

    See Also
    --------
    save : writes the file, with an example.

    Notes
    -----
    Another version of bagwise or scikit-learn than the one that wrote the file warns, as for pickles
    (`VersionWarning`, `sklearn.exceptions.InconsistentVersionWarning`).

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from bagwise import BagStatistics, load, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     load(save(BagStatistics(), pathlib.Path(folder) / "statistics.bagwise"))
    BagStatistics()
    """
    names = _type_names(trusted)
    format, card, archive = read_model(path)
    skops = _skops()
    try:
        refuse_false_sizes(io.BytesIO(archive))
        schema = upgrade(read_schema(archive), format)
        unknown = unknown_types(schema)
    except Exception as error:
        raise ValueError(f"{str(path)!r} has an archive that cannot be read: {_sentence(error)}") from error
    newer = [name for name in unknown if name.startswith("bagwise.") and name.count(".") == 1]
    if newer:
        raise ValueError(
            f"{str(path)!r} holds {', '.join(map(repr, newer))}, which bagwise {__version__} does not have; "
            f"the file was written by {_versions(card)}: load it with that version of bagwise or a newer one."
        )
    unknown = [name for name in unknown if name not in names]
    if unknown:
        raise ValueError(
            f"{str(path)!r} holds {', '.join(map(repr, unknown))}, not known to be harmless; if you know "
            f"{'it' if len(unknown) == 1 else 'them'} and who wrote the file, pass trusted={unknown!r}."
        )
    try:
        model = _restored(skops, archive, schema)
        refuse_other_centers(model)
        return model
    except Exception as error:
        raise ValueError(
            f"{str(path)!r} cannot be restored here: {_sentence(error)} It was written by {_versions(card)}."
        ) from error


def _restored(skops: Any, archive: bytes, schema: dict[str, Any]) -> Any:
    """Restore the model of an archive from a schema with the names of model files, which is changed."""
    rename_for_skops(schema)
    return skops.loads(with_schema(archive, schema), trusted=all_types(schema))


def _refuse_other_than_json(about: Any) -> None:
    """Refuse what would not come back as it was."""
    if about is None:
        return
    try:
        is_kept = isinstance(about, dict) and json.loads(json.dumps(about, allow_nan=False)) == about
    except (TypeError, ValueError):
        is_kept = False
    if not is_kept:
        raise TypeError(
            f"about is {about!r}; expected a dict of what JSON has: text, finite numbers, True, False, None, "
            "lists, and dicts with text for keys."
        )


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise ImportError("save and load need skops: pip install 'bagwise[persist]'") from error
    return skops.io


def _is_function(value: Any) -> bool:
    """Whether a parameter is code; functions of scikit-learn that are known may pass."""
    code = value.func if isinstance(value, partial) else value
    if not (inspect.isroutine(code) or isinstance(code, np.ufunc)):
        return False
    module, name = getattr(value, "__module__", None), getattr(value, "__name__", None)
    return not is_known(str(module), str(name))


def _shown(value: Any) -> str:
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    return repr(name if name else value)


def _type_names(trusted: Iterable[str | type]) -> set[str]:
    given = [trusted] if isinstance(trusted, (str, type)) else trusted
    if not isinstance(given, Iterable):
        raise TypeError(f"trusted is {trusted!r}; expected a list of types or of their names.")
    items = list(given)
    strange = [item for item in items if not isinstance(item, (str, type))]
    if strange:
        raise TypeError(f"trusted has {strange[0]!r}; expected types or their names.")
    return {name_of(item) if isinstance(item, type) else item for item in items}


def _sentence(error: BaseException) -> str:
    """Give what an error of others says, in one line that ends with a full stop."""
    told = " ".join(str(error).split()) or type(error).__name__
    return told if told.endswith(".") else f"{told}."


def _versions(card: dict[str, Any]) -> str:
    versions = card.get("versions") if isinstance(card, dict) else None
    if not isinstance(versions, dict):
        return "an unknown version"
    return ", ".join(f"{name} {number}" for name, number in versions.items()) or "an unknown version"


def refuse_other_centers(model: Any) -> None:
    """Refuse k-means, wherever it stands in a model, whose centers have other features than its instances.

    scikit-learn compares instances with ``n_features_in_`` and hands them and the centers to compiled code,
    which reads beyond the centers if they are shorter. Compiled code of ours looks for itself
    (`refuse_other_widths`).
    """
    waiting, seen = [model], {id(model)}
    while waiting:
        item = waiting.pop()
        parts = _parts(item)
        centers = parts.get("cluster_centers_") if isinstance(parts, dict) else None
        if centers is not None and np.shape(centers)[1:] != (parts.get("n_features_in_"),):
            raise ValueError(
                f"its {type(item).__name__} has centers of the shape {np.shape(centers)} for "
                f"{parts.get('n_features_in_')} features"
            )
        for part in parts.values() if isinstance(parts, dict) else parts:
            if id(part) not in seen:
                seen.add(id(part))
                waiting.append(part)


def _parts(item: Any) -> Any:
    """What an object consists of: a dictionary by name, or a sequence."""
    if isinstance(item, (list, tuple, dict, set, frozenset)):
        return item
    if isinstance(item, np.ndarray):
        return item.ravel().tolist() if item.dtype == object else ()
    return getattr(item, "__dict__", ())
