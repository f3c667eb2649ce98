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
    compared : str
        Name of a default model of `compare`, if the model is fitted as in a comparison, where it chooses its
        settings by cross-validation.
    """

    cls: str
    summary: str
    from_unlabeled: bool = False
    compared: str = ""


MODELS = {
    "auto": NamedModel("BagEnsembleClassifier", "ensemble of several model families; a strong default"),
    "milr": NamedModel("MILogisticRegression", "logistic regression on instances, LASSO (alpha, rule)"),
    "milr-cv": NamedModel("MILogisticRegressionCV", "the same, with the penalty chosen by cross-validation"),
    "milr-mean-cv": NamedModel(
        "MILogisticRegressionCV",
        "the same with the mean rule: every instance counts",
        compared="logistic, mean rule",
    ),
    "softor": NamedModel(
        "SoftORLogisticRegression", "learns how many positive instances make a bag positive"
    ),
    "softor-cv": NamedModel(
        "SoftORLogisticRegression", "the same, tuned by cross-validation", compared="logistic, count rule"
    ),
    "mimm": NamedModel("MIMixture", "mixture model of positive and negative instances (family)"),
    "mimm-cv": NamedModel("MIMixture", "the same, tuned by cross-validation", compared="mixture, Gaussian"),
    "mimm-disc": NamedModel("DiscriminativeMixture", "the same mixture, fitted discriminatively"),
    "dd": NamedModel("DiverseDensity", "Diverse Density: distance to a learned prototype"),
    "emdd": NamedModel("EMDD", "EM-DD: the same fitted by EM, for larger data"),
    "miboost": NamedModel("MIGradientBoostingClassifier", "gradient-boosted trees on instances"),
    "miboost-cv": NamedModel(
        "MIGradientBoostingClassifier", "the same, tuned by cross-validation", compared="boosted trees"
    ),
    "attention": NamedModel("AttentionMILClassifier", "neural network with gated attention; needs torch"),
    "misssvm": NamedModel("MissSVC", "MissSVM: semi-supervised SVM on instances (C, kernel)"),
    "misvm": NamedModel("MISVC", "MI-SVM: the most positive instance represents its bag"),
    "misvm-cv": NamedModel("MISVC", "the same, tuned by cross-validation", compared="MI-SVM"),
    "misvm-instance": NamedModel("InstanceMISVC", "mi-SVM: estimates the labels of instances"),
    "set-kernel": NamedModel("SetKernelSVC", "SVM on whole bags"),
    "miles": NamedModel("MILESClassifier", "MILES: similarity to selected training instances"),
    "citation-knn": NamedModel("CitationKNNClassifier", "votes of the nearest bags (references and citers)"),
    "citation-knn-cv": NamedModel(
        "CitationKNNClassifier", "the same, tuned by cross-validation", compared="nearest bags"
    ),
    "bayesian-knn": NamedModel("BayesianKNNClassifier", "probabilities from the labels of the nearest bags"),
    "apr": NamedModel("APRClassifier", "a box with at least one instance of every positive bag"),
    "sbmil": NamedModel("SparseMISVC", "SVM for bags with few positive instances (method, balance)"),
    "single": NamedModel("SingleInstanceClassifier", "baseline: every instance inherits its bag's label"),
    "single-cv": NamedModel(
        "SingleInstanceClassifier",
        "the same with the mean over instances, tuned",
        compared="copied labels, logistic",
    ),
    "single-forest": NamedModel(
        "SingleInstanceClassifier", "the same with a random forest", compared="copied labels, forest"
    ),
    "statistics": NamedModel("BagStatistics", "baseline: logistic regression on mean, std and maximum"),
    "statistics-cv": NamedModel(
        "BagStatistics", "the same, tuned by cross-validation", compared="bag statistics, logistic"
    ),
    "statistics-svm-cv": NamedModel(
        "BagStatistics", "SVM on these statistics, tuned by cross-validation", compared="bag statistics, SVM"
    ),
    "pu": NamedModel(
        "PUSetKernelClassifierCV", "positive and unlabeled bags; tuned by cross-validation", True
    ),
    "puskc": NamedModel("PUSetKernelClassifier", "the same with fixed settings (degree, alpha)", True),
    "lsdd": NamedModel("LSDDClassifier", "positive and unlabeled bags; density difference", True),
    "lsdd-cv": NamedModel("LSDDClassifierCV", "the same, tuned by cross-validation", True),
    "dsdd": NamedModel("DSDDClassifier", "the same, but estimates the sign of the difference", True),
    "dsdd-cv": NamedModel("DSDDClassifierCV", "the same, tuned by cross-validation", True),
    "pumil": NamedModel("PUMILClassifier", "positive and unlabeled bags; finds likely negatives", True),
}


def list_models() -> str:
    """Return the list of models for the help."""
    width = max(map(len, MODELS)) + 2
    return "\n".join(f"  {name:<{width}}{model.summary}" for name, model in MODELS.items())


def name_of_compared(cls: str, compared: str) -> str:
    """Return the short name of the same model as a default model of `compare`, or of one of its class."""
    exact = (name for name, model in MODELS.items() if model.compared == compared)
    of_class = (name for name, model in MODELS.items() if model.cls == cls and not model.compared)
    return next(exact, next(of_class, compared))


def make_model(name: str, settings: Sequence[str], seed: int, *, in_groups: bool = False) -> Any:
    """Return an unfitted model.

    Parameters
    ----------
    name : str
        One of `MODELS`.
    settings : sequence of str
        Entries "key=value" with parameters of the class.
    seed : int
        Random seed, for models that use one.
    in_groups : bool
        Whether models that choose their settings by cross-validation keep groups of bags together.
    """
    if name not in MODELS:
        raise CommandError(
            f"there is no model {name!r}{nearest(name, MODELS)}; the models are {', '.join(MODELS)}."
        )
    named = MODELS[name]
    model = _make_compared(named.compared, seed, in_groups) if named.compared else _make(named.cls)
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


def _make_compared(compared: str, seed: int, in_groups: bool) -> Any:
    """Return a default model of `compare`, which chooses its settings during the fit as in a comparison."""
    from bagwise.evaluation.comparison import portfolio
    from bagwise.evaluation.comparison.suited import search_settings

    offered = (*portfolio.REPRESENTATIVES, *portfolio.FURTHER, *portfolio.OF_MANY_CLASSES)
    model = next(model for model in offered if model.name == compared)
    if model.make_choosing is not None:
        return model.make_choosing(seed)
    return search_settings(model.make(seed), model.grid, "accuracy", 3, seed, in_groups=in_groups)


def differing_settings(name: str, estimator: Any, seed: int) -> list[str]:
    """Return the settings, as "key=value", with which `make_model` creates an estimator of a comparison.

    Only plain values are compared. All other values were set by the comparison.
    """
    ours = _core(make_model(name, [], seed)).get_params(deep=False)
    theirs = _core(estimator)
    if type(theirs).__name__ != type(_core(make_model(name, [], seed))).__name__ or hasattr(theirs, "steps"):
        return []
    return [
        f"{key}={value}"
        for key, value in theirs.get_params(deep=False).items()
        if isinstance(value, (bool, int, float, str)) and ours.get(key) != value
    ]


def _core(estimator: Any) -> Any:
    """Return the model inside imputation, one-vs-rest classification and a search."""
    steps = getattr(estimator, "steps", None)
    if steps and type(steps[0][1]).__name__ == "OnInstances":
        return _core(steps[-1][1])
    is_wrapper = type(estimator).__name__ in ("OneVsRestClassifier", "GridSearchCV")
    return _core(estimator.estimator) if is_wrapper else estimator


def adapt(model: Any, *, n_classes: int, several_labels: bool, impute: bool) -> Any:
    """Extend a model to several classes (one-vs-rest), several labels per bag, or missing values.

    Parameters
    ----------
    model : estimator
        The model.
    n_classes : int
        Number of classes.
    several_labels : bool
        Whether the bags have several labels each.
    impute : bool
        Whether missing values are replaced by medians of the training instances, which the fitted model
        contains.
    """
    from bagwise.models.wrappers.imputation import impute_median

    if several_labels:
        from bagwise import MultiLabelBagClassifier

        model = MultiLabelBagClassifier(model)
    elif n_classes > 2 and not model.__sklearn_tags__().classifier_tags.multi_class:
        from sklearn.multiclass import OneVsRestClassifier

        model = OneVsRestClassifier(model)
    return impute_median(model) if impute else model


def core_of(model: Any) -> Any:
    """Return the model after imputation, or the model itself if there is no imputation."""
    from bagwise.models.wrappers.pipeline import BagPipeline, OnInstances

    imputes = isinstance(model, BagPipeline) and isinstance(model.steps[0][1], OnInstances)
    return model.steps[-1][1] if imputes else model


def unwrap(model: Any, bags: Any) -> tuple[Any, Any]:
    """Return `core_of` a fitted model, and the bags after imputation."""
    core = core_of(model)
    return core, bags if core is model else model[:-1].transform(bags)


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
