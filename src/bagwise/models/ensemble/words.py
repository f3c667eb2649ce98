"""The words of a fitted ensemble: what was fitted, how it did inside the fit, and what counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bagwise.models.ensemble.families import FAMILIES
from bagwise.models.ensemble.vote import Found


def describe_fit(found: Sequence[Found], pairs: Sequence[tuple[Any, Any]], n_folds: int, reason: str) -> str:
    """Describe the families, their scores on held-out bags and their weights, for every pair of classes."""
    lines = []
    if reason:
        lines.append(f"{reason[0].upper()}{reason[1:]}.")
    for (low, high), vote in zip(pairs, found, strict=True):
        if len(pairs) > 1:
            lines.append(f"{high!r} against {low!r}:")
        lines += _of_pair(vote, n_folds)
    return "\n".join(lines)


def _of_pair(found: Found, n_folds: int) -> list[str]:
    lines = []
    for family in found.families:
        lines.append(
            f"{family.name} ({FAMILIES[family.name].title}, {family.n_settings} settings): log loss "
            f"{family.log_loss:.3f} and accuracy {family.accuracy:.3f} of bags held out. "
            f"Most weight in it, {family.share_of_best:.0%}, has: {family.best}."
        )
    lines.append(
        f"Together: log loss {found.log_loss:.3f} and accuracy {found.accuracy:.3f} of bags held out, in "
        f"{n_folds} folds inside the fit; log-odds are the mean of those of the families, and what that says "
        f"beyond the frequency of the classes counts times {found.vote.exponent:.2f}. The label of a bag "
        "that is held out plays no part in the machines, lines and weights that it is judged by; but that "
        "factor was chosen by these scores."
    )
    return lines
