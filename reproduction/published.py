"""Published accuracies on the classic data sets, each with the protocol that its paper states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reproduction.framework import Table, with_error
from reproduction.leaderboard_tables import Board
from reproduction.mimm_table import METHODS, PRINTED
from reproduction.misssvm import QUOTED_MUSK
from reproduction.nested import CLASSIC

MISS = "Zhou and Xu 2007"
_MIXTURES = "Foulds and Smyth 2011"
_LASSO = "Chen et al. 2016"
PROTOCOLS = {
    MISS: (
        "Table 1. MissSVM was evaluated by 10-fold cross-validation on Musk1, and by training on thirty "
        'random thirds of Musk2. All other results are "reported in literature"; the paper does not state '
        "their protocols"
    ),
    _MIXTURES: (
        "Table 1, with unscaled features (MIMM also on ten principal components). The protocol is ten "
        "repeats of 10-fold cross-validation. Other methods use WEKA's default parameters, and diverse "
        "density and EM-DD use ten starts"
    ),
    _LASSO: (
        "Predictions in Tables V and VI. The protocol is 10-fold cross-validation, with the penalty chosen "
        "by 10-fold cross-validation; the results are means of ten replications"
    ),
}


def _printed(method: str, features: str = "raw") -> tuple[float, ...]:
    return tuple(PRINTED[dataset, features][METHODS.index(method)] for dataset in CLASSIC)


# The most similar model here for each method in the first paper; methods that are not listed are not
# implemented.
_MODELS = {
    "MissSVM": "miss_svm",
    "MILES": "miles",
    "MI-LR": "milr_softmax",
    "MIBoosting": "boosting_exponential",
    "DD-SVM": "dd_svm",
    "mi-SVM": "instance_mi_svm",
    "MI-SVM": "mi_svm",
    "Citation-kNN": "citation_knn",
    "Diverse Density": "diverse_density",
    "Iterated-discrim APR": "apr",
}
# Method, source, accuracies on musk1, musk2, elephant, fox and tiger, and the model here.
QUOTED: list[tuple[str, str, Sequence[float], str | None]] = [
    *((method, MISS, accuracies, _MODELS.get(method)) for method, *accuracies in QUOTED_MUSK),
    ("MIMM", _MIXTURES, _printed("MIMM"), "mimm"),
    ("MIMM, components", _MIXTURES, _printed("MIMM", "pca_train"), "mimm"),
    ("EM-DD", _MIXTURES, _printed("EMDD"), "emdd"),
    ("maxDD", _MIXTURES, _printed("MaxDD"), "diverse_density"),
    ("MI logistic regression", _MIXTURES, _printed("MILR"), "milr_or"),
    ("MISVM", _MIXTURES, (75.94, 71.78, 78.85, 48.60, 81.45), "instance_mi_svm"),  # WEKA's MISVM is mi-SVM
    ("MILR-LASSO", _LASSO, (79.0, 69.0), "milr_or"),
    ("MILR-s(3)", _LASSO, (72.0, 74.0), "milr_softmax"),
    ("MILR-s(0)", _LASSO, (74.0, 79.0), "milr_mean"),
]


def published(board: Board) -> Table:
    """Compare quoted accuracies with those of the most similar models here."""
    rows: list[dict[str, Any]] = []
    for method, source, accuracies, model in QUOTED:
        row = {"method": method, "quoted from": source}
        for dataset, accuracy in zip(CLASSIC, (*accuracies, None, None, None), strict=False):
            ours = board.values(dataset, model, "accuracy") if model else []
            row[f"{dataset}, quoted"] = "-" if accuracy is None else f"{accuracy:.1f}"
            row[f"{dataset}, here"] = with_error(ours) if ours and accuracy is not None else "-"
        row["here"] = board.titles.get(model, "-") if model else "not implemented"
        rows.append(row)
    note = "Accuracy in percent. " + ". ".join(
        f"*{name}*: {protocol}" for name, protocol in PROTOCOLS.items()
    )
    note += (
        ". Results that a paper quotes from other papers are taken from the quoting paper; we did not check "
        "the original sources. *Here*: the protocol on this page; MILR uses a ridge penalty instead of the "
        "paper's LASSO."
    )
    return Table("Published results and ours", rows, note)
