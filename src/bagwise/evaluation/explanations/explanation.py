"""What an explanation is: tables that print themselves, and a picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bagwise._display.parts import Table
from bagwise._display.pictures import Display, Palette, axes_for, legend_above, new_panels, palette_of
from bagwise._display.text import table_lines

_LONGEST_NAME = 22


class FeatureEffect(NamedTuple):
    """What a feature does to the score of an instance.

    Attributes
    ----------
    name : str
        Of the feature.
    value, usual : float
        What the instance has, and what is usual.
    effect : float
        What its log-odds, or score, would lose with the usual value.
    """

    name: str
    value: float
    usual: float
    effect: float


@dataclass(frozen=True)
class BagExplanation:
    """Why a bag is what a model says it is. Made by `explain_bag`; ``print`` shows it, `plot` draws it.

    Attributes
    ----------
    bag : object
        The id of the bag.
    model : str
        The class of the model.
    positive : object
        The label whose probability or score is told: the positive one, or with more than two classes the one
        that is predicted.
    label : object or None
        The label of the bag, if it was given; posteriors are given this, or else `positive`.
    kind : {"probability", "score"}
        What is said of the bag.
    value : float
        The probability or score of the bag.
    n_instances : int
        How many instances the bag has.
    columns : dict of str to array
        A table of the leading instances, the most positive first: `instance` (its place in the bag), the
        columns of instances, `probability` or `score`, `posterior` where the model has one, and `without`:
        what would be said of the bag without the instance, NaN if nothing was left.
    features : list of (int, list of FeatureEffect)
        For the first of them, the features that matter most.

    See Also
    --------
    explain_bag : makes it.

    Examples
    --------
    >>> from bagwise import MILogisticRegression, explain_bag, make_noisy_or_bags
    >>> data = make_noisy_or_bags(100, size=(2, 6), random_state=0)
    >>> model = MILogisticRegression(random_state=0).fit(data.bags, data.y)
    >>> found = explain_bag(model, data.bags, 7)
    >>> found.kind, bool(found.value == model.predict_proba(data.bags[[7]])[0, 1])
    ('probability', True)
    >>> leader, effects = found.features[0]
    >>> bool(leader == found.columns["instance"][0])
    True
    """

    bag: Any
    model: str
    positive: Any
    label: Any
    kind: str
    value: float
    n_instances: int
    columns: dict[str, np.ndarray]
    features: list[tuple[int, list[FeatureEffect]]]

    @property
    def instance_kind(self) -> str:
        """What is said of instances: "probability" or "score"."""
        return "probability" if "probability" in self.columns else "score"

    def sentence(self, positive: str | None = None) -> str:
        """Say what is said of the bag."""
        name = self.positive if positive is None else positive
        what = f"probability of {name!r}" if self.kind == "probability" else f"score for {name!r}"
        instances = "1 instance" if self.n_instances == 1 else f"{self.n_instances:,} instances"
        return f"bag {self.bag!r}, {instances}: {what} {self.value:.4g}"

    def table(self) -> Table:
        """Give the leading instances as a table: their place and what is text first, then numbers."""
        is_text = [column.dtype.kind in "UO" for column in self.columns.values()]
        names = list(self.columns)
        order = sorted(range(len(names)), key=lambda j: not is_text[j] and j > 0)
        rows = [
            [_text(self.columns[names[j]][row]) for j in order]
            for row in range(len(self.columns["instance"]))
        ]
        return Table.of([names[j] for j in order], rows, n_text=1 + sum(is_text))

    def feature_tables(self) -> list[Table]:
        """Give the features that matter, a table for each of the first instances."""
        what = "log-odds" if self.instance_kind == "probability" else "score"
        return [
            Table.of(
                [f"instance {instance}", "value", "usual", what],
                [[e.name, f"{e.value:.4g}", f"{e.usual:.4g}", f"{e.effect:+.3g}"] for e in effects],
            )
            for instance, effects in self.features
        ]

    def __str__(self) -> str:
        lines = [self.sentence()]
        for table in (self.table(), *self.feature_tables()):
            lines += ["", *table_lines(table)]
        return "\n".join(lines)

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the leading instances, what the bag would be without each, and the features behind the first.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw instances; features are left out then.

        Returns
        -------
        Display
            With `figure_` and `ax_`.
        """
        n_rows = len(self.columns["instance"])
        height = 1.3 + 0.26 * max(n_rows, 4)
        is_own = ax is None
        if is_own and self.features:
            _, panels = new_panels(7.2, height, 1, 2)
            ax = panels[0, 0]
            _draw_features(panels[0, 1], self)
        ax, palette = axes_for(ax, 4.2, height)
        _draw_instances(ax, palette, self)
        how: dict[str, Any] = {"frameon": False, "fontsize": "small"}
        if is_own:
            ax.figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=3, **how)
        else:
            legend_above(ax)
        return Display(ax.figure, ax)


def _text(value: Any) -> str:
    if isinstance(value, np.floating):
        return "-" if np.isnan(value) else f"{value:.4g}"
    return str(value)


def _draw_instances(ax: Any, palette: Palette, explanation: BagExplanation) -> None:
    columns, kind = explanation.columns, explanation.instance_kind
    values, without = columns[kind], columns["without"]
    places = np.arange(len(values))[::-1]
    ax.barh(places, values, color=palette.positive, height=0.6, alpha=0.85, label=f"{kind} of the instance")
    ax.axvline(explanation.value, color=palette.chosen, linewidth=1.0, label=f"{explanation.kind} of the bag")
    left = np.isfinite(without)
    if left.any():
        how = {"color": palette.chosen, "markersize": 4, "label": "the bag without it"}
        ax.plot(without[left], places[left], "D", **how)
    ax.set_yticks(places, [_name(explanation, row) for row in range(len(values))])
    if explanation.kind == kind == "probability":
        ax.set_xlim(0, 1.02)
    else:
        ax.axvline(0, color=palette.faint, linewidth=0.6)
    called = _short(str(explanation.positive))
    ax.set_xlabel(f"probability of {called!r}" if kind == "probability" else f"score for {called!r}")
    ax.set_title(f"bag {_short(str(explanation.bag))}", loc="left", fontsize="medium")


def _draw_features(ax: Any, explanation: BagExplanation) -> None:
    palette = palette_of(ax)
    _, effects = explanation.features[0]
    places = np.arange(len(effects))[::-1]
    sizes = [effect.effect for effect in effects]
    colors = [palette.positive if size > 0 else palette.negative for size in sizes]
    ax.barh(places, sizes, color=colors, height=0.6, alpha=0.85)
    ax.axvline(0, color=palette.faint, linewidth=0.6)
    ax.set_yticks(places, [f"{_short(effect.name)} = {effect.value:.3g}" for effect in effects])
    what = "log-odds" if explanation.instance_kind == "probability" else "score"
    ax.set_xlabel(f"{what}, against the usual value")
    ax.set_title(f"features of {_name(explanation, 0)}", loc="left", fontsize="medium")


def _name(explanation: BagExplanation, row: int) -> str:
    """Name an instance by the first text that came with it, else by its place in the bag."""
    for name, column in explanation.columns.items():
        if column.dtype.kind in "UO":
            return _short(f"{name} {column[row]}")
    return f"instance {explanation.columns['instance'][row]}"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 1] + "…"
