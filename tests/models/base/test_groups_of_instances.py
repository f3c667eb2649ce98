"""Probabilities of groups of instances are the marginals of all labelings."""

from itertools import product

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from bagwise import (
    EMDD,
    MISVC,
    Bags,
    CountLogistic,
    CountTable,
    MILogisticRegression,
    MIMixture,
    OnInstances,
    SingleInstanceClassifier,
    Threshold,
    make_bag_pipeline,
    make_noisy_or_bags,
)
from bagwise.rules import RULES, make_rule

LATENT = [name for name in RULES if make_rule(name).has_latent_labels]
FIXED = ["or", "mean", Threshold(2), CountTable([0.05, 0.3, 0.2, 0.9]), CountLogistic(-2.0, 1.5)]


@pytest.fixture(scope="module")
def data():
    drawn = make_noisy_or_bags(40, size=(1, 6), coef=[2.0, -2.0, 1.0], intercept=-1.0, random_state=3)
    rng = np.random.default_rng(0)
    slides = np.array(["s2", "s0", "s1"])[rng.integers(3, size=drawn.bags.n_instances)]
    bags = Bags(drawn.bags.instances, drawn.bags.offsets, instance_columns={"slide": slides})
    return bags, np.asarray(drawn.y)


def groups_by_hand(bags):
    """Return (bag, slide, indices in the bag), in order of first appearance."""
    groups = []
    for i in range(len(bags)):
        slides = bags.instance_columns["slide"][bags.offsets[i] : bags.offsets[i + 1]]
        for slide in dict.fromkeys(slides.tolist()):
            groups.append((i, slide, np.flatnonzero(slides == slide)))
    return groups


def marginals(rule, log_odds, members, label):
    """Enumerate all labelings of a bag: P(group has a positive instance | label), and without the label."""
    joint, inside, prior_inside = 0.0, 0.0, 0.0
    for z in product((0, 1), repeat=len(log_odds)):
        prior = np.prod(np.where(z, expit(log_odds), expit(-log_odds)))
        corner = np.where(np.array(z) == 1, np.inf, -np.inf)
        weight = prior * np.exp(rule.log_proba(corner, np.array([0, len(z)]))[0, label])
        joint += weight
        inside += weight * np.array(z)[members].any()
        prior_inside += prior * np.array(z)[members].any()
    return inside / joint, prior_inside


@pytest.mark.parametrize("rule", [*LATENT, *FIXED[2:]], ids=str)
def test_groups_have_the_marginals_of_all_labelings(rule, data):
    bags, y = data
    if isinstance(rule, Threshold) or rule == "threshold":  # a positive bag needs two instances
        bags, y = bags[bags.sizes > 1], y[bags.sizes > 1]
    model = MILogisticRegression(rule, alpha=1.0, l1_ratio=0.0, n_init=1, random_state=0).fit(bags, y)
    posterior, proba = model.posterior_groups(bags, y, "slide"), model.predict_proba_groups(bags, "slide")
    log_odds = model.decision_function_instances(bags)
    by_hand = groups_by_hand(bags)
    assert len(posterior) == len(proba) == len(by_hand)
    for (i, _, members), given_label, p in zip(by_hand, posterior, proba, strict=True):
        eta = log_odds[bags.offsets[i] : bags.offsets[i + 1]]
        expected = marginals(model.rule_, eta, members, y[i])
        np.testing.assert_allclose((given_label, p[1]), expected, rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)


def test_groups_of_one_instance_have_the_probabilities_of_instances(data):
    bags, y = data
    for model in (
        MILogisticRegression("mean", n_init=1, random_state=0),
        MIMixture(n_init=1, random_state=0),
        SingleInstanceClassifier(rule="or"),
        make_bag_pipeline(OnInstances(StandardScaler()), MILogisticRegression(n_init=1, random_state=0)),
    ):
        model.fit(bags, y)
        alone = np.arange(bags.n_instances)
        expected = model.posterior_instances(bags, y)
        np.testing.assert_allclose(model.posterior_groups(bags, y, alone), expected, rtol=1e-8, atol=1e-12)
        expected = model.predict_proba_instances(bags)
        np.testing.assert_allclose(model.predict_proba_groups(bags, alone), expected, rtol=1e-8, atol=1e-12)


def test_whole_bag_has_its_probability_and_is_positive_given_a_positive_label(data):
    bags, y = data
    model = MILogisticRegression("or", n_init=1, random_state=0).fit(bags, y)
    whole = bags.bag_index
    np.testing.assert_allclose(model.predict_proba_groups(bags, whole), model.predict_proba(bags), rtol=1e-10)
    np.testing.assert_allclose(model.posterior_groups(bags, y, whole), y, rtol=1e-12)


def test_outputs_have_the_order_of_text_classes(data):
    bags, y = data
    text = np.where(y == 1, "active", "inactive")
    model = MILogisticRegression(positive="active", n_init=1, random_state=0).fit(bags, text)
    reference = MILogisticRegression(n_init=1, random_state=0).fit(bags, y)
    np.testing.assert_array_equal(
        model.predict_proba_groups(bags, "slide"), reference.predict_proba_groups(bags, "slide")[:, ::-1]
    )
    np.testing.assert_array_equal(
        model.posterior_groups(bags, text, "slide"), reference.posterior_groups(bags, y, "slide")
    )


def test_certain_instances_of_a_forest_have_finite_probabilities(data):
    bags, y = data

    class Certain(LogisticRegression):
        def predict_proba(self, X):
            return np.round(super().predict_proba(X))

    model = SingleInstanceClassifier(Certain(), rule="or").fit(bags, y)
    posterior = model.posterior_groups(bags, 1 - y, "slide")
    assert np.isfinite(posterior).all() and posterior.min() >= 0 and posterior.max() <= 1


def test_links_and_witnesses_do_not_have_the_methods(data):
    bags, y = data
    for model in (MILogisticRegression("softmax", n_init=1), EMDD(n_init=1, random_state=0), MISVC()):
        assert not hasattr(model.fit(bags, y), "posterior_groups")
        assert not hasattr(model, "predict_proba_groups")


def test_invalid_groups_are_refused(data):
    bags, y = data
    model = MILogisticRegression(n_init=1, random_state=0).fit(bags, y)
    with pytest.raises(KeyError, match=r"no instance column 'patient'; the instance columns are \['slide'\]"):
        model.predict_proba_groups(bags, "patient")
    with pytest.raises(ValueError, match="by has the shape \\(40,\\), but there are"):
        model.posterior_groups(bags, y, np.arange(40))
    gaps = np.full(bags.n_instances, np.nan)
    with pytest.raises(ValueError, match="by has no value for the instance at index 0"):
        model.posterior_groups(bags, y, gaps)
