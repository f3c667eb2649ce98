"""Upgrade what older formats of model files contain: names of types, and names of attributes.

Renaming a fitted attribute or a parameter takes an upgrade here, and a `FORMAT` in `files.py` one higher. The
identifier of a type in `known_types.py` stays the same when its class is renamed or moved.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bagwise.persist.archive import nodes
from bagwise.persist.files import FORMAT

# The attributes of an object by name; the values are as skops describes them.
Attributes = dict[str, Any]

# By the format a file has and the identifier of a type: from the attributes then to those of the next format.
UPGRADES: dict[tuple[int, str], Callable[[Attributes], Attributes]] = {}

# Format 1 names our types by module and class. Class names were unique, so the modules do not matter.
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
    """Return the identifier of one of our types, from the class name that it has in files of format 1."""
    return _IDENTIFIERS_OF_FORMAT_1.get(class_name, class_name)


def upgrade(schema: dict[str, Any], format: int) -> dict[str, Any]:
    """Bring the schema of an archive from a format to the newest one, in place."""
    if format == 1:
        for node in nodes(schema):
            if str(node["__module__"]).startswith("bagwise."):
                node["__module__"], node["__class__"] = "bagwise", identifier_of(str(node["__class__"]))
    for older in range(format, FORMAT):
        for node in nodes(schema):
            change = UPGRADES.get((older, node["__class__"])) if node["__module__"] == "bagwise" else None
            if change is not None:
                state = node["content"]
                state["content"] = change(state["content"])
                # One type per key; all are text.
                state["key_types"]["content"] = state["key_types"]["content"][:1] * len(state["content"])
    return schema
