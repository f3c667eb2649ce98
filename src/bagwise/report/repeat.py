"""Code, seed, settings, versions and data digest that reproduce a report."""

from __future__ import annotations

import platform
import re
from importlib.metadata import version
from typing import Any

from bagwise._display.parts import Code, Table
from bagwise._version import __version__
from bagwise.models.wrappers.instance_level import model_and_inside
from bagwise.report.subject import short

_STANDS_ON = ("numpy", "scipy", "scikit-learn", "numba")


def versions() -> dict[str, str]:
    """Return the versions of bagwise, Python and the main dependencies."""
    return {
        "bagwise": __version__,
        "Python": platform.python_version(),
        **{name: version(name) for name in _STANDS_ON},
    }


def fit_code(model: Any, *, n_folds: int, seed: int, has_groups: bool) -> str:
    """Return Python code that fits a model and writes its report."""
    made = " ".join(repr(model).split()) if len(repr(model)) < 2000 else f"{type(model).__name__}(...)"
    more = ", groups=groups" if has_groups else ""
    return "\n".join(
        [
            *_imports(model),
            "",
            f"model = {made}",
            "model.fit(X, y)",
            f'write_report(model, "report.html", X, y{more}, cv={n_folds}, random_state={seed})',
        ]
    )


def _imports(model: Any) -> list[str]:
    """Return import statements for the classes in the repr of a model."""
    import bagwise

    named = set(re.findall(r"\b[A-Z]\w+(?=\()", repr(model)))
    ours = sorted({name for name in named if name in bagwise.__all__} | {"write_report"})
    lines = [f"from bagwise import {', '.join(ours)}"]
    parts = [model, *model.get_params().values()]
    for part in parts:
        module, name = type(part).__module__, type(part).__name__
        if name in named and name not in ours and module.split(".")[0] in ("sklearn", "bagwise"):
            public = ".".join(step for step in module.split(".") if not step.startswith("_"))
            lines.append(f"from {public} import {name}")
    return list(dict.fromkeys(lines))


def repeat_parts(
    code: str, facts: list[tuple[str, str]], package_versions: dict[str, str]
) -> tuple[Any, ...]:
    """Return the code, and a table of facts and versions."""
    stands_on = ", ".join(f"{name} {release}" for name, release in package_versions.items())
    rows = [*((name, short(value, 400)) for name, value in facts), ("versions", stands_on)]
    return (Code(code), Table.of_facts(rows))


def settings_of(model: Any) -> str:
    """Return the parameters of a model, and the parameters that a search selected."""
    inside = list(model_and_inside(model))[-1]
    settings = [
        f"{name}={short(repr(value))}" for name, value in sorted(inside.get_params(deep=False).items())
    ]
    chosen = getattr(model, "best_params_", None)
    text = ", ".join(settings)
    return text if not chosen else f"{text}; selected by a search: {short(repr(chosen), 120)}"
