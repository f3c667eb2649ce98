"""Results of the checks, and helpers that format their texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Finding:
    """Result of one check.

    Attributes
    ----------
    level : {"ok", "note", "warning"}
        "ok" if there is no problem, "note" if the user should know about it, and "warning" if it is likely
        to harm a model or its evaluation.
    topic : str
        Subject of the check, in one to three words.
    text : str
        Result and, unless the level is "ok", what to do about it.
    """

    level: str
    topic: str
    text: str


@dataclass(frozen=True)
class Report:
    """Facts about a data set, and the findings of all checks.

    Attributes
    ----------
    facts : tuple of (str, str)
        Pairs of name and value, such as the numbers of bags and instances, the bag sizes and the labels.
    findings : tuple of Finding
        One finding per check.
    """

    facts: tuple[tuple[str, str], ...]
    findings: tuple[Finding, ...]

    def count(self, level: str) -> int:
        """Return the number of findings with a level."""
        return sum(finding.level == level for finding in self.findings)


def count(n: int, noun: str) -> str:
    """Format a count and a noun: "1 bag", "2,000 bags"."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def first_few(names: Sequence[Any] | np.ndarray, n: int = 3) -> str:
    """List the first n names, followed by the number of remaining names."""
    listed = ", ".join(quoted(name) for name in names[:n])
    return listed + (f" and {len(names) - n:,} more" if len(names) > n else "")


def quoted(name: Any) -> str:
    """Format a name with `repr`: numeric values bare, text in quotes with control characters escaped."""
    return repr(name.item() if hasattr(name, "item") else name)


def format_size(n_bytes: float) -> str:
    """Format an amount of memory: "2.2 MB"."""
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if n_bytes < 999.5 or unit == "TB":
            break
        n_bytes /= 1000
    return f"{n_bytes:.3g} {unit}" if n_bytes < 999.5 else f"{n_bytes:,.0f} {unit}"
