"""From a fitted model to its inference: what is compared, refused, and computed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc, ndtr, stdtr
from sklearn.base import clone
from sklearn.utils import column_or_1d

from bagwise.models.base import BagsLike, Training
from bagwise.models.linear_model.inference.likelihood import FittedLikelihood, likelihood_of
from bagwise.models.linear_model.inference.profile import Profile, Quantity
from bagwise.models.linear_model.inference.table import Inference
from bagwise.models.linear_model.inference.trust import REMAINS, is_positive_definite, why_no_errors

# Bags are those of the fit if the score there is below this, in squared standard errors, and the
# log-likelihood and the weight agree to this part.
_LARGEST_SCORE, _SAME = 0.01, 1e-6
# A log-likelihood that is higher by this is another optimum, not rounding.
_BETTER = 0.01
_NO_EFFECT = (
    "No effect of any feature is seen (score test of all: p = {:.2g}). The intercept is then estimated too "
    "low, and its interval covers less often than it says."
)


def infer(
    model: Any,
    X: BagsLike | None = None,
    y: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    intervals: str | None = None,
    groups: ArrayLike | None = None,
) -> Inference:
    """Make the inference for a fitted model; `MILogisticRegression.inference` documents it."""
    _check_request(model, intervals, groups)
    training, counted, is_given = _bags_of(model, X, y, sample_weight)
    selected = np.asarray(getattr(model, "selected_features_", np.ones(model.coef_.shape[1], dtype=bool)))
    likelihood = likelihood_of(model, training, selected)
    if intervals is None:
        intervals = "wald" if groups is not None or likelihood.learns_rule else "score"
    if is_given:
        _compare_with_fit(model, likelihood)
    information, message = _information(model, likelihood, is_given=is_given)
    facts = _facts(model, likelihood, training, selected, robust=groups is not None)
    coef = np.append(model.intercept_, model.coef_[0][selected])
    facts["coef"] = coef = coef if model.fit_intercept else coef[1:]
    to_original = likelihood.to_original()
    covariance = None
    if message is None:
        assert information is not None
        middle = np.linalg.inv(information)
        if groups is not None:
            middle, facts["n_groups"] = _sandwich(likelihood, middle, groups, counted)
        covariance = to_original @ middle @ to_original.T
        facts["se"] = se = np.sqrt(np.diagonal(covariance))
        facts["z"] = z = coef / se
        facts["p_value"] = 2 * ndtr(-np.abs(z))
        if groups is not None:
            facts["p_value"] = 2 * stdtr(facts["n_groups"] - 1, -np.abs(z))
    facts |= {"covariance": covariance, "message": message, "intervals": intervals}
    if information is not None and (intervals == "profile" or (intervals == "score" and message is None)):
        facts |= _by_refits(intervals, likelihood, information, to_original, facts["notes"])
        facts["message"] = message and message.removesuffix(REMAINS)
    return Inference(**facts)


def _check_request(model: Any, intervals: str | None, groups: ArrayLike | None) -> None:
    if model.alpha != 0:
        raise ValueError(
            f"inference is for maximum likelihood, and this model has alpha={model.alpha!r}: a penalty "
            "biases coefficients. Fit with alpha=0, or use refit_selected(model, X, y)."
        )
    if model.class_weight is not None:
        raise ValueError(
            f"inference is for maximum likelihood, and class_weight={model.class_weight!r} weights classes "
            "against their frequency: neither estimates nor errors are those of the population. Fit with "
            "class_weight=None."
        )
    if intervals not in (None, "score", "profile", "wald"):
        raise ValueError(f'intervals must be "score", "profile" or "wald"; got {intervals!r}.')
    if intervals not in (None, "wald") and groups is not None:
        raise ValueError(
            'groups need intervals="wald": the likelihood takes bags as independent, and so do its score and '
            "its profile."
        )


def _bags_of(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Training, np.ndarray, bool]:
    """Give the bags, which of those given to a fit count, and whether they are given now."""
    if X is not None:
        if y is None:
            raise ValueError("inference got X without y; pass the labels of the fit too, or neither of them.")
        training = clone(model)._read_training(X, y, sample_weight)
        counted = np.ones(len(training.bags), dtype=bool)
        if sample_weight is not None:
            counted = np.asarray(sample_weight) > 0
        return training, counted, True
    if y is not None or sample_weight is not None:
        raise ValueError("inference got y or sample_weight without X; pass all data of the fit, or none.")
    kept = getattr(model, "_kept", None)
    if kept is None or kept.training is None:
        raise ValueError(
            "this model no longer has the training bags, because pickles and copies do not contain them; "
            "pass the same X, y and sample_weight as to fit."
        )
    return kept.training, kept.counted, False


def _compare_with_fit(model: Any, likelihood: FittedLikelihood) -> None:
    """Refuse bags that are not those of the fit."""
    what = [("log-likelihood", likelihood.log_likelihood(), model.log_likelihood_)]
    kept = getattr(model, "_kept", None)
    if kept is not None:
        what.insert(0, ("total weight", likelihood.problem.total, kept.total))
    for name, here, there in what:
        if not abs(here - there) <= _SAME * max(1.0, abs(there)):
            raise ValueError(
                f"X, y and sample_weight are not those of the fit: their {name} is {here:.6g}, that of the "
                f"fit was {there:.6g}. Call inference() without them, or fit on these bags."
            )


def _information(
    model: Any, likelihood: FittedLikelihood, *, is_given: bool
) -> tuple[np.ndarray | None, str | None]:
    """The information at the fit, and why there are no errors, if so."""
    if likelihood.problem.has_kinks:
        return None, (
            "The likelihood of this rule has kinks, so there is no information and there are no standard "
            "errors."
        )
    information = likelihood.information(likelihood.x)
    _, score = likelihood.value_and_gradient(likelihood.x)
    if is_positive_definite(information):
        distance = float(score @ np.linalg.solve(information, score))
        if distance > _LARGEST_SCORE and model.converged_ and is_given:
            raise ValueError(
                f"X, y and sample_weight are not those of the fit: the likelihood still rises there, by a "
                f"score of {distance:.3g} squared standard errors. Call inference() without them, or fit on "
                "these bags."
            )
    return information, why_no_errors(model, likelihood, information, score)


def _facts(
    model: Any, likelihood: FittedLikelihood, training: Training, selected: np.ndarray, *, robust: bool
) -> dict[str, Any]:
    """What holds whether there is a table or not."""
    df = int(selected.sum())
    log_likelihood = likelihood.log_likelihood()
    without = likelihood.log_likelihood_without_features()
    ratio = max(0.0, 2 * (log_likelihood - without))
    # Without features a learned rule is not identified: no statistic is chi-squared.
    has_p = not (robust or likelihood.learns_rule)
    score = likelihood.score_without_features() if has_p and not likelihood.problem.has_kinks else None
    score_p = None if score is None else _tail(df, score)
    notes = getattr(getattr(model, "_kept", None), "notes", ())
    offsets = likelihood.problem.offsets
    has_several = len(offsets) <= offsets[-1]  # instances in some bag
    if score_p is not None and score_p > 0.05 and model.fit_intercept and df and has_several:
        notes = (*notes, _NO_EFFECT.format(score_p))
    names = _names(model, selected)
    return {
        "names": names if model.fit_intercept else names[1:],
        "se": None,
        "z": None,
        "p_value": None,
        "log_likelihood": log_likelihood,
        "log_likelihood_null": without,
        "lr_statistic": ratio,
        "lr_p_value": _tail(df, ratio) if has_p else None,
        "score_statistic": score,
        "score_p_value": score_p,
        "df": df,
        "n_bags": len(training.bags),
        "n_positive": int(training.y.sum()),
        "n_instances": training.bags.n_instances,
        "notes": notes,
    }


def _tail(df: int, statistic: float) -> float:
    """Probability that chi-squared is larger."""
    return float(chdtrc(df, statistic)) if df else 1.0


def _sandwich(
    likelihood: FittedLikelihood, inverse: np.ndarray, groups: ArrayLike, counted: np.ndarray
) -> tuple[np.ndarray, int]:
    """Covariance that allows bags of one group to depend on each other, and the number of groups."""
    values = column_or_1d(groups)
    if len(values) != len(counted):
        raise ValueError(
            f"groups has {len(values)} values, but there are {len(counted)} bags; give one each."
        )
    names, group = np.unique(values[counted], return_inverse=True)
    n_groups = len(names)
    if n_groups <= len(inverse):
        raise ValueError(
            f"groups has {n_groups} different values, too few for the errors of {len(inverse)} parameters; "
            "expected more groups than parameters."
        )
    scores = likelihood.scores_by_group(group, n_groups)
    # Around the mean, which is that of a rule's prior, and otherwise zero.
    scores -= scores.mean(axis=0)
    return inverse @ (scores.T @ scores * (n_groups / (n_groups - 1))) @ inverse, n_groups


def _by_refits(
    intervals: str,
    likelihood: FittedLikelihood,
    information: np.ndarray,
    to_original: np.ndarray,
    notes: tuple[str, ...],
) -> dict[str, Any]:
    """Tests and intervals for which the other parameters are fitted anew."""
    profile = Profile(likelihood, information, "score" if intervals == "score" else "ratio")
    quantities = [Quantity.linear(row) for row in to_original]
    z = np.array([profile.signed_root(quantity, 0.0) for quantity in quantities])
    if profile.gained > _BETTER:
        notes = (
            *notes,
            f"The fit is not the best one: its log-likelihood can be raised by {profile.gained:.3g}, and "
            "what follows is too favourable. Fit with more starts (n_init).",
        )
    known: dict[float, np.ndarray] = {}

    def ends(level: float) -> np.ndarray:
        if level not in known:
            known[level] = np.array([profile.interval(q, level, tested=0.0) for q in quantities])
        return known[level].copy()

    return {"z": z, "p_value": 2 * ndtr(-np.abs(z)), "notes": notes, "_ends": ends}


def _names(model: Any, selected: np.ndarray) -> list[str]:
    given = getattr(model, "feature_names_in_", None)
    if given is None or len(given) != len(selected):
        given = [f"x{i}" for i in range(len(selected))]
    return ["(intercept)", *(str(name) for name, take in zip(given, selected, strict=True) if take)]
