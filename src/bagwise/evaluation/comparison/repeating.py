"""What it takes to repeat a comparison: code and versions."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import TYPE_CHECKING

from bagwise._version import __version__
from bagwise.evaluation.comparison.scoring import DEFAULT_SCORING

if TYPE_CHECKING:
    from bagwise.evaluation.comparison.perform import Plan


def versions() -> dict[str, str]:
    """Give the versions of bagwise and of what its numbers depend on."""
    known = {name: version(name) for name in ("numpy", "scipy", "scikit-learn", "numba")}
    return {"bagwise": __version__, "python": platform.python_version(), **known}


def code_of(plan: Plan) -> str:
    """Write the call that repeats a comparison; X, y and groups are the user's."""
    lines = ["from bagwise import compare", ""]
    arguments = ["X", "y"]
    if plan.given is not None:
        lines.append("models = {")
        lines += [f"    {name!r}: {' '.join(repr(model).split())}," for name, model in plan.given.items()]
        lines.append("}")
        arguments.append("models")
    elif plan.models != "default":
        arguments.append(repr(plan.models))
    if plan.groups is not None:
        arguments.append("groups=groups")
    if isinstance(plan.scoring, dict):
        arguments.append("scoring=scoring")
    elif tuple(plan.scorers) != DEFAULT_SCORING and not plan.data.from_unlabeled:
        arguments.append(f"scoring={plan.scoring!r}")
    arguments.append(f"cv={plan.cv!r}" if isinstance(plan.cv, int) else "cv=cv")
    arguments += [f"repeats={plan.repeats}", f"random_state={plan.seed}"]
    return "\n".join([*lines, f"comparison = compare({', '.join(arguments)})"])
