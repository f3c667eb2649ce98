"""Compute the inference for a fitted model, after validation of the request and the data."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc, ndtr, stdtr
from sklearn.base import clone

from bagwise.data.bags import aligned
from bagwise.data.bags.parts import group_of_each
from bagwise.models.base import BagsLike, Training, varying_features
from bagwise.models.linear_model.inference.likelihood import FittedLikelihood, likelihood_of
from bagwise.models.linear_model.inference.profile import Profile, Quantity
from bagwise.models.linear_model.inference.table import Inference
from bagwise.models.linear_model.inference.trust import REMAINS, is_positive_definite, why_no_errors

# Passed bags are accepted as the training bags if the score statistic at the fit (in squared standard errors)
# is below the first value, and log-likelihood and total weight agree up to the second (relative) value.
_LARGEST_SCORE, _SAME = 0.01, 1e-6
# A larger increase in the log-likelihood indicates a different optimum, not a rounding error.
_BETTER = 0.01
# With fewer bags per parameter, tests reject more often than their level (docs/inference.md).
_LEAST_BAGS = 10
_FEW_BAGS = (
    "{} bags are few for {} parameters. With fewer than {} bags per parameter, p values are too small: with "
    "100 bags and 16 parameters, 8 % of the score tests of features without effect have p < 0.05."
)
_NO_EFFECT = (
    "No feature has a significant effect (joint score test: p = {:.2g}). The estimate of the intercept is "
    "then too low, and the coverage of its interval is below the nominal level."
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
    """Return the results of inference for a fitted model; see `MILogisticRegression.inference`."""
    _check_request(model, intervals, groups)
    groups = aligned("groups", groups, X)
    training, counted, is_given = _bags_of(model, X, y, sample_weight)
    selected = np.asarray(getattr(model, "selected_features_", np.ones(model.coef_.shape[1], dtype=bool)))
    varies = varying_features(model.scaler_)
    if varies is not None:
        selected = selected & varies
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
            f"inference needs a maximum likelihood fit, but this model has alpha={model.alpha!r}, and a "
            "penalty biases coefficients; fit with alpha=0, or use refit_selected(model, X, y)."
        )
    if model.class_weight is not None:
        raise ValueError(
            f"inference needs a maximum likelihood fit, but class_weight={model.class_weight!r} changes the "
            "class frequencies, so the estimates and errors do not describe the population; fit with "
            "class_weight=None."
        )
    if intervals not in (None, "score", "profile", "wald"):
        raise ValueError(f'intervals must be "score", "profile" or "wald"; got {intervals!r}.')
    if intervals not in (None, "wald") and groups is not None:
        raise ValueError(
            'groups need intervals="wald", because score tests and profile likelihoods assume independent '
            "bags."
        )


def _bags_of(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Training, np.ndarray, bool]:
    """Return the training bags, the mask of the bags with nonzero weight, and whether X was passed."""
    if X is not None:
        if y is None:
            raise ValueError("inference got X without y; pass both as in fit, or neither of them.")
        y, sample_weight = aligned("y", y, X), aligned("sample_weight", sample_weight, X)
        again = clone(model).set_params(positive=model.positive_label_)
        training = again._read_training(X, y, sample_weight)
        counted = np.ones(len(training.bags), dtype=bool)
        if sample_weight is not None:
            counted = np.asarray(sample_weight) > 0
        return training, counted, True
    if y is not None or sample_weight is not None:
        raise ValueError("inference got y or sample_weight without X; pass all data as in fit, or none.")
    kept = getattr(model, "_kept", None)
    if kept is None or kept.training is None:
        raise ValueError(
            "this model no longer has the training bags, because pickles and copies do not contain them; "
            "pass the same X, y and sample_weight as to fit."
        )
    return kept.training, kept.counted, False


def _compare_with_fit(model: Any, likelihood: FittedLikelihood) -> None:
    """Raise an error if the passed bags are not the training bags."""
    comparisons = [("log-likelihood", likelihood.log_likelihood(), model.log_likelihood_)]
    kept = getattr(model, "_kept", None)
    if kept is not None:
        comparisons.insert(0, ("total weight", likelihood.problem.total, kept.total))
    for name, value, value_in_fit in comparisons:
        if not abs(value - value_in_fit) <= _SAME * max(1.0, abs(value_in_fit)):
            raise ValueError(
                f"X, y and sample_weight do not match the training data: their {name} is {value:.6g}, but "
                f"that of the training data is {value_in_fit:.6g}; call inference() without them, or fit the "
                "model to these bags."
            )


def _information(
    model: Any, likelihood: FittedLikelihood, *, is_given: bool
) -> tuple[np.ndarray | None, str | None]:
    """Return the information at the fit, and why there are no standard errors, or None."""
    if likelihood.problem.has_kinks:
        return None, (
            "The likelihood of this rule has kinks, so the information is not defined and there are no "
            "standard errors."
        )
    information = likelihood.information(likelihood.x)
    _, score = likelihood.value_and_gradient(likelihood.x)
    if is_positive_definite(information):
        distance = float(score @ np.linalg.solve(information, score))
        if distance > _LARGEST_SCORE and model.converged_ and is_given:
            raise ValueError(
                f"X, y and sample_weight do not match the training data: the score statistic is "
                f"{distance:.3g} instead of 0; call inference() without them, or fit the model to these bags."
            )
    return information, why_no_errors(model, likelihood, information, score)


def _facts(
    model: Any, likelihood: FittedLikelihood, training: Training, selected: np.ndarray, *, robust: bool
) -> dict[str, Any]:
    """Return the fields of `Inference` that are available without standard errors."""
    df = int(selected.sum())
    log_likelihood = likelihood.log_likelihood()
    without = likelihood.log_likelihood_without_features()
    ratio = max(0.0, 2 * (log_likelihood - without))
    # Without features, a learned rule is not identified, so no statistic has a chi-squared distribution.
    has_p = not (robust or likelihood.learns_rule)
    score = likelihood.score_without_features() if has_p and not likelihood.problem.has_kinks else None
    score_p = None if score is None else _tail(df, score)
    notes = getattr(getattr(model, "_kept", None), "notes", ())
    offsets = likelihood.problem.offsets
    has_several = len(offsets) <= offsets[-1]  # at least one bag has several instances
    if score_p is not None and score_p > 0.05 and model.fit_intercept and df and has_several:
        notes = (*notes, _NO_EFFECT.format(score_p))
    n_parameters = int(likelihood.free.sum())
    if len(training.bags) < _LEAST_BAGS * n_parameters:
        notes = (*notes, _FEW_BAGS.format(len(training.bags), n_parameters, _LEAST_BAGS))
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
    """Return the probability of a larger chi-squared statistic."""
    return float(chdtrc(df, statistic)) if df else 1.0


def _sandwich(
    likelihood: FittedLikelihood, inverse: np.ndarray, groups: ArrayLike, counted: np.ndarray
) -> tuple[np.ndarray, int]:
    """Return the cluster-robust (sandwich) covariance, and the number of groups."""
    names, group = np.unique(group_of_each(groups, len(counted))[counted], return_inverse=True)
    n_groups = len(names)
    if n_groups <= len(inverse):
        raise ValueError(
            f"groups has {n_groups} distinct values, too few for standard errors of {len(inverse)} "
            "parameters; expected more groups than parameters."
        )
    scores = likelihood.scores_by_group(group, n_groups)
    # The scores sum to zero at the fit, except for the gradient of the prior of a learned rule.
    scores -= scores.mean(axis=0)
    return inverse @ (scores.T @ scores * (n_groups / (n_groups - 1))) @ inverse, n_groups


def _by_refits(
    intervals: str,
    likelihood: FittedLikelihood,
    information: np.ndarray,
    to_original: np.ndarray,
    notes: tuple[str, ...],
) -> dict[str, Any]:
    """Return tests and intervals that refit the other parameters."""
    profile = Profile(likelihood, information, "score" if intervals == "score" else "ratio")
    quantities = [Quantity.linear(row) for row in to_original]
    z = np.array([profile.signed_root(quantity, 0.0) for quantity in quantities])
    if profile.gained > _BETTER:
        notes = (
            *notes,
            f"The fit is not the best optimum: a log-likelihood higher by {profile.gained:.3g} exists, and "
            "the following results are too optimistic. Fit with more starts (n_init).",
        )
    limits: dict[float, np.ndarray] = {}

    def ends(level: float) -> np.ndarray:
        if level not in limits:
            limits[level] = np.array([profile.interval(q, level, tested=0.0) for q in quantities])
        return limits[level].copy()

    return {"z": z, "p_value": 2 * ndtr(-np.abs(z)), "notes": notes, "_ends": ends}


def _names(model: Any, selected: np.ndarray) -> list[str]:
    names = getattr(model, "feature_names_in_", None)
    if names is None or len(names) != len(selected):
        names = [f"x{i}" for i in range(len(selected))]
    return ["(intercept)", *(str(name) for name, take in zip(names, selected, strict=True) if take)]
