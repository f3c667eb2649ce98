"""Scores from positive and unlabeled bags, compared with those from full labels on large samples."""

import numpy as np
import pytest
from sklearn.metrics import f1_score, precision_score, recall_score, roc_auc_score

from bagwise import pu_auc, pu_f1, pu_precision, pu_recall, pu_risk
from bagwise.models.pu.losses import LOSSES

PRIOR = 0.3


@pytest.fixture(scope="module")
def sample():
    """Return scores of 40,000 positive and 400,000 unlabeled bags, and the true labels of the latter."""
    rng = np.random.default_rng(0)
    truth = rng.random(400_000) < PRIOR
    unlabeled = rng.normal(size=len(truth)) + np.where(truth, 1.0, -1.0)
    positive = rng.normal(size=40_000) + 1.0
    y = np.repeat([1, 0], [len(positive), len(unlabeled)])
    return y, np.concatenate([positive, unlabeled]), truth, unlabeled


def test_zero_one_risk_is_the_error_rate(sample):
    y, score, truth, unlabeled = sample
    error = np.mean((unlabeled > 0) != truth)
    assert pu_risk(y, score, class_prior=PRIOR) == pytest.approx(error, abs=0.005)
    by_hand = 2 * PRIOR * np.mean(score[y == 1] < 0) + np.mean(unlabeled >= 0) - PRIOR
    assert pu_risk(y, score, class_prior=PRIOR) == pytest.approx(by_hand, rel=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_surrogate_risks_are_those_of_full_labels(sample, loss):
    y, score, truth, unlabeled = sample
    full = np.mean(LOSSES[loss](np.where(truth, 1, -1) * unlabeled))
    assert pu_risk(y, score, class_prior=PRIOR, loss=loss) == pytest.approx(full, abs=0.01)


def test_precision_recall_f1_and_auc_are_those_of_full_labels(sample):
    y, score, truth, unlabeled = sample
    called = unlabeled > 0
    assert pu_recall(y, score) == pytest.approx(recall_score(truth, called), abs=0.01)
    assert pu_precision(y, score, class_prior=PRIOR) == pytest.approx(
        precision_score(truth, called), abs=0.01
    )
    assert pu_f1(y, score, class_prior=PRIOR) == pytest.approx(f1_score(truth, called), abs=0.01)
    assert pu_auc(y, score, class_prior=PRIOR) == pytest.approx(roc_auc_score(truth, unlabeled), abs=0.01)


def test_weights_are_repetitions():
    rng = np.random.default_rng(1)
    y, score, weight = rng.integers(0, 2, 60), rng.normal(size=60), rng.integers(1, 4, 60)
    again = np.repeat(np.arange(60), weight)
    for metric in (pu_risk, pu_precision, pu_f1, pu_auc):
        weighted = metric(y, score, class_prior=PRIOR, sample_weight=weight)
        assert weighted == pytest.approx(metric(y[again], score[again], class_prior=PRIOR), rel=1e-12)
    assert pu_recall(y, score, sample_weight=weight) == pytest.approx(pu_recall(y[again], score[again]))


def test_a_score_of_zero_counts_as_positive():
    """All bags are predicted positive, which is wrong for the negative bags."""
    assert pu_risk([1, 0], [0.0, 0.0], class_prior=PRIOR) == pytest.approx(1 - PRIOR)
    assert pu_recall([1, 0], [0.0, 0.0]) == 1.0
    assert pu_precision([1, 0], [0.0, 0.0], class_prior=PRIOR) == pytest.approx(PRIOR)


def test_precision_of_no_positive_call_is_undefined_and_never_above_one():
    assert np.isnan(pu_precision([1, 0], [1.0, -1.0], class_prior=PRIOR))
    assert pu_precision([1, 0, 0, 0], [1.0, 1.0, -1.0, -1.0], class_prior=0.9) == 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 0], [1.0, 2.0, 3.0]), "inconsistent numbers of samples"),
        (([1, 1], [1.0, 2.0]), "all bags are positive"),
        (([0, 1, 2], [1.0, 2.0, 3.0]), "two distinct labels"),
    ],
)
def test_wrong_labels_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        pu_risk(*arguments, class_prior=PRIOR)


def test_wrong_losses_priors_and_weights_are_refused():
    with pytest.raises(ValueError, match="loss must be one of 'zero_one', 'double_hinge'"):
        pu_risk([1, 0], [1.0, 2.0], class_prior=PRIOR, loss="hinge")
    with pytest.raises(ValueError, match="class_prior must be between 0 and 1"):
        pu_risk([1, 0], [1.0, 2.0], class_prior=1.0)
    with pytest.raises(ValueError, match="is zero for all positive or for all unlabeled bags"):
        pu_risk([1, 0], [1.0, 2.0], class_prior=PRIOR, sample_weight=[0.0, 1.0])
