"""The page of the ensemble: what was done, what was looked at, and how it went."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from reproduction import classic
from reproduction.framework import Report, Settings, Table, mean_and_error, paired_difference, with_error

TITLES = {
    **{name: title for name, title in classic.TITLES.items() if name != "single_forest"},
    "svm_of_ranks": "BagStatistics, ranks of instances, SVC",
    "svm_mean": "BagStatistics, mean and std, standardised, SVC",
    "set_kernel": "SetKernelSVC, standardised",
    "graph": "SetKernelSVC, standardised, miGraph",
}
GROUPS = {
    "classic": "the five classic sets",
    "news": "the newsgroups",
    "bird": "birdsong, a species against all others",
}
AIM, LEAST = 0.860, 0.850
SLOPES = 0.8, 1.25
# Wrong calls in a shuffle below which a slope says nothing: bags that are nearly told apart allow any.
FEW_WRONG = 5

# What was seen of these data on the way to the recipe, in order: whoever reads the numbers must know it.
_LOOKED_AT = """\
**What was looked at**, in order. The recipe was found on the five classic sets and amended by the
newsgroups; nothing was chosen by scores of birdsong.

1. That blends of settings beat choices among them, the temperature .02, and votes of families were found on
   the five classic sets, in a nested study with other shuffles.
2. A first ensemble (statistics and sets with equal votes, prototypes where they were better, penalties 1, 5
   and 25) was written down before any number was computed here. A quick run and one shuffle of all problems
   were looked at: .837 on the five sets, .761 on the newsgroups, and slopes of .57 to .71 on four of these.
3. The five sets alone were looked at again, by scores of held-out bags inside fits (four shuffles that are
   not used here): larger penalties, minima and maxima apart from means and spreads, instances brought to 0
   to 1 as a third scaling and the family of distances came from that.
4. One shuffle of the five sets and of the newsgroups: .847 and .769, but log-odds on the newsgroups were
   still too certain (slopes of .58 to 1.0), and on comp.graphics 81 % of the bags held out inside fits were
   right but 67 % outside. The reason was that columns were scaled once for all folds: a word that one bag
   alone has betrays that bag. Since then folds scale for themselves.
5. Four shuffles of the five sets then gave .849, with families weighed by softmax(mean log-likelihood /
   .05); two shuffles that are not used here, nested, showed that equal votes are better (.856 instead of
   .851, log loss .326 instead of .332) and that the penalty 1 can be left out.
6. Three shuffles of the five sets and one of the newsgroups: .854 and .757, slopes of .91 to 1.33, the
   largest on Musk2 and talk.religion.misc. Two other shuffles of Musk1 and Musk2 and one of the other three
   showed that the last factor is nearer to the truth with half of Platt's smoothing of labels (slopes of
   1.12 on average instead of 1.23), which changes no predicted label.
7. Ten shuffles of all problems, the same that are used here, with the five families of then: .858 on the
   five sets, .757 on the newsgroups, .942 on birdsong. Beside the 35 models of the leaderboard that
   ensemble was behind on five newsgroups, most of all behind machines on minima and maxima of ranks of
   instances.
8. These ranks became a sixth family after one shuffle of the five sets and of the newsgroups that is not
   used here: .770 instead of .756 on the newsgroups (log loss .489 instead of .523), .855 instead of .856
   on the five sets (.319 instead of .315). Seen on the same shuffle and not taken: ranks inside the family
   of extremes, means and spreads of ranks, a family of Fisher vectors, the best three or four families,
   leaving out families that know nothing of held-out bags, and votes by softmax(mean log-likelihood / t)
   with t from .02 to 1.
9. In step 7 two species had slopes of 1.16 and 1.28. A fifth of the recordings has them, and the last factor
   multiplied all of the log-odds, the frequency of the classes with them. Twelve other problems in which a
   fifth to a quarter of the bags are positive (four labels of MSCV2, three classes of Corel, and Elephant,
   Fox and Tiger with 33 positive bags; five folds, six families) decided that it multiplies what families
   say beyond that frequency: accuracy .903 instead of .900, log loss .232 instead of .235, slope 1.07
   instead of 1.15, intercept .02 instead of .34. Where both classes are alike nothing changes.

