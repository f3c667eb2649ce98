"""What the data say of how instances make the label of a bag."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Assumption:
    """What a bag's label seems to depend on, and why one may think so.

    Attributes
    ----------
    kind : {"one instance", "a share", "a count", "the whole bag"} or None
        None where it cannot be told.
    sentence : str
        The answer in words.
    evidence : tuple of str
        Sentences with the numbers behind it.
    diagnosis : RuleDiagnosis or None
        What `diagnose_rule` found, where it was asked.
    """

    kind: str | None
    sentence: str
    evidence: tuple[str, ...]
    diagnosis: Any = None
