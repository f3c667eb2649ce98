"""Forged model files: nodes of a schema, and archives with a valid checksum around them."""

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

Node = dict[str, Any]


def members_of(path: Path) -> tuple[Node, dict[str, bytes]]:
    """Return the schema of a model file, and the other members of its archive."""
    archive = zipfile.ZipFile(io.BytesIO(path.read_bytes().split(b"\n", 3)[3]))
    members = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(members.pop("schema.json")), members


def write_members(path: Path, schema: Node, members: dict[str, bytes]) -> Path:
    """Replace the archive of a model file, with a valid checksum, as an attacker would."""
    head, _, card, _ = path.read_bytes().split(b"\n", 3)
    forged = io.BytesIO()
    with zipfile.ZipFile(forged, "w", zipfile.ZIP_STORED) as archive:
        for name, content in {**members, "schema.json": json.dumps(schema).encode()}.items():
            archive.writestr(name, content)
    content = card + b"\n" + forged.getvalue()
    path.write_bytes(head + b"\n" + hashlib.sha256(content).hexdigest().encode() + b"\n" + content)
    return path


def forge_nodes(path: Path, change: Callable[[Node, dict[str, bytes]], Any]) -> Path:
    """Rewrite a model file after a change of its schema and members."""
    schema, members = members_of(path)
    change(schema, members)
    return write_members(path, schema, members)


def all_nodes(item: Any) -> Iterator[Node]:
    """Yield all nodes of a schema."""
    if isinstance(item, dict):
        if "__loader__" in item:
            yield item
        for value in item.values():
            yield from all_nodes(value)
    elif isinstance(item, list):
        for value in item:
            yield from all_nodes(value)


def attributes_of(schema: Node, name: str) -> Node:
    """Return the nodes of the attributes of the first object of a class, by name."""
    return next(node for node in all_nodes(schema) if node["__class__"] == name)["content"]["content"]


def set_attribute(schema: Node, cls: str, name: str, value: Node) -> None:
    """Set an attribute of all objects of a class."""
    objects = [node for node in all_nodes(schema) if node["__class__"] == cls and "content" in node]
    for node in objects:
        state = node["content"]
        if name not in state["content"]:
            state["key_types"]["content"].append(of_type("builtins", "str"))
        state["content"][name] = value


def node(loader: str, name: str, **fields: Any) -> Node:
    """Return a node of this loader for a type with this full name."""
    module, _, cls = name.rpartition(".")
    return {"__class__": cls, "__module__": module, "__loader__": loader, **fields}


def value(item: Any) -> Node:
    """Return the node of a JSON value."""
    return node("JsonNode", "builtins.str", content=json.dumps(item), is_json=True)


def sequence(*items: Node, kind: str = "tuple") -> Node:
    """Return the node of a tuple, list or set."""
    return node(f"{kind.title()}Node", f"builtins.{kind}", content=list(items))


def of_type(module: str, name: str) -> Node:
    """Return the node of a type."""
    return node("TypeNode", f"{module}.{name}")


def dictionary(**items: Node) -> Node:
    """Return the node of a dictionary."""
    types = sequence(*(of_type("builtins", "str") for _ in items), kind="list")
    return node("DictNode", "builtins.dict", content=items, key_types=types)


def call(name: str, *arguments: Node) -> Node:
    """Return a node that calls a type or function."""
    return node("ConstructorFromReduceNode", name, content=sequence(*arguments))


def array(members: dict[str, bytes], name: str, content: Any) -> Node:
    """Add an array to the members, and return its node."""
    members[name] = array_bytes(content)
    return node("NdArrayNode", "numpy.ndarray", type="numpy", file=name)


def array_bytes(content: Any) -> bytes:
    """Return the content of an npy file."""
    written = io.BytesIO()
    np.save(written, content, allow_pickle=False)
    return written.getvalue()


def claimed_array(shape: tuple[int, ...], dtype: str = "<f8") -> bytes:
    """Return the header of an npy file without any content."""
    written = io.BytesIO()
    np.lib.format.write_array_header_1_0(written, {"descr": dtype, "fortran_order": False, "shape": shape})
    return written.getvalue()


def random_state(position: int) -> Node:
    """Return the node of a ``RandomState`` with this position, without an array."""
    state = np.random.RandomState(0).get_state(legacy=False)
    key = sequence(*(value(int(word)) for word in state["state"]["key"]), kind="list")
    content = dictionary(
        bit_generator=value("MT19937"),
        state=dictionary(key=key, pos=value(position)),
        has_gauss=value(0),
        gauss=value(0.0),
    )
    return node("RandomStateNode", "numpy.random.mtrand.RandomState", content=content)


def generator(state: dict[str, Any], **seeds: Any) -> Node:
    """Return the node of a ``Generator`` with the state of a bit generator."""

    def nodes(item: Any) -> Node:
        if isinstance(item, dict):
            return dictionary(**{name: nodes(part) for name, part in item.items()})
        return value(np.asarray(item).tolist())

    seeds = {"entropy": 1, "spawn_key": [], "pool_size": 4, "n_children_spawned": 0, **seeds}
    content = {"bit_generator": nodes(state), "seed_seq": nodes(seeds)}
    return node("RandomGeneratorNode", "numpy.random.Generator", content=content)


def sparse_object(members: dict[str, bytes], n_columns: int) -> Node:
    """Return the node of a sparse matrix that is restored by its attributes, with invalid indices."""
    content = dictionary(
        _shape=sequence(value(1), value(n_columns)),
        maxprint=value(50),
        data=array(members, "9001.npy", np.ones(n_columns)),
        indices=array(members, "9002.npy", np.full(n_columns, 2**31 - 7, np.int32)),
        indptr=array(members, "9003.npy", np.array([0, n_columns], np.int32)),
    )
    return node("ObjectNode", "scipy.sparse.csr_array", content=content)


def sparse_bytes(matrix_arrays: dict[str, Any], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return an npz file of arrays, or of bytes."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", compression) as archive:
        for name, content in matrix_arrays.items():
            archive.writestr(f"{name}.npy", content if isinstance(content, bytes) else array_bytes(content))
    return written.getvalue()


def sparse_arrays(data: Any, indices: Any, indptr: Any, shape: tuple[int, int]) -> dict[str, Any]:
    """Return the arrays of a CSR matrix, as scipy names them."""
    return {
        "indices": np.asarray(indices, np.int32),
        "indptr": np.asarray(indptr, np.int32),
        "format": np.array(b"csr"),
        "shape": np.array(shape),
        "data": data if isinstance(data, bytes) else np.asarray(data, float),
        "_is_array": np.array(True),
    }
