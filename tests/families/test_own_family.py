"""User-defined families: what works with four methods, and what needs more methods."""

import numpy as np
import pytest

from bagwise import DiscriminativeMixture, Family, MIMixture, make_mixture_bags
from bagwise.families import GaussianDiag


class Plain(Family):
    """Diagonal Gaussian that defines only the required methods and its prior."""

    def start_statistics(self, X, weight):
        return GaussianDiag().start_statistics(X, weight)

    def start(self, sums, n_components, prior):
        return GaussianDiag().start(sums, n_components, prior)

    def log_density(self, X, params):
        return GaussianDiag().log_density(X, params)

    def statistics(self, X, weight, params, prior):
        return GaussianDiag().statistics(X, weight, params, prior)

    def mstep(self, sums, weight, prior):
        return GaussianDiag().mstep(sums, weight, prior)

    def log_prior(self, params, prior):
        return GaussianDiag().log_prior(params, prior)


@pytest.mark.parametrize("n_components", [(1, 1), (2, 1)], ids=str)
def test_four_methods_give_what_the_short_cuts_give(n_components):
    data = make_mixture_bags(40, separation=2.0, random_state=0)
    models = [
        MIMixture(family, n_components=n_components, n_init=2, random_state=0).fit(data.bags, data.y)
        for family in (Plain(), GaussianDiag())
    ]
    np.testing.assert_allclose(models[0].objectives_, models[1].objectives_, rtol=1e-10)
    plain, quick = (model.predict_proba_instances(data.bags) for model in models)
    np.testing.assert_allclose(plain, quick, rtol=1e-6, atol=1e-10)
    assert models[0].bic(data.bags) == pytest.approx(models[1].bic(data.bags), rel=1e-9)


def test_what_a_family_does_not_say_is_refused_by_its_name():
    data = make_mixture_bags(20, random_state=0)
    model = MIMixture(Plain(), n_init=1, random_state=0).fit(data.bags, data.y)
    with pytest.raises(TypeError, match="Plain does not implement sample"):
        model.sample(2)
    with pytest.raises(TypeError, match="Plain does not implement sufficient statistics"):
        DiscriminativeMixture(Plain()).fit(data.bags, data.y)


@pytest.mark.parametrize(
    ("method", "n_arguments"), [("log_density", 2), ("statistics", 4), ("mstep", 3), ("log_prior", 2)]
)
def test_each_of_the_four_methods_is_asked_for_by_name(method, n_arguments):
    with pytest.raises(NotImplementedError, match=f"Family must define {method}"):
        getattr(Family(), method)(*[None] * n_arguments)


def test_parameters_are_packed_into_a_vector_by_default():
    X = np.random.default_rng(0).normal(size=(9, 3))
    prior = GaussianDiag().start(GaussianDiag().start_statistics(X, np.ones(9)), 2, "default")
    named = GaussianDiag().mstep(GaussianDiag().statistics(X, np.ones(9), None, prior), 9.0, prior)
    for params in (named, (np.arange(4.0).reshape(2, 2), np.array([5.0]))):
        vector = Plain().pack(params)
        np.testing.assert_array_equal(vector, np.concatenate([part.ravel() for part in params]))
        again = Plain().unpack(vector, params)
        assert type(again) is type(params)
        for a, b in zip(again, params, strict=True):
            np.testing.assert_array_equal(a, b)
