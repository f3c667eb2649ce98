"""Interpretation of the scores of a fit, in sentences with the next step on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bagwise.evaluation.held_out import Evaluation

# A ranking is good if its AUC is at least this; a class is missed if at most this fraction of its bags is
# recognized.
_GOOD_AUC = 0.75
_MISSED = 0.5


def interpret(evaluation: Evaluation, model: Any) -> list[str]:
    """Return what the scores mean, and what to try next.

    Parameters
    ----------
    evaluation : Evaluation
        Scores of held-out bags.
    model : estimator
        The model with the parameters of the fit, without imputation.
    """
    if evaluation.from_unlabeled:
        return _about_prior(model)
    accuracy, auc = evaluation.scores["accuracy"], evaluation.scores.get("auc")
    recalls = {
        name: score["value"] for name, score in evaluation.scores.items() if name.startswith("recall_")
    }
    missed = min(recalls, key=recalls.__getitem__)
    is_no_better = accuracy["value"] <= evaluation.base_rate
    if auc is not None and auc["value"] >= _GOOD_AUC and (is_no_better or recalls[missed] <= _MISSED):
        return [
            f"The ranking of the bags is good (AUC {auc['value']:.2f}), but the threshold is wrong: "
            f"{recalls[missed]:.0%} of the bags labeled {missed.removeprefix('recall_')!r} are recognized. "
            f"{_other_threshold(model)}"
        ]
    if is_no_better:
        return [
            f"The model is not better than the baseline: it predicts {accuracy['value']:.1%} of the bags "
            f"correctly, and always predicting the most frequent label is correct for "
            f"{evaluation.base_rate:.1%}. Try other models: bagwise compare shows which models suit the data."
        ]
    if accuracy["low"] <= evaluation.base_rate and not (auc is not None and auc["low"] > 0.5):
        return [
            f"The accuracy of {accuracy['value']:.1%} is not clearly better than the baseline "
            f"({evaluation.base_rate:.1%}): the interval includes the baseline. More bags are "
            "needed to decide."
        ]
    return []


def _other_threshold(model: Any) -> str:
    parameters = model.get_params()
    for prefix in ("", "estimator__"):  # the second in a one-vs-rest classifier
        if parameters.get(f"{prefix}calibrate") is False:
            return "Repeat the command with --set calibrate=true."
        if f"{prefix}class_weight" in parameters and parameters[f"{prefix}class_weight"] is None:
            return "Repeat the command with --set class_weight=balanced."
    return "Another model, such as milr-cv, may have a better threshold: see bagwise compare."


def _about_prior(model: Any) -> list[str]:
    if "class_prior" not in model.get_params() or model.get_params()["class_prior"] is not None:
        return []
    return [
        f"The class prior, the share of positive bags among the unlabeled ones, was estimated as "
        f"{float(model.class_prior_):.2f}. If you have a better estimate, repeat the command with it, for "
        "example --set class_prior=0.3: all scores except recall depend on it."
    ]


def state_absence(model: Any) -> list[str]:
    """Return whether the ensemble can use the absence of instances, and how to prevent it."""
    if "assumption" not in model.get_params():
        return []
    from bagwise.models.base.tags import describe_absence

    text = describe_absence(model, "The ensemble")
    remedy = "If only the presence of an instance should matter, repeat the command with"
    return [f"{text} {remedy} --set assumption=standard."] if text else []


def suggest_ridge(model: Any, n_bags: int, n_features: int) -> list[str]:
    """Return the advice to compare a LASSO with ridge regression if there are more features than bags."""
    parameters = model.get_params()
    ratio = parameters.get("l1_ratio", parameters.get("estimator__l1_ratio"))
    if ratio is None or ratio == 0 or n_features <= n_bags:
        return []
    return [
        f"There are more features ({n_features:,}) than bags ({n_bags:,}), and this LASSO model uses only "
        "a few of them. Ridge regression uses all features, which is often better for features of neural "
        "networks: --set l1_ratio=0."
    ]
