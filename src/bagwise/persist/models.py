"""`save` and `load`: write models to files, restore them, and check the restored models."""

from __future__ import annotations

import inspect
import json
import warnings
from collections.abc import Collection, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bagwise._core.types import FilePath
from bagwise._version import __version__
from bagwise.persist.archive import (
    all_types,
    member_names,
    mend_keys,
    read_schema,
    rename_for_files,
    rename_for_skops,
    unknown_functions,
    unknown_types,
    with_schema,
    without_compression,
)
from bagwise.persist.card import make_card, name_of
from bagwise.persist.consistency import refuse_inconsistent_parts
from bagwise.persist.files import read_model, write_model
from bagwise.persist.known_types import loaders_of, name_in_files
from bagwise.persist.node_checks import check_nodes
from bagwise.persist.upgrades import upgrade


def save(model: Any, path: FilePath, *, about: dict[str, Any] | None = None) -> Path:
    """Save a model to a file that is safe to load: unlike unpickling, loading it never executes code.

    Use this for models that are archived, sent or published. pickle and joblib work as well, for files from
    trusted sources. The file contains a checksum and a description. ``bagwise show FILE`` prints the class,
    parameters, features, classes, versions, and a digest of the training bags. Before the file is written,
    `save` tests that the model can be restored. The file is written completely or not at all.

    Parameters
    ----------
    model : estimator
        A fitted or unfitted bagwise model, or a scikit-learn pipeline, search or other meta-estimator that
        contains one. Parameters that are functions raise an error, because the file cannot contain code.
        scikit-learn's functions that score features or predictions are allowed.
    path : path
        The path of the file, by convention with the extension ".bagwise". An existing file is replaced.
    about : dict, optional
        Additional information to store in the card of the file (``bagwise show``,
        `bagwise.persist.read_card`), as JSON values. ``bagwise fit`` stores the original labels, the data
        columns and the scores here.

    Returns
    -------
    Path

    Warns
    -----
    UserWarning
        If `load` will need `trusted`, because the model contains types that are not known to be safe.

    See Also
    --------
    load : Load a saved model.

    Notes
    -----
    The file does not contain the training bags, except for bags that are part of the model, such as support
    vectors or the bags of a kernel. Saving requires skops: ``pip install 'bagwise[persist]'``.

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
                f"the parameter {name!r} is the function {_shown(value)}, but model files cannot contain "
                "code; pass the name of the function if it has one, or save the model with pickle."
            )
    try:
        archive = without_compression(skops.dumps(model))
        schema = read_schema(archive)
        mend_keys(schema)
        rename_for_files(schema)
    except Exception as error:
        why = "it contains a circular reference." if isinstance(error, RecursionError) else _sentence(error)
        raise TypeError(f"this {type(model).__name__} cannot be saved: {why}") from error
    functions = unknown_functions(schema)
    if functions:
        raise TypeError(
            f"this {type(model).__name__} contains the function {functions[0]!r}, but model files cannot "
            "contain code; save the model with pickle, or remove the function."
        )
    unknown = unknown_types(schema)
    card = make_card(model, trusted=unknown, about=about)
    archive = with_schema(archive, schema)
    try:  # test this before writing, so that no unreadable file is left
        _restored(skops, archive, schema, trusted=unknown)
    except Exception as error:
        raise TypeError(
            f"this {type(model).__name__} cannot be saved: restoring it failed with: {_sentence(error)}"
        ) from error
    written = write_model(path, card, archive)
    if unknown:
        warnings.warn(
            f"{str(path)!r} contains {', '.join(map(repr, unknown))}, which may not be safe; to load it, "
            f"pass trusted={unknown!r}.",
            stacklevel=2,
        )
    return written


def load(path: FilePath, *, trusted: Iterable[str | type] = ()) -> Any:
    """Load a model that `save` wrote, without executing any code from the file.

    Parameters
    ----------
    path : path
        The path of the file.
    trusted : sequence of str or type
        Types (or their names) to restore in addition to the types of bagwise and the safe types of
        scikit-learn. Examples are user-defined classes, or ``"sklearn.tree._tree.Tree"`` for tree models.
        `save` warns about these types, and ``bagwise show`` and the error message list them. Trust only types
        that you know. Trust trees and nearest neighbors of scikit-learn only if you know the author of the
        file, because a forged state can crash the process. Attributes of trusted types are not checked.

    Returns
    -------
    estimator

    Raises
    ------
    ValueError
        If the file is damaged or forged, is not a model file, or contains a type that is not trusted.

    See Also
    --------
    save : Save a model to a file.

    Notes
    -----
    A warning is issued if the file was written by a different version of bagwise or scikit-learn, as for
    pickles (`VersionWarning`, `sklearn.exceptions.InconsistentVersionWarning`).

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
        schema = upgrade(read_schema(archive), format)
        unknown = unknown_types(schema)
    except Exception as error:
        raise ValueError(f"{str(path)!r} has an unreadable archive: {_sentence(error)}") from error
    newer = [name for name in unknown if name.startswith("bagwise.") and name.count(".") == 1]
    if newer:
        raise ValueError(
            f"{str(path)!r} contains {', '.join(map(repr, newer))}, which bagwise {__version__} does not "
            f"provide; the file was written by {_versions(card)}. Load it with the same or a newer version."
        )
    unknown = [name for name in unknown if name not in names]
    if unknown:
        raise ValueError(
            f"{str(path)!r} contains {', '.join(map(repr, unknown))}, which may not be safe; if you trust "
            f"{'it' if len(unknown) == 1 else 'them'} and the author of the file, pass trusted={unknown!r}."
        )
    try:
        return _restored(skops, archive, schema, trusted=names)
    except Exception as error:
        raise ValueError(
            f"{str(path)!r} cannot be restored: {_sentence(error)} The file was written by {_versions(card)}."
        ) from error


