"""The page about the ensemble: methods, development history and results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from reproduction import classic
from reproduction.framework import Report, Settings, Table, mean_and_error, paired_difference, with_error

TITLES = {
    **{name: title for name, title in classic.TITLES.items() if name != "single_forest"},
    "svm_of_ranks": "BagStatistics, ranks of instances, SVC",
    "svm_mean": "BagStatistics, mean and std, standardized, SVC",
    "set_kernel": "SetKernelSVC, standardized",
    "graph": "SetKernelSVC, standardized, miGraph",
}
GROUPS = {
    "classic": "the five classic sets",
    "news": "the newsgroups",
    "bird": "birdsong, one species against all others",
}
AIM, LEAST = 0.860, 0.850
SLOPES = 0.8, 1.25
# Minimum number of errors in a shuffle for a slope to be reported: with nearly separable bags, the slope is
# arbitrary.
FEW_WRONG = 5

# How these data were used during development, in order; readers need this history to judge the results.
_LOOKED_AT = """\
**Development history**, in order. The recipe was developed on the five classic sets and revised with the
newsgroups. No choice used scores on birdsong.

1. A nested study on the five classic sets, with different shuffles, showed that averaging settings is better
   than choosing a single setting. It also led to the temperature .02 and to votes by family.
2. The first ensemble was fixed before any result was computed here. It used the families of statistics and
   sets with equal votes, prototypes where they were better, and the penalties 1, 5 and 25. We then examined a
   quick run and one shuffle of all problems. The accuracy was .837 on the five sets and .761 on the
   newsgroups. The calibration slopes were .57 to .71 on four newsgroups.
3. We examined the five sets again on four shuffles that are not used here, using the scores on bags held out
   within fits. This led to larger penalties and to two separate families: one for minima and maxima, one for
   means and spreads. It also led to a third scaling (instances scaled to the range 0 to 1) and to the family
   of distances.
4. The accuracy of one shuffle was .847 on the five sets and .769 on the newsgroups. The log-odds on the
   newsgroups were still too large (slopes of .58 to 1.0). On comp.graphics, 81 % of the bags held out within
   fits were classified correctly, but only 67 % of the bags in the outer folds. The reason was that columns
   were scaled once for all folds: a word that occurs in a single bag identifies that bag. Since then, every
   fold has been scaled separately.
5. The accuracy on four shuffles of the five sets was then .849, with families weighted by softmax(mean
   log-likelihood / .05). Nested cross-validation on two shuffles that are not used here showed that equal
   votes are better (.856 instead of .851, log loss .326 instead of .332). It also showed that the penalty 1
   can be dropped.
6. The accuracy was .854 on three shuffles of the five sets and .757 on one shuffle of the newsgroups. The
   slopes were .91 to 1.33; the largest were on Musk2 and talk.religion.misc. We then examined two other
   shuffles of Musk1 and Musk2 and one of the other three sets. The final calibration factor is more accurate
   with half of Platt's label smoothing (mean slope 1.12 instead of 1.23). This does not change any predicted
   label.
7. We ran the ten shuffles that are used here on all problems, with the five families of that version. The
   accuracy was .858 on the five sets, .757 on the newsgroups and .942 on birdsong. On five newsgroups, that
   ensemble was worse than some of the 35 models on the leaderboard. The difference was largest for SVMs
   on minima and maxima of instance ranks.
8. These ranks became a sixth family, based on one shuffle that is not used here. On the newsgroups, the
   accuracy was .770 instead of .756 (log loss .489 instead of .523). On the five sets, it was .855 instead of
   .856 (log loss .319 instead of .315). We tried more variants on the same shuffle and rejected them: ranks
   within the family of extremes, means and spreads of ranks, a family of Fisher vectors, the best three or
   four families, dropping families that are uninformative on held-out bags, and votes weighted by
   softmax(mean log-likelihood / t) with t from .02 to 1.
9. In step 7, the calibration slopes of two species were 1.16 and 1.28. They occur in a fifth of the
   recordings, and the final calibration factor multiplied the whole log-odds, including the class frequency.
   We therefore used twelve other problems in which a fifth to a quarter of the bags are positive: four labels
   from MSCV2, three classes from Corel, and Elephant, Fox and Tiger with 33 positive bags (five folds, six
   families). On these problems, it is better to multiply only the evidence beyond the class frequency:
   accuracy .903 instead of .900, log loss .232 instead of .235, slope 1.07 instead of 1.15, intercept .02
   instead of .34. The change does not affect problems with equally frequent classes.

