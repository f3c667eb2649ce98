"""Fits to labels of one class, fits without labels, and fits from other starts."""

import numpy as np
import pytest
from reproduction.labelled import fit_labelled

from bagwise import MIMixture, make_mixture_bags
from bagwise.models.mixture.model import BagMixture


@pytest.fixture(scope="module")
def data():
    return make_mixture_bags(40, size=4, separation=3.0, random_state=0)


def mixture(**parameters):
    return MIMixture("gaussian_diag", n_init=2, random_state=0, **parameters)


def test_labels_of_two_classes_give_the_model_of_fit(data):
    ours, expected = fit_labelled(mixture(), data.bags, data.y), mixture().fit(data.bags, data.y)
    assert ours.objectives_.tolist() == expected.objectives_.tolist()
    np.testing.assert_array_equal(ours.predict_proba(data.bags), expected.predict_proba(data.bags))


def test_unknown_labels_equal_supervision_by_negatives(data):
    expected = mixture(supervision="negatives").fit(data.bags, data.y)
    ours = fit_labelled(mixture(), data.bags, np.where(data.y == 1, -1, 0))
    np.testing.assert_array_equal(ours.predict_proba(data.bags), expected.predict_proba(data.bags))


def test_labels_of_a_single_class_can_be_fitted(data):
    positive = data.bags[data.y == 1]
    model = fit_labelled(mixture(), positive, np.ones(len(positive)))
    assert np.isfinite(model.objective_) and model.predict(data.bags).shape == (40,)


def test_em_begins_at_the_supplied_start(data):
    starts = []

    def start(model, blocks, rng):
        starts.append(model.draw_around_instances(blocks, rng))
        return starts[-1]

    ours = fit_labelled(mixture(), data.bags, data.y, start)
    assert len(starts) == 2
    # Negative bags identify the classes, so that no start swaps them.
    expected = fit_labelled(mixture(), data.bags, data.y, BagMixture.draw_either_way_round)
    assert ours.objectives_.tolist() == expected.objectives_.tolist()


def test_parameters_are_validated(data):
    with pytest.raises(ValueError, match="'max_iter' parameter of MIMixture must be"):
        fit_labelled(mixture(max_iter=0), data.bags, data.y)
