"""Every public estimator on unusual bags: finite, consistent, and independent of order and container."""

from __future__ import annotations

import inspect
import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone, is_regressor
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter
from tests.fuzz import data, relations
from tests.fuzz.choosing import chosen, generator
from tests.fuzz.consistency import all_predictions, check_fit, check_predictions
from tests.fuzz.judging import Refused, asked
from tests.fuzz.parameters import draw_estimator

import bagwise
from bagwise import Bags, Sequences
from bagwise.models.base import BagEstimator
from bagwise.testing import example_of
from bagwise.testing.discovery import can_be_fitted

# Estimators that are not tested directly, with the reason.
EXEMPT = {
    "ByIndex": "takes bag indices as X, not bags; the inner estimator is tested separately",
}


def subjects() -> dict[str, type[BaseEstimator]]:
    """Return all public estimators of bags, by name."""
    public = {name: getattr(bagwise, name) for name in bagwise.__all__}
    return {
        name: cls
        for name, cls in public.items()
        if inspect.isclass(cls)
        and issubclass(cls, BagEstimator)
        and hasattr(cls, "fit")
        and can_be_fitted(cls)
        and name not in EXEMPT
    }


def run(seed: int, only: str | None = None) -> str:
    """Fit one estimator to one random data set, and check its predictions."""
    name = only or chosen(seed, list(subjects()))
    with tempfile.TemporaryDirectory(prefix="fuzz") as folder:
        case = Case(name, seed, Path(folder))
        try:
            case.play()
        except (AssertionError, Refused) as end:
            end.add_note(case.story())
            raise
        return case.story()


class Case:
    """A test case: an estimator, a data set, a container, and the checks."""

    def __init__(self, name: str, seed: int, folder: Path):
        self.rng = rng = generator("estimators", seed)
        self.folder = folder
        cls = subjects()[name]
        tags = get_tags(example_of(cls))
        self.drawn = data.draw_bags(rng)
        n = self.drawn.n_bags
        self.kind = "classes"
        classifier = tags.classifier_tags
        if not _needs_labels(cls):
            self.kind, self.codes, self.y = "none", np.arange(n) % 2, None
        elif is_regressor(example_of(cls)):
            self.kind, self.codes = "continuous", np.arange(n) % 2
            self.y = rng.normal(size=n) * rng.choice([1.0, 1e-100, 1e100])
        elif classifier is not None and classifier.multi_label and rng.random() < 0.8:
            self.kind, self.codes = "matrix", np.arange(n) % 2
            self.y = (rng.random((n, rng.integers(1, 4))) < rng.choice([0.1, 0.5, 0.9])).astype(int)
        else:
            several = classifier is not None and classifier.multi_class and rng.random() < 0.5
            self.codes = data.draw_classes(
                rng, n, 3 if several else 2, alone="cv" not in example_of(cls).get_params()
            )
            self.y, self.labels = data.as_labels(rng, self.codes)
        classes = np.unique(self.y) if self.kind == "classes" else None
        self.model = draw_estimator(cls, rng, classes)
        self.weight, self.weights = data.draw_weights(rng, self.codes)
        if not has_fit_parameter(self.model, "sample_weight"):
            self.weight, self.weights = None, "none"
        self.container = str(rng.choice(data.CONTAINERS))
        if rng.random() < 0.9 and not self.takes(self.container):
            self.container = "list"
        self.relation = ""

    def takes(self, container: str) -> bool:
        """Return whether the estimator declares that it supports a container."""
        if "csr" in container:
            return bool(getattr(self.model, "_accepts_sparse", True))
        return container != "scan" or bool(getattr(self.model, "_streams", False))

    def story(self) -> str:
        """Return a description of the case in one line."""
        model = " ".join(repr(self.model).split())
        labels = getattr(self, "labels", self.kind)
        return (
            f"{model}; {self.drawn.note}, {self.drawn.n_bags} bags, {self.drawn.X.shape}; container "
            f"{self.container}; labels {labels}; weights {self.weights}; {self.relation}"
        )

    def play(self) -> None:
        """Fit, check the predictions, and compare them with an equivalent call."""
        X = self.contained()
        model = clone(self.model)
        asked(self.fit, model, X, self.y, self.weight)
        check_fit(model)
        predictions = asked(all_predictions, model, X if isinstance(X, Bags) else self.bags(), self.y)
        check_predictions(model, predictions, self.kind)
        name = str(self.rng.choice(list(relations.ALL)))
        self.relation = name
        relations.ALL[name](self, model, predictions)
        other = self.others()
        if other is not None:
            self.relation = f"then bags with {other[0]}"
            check_predictions(model, asked(all_predictions, model, other[1], None), self.kind)

    def fit(self, model, X, y, weight):
        """Fit with or without labels and weights."""
        keywords = {} if weight is None else {"sample_weight": weight}
        return model.fit(X, **keywords) if y is None else model.fit(X, y, **keywords)

    def bags(self, container: str | None = None) -> Bags:
        """Return the bags as `Bags`: sequences if the estimator needs them, CSR if the container is CSR."""
        if self.wants_sequences:
            return sequences(self.drawn)
        if "csr" in (container or self.container):
            return Bags(sp.csr_array(self.drawn.X), self.drawn.offsets)
        return self.drawn.bags

    def shuffled(self) -> np.ndarray:
        """Return a random order of the instances within each bag."""
        bags = self.bags()
        return np.lexsort((self.rng.random(bags.n_instances), bags.bag_index))

    @property
    def wants_sequences(self) -> bool:
        """Whether the estimator needs sequences of symbols."""
        return bool(getattr(self.model, "_accepts_sequences", False))

    def contained(self):
        """Return the bags in the drawn container, or as `Bags` if the container does not support them."""
        if self.wants_sequences:
            self.container = "bags"
            return sequences(self.drawn)
        X = data.contain(self.drawn, self.container, self.folder)
        if X is None:
            self.container, X = "bags", self.drawn.bags
        return X

    def others(self) -> tuple[dict, Bags] | None:
        """Draw other bags with the same number of features; their values can be more extreme."""
        if self.wants_sequences:
            return None
        drawn = data.draw_bags(self.rng, n_features=self.drawn.X.shape[1])
        return drawn.note, drawn.bags


def _needs_labels(cls: type[BaseEstimator]) -> bool:
    return inspect.signature(cls.fit).parameters["y"].default is inspect.Parameter.empty


def sequences(drawn: data.Drawn) -> Bags:
    """Return a sequence of one to five symbols out of four for every instance."""
    rng = np.random.default_rng(len(drawn.X))
    lengths = rng.integers(1, 6, size=len(drawn.X))
    symbols = rng.integers(0, 4, size=lengths.sum())
    return Bags(Sequences(symbols, np.append(0, np.cumsum(lengths)), n_symbols=4), drawn.offsets)