So birdsong is the honest test, though not a blind one: it was looked at in steps 2 and 7 alone, its slopes
asked the question of step 9, and other data answered. The five sets and the newsgroups tell how a recipe
does on data that it knows. The species of birdsong were cut from ten to the five that at least a hundred
recordings have, to save time."""

# What cells found, by problem and model: one for every shuffle.
Found = dict[str, dict[str, list[dict[str, Any]]]]


def report(results: Mapping[str, Any], settings: Settings) -> Report:
    """Tables of the ensemble, and of the ensemble beside single models."""
    found: Found = {}
    for key, value in results.items():
        problem, model, _ = key.split("-")
        found.setdefault(problem, {}).setdefault(model, []).append(value)
    tables = [_own_table(found)]
    others = [name for name in ("news", "bird") if any(_group(problem) == name for problem in found)]
    for name in others:
        some = {problem: models for problem, models in found.items() if _group(problem) == name}
        every = {model for models in some.values() for model in models}
        whole = {problem: models for problem, models in some.items() if set(models) == every}
        if whole and len(every) > 1:
            tables += [_means_table(name, whole), _best_table(name, whole)]
    return Report(_text(found, settings), tables)


def _group(problem: str) -> str:
    return "classic" if problem in classic.DATASETS else problem.split("_")[0]


def _accuracy(cells: list[dict[str, Any]]) -> list[float]:
    return [float(np.mean(cell["right"])) for cell in cells]


def _mean_of_sets(found: Found, model: str) -> list[float]:
    """Mean accuracy over the problems for each shuffle that all of them have."""
    n = min(len(models.get(model, [])) for models in found.values())
    each = [_accuracy(models[model])[:n] for models in found.values()]
    return np.mean(each, axis=0).tolist() if n else []


def _own_table(found: Found) -> Table:
    rows = []
    for name in GROUPS:
        some = {problem: models for problem, models in found.items() if _group(problem) == name}
        for problem, models in some.items():
            if "ensemble" in models:
                rows.append({"problem": problem, **_numbers(models["ensemble"])})
        both = [models["ensemble"] for models in some.values() if "ensemble" in models]
        if len(both) > 1:
            rows.append({"problem": f"mean of {GROUPS[name]}", **_mean_numbers(both)})
    return Table(
        "The ensemble",
        rows,
        "Accuracy in percent and AUC (mean over folds) with standard errors over shuffles; log loss and "
        "slope of calibration of all held-out bags of a shuffle; seconds of processor for a fit. No slope "
        f"(-) where fewer than {FEW_WRONG} bags are called wrong.",
    )


def _mean_numbers(problems: list[list[dict[str, Any]]]) -> dict[str, Any]:
    """Give the numbers of a mean over problems, of the shuffles that all of them have."""
    n = min(map(len, problems))
    with_slope = [cells for cells in problems if _has_slope(cells)]
    accuracy = [np.mean([np.mean(cells[k]["right"]) for cells in problems]) for k in range(n)]

    def means(part: str, some: list[list[dict[str, Any]]]) -> list[float]:
        return [float(np.mean([cells[k][part] for cells in some])) for k in range(n)]

    return {
        "shuffles": n,
        "accuracy (%)": with_error(accuracy),
        "AUC": with_error(means("auc", problems), 3, 1.0),
        "log loss": with_error(means("log_loss", problems), 3, 1.0),
        "slope": with_error(means("slope", with_slope), 2, 1.0) if with_slope else "-",
        "seconds": f"{np.mean(means('seconds', problems)):.1f}",
    }


def _numbers(cells: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "shuffles": len(cells),
        "accuracy (%)": with_error(_accuracy(cells)),
        "AUC": with_error([cell["auc"] for cell in cells], 3, 1.0),
        "log loss": with_error([cell["log_loss"] for cell in cells], 3, 1.0),
        "slope": with_error([cell["slope"] for cell in cells], 2, 1.0) if _has_slope(cells) else "-",
        "seconds": f"{np.mean([cell['seconds'] for cell in cells]):.1f}",
    }


def _has_slope(cells: list[dict[str, Any]]) -> bool:
    """Whether enough bags are called wrong for a slope of calibration."""
    return np.mean([len(cell["right"]) - np.sum(cell["right"]) for cell in cells]) >= FEW_WRONG


def _means_table(name: str, found: Found) -> Table:
    """Mean accuracy and AUC of every model over problems on which all models are known."""
    rows = []
    for model in next(iter(found.values())):
        accuracy = [np.mean(_accuracy(some[model])) for some in found.values()]
        auc = [np.mean([cell["auc"] for cell in some[model]]) for some in found.values()]
        rows.append(
            {
                "model": TITLES.get(model, "BagEnsembleClassifier"),
                "accuracy (%)": f"{100 * np.mean(accuracy):.1f}",
                "AUC": f"{np.mean(auc):.3f}",
            }
        )
    n_problems = "1 problem" if len(found) == 1 else f"mean of {len(found)} problems"
    return Table(f"Single models: {GROUPS[name]}, {n_problems}", rows)


def _best_table(name: str, found: Found) -> Table:
    """Hold the ensemble against the single model that did best on each problem, on the same folds."""
    rows = []
    for problem, models in found.items():
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
                "not below by two standard errors": "yes" if difference >= -2 * error else "**no**",
            }
        )
    return Table(
        f"The best single model of each problem: {GROUPS[name]}",
        rows,
        "The best of the single models is chosen by the very folds that are shown, which flatters it. The "
        "standard error is that of the mean difference over bags, of the share of shuffles in which either "
        "model called the bag right.",
    )


def _right(cells: list[dict[str, Any]]) -> np.ndarray:
    """Give the share of shuffles that had every bag right."""
    return np.mean([cell["right"] for cell in cells], axis=0)


def _text(found: Found, settings: Settings) -> str:
    n_folds = 2 if settings.quick else 10
    lines = [
        f"{n_folds}-fold stratified cross-validation over bags, for shuffle after shuffle; every model meets "
        "the same folds. Inside every fit of the ensemble there are ten folds more, from which it learns how "
        "to calibrate, weigh and choose; it is `BagEnsembleClassifier()` as it comes, on all problems. The "
        "single models are those of the page classic, and four more, with settings fixed beforehand: "
        "`C=10`, `alpha=10`. Birdsong: whether a species is heard, for the five that at least a hundred of "
        "the 548 recordings have.",
        "",
        _LOOKED_AT,
    ]
    lines += ["", _how_far(found, settings)]
    five = {problem: models for problem, models in found.items() if _group(problem) == "classic"}
    means = _mean_of_sets(five, "ensemble") if set(five) == set(classic.DATASETS) else []
    if means:
        mean, error = mean_and_error(means)
        spread = "" if np.isnan(error) else f" ± {error:.3f} over {len(means)} shuffles"
        verdict = (
            f"that is the aim of {AIM:.3f}"
            if mean >= AIM
            else f"above the {LEAST:.3f} that was asked for, below the aim of {AIM:.3f}"
            if mean >= LEAST
            else f"**below the {LEAST:.3f} that was asked for**"
        )
        lines += [
            "",
            f"Mean accuracy over the five sets: {mean:.3f}{spread}; {verdict}. Other bags of the same kind "
            "would move it by about .013. The best published single numbers average .840.",
        ]
    slopes = {
        p: np.mean([c["slope"] for c in m["ensemble"]])
        for p, m in found.items()
        if "ensemble" in m and _has_slope(m["ensemble"])
    }
    outside = [p for p, slope in slopes.items() if not SLOPES[0] <= slope <= SLOPES[1]]
    lines += [
        "",
        f"Slope of calibration: {SLOPES[0]:g} to {SLOPES[1]:g} "
        + ("on all problems." if not outside else f"on all problems but {', '.join(outside)}."),
    ]
    return "\n".join(lines)


def _how_far(found: Found, settings: Settings) -> str:
    """Say how many shuffles there are of how many problems."""
    asked = 2 if settings.quick else 10
    counts = {
        name: [len(m["ensemble"]) for p, m in found.items() if _group(p) == name and "ensemble" in m]
        for name in GROUPS
    }
    every = [n for some in counts.values() for n in some]
    if every and min(every) == asked:
        return f"Shuffles: {asked} of each problem below."
    numbers = []
    for name, some in counts.items():
        if some:
            least, most = min(some), max(some)
            shuffles = f"{least}" if least == most else f"{least} to {most}"
            numbers.append(f"{GROUPS[name]}: {len(some)} problems, {shuffles} of {asked} shuffles")
    return (
        f"Finished so far: {'; '.join(numbers)}. Where there is one shuffle, no standard error over shuffles "
        "is given: that of an accuracy over 100 to 200 bags is two to five percent."
    )
