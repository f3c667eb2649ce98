"""What it takes to repeat a comparison: code and versions."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import TYPE_CHECKING

from bagwise._version import __version__
from bagwise.evaluation.comparison.scoring import DEFAULT_SCORING

if TYPE_CHECKING:
    from bagwise.evaluation.comparison.perform import Question


def versions() -> dict[str, str]:
    """Give the versions of bagwise and of what its numbers depend on."""
    known = {name: version(name) for name in ("numpy", "scipy", "scikit-learn", "numba")}
    return {"bagwise": __version__, "python": platform.python_version(), **known}


def code_of(question: Question, seed: int) -> str:
    """Write the call that repeats a comparison; X, y and groups are the user's."""
    lines = ["from bagwise import compare", ""]
    arguments = ["X", "y"]
    if question.given is not None:
        lines.append("models = {")
        lines += [f"    {name!r}: {' '.join(repr(model).split())}," for name, model in question.given.items()]
        lines.append("}")
        arguments.append("models")
    elif question.models != "default":
        arguments.append(repr(question.models))
    if question.groups is not None:
        arguments.append("groups=groups")
    if isinstance(question.scoring, dict):
        arguments.append("scoring=scoring")
    elif tuple(question.scorers) != DEFAULT_SCORING and not question.data.from_unlabeled:
        arguments.append(f"scoring={question.scoring!r}")
    arguments.append(f"cv={question.cv!r}" if isinstance(question.cv, int) else "cv=cv")
    arguments += [f"repeats={question.repeats}", f"random_state={seed}"]
    return "\n".join([*lines, f"comparison = compare({', '.join(arguments)})"])