Birdsong is therefore the fairest test, but not a blind one. It was examined only in steps 2 and 7. Its slopes
were the reason for step 9, but the decision was based on other data. The five sets and the newsgroups show
how the recipe performs on the data that it was developed on. To save time, birdsong is limited to the five
species (of ten)
that occur in at least a hundred recordings."""

# Cell results by problem and model: one result for every shuffle.
CellResults = dict[str, dict[str, list[dict[str, Any]]]]


def report(results: Mapping[str, Any], settings: Settings) -> Report:
    """Make the tables about the ensemble and its comparison with single models."""
    cells: CellResults = {}
    for key, value in results.items():
        problem, model, _ = key.split("-")
        cells.setdefault(problem, {}).setdefault(model, []).append(value)
    tables = [_ensemble_table(cells)]
    others = [name for name in ("news", "bird") if any(_group(problem) == name for problem in cells)]
    for name in others:
        group = {problem: models for problem, models in cells.items() if _group(problem) == name}
        every = {model for models in group.values() for model in models}
        whole = {problem: models for problem, models in group.items() if set(models) == every}
        if whole and len(every) > 1:
            tables += [_means_table(name, whole), _best_table(name, whole)]
    return Report(_text(cells, settings), tables)


def _group(problem: str) -> str:
    return "classic" if problem in classic.DATASETS else problem.split("_")[0]


def _accuracy(cells: list[dict[str, Any]]) -> list[float]:
    return [float(np.mean(cell["right"])) for cell in cells]


def _mean_of_sets(cells: CellResults, model: str) -> list[float]:
    """Return the mean accuracy over problems, for every shuffle that is finished on all of them."""
    n = min(len(models.get(model, [])) for models in cells.values())
    each = [_accuracy(models[model])[:n] for models in cells.values()]
    return np.mean(each, axis=0).tolist() if n else []


def _ensemble_table(cells: CellResults) -> Table:
    rows = []
    for name in GROUPS:
        group = {problem: models for problem, models in cells.items() if _group(problem) == name}
        for problem, models in group.items():
            if "ensemble" in models:
                rows.append({"problem": problem, **_row(models["ensemble"])})
        both = [models["ensemble"] for models in group.values() if "ensemble" in models]
        if len(both) > 1:
            rows.append({"problem": f"mean of {GROUPS[name]}", **_mean_row(both)})
    return Table(
        "The ensemble",
        rows,
        "The table shows accuracy in percent and AUC (mean over folds), with standard errors over "
        "shuffles. Log loss and calibration slope are computed over all held-out bags in a shuffle, and "
        "times are processor seconds per fit. The slope is "
        f"omitted (-) if fewer than {FEW_WRONG} bags are misclassified.",
    )


def _mean_row(problems: list[list[dict[str, Any]]]) -> dict[str, Any]:
    """Return a table row of means over problems, using the shuffles that are finished for all of them."""
    n = min(map(len, problems))
    with_slope = [cells for cells in problems if _has_slope(cells)]
    accuracy = [np.mean([np.mean(cells[k]["right"]) for cells in problems]) for k in range(n)]

    def means(part: str, parts: list[list[dict[str, Any]]]) -> list[float]:
        return [float(np.mean([cells[k][part] for cells in parts])) for k in range(n)]

    return {
        "shuffles": n,
        "accuracy (%)": with_error(accuracy),
        "AUC": with_error(means("auc", problems), 3, 1.0),
        "log loss": with_error(means("log_loss", problems), 3, 1.0),
        "slope": with_error(means("slope", with_slope), 2, 1.0) if with_slope else "-",
        "seconds": f"{np.mean(means('seconds', problems)):.1f}",
    }


def _row(cells: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "shuffles": len(cells),
        "accuracy (%)": with_error(_accuracy(cells)),
        "AUC": with_error([cell["auc"] for cell in cells], 3, 1.0),
        "log loss": with_error([cell["log_loss"] for cell in cells], 3, 1.0),
        "slope": with_error([cell["slope"] for cell in cells], 2, 1.0) if _has_slope(cells) else "-",
        "seconds": f"{np.mean([cell['seconds'] for cell in cells]):.1f}",
    }


def _has_slope(cells: list[dict[str, Any]]) -> bool:
    """Return whether enough bags are misclassified to report a calibration slope."""
    return np.mean([len(cell["right"]) - np.sum(cell["right"]) for cell in cells]) >= FEW_WRONG


def _means_table(name: str, cells: CellResults) -> Table:
    """Make a table of mean accuracy and AUC per model, over problems with results from all models."""
    rows = []
    for model in next(iter(cells.values())):
        accuracy = [np.mean(_accuracy(models[model])) for models in cells.values()]
        auc = [np.mean([cell["auc"] for cell in models[model]]) for models in cells.values()]
        rows.append(
            {
                "model": TITLES.get(model, "BagEnsembleClassifier"),
                "accuracy (%)": f"{100 * np.mean(accuracy):.1f}",
                "AUC": f"{np.mean(auc):.3f}",
            }
        )
    n_problems = "1 problem" if len(cells) == 1 else f"mean of {len(cells)} problems"
    return Table(f"Single models: {GROUPS[name]}, {n_problems}", rows)


def _best_table(name: str, cells: CellResults) -> Table:
    """Compare the ensemble with the best single model on each problem, on the same folds."""
    rows = []
    for problem, models in cells.items():
        rivals = [model for model in models if model != "ensemble"]
        best = max(rivals, key=lambda model: np.mean(_accuracy(models[model])))
        difference, error = paired_difference(_right(models["ensemble"]), _right(models[best]))
        rows.append(
            {
                "problem": problem,
                "ensemble (%)": f"{100 * np.mean(_accuracy(models['ensemble'])):.1f}",
                "best single (%)": f"{100 * np.mean(_accuracy(models[best])):.1f}",
                "which": TITLES[best],
                "difference": f"{100 * difference:+.1f} ± {100 * error:.1f}",
                "not worse by two standard errors": "yes" if difference >= -2 * error else "**no**",
            }
        )
    return Table(
        f"The best single model on each problem: {GROUPS[name]}",
        rows,
        "The best single model is chosen on the same folds that are shown, so its accuracy is optimistic. "
        "For every bag and model, we compute the share of shuffles with a correct prediction, and "
        "then the difference between the two models. The table shows the mean of these differences and its "
        "standard error over bags.",
    )


def _right(cells: list[dict[str, Any]]) -> np.ndarray:
    """Return the share of shuffles in which each bag was classified correctly."""
    return np.mean([cell["right"] for cell in cells], axis=0)


def _text(cells: CellResults, settings: Settings) -> str:
    n_folds = 2 if settings.quick else 10
    lines = [
        f"All models are evaluated by {n_folds}-fold stratified cross-validation over bags, repeated for "
        "several shuffles. All models use the same folds. Every fit of the ensemble runs an inner "
        "cross-validation with ten folds, which it uses to calibrate, weight and choose models. The "
        "ensemble is `BagEnsembleClassifier()` with default parameters on all problems. The single models "
        "are those on the page *classic* and four more, with settings fixed beforehand: `C=10`, "
        "`alpha=10`. A birdsong problem asks whether a species is heard; each of the five species occurs "
        "in at least a hundred of the 548 recordings.",
        "",
        _LOOKED_AT,
    ]
    lines += ["", _progress(cells, settings)]
    five = {problem: models for problem, models in cells.items() if _group(problem) == "classic"}
    means = _mean_of_sets(five, "ensemble") if set(five) == set(classic.DATASETS) else []
    if means:
        mean, error = mean_and_error(means)
        spread = "" if np.isnan(error) else f" ± {error:.3f} over {len(means)} shuffles"
        verdict = (
            f"this reaches the target of {AIM:.3f}"
            if mean >= AIM
            else f"above the required {LEAST:.3f}, below the target of {AIM:.3f}"
            if mean >= LEAST
            else f"**below the required {LEAST:.3f}**"
        )
        lines += [
            "",
            f"Mean accuracy over the five sets: {mean:.3f}{spread}; {verdict}. A new sample of bags would "
            "change it by about .013. The best published results on the five sets average .840.",
        ]
    slopes = {
        p: np.mean([c["slope"] for c in m["ensemble"]])
        for p, m in cells.items()
        if "ensemble" in m and _has_slope(m["ensemble"])
    }
    outside = [p for p, slope in slopes.items() if not SLOPES[0] <= slope <= SLOPES[1]]
    lines += [
        "",
        f"Calibration slope: {SLOPES[0]:g} to {SLOPES[1]:g} "
        + ("on all problems." if not outside else f"on all problems except {', '.join(outside)}."),
    ]
    return "\n".join(lines)


def _progress(cells: CellResults, settings: Settings) -> str:
    """Describe how many shuffles of how many problems are finished."""
    asked = 2 if settings.quick else 10
    counts = {
        name: [len(m["ensemble"]) for p, m in cells.items() if _group(p) == name and "ensemble" in m]
        for name in GROUPS
    }
    every = [n for group_counts in counts.values() for n in group_counts]
    if every and min(every) == asked:
        return f"Every problem below has {asked} shuffles."
    parts = []
    for name, group_counts in counts.items():
        if group_counts:
            least, most = min(group_counts), max(group_counts)
            shuffles = f"{least}" if least == most else f"{least} to {most}"
            parts.append(f"{GROUPS[name]}: {len(group_counts)} problems, {shuffles} of {asked} shuffles")
    return (
        f"Finished so far: {'; '.join(parts)}. With a single shuffle, there is no standard error over "
        "shuffles. The standard error of an accuracy over 100 to 200 bags is two to five percent."
    )
