"""`BagExplanation`: an explanation as printable tables and as a plot."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from bagwise._display.notebook import Shown
from bagwise._display.parts import Table
from bagwise._display.pictures import Display, Palette, axes_for, legend_above, new_panels, palette_of

_LONGEST_NAME = 22


class FeatureEffect(NamedTuple):
    """Effect of a feature on the score of an instance.

    Attributes
    ----------
    name : str
        Name of the feature.
    value, usual : float
        Value of the instance, and the reference value (the median; 0 for sparse instances).
    effect : float
        Change in the log-odds (or score) compared with the reference value.
    """

    name: str
    value: float
    usual: float
    effect: float


@dataclass(frozen=True, repr=False)
class BagExplanation(Shown):
    """Explanation of the prediction for one bag, returned by `explain_bag`.

    ``print`` and notebooks show it as tables, and `plot` draws it.

    Attributes
    ----------
    bag : object
        Id of the bag.
    model : str
        Class name of the model.
    positive : object
        The label that the probabilities or scores refer to: the positive class or, with more than two
        classes, the predicted class.
    label : object or None
        Label of the bag, if it was passed. Posteriors are conditional on this label, otherwise on
        `positive`.
    kind : {"probability", "score"}
        Type of the bag's prediction.
    value : float
        Probability or score of the bag.
    n_instances : int
        Number of instances of the bag.
    columns : dict of str to array
        Table of the listed instances, the most positive first. The columns are `instance` (the index in the
        bag), the instance columns of the bags (coordinates have a column per axis), `probability` or `score`,
        `posterior` if the model has one, and `without`: the bag's prediction if the instance were removed
        (NaN if no instance is left).
    features : list of (int, list of FeatureEffect)
        For the first instances: the index of the instance and its most important features.
    groups : dict of str to array
        Table of the groups of instances, if `by` was passed: the group, its number of `instances`, the
        `probability` that it contains a positive instance, and the `posterior`, given the label.
    note : str
        Sentence that states that all instances have the same value (up to rounding), otherwise "".

    See Also
    --------
    explain_bag : Explain the prediction of a model for one bag.

    Examples
    --------
    >>> from bagwise import MILogisticRegression, explain_bag, make_noisy_or_bags
    >>> data = make_noisy_or_bags(100, size=(2, 6), random_state=0)
    >>> model = MILogisticRegression(random_state=0).fit(data.bags, data.y)
    >>> explanation = explain_bag(model, data.bags, 7)
    >>> explanation.kind, bool(explanation.value == model.predict_proba(data.bags[[7]])[0, 1])
    ('probability', True)
    >>> leader, effects = explanation.features[0]
    >>> bool(leader == explanation.columns["instance"][0])
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
    note: str = ""
    groups: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def instance_kind(self) -> str:
        """Type of the instance-level predictions: "probability" or "score"."""
        return "probability" if "probability" in self.columns else "score"

    def sentence(self, positive: str | None = None) -> str:
        """Return the prediction for the bag as a sentence."""
        name = self.positive if positive is None else positive
        quantity = f"probability of {name!r}" if self.kind == "probability" else f"score for {name!r}"
        instances = "1 instance" if self.n_instances == 1 else f"{self.n_instances:,} instances"
        return f"bag {self.bag!r}, {instances}: {quantity} {self.value:.4g}"

    def table(self) -> Table:
        """Return the listed instances as a table: index, then text columns, then numeric columns."""
        is_text = [column.dtype.kind in "UO" for column in self.columns.values()]
        names = list(self.columns)
        order = sorted(range(len(names)), key=lambda j: not is_text[j] and j > 0)
        rows = [
            [_text(self.columns[names[j]][row]) for j in order]
            for row in range(len(self.columns["instance"]))
        ]
        return Table.of([names[j] for j in order], rows, n_text=1 + sum(is_text))

    def feature_tables(self) -> list[Table]:
        """Return the most important features, one table for each of the first instances."""
        heading = "change in log-odds" if self.instance_kind == "probability" else "change in score"
        return [
            Table.of(
                [f"instance {instance}", "value", "reference", heading],
                [[e.name, f"{e.value:.4g}", f"{e.usual:.4g}", f"{e.effect:+.3g}"] for e in effects],
            )
            for instance, effects in self.features
        ]

    def _parts(self) -> list[str | Table]:
        """Return the sentence, the note and the tables, which ``print`` and notebooks show."""
        note = [self.note] if self.note else []
        return [self.sentence(), *note, *self.group_tables(), self.table(), *self.feature_tables()]

    def group_tables(self) -> list[Table]:
        """Return the table of the groups of instances; the list is empty without groups."""
        if not self.groups:
            return []
        rows = [[_text(value) for value in row] for row in zip(*self.groups.values(), strict=True)]
        return [Table.of(list(self.groups), rows)]

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the listed instances, the bag's prediction without each, and the features of the first one.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Axes to draw the instances into; features are then omitted.

        Returns
        -------
        Display
            Display with the attributes `figure_` and `ax_`.
        """
        n_rows = len(self.columns["instance"])
        height = 1.3 + 0.26 * max(n_rows, 4) + (0.0 if self.features else 0.4)
        is_new_figure = ax is None
        if is_new_figure and self.features:
            _, panels = new_panels(7.2, height, 1, 2)
            ax = panels[0, 0]
            _draw_features(panels[0, 1], self)
        ax, palette = axes_for(ax, 4.2, height)
        _draw_instances(ax, palette, self)
        if self.note and is_new_figure:
            note = textwrap.fill(self.note, 100 if self.features else 55)
            ax.figure.suptitle(note, x=0.02, horizontalalignment="left", fontsize="small")
        elif self.note:
            ax.set_xlabel(f"{ax.get_xlabel()}\n{textwrap.fill(self.note, 50)}")
        style: dict[str, Any] = {"frameon": False, "fontsize": "small"}
        if is_new_figure:
            n_columns = 3 if self.features else 1  # a narrow figure has no space for three columns
            handles = ax.get_legend_handles_labels()
            ax.figure.legend(*handles, loc="outside lower center", ncols=n_columns, **style)
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
    title = f"bag {_short(str(explanation.bag))}"
    positions = np.arange(len(values))[::-1]
    ax.barh(
        positions, values, color=palette.positive, height=0.6, alpha=0.85, label=f"{kind} of the instance"
    )
    left = np.isfinite(without)
    if explanation.kind == kind:
        ax.axvline(explanation.value, color=palette.chosen, linewidth=1.0, label=f"{kind} of the bag")
    else:  # bag probabilities and instance scores have different scales
        title += f": {explanation.kind} {explanation.value:.3g}"
        left[:] = False
    if left.any():
        style = {"color": palette.chosen, "markersize": 4, "label": "bag without the instance"}
        ax.plot(without[left], positions[left], "D", **style)
    ax.set_yticks(positions, [_name(explanation, row) for row in range(len(values))])
    ax.set_ylim(-0.6, len(values) - 0.4)
    if explanation.kind == kind == "probability":
        ax.set_xlim(0, 1.02)
    else:
        ax.axvline(0, color=palette.faint, linewidth=0.6)
    called = _short(str(explanation.positive))
    ax.set_xlabel(f"probability of {called!r}" if kind == "probability" else f"score for {called!r}")
    ax.set_title(title, loc="left", fontsize="medium")


def _draw_features(ax: Any, explanation: BagExplanation) -> None:
    palette = palette_of(ax)
    _, effects = explanation.features[0]
    positions = np.arange(len(effects))[::-1]
    sizes = [effect.effect for effect in effects]
    colors = [palette.positive if size > 0 else palette.negative for size in sizes]
    ax.barh(positions, sizes, color=colors, height=0.6, alpha=0.85)
    ax.axvline(0, color=palette.faint, linewidth=0.6)
    ax.set_yticks(positions, [f"{_short(effect.name)} = {effect.value:.3g}" for effect in effects])
    quantity = "log-odds" if explanation.instance_kind == "probability" else "score"
    ax.set_xlabel(f"change in {quantity}\nfrom the reference value")
    ax.set_title(f"features of {_name(explanation, 0)}", loc="left", fontsize="medium")


def _name(explanation: BagExplanation, row: int) -> str:
    """Return the displayed name of an instance: its first text column, otherwise its index in the bag."""
    for name, column in explanation.columns.items():
        if column.dtype.kind in "UO":
            return _short(f"{name} {column[row]}")
    return f"instance {explanation.columns['instance'][row]}"


def _short(text: str) -> str:
    """Shorten a long name in the middle, because names often differ at their ends."""
    half = (_LONGEST_NAME - 1) // 2
    return text if len(text) <= _LONGEST_NAME else f"{text[:half]}…{text[-half:]}"
