"""The tag `can_use_absence` is False exactly if adding an instance never lowers the score of a bag."""

import warnings

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from bagwise import (
    MISVC,
    AttentionMILClassifier,
    Bags,
    BagStatistics,
    CountLogistic,
    CountTable,
    MILogisticRegression,
    MIMLLogisticRegression,
    MultiLabelBagClassifier,
    OneVsOneBagClassifier,
    OnInstances,
    SetKernelSVC,
    SingleInstanceClassifier,
    Threshold,
    can_use_absence,
    make_bag_pipeline,
    make_noisy_or_bags,
)
from bagwise.rules import RULES
from bagwise.testing import all_estimators, example_of

# Fits of these rules can learn values that decrease.
COUNTS = [CountTable(monotone=True), CountTable([0.0, 1.0, 0.3]), CountTable([0.1, 0.1, 0.8])]
COUNTS += [CountLogistic(-1.0, 2.0), CountLogistic(1.0, -2.0), Threshold(2)]


def classifiers():
    for cls in all_estimators():
        model = example_of(cls)
        if is_classifier(model):
            yield cls.__name__, model
    for name in RULES:
        yield f"logistic, {name}", MILogisticRegression(name, alpha=0.1, l1_ratio=0.0, random_state=0)
        yield f"copied labels, {name}", SingleInstanceClassifier(rule=name)
    for rule in COUNTS:
        yield f"logistic, {rule}", MILogisticRegression(rule, alpha=0.1, l1_ratio=0.0, random_state=0)
    yield "both ways", OneVsOneBagClassifier(MILogisticRegression(random_state=0), both_ways=True)
    yield "pairs of set kernels", OneVsOneBagClassifier(SetKernelSVC())
    yield "set kernel per label", MultiLabelBagClassifier(SetKernelSVC())
    yield "pipeline", make_bag_pipeline(OnInstances(StandardScaler()), MISVC())
    yield "statistics", make_pipeline(BagStatistics(), StandardScaler(), LogisticRegression())
    yield (
        "bags of one vector",
        make_pipeline(BagStatistics(("min", "mean")), MILogisticRegression(random_state=0)),
    )
    yield "search", GridSearchCV(MISVC(), {"C": [1.0, 10.0]}, cv=2)
    pipeline = make_pipeline(BagStatistics(("min",)), MILogisticRegression(random_state=0))
    yield "search over a pipeline", GridSearchCV(pipeline, {"milogisticregression__alpha": [0.1, 1.0]}, cv=2)


def score_of(model, bags):
    if hasattr(model, "decision_function"):
        return model.decision_function(bags)
    return model.predict_proba(bags)[:, 1]


def with_an_instance(bags, rows):
    """Return the bags with one more instance each."""
    return Bags.from_list([np.vstack([bag, row]) for bag, row in zip(bags, rows, strict=True)])


@pytest.fixture(scope="module")
def data():
    return make_noisy_or_bags(60, size=(2, 5), coef=[2.0, -2.0, 1.0], intercept=-1.5, random_state=7)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "model"), list(classifiers()), ids=lambda item: item if isinstance(item, str) else ""
)
def test_adding_an_instance_never_lowers_the_score_exactly_without_the_tag(name, model, data):
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about fits that did not converge
        model.fit(data.bags, data.y)
        before = score_of(model, data.bags)
        pools = [data.bags.instances[rng.integers(data.bags.n_instances, size=60)] for _ in range(6)]
        pools += [scale * rng.normal(size=(60, 3)) for scale in (0.0, 3.0, 10.0)]
        changes = np.array([score_of(model, with_an_instance(data.bags, rows)) - before for rows in pools])
    largest = np.abs(before).max()
    if can_use_absence(model):
        assert changes.min() < -1e-6 * largest
    else:
        assert changes.min() >= -1e-9 * largest and changes.max() > 0


def test_tag_is_that_of_the_fitted_rule_and_of_the_last_step():
    unfitted = MILogisticRegression("count_table")
    assert get_tags(unfitted).classifier_tags.can_use_absence and can_use_absence(unfitted)
    assert not get_tags(MISVC()).classifier_tags.can_use_absence
    search = GridSearchCV(make_bag_pipeline(OnInstances(StandardScaler()), MISVC()), {})
    assert not can_use_absence(search) and not get_tags(search).classifier_tags.can_use_absence
    assert can_use_absence(LogisticRegression()) and can_use_absence(AttentionMILClassifier())


def test_one_of_several_labels_is_evidence_against_the_others():
    data = make_noisy_or_bags(40, size=(2, 4), random_state=1)
    y = data.y + (np.arange(40) % 2)
    model = MIMLLogisticRegression(random_state=0)
    assert not can_use_absence(model) and can_use_absence(model.fit(data.bags, y))
    pairs = OneVsOneBagClassifier(MILogisticRegression(random_state=0))
    assert not can_use_absence(pairs) and can_use_absence(pairs.fit(data.bags, y))
