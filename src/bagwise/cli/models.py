"""The models that the program fits, by short names, and their settings."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from bagwise.cli.command import CommandError


@dataclass(frozen=True)
class NamedModel:
    """A model by a short name.

    Attributes
    ----------
    cls : str
        The public name of its class.
    summary : str
        What it is, in a line of help.
    from_unlabeled : bool
        Whether bags that are not positive are unlabeled, and not negative.
    """

    cls: str
    summary: str
    from_unlabeled: bool = False


MODELS = {
    "auto": NamedModel("BagEnsembleClassifier", "several families of models, which vote: hard to beat"),
    "milr": NamedModel("MILogisticRegression", "logistic regression of instances, LASSO (alpha, rule)"),
    "milr-cv": NamedModel("MILogisticRegressionCV", "the same, its penalty chosen by cross-validation"),
    "softor": NamedModel("SoftORLogisticRegression", "learns how many positive instances it takes"),
    "mimm": NamedModel("MIMixture", "mixture of positive and negative instances (family)"),
    "mimm-disc": NamedModel("DiscriminativeMixture", "the same, fitted to the labels alone"),
    "dd": NamedModel("DiverseDensity", "distance to a prototype that is learned"),
    "emdd": NamedModel("EMDD", "the same by EM, for larger data"),
    "miboost": NamedModel("MIGradientBoostingClassifier", "boosted trees of instances"),
    "attention": NamedModel("AttentionMILClassifier", "network with gated attention; needs torch"),
    "misssvm": NamedModel("MissSVC", "support vector machine of instances and bags (C, kernel)"),
    "misvm": NamedModel("MISVC", "MI-SVM: the margin of a bag is that of its best instance"),
    "misvm-instance": NamedModel("InstanceMISVC", "mi-SVM: labels of instances are guessed"),
    "set-kernel": NamedModel("SetKernelSVC", "support vector machine of whole bags"),
    "miles": NamedModel("MILESClassifier", "the nearest instances of chosen training bags"),
    "citation-knn": NamedModel("CitationKNNClassifier", "labels of the nearest bags and their citers"),
    "bayesian-knn": NamedModel("BayesianKNNClassifier", "labels of the nearest bags, weighed by counts"),
    "apr": NamedModel("APRClassifier", "a box around one instance of every positive bag"),
    "sbmil": NamedModel("SparseMISVC", "machine for bags with few positive instances (method, balance)"),
    "single": NamedModel("SingleInstanceClassifier", "baseline: every instance has its bag's label"),
    "statistics": NamedModel("BagStatistics", "baseline: logistic regression of mean, std and maximum"),
    "pu": NamedModel("PUSetKernelClassifierCV", "positive and unlabeled bags, chosen by folds", True),
    "puskc": NamedModel("PUSetKernelClassifier", "the same with settings given (degree, alpha)", True),
    "lsdd": NamedModel("LSDDClassifier", "positive and unlabeled bags, by instances", True),
    "lsdd-cv": NamedModel("LSDDClassifierCV", "the same, chosen by folds", True),
    "dsdd": NamedModel("DSDDClassifier", "the same by a convex difference", True),
    "dsdd-cv": NamedModel("DSDDClassifierCV", "the same, chosen by folds", True),
    "pumil": NamedModel("PUMILClassifier", "positive and unlabeled bags, by likely negatives", True),
}


def list_models() -> str:
    """List the models for the help."""
    width = max(map(len, MODELS)) + 2
    return "\n".join(f"  {name:<{width}}{model.summary}" for name, model in MODELS.items())


def make_model(name: str, settings: Sequence[str], seed: int) -> Any:
    """Make a model that is not fitted yet.

    Parameters
    ----------
    name : str
        One of `MODELS`.
    settings : sequence of str
        "key=value", with names and values as those of the class.
    seed : int
        For models that draw random numbers.
    """
    if name not in MODELS:
        raise CommandError(
            f"there is no model {name!r}{nearest(name, MODELS)}; there are {', '.join(MODELS)}."
        )
    model = _make(MODELS[name].cls)
    known = model.get_params()
    chosen = {key: seed for key in known if key.rpartition("__")[2] == "random_state"}
    for setting in settings:
        key, is_given, value = setting.partition("=")
        if not is_given or not key:
            raise CommandError(f"--set {setting!r} is not of the form key=value, such as alpha=3.")
        if key not in known:
            plain = [key for key in known if "__" not in key]
            raise CommandError(
                f"--set: {name} has no setting {key!r}{nearest(key, known)}; it has "
                f"{', '.join(plain if len(plain) > 3 else known)}."
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
    """Read a value as Python writes it; none, true and false in any case; anything else is text.

    Examples
    --------
    >>> from bagwise.cli.models import parse_value
    >>> [parse_value(text) for text in ("3", "0.5", "none", "rbf", "(1, 2)", "'3'")]
    [3, 0.5, None, 'rbf', (1, 2), '3']
    """
    words = {"none": None, "true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def nearest(word: str, known: Iterable[str]) -> str:
    """Give " (did you mean ...?)" if a known word is like the one given, else nothing."""
    near = get_close_matches(word.lower(), list(known), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""