def _restored(skops: Any, archive: bytes, schema: dict[str, Any], *, trusted: Collection[str]) -> Any:
    """Restore a model from an archive and a schema with the type names of model files; modify the schema."""
    check_nodes(schema, member_names(archive), trusted)
    rename_for_skops(schema)
    model = skops.loads(with_schema(archive, schema), trusted=all_types(schema))
    refuse_inconsistent_parts(model, trusted)
    return model


def _refuse_other_than_json(about: Any) -> None:
    """Raise an error if a round trip through JSON changes the value."""
    if about is None:
        return
    try:
        is_kept = isinstance(about, dict) and json.loads(json.dumps(about, allow_nan=False)) == about
    except (TypeError, ValueError):
        is_kept = False
    if not is_kept:
        raise TypeError(
            f"about is {about!r}; expected a dict of JSON values: strings, int, finite float, bool, None, "
            "lists, and dicts with string keys."
        )


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise ImportError("save and load need skops: pip install 'bagwise[persist]'") from error
    return skops.io


def _is_function(value: Any) -> bool:
    """Return whether a parameter is a function other than the known scikit-learn functions."""
    code = value.func if isinstance(value, partial) else value
    if not (inspect.isroutine(code) or isinstance(code, np.ufunc)):
        return False
    module, name = getattr(value, "__module__", None), getattr(value, "__name__", None)
    return not loaders_of(*name_in_files(str(module), str(name)))


def _shown(value: Any) -> str:
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    return repr(name if name else value)


def _type_names(trusted: Iterable[str | type]) -> set[str]:
    types = [trusted] if isinstance(trusted, (str, type)) else trusted
    if not isinstance(types, Iterable):
        raise TypeError(f"trusted is {trusted!r}; expected a list of types or type names.")
    items = list(types)
    strange = [item for item in items if not isinstance(item, (str, type))]
    if strange:
        raise TypeError(f"trusted contains {strange[0]!r}; expected types or type names.")
    return {name_of(item) if isinstance(item, type) else item for item in items}


def _sentence(error: BaseException) -> str:
    """Return the message of an error as one line that ends with a full stop."""
    message = " ".join(str(error).split()) or type(error).__name__
    return message if message.endswith(".") else f"{message}."


def _versions(card: dict[str, Any]) -> str:
    versions = card.get("versions") if isinstance(card, dict) else None
    if not isinstance(versions, dict):
        return "an unknown version"
    return ", ".join(f"{name} {version}" for name, version in versions.items()) or "an unknown version"
