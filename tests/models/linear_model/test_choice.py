"""Selection of a penalty: weights equal repetitions, and the summary reports the quality."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

from bagwise import MILogisticRegressionCV, make_noisy_or_bags, plot_cv
from bagwise.testing import bag_checks


@pytest.mark.parametrize("criterion", ["bic", "aic"])
def test_weights_are_repetitions_in_information_criteria(criterion):
    data = make_noisy_or_bags(150, n_features=12, random_state=3)
    weight = np.random.RandomState(0).randint(0, 6, 150)
    repeated = np.repeat(np.arange(150), weight)
    options = {"criterion": criterion, "n_init": 1, "tol": 1e-9, "random_state": 0}
    weighted = MILogisticRegressionCV(**options).fit(data.bags, data.y, sample_weight=weight)
    several = MILogisticRegressionCV(**options).fit(data.bags[repeated], data.y[repeated])
    np.testing.assert_allclose(weighted.criterion_path_, several.criterion_path_, rtol=1e-7)
    assert weighted.alpha_ == pytest.approx(several.alpha_)
    path = several.path_
    deviance = -2 * path.log_likelihoods[-1]
    each = np.log(len(repeated)) if criterion == "bic" else 2
    np.testing.assert_allclose(several.criterion_path_[-1], deviance + each * path.n_nonzero[-1])
    check = MILogisticRegressionCV(criterion=criterion, alphas=6, n_init=1, tol=1e-11, random_state=0)
    dict(bag_checks(check))["weight_is_repetition"]()


def test_the_base_rate_is_that_of_a_dummy_on_the_same_folds():
    data = make_noisy_or_bags(90, random_state=0)
    weight = np.random.RandomState(0).uniform(0.5, 2.0, size=90)
    folds = list(StratifiedKFold(3).split(np.zeros(90), data.y))
    model = MILogisticRegressionCV(alphas=4, cv=folds, n_init=1, random_state=0)
    model.fit(data.bags, data.y, sample_weight=weight)
    losses = []
    for train, test in folds:
        dummy = DummyClassifier(strategy="prior").fit(np.zeros((len(train), 1)), data.y[train], weight[train])
        proba = dummy.predict_proba(np.zeros((len(test), 1)))
        losses.append(log_loss(data.y[test], proba, sample_weight=weight[test]))
    assert model.base_deviance_ == pytest.approx(2 * np.mean(losses), rel=1e-9)


def test_overconfident_selection_is_reported():
    # Uninformative features, and penalties that are too weak to exclude them.
    noise = make_noisy_or_bags(60, coef=np.zeros(15), intercept=-1.5, random_state=0)
    model = MILogisticRegressionCV(alphas=[0.3, 0.1], cv=3, n_init=1, random_state=0).fit(noise.bags, noise.y)
    assert model.criterion_path_.min() > model.base_deviance_
    assert "The model is overconfident" in model.summary()
    clear = make_noisy_or_bags(200, coef=[2.0, -2.0], random_state=0)
    model = MILogisticRegressionCV(cv=3, n_init=1, random_state=0).fit(clear.bags, clear.y)
    text = model.summary()
    assert model.criterion_path_.min() < model.base_deviance_ and "overconfident" not in text
    assert f"alpha = {model.alpha_:.4g}" in text and "from fold paths that start at the model" in text
    assert f"{model.criterion_path_.min() / 2:.4f} per bag" in text
    by_bic = MILogisticRegressionCV(criterion="bic", n_init=1, random_state=0).fit(clear.bags, clear.y)
    assert "no held-out bags" in by_bic.summary()


def test_nothing_chosen_where_nothing_matters_is_not_overconfident():
    noise = make_noisy_or_bags(80, size=3, coef=np.zeros(5), intercept=-1.5, random_state=1)
    model = MILogisticRegressionCV(cv=4, n_init=1, random_state=0).fit(noise.bags, noise.y)
    if not model.coef_.any():
        assert "overconfident" not in model.summary()
    labels = plot_cv(model).ax_.get_legend_handles_labels()[1]
    assert "base rate" in labels and "fold paths" in plot_cv(model).ax_.get_ylabel()
