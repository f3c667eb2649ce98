"""The archive of skops inside the file of a model, looked through without restoring anything."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any
from zipfile import ZIP_STORED, ZipFile

from bagwise.persist.known_types import is_known, name_here, name_in_files

_SCHEMA = "schema.json"
# How skops marks what is code rather than a value.
_FUNCTIONS = {"FunctionNode", "MethodNode", "PartialNode", "OperatorFuncNode"}
_BOOLEANS = {"bool", "bool_"}


def read_schema(archive: bytes) -> dict[str, Any]:
    """Read the description of all objects; sizes that the archive claims are held against what it has."""
    with ZipFile(io.BytesIO(archive)) as file:
        members = file.infolist()
        # Nothing is compressed, so nothing can unfold to more than there is.
        if any(m.compress_type != ZIP_STORED or m.file_size != m.compress_size for m in members):
            raise ValueError("a part of it is compressed, which no part is")
        if sum(member.file_size for member in members) > len(archive):
            raise ValueError("its parts claim more bytes than there are")
        for member in members:
            with file.open(member) as content:
                packed = content.read(2) == b"PK"
            if packed:
                _check_sparse(file.read(member))
        return json.loads(file.read(_SCHEMA))


def _check_sparse(content: bytes) -> None:
    """Refuse sparse matrices whose indices point outside; compiled code would follow them."""
    from scipy.sparse import load_npz

    load_npz(io.BytesIO(content)).check_format(full_check=True)


def with_schema(archive: bytes, schema: dict[str, Any]) -> bytes:
    """Return an archive with another schema."""
    written = io.BytesIO()
    with ZipFile(io.BytesIO(archive)) as old, ZipFile(written, "w", ZIP_STORED) as new:
        for member in old.infolist():
            is_schema = member.filename == _SCHEMA
            new.writestr(member.filename, json.dumps(schema) if is_schema else old.read(member))
    return written.getvalue()


def rename_for_files(schema: dict[str, Any]) -> None:
    """Replace the names that skops wrote by those that model files use, in place."""
    for node in nodes(schema):
        node["__module__"], node["__class__"] = name_in_files(str(node["__module__"]), str(node["__class__"]))


def rename_for_skops(schema: dict[str, Any]) -> None:
    """Replace the names that model files use by those of this version, in place."""
    for node in nodes(schema):
        node["__module__"], node["__class__"] = name_here(str(node["__module__"]), str(node["__class__"]))


def unknown_types(schema: dict[str, Any]) -> list[str]:
    """Name the types and functions in an archive that are not known to be harmless."""
    names = ((node["__module__"], node["__class__"]) for node in nodes(schema))
    return sorted({f"{module}.{name}" for module, name in names if not is_known(str(module), str(name))})


def all_types(schema: dict[str, Any]) -> list[str]:
    """Name all types and functions in an archive."""
    return sorted({f"{node['__module__']}.{node['__class__']}" for node in nodes(schema)})


def unknown_functions(schema: dict[str, Any]) -> list[str]:
    """Name the functions in an archive that are not known to be harmless."""
    functions = [node for node in nodes(schema) if node.get("__loader__") in _FUNCTIONS]
    named = {(str(node["__module__"]), str(node["__class__"])) for node in functions}
    return sorted(f"{module}.{name}" for module, name in named if not is_known(module, name))


def mend_keys(schema: dict[str, Any]) -> None:
    """Mend keys of dictionaries that skops would change, in place: it reads False, written "false", as True.

    False and True become 0 and 1, which are equal to them and the same keys.
    """
    for node in nodes(schema):
        if node.get("__loader__") != "DictNode":
            continue
        types = node["key_types"]["content"]
        if not any(kind["__class__"] in _BOOLEANS for kind in types):
            continue
        content = {}
        for kind, (key, value) in zip(types, node["content"].items(), strict=True):
            if kind["__class__"] in _BOOLEANS:
                kind.update({"__class__": "int", "__module__": "builtins"})
                # Types are restored once for each id; this one is another now.
                kind.pop("__id__", None)
                key = {"false": "0", "true": "1"}[key]
            content[key] = value
        node["content"] = content


def nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield the description of every object in a schema, at any depth, without recursion."""
    waiting = [schema]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            if "__class__" in item and "__module__" in item and "__loader__" in item:
                yield item
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
