"""Finite input gives finite answers or one sentence, however large or small its numbers are."""

import subprocess
import sys

import numpy as np
import pytest

import bagwise
from bagwise import MILogisticRegression, make_noisy_or_bags

DATA = make_noisy_or_bags(20, size=(2, 4), n_features=3, random_state=0)
NAMES = [
    "MILogisticRegression",
    "DiverseDensity",
    "EMDD",
    "SetKernelSVC",
    "MISVC",
    "InstanceMISVC",
    "MissSVC",
    "LSDDClassifier",
    "DSDDClassifier",
    "MILESClassifier",
    "SparseMISVC",
    "PUMILClassifier",
    "PUSetKernelClassifier",
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("size", [1e150, 1e200, 1e300, 1e-150, 1e-300, 5e-321])
@pytest.mark.parametrize("name", NAMES)
def test_huge_and_tiny_features(name, size):
    bags = DATA.bags.with_instances(DATA.bags.instances * size)
    for scale in ("standard", "minmax", None):
        model = getattr(bagwise, name)(scale=scale)
        quick = {"random_state": 0, "n_init": 2, "class_prior": 0.5}
        model.set_params(**{key: value for key, value in quick.items() if key in model.get_params()})
        try:
            scores = model.fit(bags, DATA.y).decision_function(bags)
        except ValueError as error:
            assert "too large for a number" in str(error)  # and what to do
            continue
        assert np.isfinite(scores).all() and np.isfinite(getattr(model, "objective_", 0.0))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("size", [1e150, 1e200, 1e300])
@pytest.mark.parametrize("name", ["MIMixture", "DiscriminativeMixture", "SoftORLogisticRegression"])
def test_huge_features_in_linear_algebra(name, size):
    bags = DATA.bags.with_instances(DATA.bags.instances * size)
    model = getattr(bagwise, name)(random_state=0)
    if "scale" in model.get_params():
        model.set_params(scale=None)
    try:
        scores = model.fit(bags, DATA.y).decision_function(bags)
    except ValueError as error:
        assert "too large for a number" in str(error)
    else:
        assert np.isfinite(scores).all()


def test_huge_features_do_not_silently_become_a_constant():
    bags = DATA.bags.with_instances(DATA.bags.instances * 1e200)
    with pytest.raises(ValueError, match=r'scale="standard" needs the variance of feature 0, whose values'):
        MILogisticRegression(scale="standard").fit(bags, DATA.y)


def test_conjugate_gradients_that_cannot_end_are_given_up():
    code = """
import warnings, numpy as np, bagwise as b
warnings.simplefilter("ignore")
X = np.array([[0.0], [1.0], [2.0], [3.0]]) * 5e-321
model = b.MILogisticRegression("mean", l1_ratio=0.0, alpha=0.1, scale=None, n_init=2, random_state=0)
model.set_params(class_weight={0: 1.0, 1: 5.0})
model.fit(b.Bags(X, [0, 2, 4]), [0, 1], sample_weight=[1e-150] * 2)
assert np.isfinite(model.coef_).all()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
