"""Fits to positive bags only, which the paper's likelihood allows."""

import numpy as np
import pytest
from reproduction.labelled import fit_labelled

from bagwise import MIMixture, make_mixture_bags

DATA = make_mixture_bags(150, size=3, separation=5.0, positive_rate=0.3, random_state=0)
POSITIVE = DATA.bags[DATA.y == 1]
N = len(POSITIVE)


@pytest.mark.parametrize("label", [1, 1.0, True], ids=["int", "float", "bool"])
def test_positive_bags_alone_have_one_class(label):
    y = np.full(N, label)
    model = MIMixture(n_init=3, random_state=0).fit(POSITIVE, y)
    assert model.classes_.tolist() == [label] and model.classes_.dtype == y.dtype
    predicted = model.predict(DATA.bags)
    assert predicted.dtype == y.dtype and (predicted == label).all()
    np.testing.assert_array_equal(model.predict_proba(DATA.bags), np.ones((len(DATA.bags), 1)))
    np.testing.assert_array_equal(model.predict_log_proba(DATA.bags), np.zeros((len(DATA.bags), 1)))
    assert model.score(POSITIVE, y) == 1.0
    # Instances still have two classes, as in the model with the same likelihood.
    twin = fit_labelled(MIMixture(n_init=3, random_state=0), POSITIVE, np.ones(N))
    proba = model.predict_proba_instances(DATA.bags)
    np.testing.assert_array_equal(proba, twin.predict_proba_instances(DATA.bags))
    np.testing.assert_array_equal(model.decision_function(DATA.bags), twin.decision_function(DATA.bags))
    np.testing.assert_array_equal(model.information_cost(POSITIVE), twin.information_cost(POSITIVE))
    instances = model.predict_instances(DATA.bags)
    assert instances.dtype == y.dtype and set(instances.tolist()) == {0, 1}
    assert np.mean(instances == DATA.instance_y) > 0.9
    np.testing.assert_array_equal(
        model.posterior_instances(POSITIVE, y), twin.posterior_instances(POSITIVE, [1] * N)
    )
    drawn = model.sample(50, 2, random_state=0)
    assert set(drawn.y.tolist()) == {0, 1} and drawn.y.dtype == y.dtype


def test_weights_are_repetitions_here_too():
    weight = np.arange(N) % 3
    again = np.repeat(np.arange(N), weight)
    weighted = MIMixture(n_init=2, random_state=0).fit(POSITIVE, np.ones(N), weight)
    repeated = MIMixture(n_init=2, random_state=0).fit(POSITIVE[again], np.ones(len(again)))
    np.testing.assert_allclose(
        weighted.decision_function(DATA.bags), repeated.decision_function(DATA.bags), rtol=1e-3, atol=1e-3
    )


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.zeros(N), r"only one class, 0.0; MIMixture needs .* or positive bags only, labeled 1 or True"),
        (np.zeros(N, dtype=bool), "only one class, False"),
        (np.full(N, 2), "only one class, 2"),
        (np.full(N, -1), "only one class, -1"),
        (np.full(N, "yes"), "only one class, 'yes'"),
    ],
)
def test_other_labels_of_one_class_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        MIMixture().fit(POSITIVE, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"supervision": "negatives"}, "supervision='negatives' needs negative bags"),
        ({"supervision": "none"}, "supervision='none' needs negative bags"),
        ({"calibrate": True}, "calibrate=True needs bags of both classes"),
    ],
)
def test_what_needs_negative_bags_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        MIMixture(**options).fit(POSITIVE, np.ones(N))
