"""Checks of schema nodes, which determine what the skops loaders do, before any loader runs.

A node describes one object: its type, the name of the skops loader that restores it, and the nodes of its
parts. A forged file can contain any combination. These checks allow a known type only with its own loaders
(`loaders_of`), require parts of the kinds that `save` writes, and let only one object read each array.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from typing import Any

from bagwise.persist.known_types import loaders_of, name_in_files

Node = dict[str, Any]

# The oldest skops protocol of model files; skops rejects protocols that are newer than its own.
_PROTOCOL = 2
_KEYS = ("__loader__", "__module__", "__class__")
# Loaders that read an archive member, with the end of its name.
_SUFFIXES = {"BytesNode": ".bin", "NdArrayNode": ".npy", "SparseMatrixNode": ".npz"}
# The largest pool of numpy's seed sequences; the default is 4, and mixing takes the square of its size.
_LARGEST_POOL = 64
_LONGEST_RANGE = 10**6
_SEED_SEQUENCE = {"entropy", "n_children_spawned", "pool_size", "spawn_key"}


def check_nodes(schema: Node, members: Collection[str], trusted: Collection[str] = ()) -> None:
    """Raise an error if a node differs from those that `save` writes.

    Parameters
    ----------
    schema : dict
        A schema with the type names of model files; ids of nodes that only seem to be equal are removed.
    members : collection of str
        The names of the archive members.
    trusted : collection of str
        Names of types that any loader may restore, unless the type is known.
    """
    protocol = schema.get("protocol")
    _require(type(protocol) is int and protocol >= _PROTOCOL, f"it has the skops protocol {protocol!r}")
    _require(schema.get("__loader__") == "ObjectNode", "it does not describe an estimator")
    firsts: dict[int, Node] = {}
    readers: dict[str, int | None] = {}
    waiting: list[Any] = [schema]
    while waiting:
        node = waiting.pop()
        loader, name = _loader(node), f"{node['__module__']}.{node['__class__']}"
        loaders = loaders_of(node["__module__"], node["__class__"])
        if not (loader in loaders if loaders else name in trusted and not is_alias(node)):
            raise _fault(f"{loader} would restore {name!r}")
        # skops restores nodes with the same id once, from the first one, regardless of the content of the
        # others.
        identity = node.get("__id__")
        if not (identity is None or type(identity) is int):
            raise _fault(f"the id of a node is {identity!r}")
        if identity is not None and firsts.setdefault(identity, node) != node:
            identity = None
            del node["__id__"]
        if loader in _SUFFIXES and "file" in node:
            file = node["file"]
            _require(
                isinstance(file, str) and file in members and file.endswith(_SUFFIXES[loader]),
                f"{loader} would read {file!r}",
            )
            # Otherwise, a small file could refer to a large array a thousand times.
            _require(
                file not in readers or (identity is not None and readers[file] == identity),
                f"several objects would read {file!r}",
            )
            readers[file] = identity
        waiting.extend(_PARTS[loader](node) if loaders else _nodes_inside(node))


def is_alias(node: Node) -> bool:
    """Return whether a node has the name of a known type, but not the module that `save` writes."""
    module, name = str(node["__module__"]), str(node["__class__"])
    return name_in_files(module, name) != (module, name)


def _require(condition: bool, fault: str) -> None:
    if not condition:
        raise _fault(fault)


def _fault(fault: str) -> ValueError:
    return ValueError(f"its description of the model was not written by save: {fault}")


def _loader(node: Any) -> str:
    """Check that this is a node, and return its loader."""
    if not isinstance(node, dict) or not all(isinstance(node.get(key), str) for key in _KEYS):
        raise _fault(f"{str(node)[:60]!r} is not a node")
    return str(node["__loader__"])


def _nodes_inside(node: Node) -> list[Node]:
    """Return the outermost nodes inside the node of a trusted type, which may have any structure."""
    nearest, waiting = [], list(node.values())
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict) and "__loader__" in item:
            nearest.append(item)
        elif isinstance(item, dict):
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
    return nearest


# ---------------------------------------------------------------- the parts of a node, by loader


def _items(node: Node) -> list[Node]:
    content = node.get("content")
    if not isinstance(content, list):
        raise _fault(f"the content of {node['__loader__']} is not a list")
    return content


def _named(node: Node, names: Collection[str]) -> list[Node]:
    """Return the values of a content with exactly these names."""
    content = node.get("content")
    if not isinstance(content, dict) or content.keys() != set(names):
        raise _fault(f"the content of {node['__loader__']} is not {', '.join(names)}")
    return [content[name] for name in names]


def _is(node: Any, *loaders: str) -> Any:
    """Check the loader of a node, and return the node."""
    if _loader(node) not in loaders:
        raise _fault(f"{node['__loader__']} is not one of {', '.join(loaders)}")
    return node


def _value(node: Any) -> Any:
    """Return the value of a JSON node."""
    _json(_is(node, "JsonNode"))
    return json.loads(node["content"])


def _integer(node: Any, least: int | None = None, greatest: int | None = None) -> int:
    value = _value(node)
    _require(
        type(value) is int and (least is None or value >= least) and (greatest is None or value <= greatest),
        f"{value!r} is not an integer in the valid range",
    )
    return int(value)


def _json(node: Node) -> list[Node]:
    _require(isinstance(node.get("content"), str), "the content of JsonNode is not text")
    return []


def _dict(node: Node) -> list[Node]:
    content, types = node.get("content"), node.get("key_types")
    _require(isinstance(content, dict), "the content of DictNode is not a dictionary")
    kinds = _items(_is(types, "ListNode"))
    _require(len(kinds) == len(content or ()), "DictNode does not have one type for each key")
    # skops calls the types with the keys.
    return [types, *(_is(kind, "TypeNode") for kind in kinds), *(content or {}).values()]


def _text_dict(node: Any) -> Any:
    """Check that a node is a dictionary of attributes."""
    kinds = _items(_is(_is(node, "DictNode").get("key_types"), "ListNode"))
    _require(
        all(_type_name(kind) == "builtins.str" for kind in kinds), "the name of an attribute is not text"
    )
    return node


def _is_known(node: Any) -> bool:
    _loader(node)
    return bool(loaders_of(node["__module__"], node["__class__"]))


def _type_name(node: Any) -> str:
    _loader(node)
    return f"{node['__module__']}.{node['__class__']}"


def _default_dict(node: Node) -> list[Node]:
    main, factory = _named(node, ("main", "default_factory"))
    return [_text_dict(main), _is(factory, "TypeNode", "JsonNode")]


def _object(node: Node) -> list[Node]:
    return [_text_dict(node["content"])] if node.get("content") is not None else []


def _array(node: Node) -> list[Node]:
    if node.get("type") == "numpy":
        _require("file" in node, "NdArrayNode has no file")
        return []
    _require(node.get("type") == "json" and "file" not in node, f"an array of type {node.get('type')!r}")
    shape = _is(node.get("shape"), "TupleNode")
    first, *others = [_integer(size, 0) for size in _items(shape)]
    level = _items(node)
    fits = len(level) == first
    for size in others:
        rows = [_items(_is(row, "ListNode")) for row in level]
        fits = fits and all(len(row) == size for row in rows)
        level = [item for row in rows for item in row]
    _require(fits, "the shape of an array is not that of its content")
    if others:  # numpy would descend into nested values of any length
        _require(
            all(not isinstance(_value(item), (list, dict)) for item in level if _is_known(item)),
            "an array of several dimensions has items that are not plain values",
        )
    return [shape, *_items(node)]


def _masked_array(node: Node) -> list[Node]:
    return [_is(part, "NdArrayNode") for part in _named(node, ("data", "mask"))]


def _dtype(node: Node) -> list[Node]:
    return [_is(node.get("content"), "NdArrayNode")]


def _sparse_matrix(node: Node) -> list[Node]:
    _require(node.get("type") == "scipy" and "file" in node, "SparseMatrixNode has no file")
    return []


def _bytes(node: Node) -> list[Node]:
    _require("file" in node, "BytesNode has no file")
    return []


def _random_state(node: Node) -> list[Node]:
    return [_text_dict(node.get("content"))]


def _random_generator(node: Node) -> list[Node]:
    generator, seeds = _named(node, ("bit_generator", "seed_seq"))
    arguments = _text_dict(seeds).get("content", {})
    _require(set(arguments) <= _SEED_SEQUENCE, "a random generator has seeds that numpy does not use")
    if "pool_size" in arguments:
        _integer(arguments["pool_size"], 4, _LARGEST_POOL)
    return [_text_dict(generator), seeds]


def _loss(node: Node) -> list[Node]:
    """Check that losses have scalar arguments and no state, which compiled code would read unchecked."""
    reduced = node.get("__reduce__")
    _require(isinstance(reduced, dict), "LossNode has no arguments")
    arguments = _is((reduced or {}).get("args"), "TupleNode")
    _require(
        all(isinstance(_value(argument), (int, float)) for argument in _items(arguments)),
        "an argument of a loss is not a number",
    )
    state = _is(node.get("content"), "DictNode", "TupleNode")
    _require(not state.get("content"), "a loss has a state")
    return [arguments, state]


def _call(node: Node) -> list[Node]:
    """``range`` is called with integers, ``frozenset`` with a list."""
    arguments = _is(node.get("content"), "TupleNode")
    items = _items(arguments)
    if node["__class__"] == "range":
        _require(1 <= len(items) <= 3, f"range has {len(items)} arguments")
        bounds = [_integer(item) for item in items]
        _require(bounds[2:] != [0], "range has the step 0")
        values = range(*bounds)
        # A search in a longer range (`"name" in range(10**9)`) takes seconds or more.
        _require(not values[_LONGEST_RANGE:], f"{values} has more than {_LONGEST_RANGE:,} values")
    else:
        _require(len(items) == 1 and _loader(items[0]) == "ListNode", "frozenset has other than one list")
    return [arguments]


def _slice(node: Node) -> list[Node]:
    bounds: list[Any] = _named(node, ("start", "stop", "step"))
    _require(all(bound is None or type(bound) is int for bound in bounds), "a slice has other than integers")
    return []


def _no_parts(node: Node) -> list[Node]:
    return []


_PARTS: dict[str, Callable[[Node], list[Node]]] = {
    "BytesNode": _bytes,
    "ConstructorFromReduceNode": _call,
    "DTypeNode": _dtype,
    "DefaultDictNode": _default_dict,
    "DictNode": _dict,
    "FunctionNode": _no_parts,
    "JsonNode": _json,
    "ListNode": _items,
    "LossNode": _loss,
    "MaskedArrayNode": _masked_array,
    "NdArrayNode": _array,
    "ObjectNode": _object,
    "RandomGeneratorNode": _random_generator,
    "RandomStateNode": _random_state,
    "SetNode": _items,
    "SliceNode": _slice,
    "SparseMatrixNode": _sparse_matrix,
    "TupleNode": _items,
    "TypeNode": _no_parts,
}
