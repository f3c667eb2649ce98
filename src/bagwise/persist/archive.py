"""The skops archive inside a model file: checks and changes without restoring any object."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any
from zipfile import ZIP_STORED, ZipFile

from bagwise._core.files.damage import refuse_false_sizes
from bagwise.persist.known_types import loaders_of, name_here, name_in_files

_SCHEMA = "schema.json"
# The arrays of a sparse matrix.
_SPARSE = {"data.npy", "format.npy", "indices.npy", "indptr.npy", "shape.npy", "_is_array.npy"}
# Decompression of sparse matrices may add this many bytes, or this multiple of the archive size. `save`
# stores sparse matrices without compression; version 0.2.0 compressed them.
_ROOM, _RATIO = 2**26, 20
# Loaders that skops uses for code instead of values.
_FUNCTIONS = {"FunctionNode", "MethodNode", "PartialNode", "OperatorFuncNode"}
_BOOLEANS = {"bool", "bool_"}


def read_schema(archive: bytes) -> dict[str, Any]:
    """Read the description of all objects, and check the entries of the archive."""
    refuse_false_sizes(io.BytesIO(archive))
    with ZipFile(io.BytesIO(archive)) as file:
        members = file.infolist()
        # Compression is rejected, because a small compressed archive could exhaust the memory.
        if any(m.compress_type != ZIP_STORED or m.file_size != m.compress_size for m in members):
            raise ValueError("an entry is compressed; model files contain only uncompressed entries")
        if sum(member.file_size for member in members) > len(archive):
            raise ValueError("the sizes of its entries exceed the size of the archive")
        if len({member.filename for member in members}) < len(members):
            raise ValueError("two of its entries have the same name")
        room = max(_ROOM, _RATIO * len(archive))
        for member in members:
            if member.filename.endswith(".npz"):
                room -= _check_sparse(file.read(member), room)
        return json.loads(file.read(_SCHEMA))


def member_names(archive: bytes) -> set[str]:
    """Return the names of the entries of an archive."""
    with ZipFile(io.BytesIO(archive)) as file:
        return set(file.namelist())


def _check_sparse(content: bytes, room: int) -> int:
    """Check a sparse matrix, and return the number of bytes by which it grows when it is decompressed.

    The declared sizes are compared before decompression, and at most the declared number of bytes is
    decompressed. Indices are also checked, because invalid indices could crash compiled code.
    """
    from scipy.sparse import load_npz

    with ZipFile(io.BytesIO(content)) as file:
        names = set(file.namelist())
        if not names <= _SPARSE or len(names) < len(file.infolist()):
            raise ValueError(f"a sparse matrix consists of the arrays {sorted(names)}")
        growth = max(0, sum(member.file_size for member in file.infolist()) - len(content))
        if growth > room:
            raise ValueError(f"a sparse matrix expands by {growth:,} bytes; at most {room:,} are allowed")
    refuse_false_sizes(io.BytesIO(content))
    matrix = load_npz(io.BytesIO(content))
    if matrix.format not in ("csr", "csc"):
        raise ValueError(f"a sparse matrix has the format {matrix.format!r}")
    matrix.check_format(full_check=True)
    return growth


def without_compression(archive: bytes) -> bytes:
    """Return a copy of an archive in which sparse matrices are stored without compression."""
    written = io.BytesIO()
    with ZipFile(io.BytesIO(archive)) as old, ZipFile(written, "w", ZIP_STORED) as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, _uncompressed(content) if name.endswith(".npz") else content)
    return written.getvalue()


def _uncompressed(content: bytes) -> bytes:
    written = io.BytesIO()
    with ZipFile(io.BytesIO(content)) as old, ZipFile(written, "w", ZIP_STORED) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    return written.getvalue()


def with_schema(archive: bytes, schema: dict[str, Any]) -> bytes:
    """Return a copy of the archive with a different schema."""
    written = io.BytesIO()
    with ZipFile(io.BytesIO(archive)) as old, ZipFile(written, "w", ZIP_STORED) as new:
        for member in old.infolist():
            is_schema = member.filename == _SCHEMA
            new.writestr(member.filename, json.dumps(schema) if is_schema else old.read(member))
    return written.getvalue()


def rename_for_files(schema: dict[str, Any]) -> None:
    """Replace the type names of skops by the names in model files, in place."""
    for node in nodes(schema):
        node["__module__"], node["__class__"] = name_in_files(str(node["__module__"]), str(node["__class__"]))


def rename_for_skops(schema: dict[str, Any]) -> None:
    """Replace the type names in model files by the names in this version, in place."""
    for node in nodes(schema):
        node["__module__"], node["__class__"] = name_here(str(node["__module__"]), str(node["__class__"]))


def unknown_types(schema: dict[str, Any]) -> list[str]:
    """Return the names of the types and functions in an archive that are not known to be safe.

    Known types with a different module name are not included: `check_nodes` rejects these types.
    """
    named = {(str(node["__module__"]), str(node["__class__"])) for node in nodes(schema)}
    return sorted(
        f"{module}.{name}"
        for module, name in named
        if not loaders_of(module, name) and name_in_files(module, name) == (module, name)
    )


def all_types(schema: dict[str, Any]) -> list[str]:
    """Return the names of all types and functions in an archive."""
    return sorted({f"{node['__module__']}.{node['__class__']}" for node in nodes(schema)})


def unknown_functions(schema: dict[str, Any]) -> list[str]:
    """Return the names of the functions in an archive that are not known to be safe."""
    functions = [node for node in nodes(schema) if node.get("__loader__") in _FUNCTIONS]
    named = {(str(node["__module__"]), str(node["__class__"])) for node in functions}
    return sorted(f"{module}.{name}" for module, name in named if not loaders_of(module, name))


def mend_keys(schema: dict[str, Any]) -> None:
    """Replace boolean dictionary keys by 0 and 1, in place, because skops restores the key False as True.

    The keys stay the same, because in Python 0 and 1 equal False and True.
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
                # skops restores one type per id, but this type has just been replaced.
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
