"""Individual bags and their instances: the most confident correct and wrong predictions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from bagwise._display.parts import Bar, Figure, Fold, SideBySide, Table
from bagwise.data.bags import is_scan
from bagwise.data.bags.parts import as_python
from bagwise.evaluation.checks.report import count
from bagwise.evaluation.explanations import BagExplanation, explain_bag
from bagwise.models.wrappers.instance_level import (
    bag_predictions,
    instance_model,
    instance_predictions,
    label_names,
    posterior_of_instances,
)
from bagwise.report.subject import Subject, percent, short

N_BEST, N_WORST = 4, 4
_N_INSTANCES, _N_FEATURES = 8, 5
_USUAL_BAGS = 300  # from which the median values of features are computed
_FEWEST_INSTANCES = 4  # instances of a heat map
_MOST_PIXELS = 4096  # pixels of an image
_LONGEST_NAME = 60  # characters in the name of a closed bag; an opened bag shows its full name


def instance_parts(subject: Subject) -> list[Any]:
    """Return details of the bags with the best and the worst predictions, by models fitted without them."""
    if subject.model is None or subject.bags is None:
        return []
    if label_names(subject.model) is not None:
        return [f"{subject.called} predicts several labels per bag, so individual bags are not shown."]
    if instance_model(subject.model) is None:
        return [f"{subject.called} predicts bags, not instances."]
    chosen = _choose(subject)
    if not chosen:
        return []
    parts: list[Any] = [_introduction(subject, len(chosen)), _meaning(subject)]
    parts += _picture_of_all(subject, [index for index, _ in chosen])
    for index, mark in chosen:
        parts.append(_opened(subject, index, mark))
    return parts


def _choose(subject: Subject) -> list[tuple[int, str]]:
    """Select bags by the held-out probability (or score) of their label, separately for each class."""
    sizes = np.asarray(subject.bags.sizes)
    if subject.evaluation is None or subject.evaluation.from_unlabeled:
        return [(int(index), "") for index in np.argsort(-sizes, kind="stable")[: N_BEST + N_WORST]]
    held = subject.evaluation.held
    is_right = held.predicted == held.codes
    sure = _sureness(held)
    order = np.argsort(-sure, kind="stable")
    # Instances explain positive bags, so three of the four best predictions are positive bags.
    best: list[int] = []
    for code, n in ((1, N_BEST - 1), (0, 1)) if len(held.classes) == 2 else ((None, N_BEST),):
        of_class = [k for k in order if is_right[k] and (code is None or held.codes[k] == code)]
        best += [int(k) for k in of_class[:n]]
    worst = [int(k) for k in order[::-1] if not is_right[k]][:N_WORST]
    return [(k, "right") for k in best] + [(k, "wrong") for k in worst]


def _sureness(held: Any) -> np.ndarray:
    """Return the confidence in the correct label; scores are divided by the largest score of their fold."""
    sign = np.where(held.codes == 1, 1.0, -1.0)
    if held.probability is not None:
        return sign * (held.probability - 0.5)
    if held.score is None:
        return np.zeros(len(held.codes))
    sure = np.empty(len(held.codes))
    for fold in np.unique(held.fold):
        rows = held.fold == fold
        scale = np.abs(held.score[rows]).max()
        sure[rows] = sign[rows] * held.score[rows] / (scale if scale > 0 else 1.0)
    return sure


def _introduction(subject: Subject, n_opened: int) -> str:
    held = None if subject.evaluation is None else subject.evaluation.held
    text = f"{count(n_opened, 'bag')} of {len(subject.bags):,} can be opened here: "
    if held is None or subject.evaluation is None or subject.evaluation.from_unlabeled:
        return text + "the largest bags. All values are from the model that was fitted to all bags."
    text += "the most confident correct predictions and the most confident wrong predictions. "
    source = "a model that was fitted without the bag" if held.models else "the model fitted to all bags"
    return text + f"All values are from {source}."


def _meaning(subject: Subject) -> str:
    """Return an explanation of the columns of the tables."""
    text = "Contribution: drop in the bag's probability (or score) if the instance is removed. "
    if hasattr(instance_model(subject.model), "posterior_instances"):
        text = "Posterior: probability of the instance, given the label of its bag. " + text
    return (
        f"{text}Features of the first instance: change in its log-odds (or score) compared with the median "
        "value of the feature."
    )


def _model_for(subject: Subject, index: int) -> Any:
    held = None if subject.evaluation is None else subject.evaluation.held
    return held.models[held.fold[index]] if held is not None and held.models else subject.model


def _opened(subject: Subject, index: int, mark: str) -> Fold:
    model = _model_for(subject, index)
    bags = _with_usual(subject.bags, index)
    codes = None if subject.y is None else subject.codes
    y = None if subject.y is None else np.asarray(subject.y)[_bag_and_others(subject.bags, index)]
    explanation = explain_bag(
        model, bags, bags.ids[0], y=y, n_instances=_N_INSTANCES, n_features=_N_FEATURES, n_leading=1
    )
    label = None if codes is None or not subject.names else subject.names[codes[index]]
    summary = _summary(subject, explanation, label, mark)
    details = SideBySide((_instances(explanation), *_features(explanation), *_heat_map(model, bags)))
    name = str(as_python(bags.ids[0]))
    cut = short(name, _LONGEST_NAME)
    whole = () if cut == name else (f"Full name: {name}",)
    if explanation.note:
        whole = (*whole, explanation.note)
    return Fold(f"bag {cut}", summary, (*whole, details), mark)


def _bag_and_others(bags: Any, index: int) -> np.ndarray:
    """Return the index of a bag, followed by evenly spaced indices of other bags."""
    others = np.unique(np.linspace(0, len(bags) - 1, _USUAL_BAGS).astype(int))
    return np.concatenate([[index], others[others != index]])


def _with_usual(bags: Any, index: int) -> Any:
    selected = bags[_bag_and_others(bags, index)]
    return selected.load() if is_scan(selected) else selected


def _summary(subject: Subject, explanation: BagExplanation, label: str | None, mark: str) -> str:
    name = short(subject.names[-1]) if len(subject.names) == 2 else short(explanation.positive)
    value = percent(explanation.value) if explanation.kind == "probability" else f"{explanation.value:.3g}"
    kind = "probability" if explanation.kind == "probability" else "score"
    text = f"{count(explanation.n_instances, 'instance')}; {kind} of {name}: {value}"
    if label is None:
        return text
    verdict = {"right": " (predicted correctly)", "wrong": " (predicted wrongly)"}.get(mark, "")
    return f"{text}; label: {short(label)}{verdict}"


def _instances(explanation: BagExplanation) -> Table:
    """Return a table of the first instances with probability, posterior and contribution."""
    kind = explanation.instance_kind
    standard_columns = ("instance", kind, "posterior", "without")
    sides = [name for name in explanation.columns if name not in standard_columns]
    sides.sort(key=lambda name: explanation.columns[name].dtype.kind in "biuf")
    rows = []
    for row, index in enumerate(explanation.columns["instance"]):
        cells: dict[str, Any] = {"instance": int(index)}
        cells |= {name: short(as_python(explanation.columns[name][row])) for name in sides}
        value = float(explanation.columns[kind][row])
        cells[kind] = Bar(value) if kind == "probability" else f"{value:.3g}"
        if "posterior" in explanation.columns:
            cells["posterior"] = Bar(float(explanation.columns["posterior"][row]))
        without = float(explanation.columns["without"][row])
        cells["contribution"] = "-" if np.isnan(without) else f"{explanation.value - without:+.3f}"
        rows.append(cells)
    n_left = explanation.n_instances - len(rows)
    note = ""
    if n_left > 0:
        note = f"{count(n_left, 'instance')} with lower values {'is' if n_left == 1 else 'are'} not shown."
    return Table(
        "", rows, note, n_text=1 + sum(explanation.columns[name].dtype.kind not in "biuf" for name in sides)
    )


def _features(explanation: BagExplanation) -> Iterator[Table]:
    """Yield a table of the most important features of the first instance."""
    for table in explanation.feature_tables()[:1]:
        yield Table("", [{key: short(cell) for key, cell in row.items()} for row in table.rows])


def _heat_map(model: Any, bags: Any) -> Iterator[Figure]:
    """Yield a heat map of the instances at their coordinates, if they have coordinates."""
    from bagwise.evaluation.plotting import plot_heatmap

    columns = bags.instance_columns
    pair = [columns[name] for name in ("x", "y") if name in columns]
    both = columns.get("coords")
    is_pair = len(pair) == 2 and all(part.ndim == 1 and part.dtype.kind in "biuf" for part in pair)
    is_both = both is not None and both.ndim == 2 and both.shape[1] == 2 and both.dtype.kind in "biuf"
    if not (is_pair or is_both) or bags.sizes[0] < _FEWEST_INSTANCES:
        return
    coordinates = np.column_stack(pair) if is_pair else both
    if not np.isfinite(coordinates[: bags.sizes[0]]).all():
        return

    kind = instance_predictions(model, bags[:1])[0]

    def draw() -> Any:
        display = plot_heatmap(model, bags, bags.ids[0])
        display.figure_.set_size_inches(4.6, 4.2)
        display.ax_.set_title("", loc="left")  # names may be long, and are shown above
        display.figure_.axes[-1].set_ylabel(kind)
        for collection in display.ax_.collections:  # a slide can have tens of thousands of patches
            collection.set_rasterized(True)
        return display

    yield Figure("heatmap", draw, "Instances at their coordinates", is_wide=True, on_paper=True)


def _picture_of_all(subject: Subject, indices: list[int]) -> Iterator[Figure]:
    """Yield a plot of the bags as images, if the features are pixels and the instances have probabilities."""
    shape = image_shape(subject.bags.feature_names)
    if shape is None or subject.y is None or len(subject.names) != 2:
        return
    from bagwise.evaluation.plotting import plot_bags

    bags = subject.bags[indices]
    bags = bags.load() if is_scan(bags) else bags
    probabilities = [_lit(subject, index, bags[row : row + 1]) for row, index in enumerate(indices)]
    if any(pair is None for pair in probabilities):
        return
    lit, likely = zip(*(pair for pair in probabilities if pair is not None), strict=True)
    codes = subject.codes[indices]

    def draw() -> Any:
        return plot_bags(
            bags,
            np.concatenate(lit),
            image_shape=shape,
            y=codes,
            probability=np.array(likely),
            intensity_label="P(image is positive, given the label)",
        )

    note = "The bags below, in the same order. Clear images have a high probability."
    yield Figure("images", draw, "Bags as images", note, is_wide=True, on_paper=True)


def _lit(subject: Subject, index: int, bag: Any) -> tuple[np.ndarray, float] | None:
    """Return the probabilities of the instances and of the bag; None if the model only has scores."""
    model = _model_for(subject, index)
    of_bag = bag_predictions(model, bag)
    if of_bag is None or of_bag[0] != "probability" or subject.y is None:
        return None
    if hasattr(instance_model(model), "posterior_instances"):
        values = posterior_of_instances(model, bag, np.asarray(subject.y)[[index]])
    else:
        kind, values = instance_predictions(model, bag)
        if kind != "probability":
            return None
    return np.clip(values, 0.0, 1.0), float(np.clip(of_bag[1][0], 0.0, 1.0))


def image_shape(names: Any) -> tuple[int, int] | None:
    """Return height and width if the feature names are pixels of an image, row by row: pixel_3_0.

    Examples
    --------
    >>> from bagwise.report.instances import image_shape
    >>> image_shape([f"pixel_{row}_{column}" for row in range(2) for column in range(3)])
    (2, 3)
    >>> image_shape(["angle", "charge"]) is None
    True
    """
    if names is None or not 4 <= len(names) <= _MOST_PIXELS:
        return None
    matches = [re.fullmatch(r"pixel_(\d+)_(\d+)", str(name)) for name in names]
    if any(match is None for match in matches):
        return None
    pixels = [(int(match[1]), int(match[2])) for match in matches if match is not None]
    height, width = pixels[-1][0] + 1, pixels[-1][1] + 1
    grid = [(row, column) for row in range(height) for column in range(width)]
    return (height, width) if pixels == grid else None
