"""How to do it again: code, seed, settings, versions, and a digest of the data."""

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
    """Give the versions of bagwise and of what it stands on."""
    return {
        "bagwise": __version__,
        "Python": platform.python_version(),
        **{name: version(name) for name in _STANDS_ON},
    }


def fit_code(model: Any, *, n_folds: int, seed: int, has_groups: bool) -> str:
    """Write the lines of Python that fit a model and write its page."""
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
    """Import what the repr of a model names."""
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


def repeat_parts(code: str, facts: list[tuple[str, str]], known: dict[str, str]) -> tuple[Any, ...]:
    """Show the code, and a table of facts and versions."""
    stands_on = ", ".join(f"{name} {number}" for name, number in known.items())
    rows = [*((name, short(value, 400)) for name, value in facts), ("versions", stands_on)]
    return (Code(code), Table.of_facts(rows))


def settings_of(model: Any) -> str:
    """Name the settings of a model, and what it chose by itself."""
    inside = list(model_and_inside(model))[-1]
    settings = [
        f"{name}={short(repr(value))}" for name, value in sorted(inside.get_params(deep=False).items())
    ]
    chosen = getattr(model, "best_params_", None)
    text = ", ".join(settings)
    return text if not chosen else f"{text}; chosen by search: {short(repr(chosen), 120)}"
