"""What an inspection gives, and the words it uses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes
    ----------
    level : {"ok", "note", "warning"}
        Whether it is as it should be, worth knowing, or likely to spoil a model or its evaluation.
    topic : str
        What was looked at, in two or three words.
    text : str
        What was found and, unless all is well, what to do about it.
    """

    level: str
    topic: str
    text: str


@dataclass(frozen=True)
class Report:
    """Facts about a data set, and findings.

    Attributes
    ----------
    facts : tuple of (str, str)
        Name and value: numbers of bags and instances, sizes, labels.
    findings : tuple of Finding
        One for everything that was looked at.
    """

    facts: tuple[tuple[str, str], ...]
    findings: tuple[Finding, ...]

    def count(self, level: str) -> int:
        """Count the findings of a level."""
        return sum(finding.level == level for finding in self.findings)


def count(n: int, what: str) -> str:
    """Write a number and a noun: "1 bag", "2,000 bags"."""
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def first_few(names: Sequence[Any] | np.ndarray, n: int = 3) -> str:
    """List the first names, and say how many more there are."""
    listed = ", ".join(quoted(name) for name in names[:n])
    return listed + (f" and {len(names) - n:,} more" if len(names) > n else "")


def quoted(name: Any) -> str:
    """Write a name as Python would: numbers bare, text in quotes and free of control characters."""
    return repr(name.item() if hasattr(name, "item") else name)


def size_in_words(n_bytes: float) -> str:
    """Write an amount of memory: "2.2 MB"."""
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if n_bytes < 999.5 or unit == "TB":
            break
        n_bytes /= 1000
    return f"{n_bytes:.3g} {unit}" if n_bytes < 999.5 else f"{n_bytes:,.0f} {unit}"
