"""Scores at both ends of the class prior's interval, and warnings if the prior is too large."""

import warnings

import numpy as np
import pytest

from bagwise import (
    Bags,
    ClassPriorWarning,
    PUSetKernelClassifier,
    PUSetKernelClassifierCV,
    SingleInstanceClassifier,
    make_noisy_or_bags,
    make_positive_unlabeled,
    pu_auc,
    pu_f1,
    pu_precision,
    pu_recall,
    pu_report,
    pu_risk,
)


class Scores:
    """Fitted classifier whose score of a bag is the first value of the bag."""

    def __init__(self, **attributes):
        vars(self).update(attributes)

    def decision_function(self, X):
        return np.array([bag[0, 0] for bag in X])


def scored(n_positive=200, n_unlabeled=500, prior=0.3, gap=2.0, seed=0):
    """Return bags of one value, their score, which has the mean `gap` for positive bags, else `-gap`."""
    rng = np.random.default_rng(seed)
    truth = np.append(np.ones(n_positive, bool), rng.random(n_unlabeled) < prior)
    score = rng.normal(size=len(truth)) + np.where(truth, gap, -gap)
    return score[:, None, None], np.repeat([1, 0], [n_positive, n_unlabeled]), truth


def test_scores_are_those_of_the_metrics_at_all_three_priors():
    X, y, _ = scored(gap=1.0)
    weight = np.arange(len(y)) % 3 + 1.0
    report = pu_report(Scores(), X, y, class_prior=0.3, interval=(0.2, 0.35), sample_weight=weight)
    score = X[:, 0, 0]
    assert report.class_prior.tolist() == [0.2, 0.3, 0.35]
    named = {"precision": pu_precision, "f1": pu_f1, "auc": pu_auc, "risk": pu_risk}
    for name, metric in named.items():
        expected = [metric(y, score, class_prior=p, sample_weight=weight) for p in report.class_prior]
        np.testing.assert_allclose(getattr(report, name), expected)
    assert (report.recall == pu_recall(y, score, sample_weight=weight)).all()
    lines = str(report).splitlines()
    assert lines[0].split() == ["lower", "end", "prior", "upper", "end"]
    assert lines[1].split()[-3:] == ["0.200", "0.300", "0.350"]


def test_a_score_outside_its_range_says_that_the_prior_is_too_large():
    X, y, _ = scored(gap=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fine = pu_report(Scores(), X, y, class_prior=0.27, interval=(0.2, 0.28))
    assert not fine.impossible.any() and "must be smaller" not in str(fine)
    with pytest.warns(ClassPriorWarning, match="outside its range: the prior is too large for these bags"):
        report = pu_report(Scores(), X, y, class_prior=0.6, interval=(0.2, 0.7))
    assert report.auc[1] > 1 and report.risk[1] < 0
    assert report.impossible.tolist() == [False, True, True]
    assert "At the upper end, a score is outside its range" in str(report)
    few = np.where(y == 1, 1.0, -1.0)  # no unlabeled bag is predicted positive: AUC exceeds 1 at every prior
    with pytest.warns(ClassPriorWarning, match=r"AUC is 1.\d+ at a class prior of 0.200"):
        pu_report(Scores(), few[:, None, None], y, class_prior=0.2, interval=(0.1, 0.3))


def test_prior_above_the_interval_of_the_bags_gives_a_warning():
    X, y, _ = scored(gap=0.5)
    with pytest.warns(ClassPriorWarning, match=r"0\.5\d* is above the interval estimated from the bags, 0"):
        pu_report(Scores(class_prior_=0.5), X, y, interval=(0.2, 0.4))


def test_the_interval_is_the_models_own_or_that_of_the_bags():
    X, y, truth = scored(gap=4.0)
    bags = Bags.from_list(list(X))
    half = np.arange(len(y)) % 2 == 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ClassPriorWarning)
        estimated = PUSetKernelClassifier().fit(bags[half], y[half])
        of_model = pu_report(estimated, bags[~half], y[~half])
        with_prior = PUSetKernelClassifier(class_prior=0.29).fit(bags[half], y[half])
        of_bags = pu_report(with_prior, bags[~half], y[~half])
        without = pu_report(Scores(), bags, y)
    low, high = estimated.prior_estimate_.interval()
    np.testing.assert_allclose(of_model.class_prior, [low, estimated.class_prior_, high])
    assert of_bags.class_prior[1] == 0.29
    assert 0.2 < of_bags.class_prior[0] < 0.29 < of_bags.class_prior[2] < 0.4
    assert without.class_prior[1] == pytest.approx(truth[y == 0].mean(), abs=0.02)


def test_probabilities_do_as_well_as_scores():
    from sklearn.linear_model import LogisticRegression

    X, y, _ = scored()
    model = SingleInstanceClassifier(LogisticRegression()).fit(X, y)
    report = pu_report(model, X, y, class_prior=0.25, interval=(0.2, 0.28))
    assert report.recall[0] == pu_recall(y, model.predict_proba(X)[:, 1] - 0.5)


def test_ends_of_zero_and_one_are_limits():
    X, y, _ = scored(gap=0.5)
    report = pu_report(Scores(), X, y, class_prior=0.3, interval=(0.0, 1.0))
    assert report.precision[0] == pytest.approx(0.0, abs=1e-6)
    assert report.risk[0] == pytest.approx(np.mean(X[y == 0] > 0), abs=1e-6)
    assert np.isfinite(report.auc[:2]).all() and np.isnan(report.auc[2])
    with pytest.raises(ValueError, match=r"interval must be \(low, high\) with 0 <= low <= high <= 1"):
        pu_report(Scores(), X, y, class_prior=0.3, interval=(0.4, 0.2))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bagwise.exceptions.ClassPriorWarning")
def test_what_is_reported_of_overlapping_bags_is_not_better_than_the_truth():
    full = make_noisy_or_bags(2000, coef=[8.0, -8.0], intercept=-13.0, random_state=0)
    data = make_positive_unlabeled(
        full.bags, full.y, n_positive=160, n_unlabeled=600, class_prior=0.4, random_state=0
    )
    learn = np.r_[0:60, 160:360]
    judge = np.r_[60:160, 360:760]
    model = PUSetKernelClassifierCV(random_state=0).fit(data.bags[learn], data.y[learn])
    report = pu_report(model, data.bags[judge], data.y[judge])
    unlabeled = np.r_[360:760]
    accuracy = model.score(data.bags[unlabeled], data.y_true[unlabeled])
    assert report.overlap and report.class_prior[0] == 0.0
    assert report.class_prior[2] > 0.4
    assert report.risk[2] < 1 - accuracy < report.risk[0]
    assert report.auc[0] < 0.95
