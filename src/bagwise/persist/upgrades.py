"""Convert type names and attributes of older model file formats to the current format.

If you rename a fitted attribute or a parameter, add an upgrade here and increase `FORMAT` in `files.py` by
one; otherwise the upgrade never runs. If you rename or move a class, keep the identifier of its type in
`known_types.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bagwise.persist.archive import nodes
from bagwise.persist.files import FORMAT
from bagwise.persist.known_types import name_in_files


def _renamed(**names: str) -> Callable[[Any], Any]:
    """Return an upgrade that renames attributes: ``_renamed(old="new")``."""
    return lambda state: {names.get(name, name): value for name, value in state.items()}


# Upgrades by file format and type identifier. An upgrade maps the state of an object in this format to its
# state in the next format: a dict of attributes, or a list of values for named tuples. The values are skops
# descriptions.
UPGRADES: dict[tuple[int, str], Callable[[Any], Any]] = {
    (1, "EnsembleVote"): _renamed(speaks_of_instances="predicts_instances"),
    (1, "KernelLookup"): _renamed(place="positions"),
}

# Format 1 contains the module and class name of our types. Class names were unique, so modules do not matter.
_IDENTIFIERS_OF_FORMAT_1 = {
    "Instances": "EnsembleInstances",
    "Kept": "InferenceStatistics",
    "KernelPart": "EnsembleKernelPart",
    "Labeler": "RuleLabeler",
    "LinearPart": "EnsembleLinearPart",
    "ModelPart": "EnsembleModelPart",
    "Network": "AttentionNetwork",
    "Trees": "TreeArrays",
    "Vote": "EnsembleVote",
    "_Always": "ConstantLabel",
}


def identifier_of(class_name: str) -> str:
    """Return the identifier of a bagwise type, from its class name in files of format 1."""
    return _IDENTIFIERS_OF_FORMAT_1.get(class_name, class_name)


def upgrade(schema: dict[str, Any], format: int) -> dict[str, Any]:
    """Upgrade the schema of an archive from this format to the newest one, in place."""
    if format == 1:
        for node in nodes(schema):
            module, name = str(node["__module__"]), str(node["__class__"])
            is_ours = module.startswith("bagwise.")
            new = ("bagwise", identifier_of(name)) if is_ours else name_in_files(module, name)
            node["__module__"], node["__class__"] = new
    for older in range(format, FORMAT):
        for node in nodes(schema):
            if node["__module__"] == "bagwise":
                change = UPGRADES.get((older, str(node["__class__"])))
                if change is not None:
                    _change_state(node, change)
    return schema


def _change_state(node: dict[str, Any], change: Callable[[Any], Any]) -> None:
    is_tuple = node.get("__loader__") == "TupleNode"
    state = node if is_tuple else node["content"]
    state["content"] = change(state["content"])
    if not is_tuple:  # the schema contains one type per key, and all keys are strings
        state["key_types"]["content"] = state["key_types"]["content"][:1] * len(state["content"])
