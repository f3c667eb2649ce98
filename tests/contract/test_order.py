"""The order of bags changes convex fits only by rounding errors."""

import numpy as np
import pytest
from sklearn.base import clone

from bagwise import (
    DSDDClassifier,
    LSDDClassifier,
    MILESClassifier,
    MILogisticRegression,
    MIMLLogisticRegression,
    PUSetKernelClassifier,
    SetKernelSVC,
    SparseMISVC,
    make_noisy_or_bags,
)

DATA = make_noisy_or_bags(48, size=(2, 6), coef=[2.0, -2.0, 0.0, 1.0], intercept=-1.5, random_state=7)
SINGLE = make_noisy_or_bags(80, size=1, coef=[2.0, -2.0, 0.0, 1.0], random_state=7)

# With default tolerances, the solutions would differ by more than rounding errors.
OF_BAGS = [
    SetKernelSVC(),
    MILESClassifier(),
    SparseMISVC(method="smil", tol=1e-10),
    LSDDClassifier(random_state=0),
    DSDDClassifier(random_state=0, tol=1e-10),
    PUSetKernelClassifier(class_prior=0.5, random_state=0, tol=1e-10),
]
OF_BAGS_OF_ONE = [
    MILogisticRegression(tol=1e-10, random_state=0),
    MILogisticRegression(l1_ratio=0.0, tol=1e-10, random_state=0),
    MIMLLogisticRegression(tol=1e-12, random_state=0),
]


def decisions(model, bags, y, seed):
    order = np.random.default_rng(seed).permutation(len(y))
    return clone(model).fit(bags[order], y[order]).decision_function(bags)


@pytest.mark.parametrize(
    ("model", "data"),
    [(model, DATA) for model in OF_BAGS] + [(model, SINGLE) for model in OF_BAGS_OF_ONE],
    ids=lambda value: type(value).__name__,
)
def test_convex_fits_agree_for_any_order_of_bags(model, data):
    expected = clone(model).fit(data.bags, data.y).decision_function(data.bags)
    for seed in range(3):
        scores = decisions(model, data.bags, data.y, seed)
        np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-8 * np.abs(expected).max())
