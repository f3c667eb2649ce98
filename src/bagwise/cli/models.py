"""Short names of the models that the program fits, and their settings."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from bagwise.cli.command import CommandError


@dataclass(frozen=True)
class NamedModel:
    """A model with a short name.

    Attributes
    ----------
    cls : str
        Name of the public class.
    summary : str
        Its line in the help.
    from_unlabeled : bool
        Whether bags that are not positive are unlabeled instead of negative.
    """

    cls: str
    summary: str
    from_unlabeled: bool = False


MODELS = {
    "auto": NamedModel("BagEnsembleClassifier", "ensemble of several model families; a strong default"),
    "milr": NamedModel("MILogisticRegression", "logistic regression on instances, LASSO (alpha, rule)"),
    "milr-cv": NamedModel("MILogisticRegressionCV", "the same, with the penalty chosen by cross-validation"),
    "softor": NamedModel(
        "SoftORLogisticRegression", "learns how many positive instances make a bag positive"
    ),
    "mimm": NamedModel("MIMixture", "mixture model of positive and negative instances (family)"),
    "mimm-disc": NamedModel("DiscriminativeMixture", "the same mixture, fitted discriminatively"),
    "dd": NamedModel("DiverseDensity", "Diverse Density: distance to a learned prototype"),
    "emdd": NamedModel("EMDD", "EM-DD: the same fitted by EM, for larger data"),
    "miboost": NamedModel("MIGradientBoostingClassifier", "gradient-boosted trees on instances"),
    "attention": NamedModel("AttentionMILClassifier", "neural network with gated attention; needs torch"),
    "misssvm": NamedModel("MissSVC", "MissSVM: semi-supervised SVM on instances (C, kernel)"),
    "misvm": NamedModel("MISVC", "MI-SVM: the most positive instance represents its bag"),
    "misvm-instance": NamedModel("InstanceMISVC", "mi-SVM: estimates the labels of instances"),
    "set-kernel": NamedModel("SetKernelSVC", "SVM on whole bags"),
    "miles": NamedModel("MILESClassifier", "MILES: similarity to selected training instances"),
    "citation-knn": NamedModel("CitationKNNClassifier", "votes of the nearest bags (references and citers)"),
    "bayesian-knn": NamedModel("BayesianKNNClassifier", "probabilities from the labels of the nearest bags"),
    "apr": NamedModel("APRClassifier", "a box with at least one instance of every positive bag"),
    "sbmil": NamedModel("SparseMISVC", "SVM for bags with few positive instances (method, balance)"),
    "single": NamedModel("SingleInstanceClassifier", "baseline: every instance inherits its bag's label"),
    "statistics": NamedModel("BagStatistics", "baseline: logistic regression on mean, std and maximum"),
    "pu": NamedModel(
        "PUSetKernelClassifierCV", "positive and unlabeled bags, tuned by cross-validation", True
    ),
    "puskc": NamedModel("PUSetKernelClassifier", "the same with fixed settings (degree, alpha)", True),
    "lsdd": NamedModel(
        "LSDDClassifier", "positive and unlabeled bags, density difference of instances", True
    ),
    "lsdd-cv": NamedModel("LSDDClassifierCV", "the same, tuned by cross-validation", True),
    "dsdd": NamedModel("DSDDClassifier", "the same, estimates the sign of the difference", True),
    "dsdd-cv": NamedModel("DSDDClassifierCV", "the same, tuned by cross-validation", True),
    "pumil": NamedModel("PUMILClassifier", "positive and unlabeled bags, finds likely negatives", True),
}


def list_models() -> str:
    """Return the list of models for the help."""
    width = max(map(len, MODELS)) + 2
    return "\n".join(f"  {name:<{width}}{model.summary}" for name, model in MODELS.items())


def make_model(name: str, settings: Sequence[str], seed: int) -> Any:
    """Return an unfitted model.

    Parameters
    ----------
    name : str
        One of `MODELS`.
    settings : sequence of str
        Entries "key=value" with parameters of the class.
    seed : int
        Random seed, for models that use one.
    """
    if name not in MODELS:
        raise CommandError(
            f"there is no model {name!r}{nearest(name, MODELS)}; the models are {', '.join(MODELS)}."
        )
    model = _make(MODELS[name].cls)
    parameters = model.get_params()
    chosen = {key: seed for key in parameters if key.rpartition("__")[2] == "random_state"}
    for setting in settings:
        key, is_given, value = setting.partition("=")
        if not is_given or not key:
            raise CommandError(f"--set {setting!r} is not of the form key=value, such as alpha=3.")
        if key not in parameters:
            plain = [key for key in parameters if "__" not in key]
            raise CommandError(
                f"--set: {name} has no setting {key!r}{nearest(key, parameters)}; it has "
                f"{', '.join(plain if len(plain) > 3 else parameters)}."
            )
        chosen[key] = parse_value(value)
    model.set_params(**chosen)
    from bagwise._core.sklearn_private import check_parameters

    try:
        for part in [model, *(step for _, step in getattr(model, "steps", ()))]:
            check_parameters(part)
    except ValueError as error:
        raise CommandError(f"--set: {error}") from error
    return model


def _make(cls: str) -> Any:
    import bagwise

    if cls != "BagStatistics":
        return getattr(bagwise, cls)()
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    statistics = bagwise.BagStatistics(("mean", "std", "max"))
    return make_pipeline(statistics, StandardScaler(), LogisticRegression(max_iter=1000))


def parse_value(text: str) -> Any:
    """Parse a Python literal; none, true and false may be lower case, and other text is returned as it is.

    Examples
    --------
    >>> from bagwise.cli.models import parse_value
    >>> [parse_value(text) for text in ("3", "0.5", "none", "rbf", "(1, 2)", "'3'")]
    [3, 0.5, None, 'rbf', (1, 2), '3']
    """
    constants = {"none": None, "true": True, "false": False}
    if text.lower() in constants:
        return constants[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def nearest(word: str, names: Iterable[str]) -> str:
    """Return " (did you mean ...?)" if a known word is similar to `word`, otherwise an empty string."""
    near = get_close_matches(word.lower(), list(names), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""
