"""Public behavior of MIMixture: supervision, components, samples, sequences, missing values."""

import time

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.model_selection import cross_val_score

from bagwise import (
    Bags,
    DiscriminativeMixture,
    MILogisticRegression,
    MIMixture,
    Sequences,
    bayes_error_bound,
    make_mixture_bags,
    negative_bag_rate,
)
from bagwise.exceptions import ConvergenceWarning
from bagwise.families import GaussianDiag, Markov
from bagwise.families.markov import MarkovParams


def expected_calibration_error(probability, truth, n_bins=15):
    bins = np.clip((probability * n_bins).astype(int), 0, n_bins - 1)
    gaps = [
        abs(probability[bins == b].mean() - truth[bins == b].mean()) * (bins == b).mean() for b in set(bins)
    ]
    return sum(gaps)


# ---------------------------------------------------------------------- recovery of the truth


@pytest.mark.slow
def test_posteriors_are_calibrated_on_data_from_the_model():
    data = make_mixture_bags(5000, separation=1.5, random_state=0)
    new = make_mixture_bags(5000, separation=1.5, random_state=1)
    model = MIMixture(n_init=2, random_state=0).fit(data.bags, data.y)
    assert expected_calibration_error(model.predict_proba(new.bags)[:, 1], new.y) < 0.03
    assert expected_calibration_error(model.predict_proba_instances(new.bags)[:, 1], new.instance_y) < 0.03
    assert expected_calibration_error(model.posterior_instances(new.bags, new.y), new.instance_y) < 0.03


@pytest.mark.slow
def test_parameters_recover_the_truth_at_the_rate_of_one_over_root_n():
    def error(n_bags, seed):
        data = make_mixture_bags(n_bags, size=5, separation=3.0, random_state=seed)
        model = MIMixture(n_init=1, tol=1e-9, max_iter=500, random_state=0).fit(data.bags, data.y)
        means = np.stack([model.negative_components_[0].mean, model.positive_components_[0].mean])
        covariances = np.stack(
            [model.negative_components_[0].covariance, model.positive_components_[0].covariance]
        )
        parts = [means - data.means, covariances - data.covariances, [model.positive_rate_ - 0.2]]
        return np.sqrt(sum(np.sum(np.square(part)) for part in parts))

    few, many = (np.mean([error(n, seed) for seed in range(6)]) for n in (250, 4000))
    # With sixteen times the bags, the error is a quarter, up to the noise of six draws.
    assert many < 0.08
    assert 2.5 < few / many < 6.5


def test_labels_help_in_the_order_of_how_many_are_used():
    gaps = []
    for seed in range(5):
        data = make_mixture_bags(60, size=3, separation=1.2, random_state=seed)
        new = make_mixture_bags(2000, size=1, separation=1.2, random_state=100 + seed)
        errors = [
            np.mean(model.predict_instances(new.bags) != new.instance_y)
            for model in (
                MIMixture("gaussian_diag", supervision=s, n_init=5, max_iter=500, random_state=0).fit(
                    data.bags, data.y
                )
                for s in ("bags", "none")
            )
        ]
        gaps.append(errors[1] - errors[0])
    assert np.mean(gaps) > 0.02


# ---------------------------------------------------------------------- supervision


def test_unlabelled_components_are_named_by_the_negative_bags():
    data = make_mixture_bags(80, separation=5.0, random_state=0)
    flipped = MIMixture(supervision="none", random_state=0).fit(data.bags, data.y)
    np.testing.assert_allclose(flipped.positive_components_[0].mean, data.means[1], atol=0.5)
    assert flipped.positive_rate_ == pytest.approx(data.instance_y.mean(), abs=0.05)
    # The labels only decide which class is positive.
    other = MIMixture(supervision="none", random_state=0).fit(data.bags, 1 - data.y)
    assert other.objective_ == flipped.objective_


def test_labels_of_positive_bags_are_not_seen_without_supervision_by_bags():
    data = make_mixture_bags(40, separation=2.0, random_state=0)
    model = MIMixture(supervision="negatives", n_init=2, random_state=0).fit(data.bags, data.y)
    history = model.objective_history_
    full = MIMixture(n_init=2, random_state=0).fit(data.bags, data.y)
    assert model.log_likelihood_ > full.log_likelihood_, "unused labels cannot lower the likelihood"
    assert history[-1] < history[0]


def test_negative_bags_alone_are_enough_to_find_the_positive_class():
    data = make_mixture_bags(150, size=4, separation=4.0, positive_rate=0.4, random_state=0)
    model = MIMixture(supervision="negatives", n_init=2, random_state=0).fit(data.bags, data.y)
    assert model.positive_rate_ == pytest.approx(data.instance_y.mean(), abs=0.05)
    np.testing.assert_allclose(model.positive_components_[0].mean, data.means[1], atol=0.4)


def test_unlabelled_components_are_assigned_to_classes_of_unequal_size():
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 8.0]])  # the last center is positive
    kind = rng.choice(3, size=600, p=[0.45, 0.45, 0.1])
    bags = Bags(centres[kind] + rng.normal(size=(600, 2)), np.arange(0, 601, 5))
    y = (kind.reshape(120, 5) == 2).any(axis=1)
    for supervision in ("none", "bags"):
        model = MIMixture(supervision=supervision, n_components=(1, 2), random_state=0).fit(bags, y)
        np.testing.assert_allclose(model.positive_components_[0].mean, centres[2], atol=0.5)
        assert model.negative_weights_.sum() == pytest.approx(1)
        assert model.score(bags, y) > 0.95
    single = MIMixture(random_state=0).fit(bags, y)
    assert model.bic(bags) < single.bic(bags) and model.aic(bags) < single.aic(bags)


def test_any_rule_with_latent_labels_will_do_and_a_link_is_refused():
    data = make_mixture_bags(60, separation=3.0, positive_rate=0.5, random_state=0)
    share = np.add.reduceat(data.instance_y, data.bags.offsets[:-1]) / data.bags.sizes
    model = MIMixture(rule="mean", n_init=3, random_state=0).fit(data.bags, share > 0.5)
    assert np.mean(model.predict_instances(data.bags) == (data.instance_y == 1)) > 0.9
    from bagwise import Max

    with pytest.raises(ValueError, match="has no latent instance labels, but a mixture needs them"):
        MIMixture(rule=Max()).fit(data.bags, data.y)


def test_threshold_well_above_one_is_selected():
    data = make_mixture_bags(150, size=8, separation=5.0, positive_rate=0.5, random_state=0)
    y = data.instance_y.reshape(150, 8).sum(axis=1) >= 4
    assert MIMixture(rule="threshold", n_init=1, random_state=0).fit(data.bags, y).rule_.k == 4


# ---------------------------------------------------------------------- densities, samples, bounds


def test_score_samples_is_the_density_of_the_instances():
    data = make_mixture_bags(30, random_state=0)
    model = MIMixture(n_init=1, random_state=0).fit(data.bags, data.y)
    from scipy.stats import multivariate_normal

    p = sum(
        rate * multivariate_normal(*component).pdf(data.bags.instances)
        for rate, component in (
            (model.positive_rate_, model.positive_components_[0]),
            (1 - model.positive_rate_, model.negative_components_[0]),
        )
    )
    np.testing.assert_allclose(
        model.score_samples(data.bags), np.add.reduceat(np.log(p), data.bags.offsets[:-1])
    )


def test_information_criteria_count_parameters_and_instances():
    data = make_mixture_bags(40, separation=3.0, random_state=0)
    model = MIMixture("gaussian_diag", n_components=(1, 2), n_init=1, random_state=0).fit(data.bags, data.y)
    # Means and variances of three components, the positive rate, a weight among the negative components.
    n_parameters = 3 * 2 * data.bags.n_features + 1 + 1
    deviance = -2 * model.score_samples(data.bags).sum()
    expected = deviance + n_parameters * np.log(data.bags.n_instances)
    assert model.bic(data.bags) == pytest.approx(expected, rel=1e-12)
    assert model.aic(data.bags) == pytest.approx(deviance + 2 * n_parameters, rel=1e-12)


def test_labels_of_samples_are_drawn_with_the_probability_that_the_rule_gives():
    data = make_mixture_bags(100, size=4, separation=4.0, positive_rate=0.4, random_state=0)
    share = data.instance_y.reshape(100, 4).mean(axis=1)
    y = np.random.default_rng(0).random(100) < share
    model = MIMixture(rule="mean", n_init=2, random_state=0).fit(data.bags, y)
    drawn = model.sample(8000, 4, random_state=0)
    count = drawn.instance_y.reshape(8000, 4).sum(axis=1)
    for n in range(5):
        # Every count has at least 100 bags, so 0.06 is more than three standard errors of the rarest count.
        assert drawn.y[count == n].mean() == pytest.approx(n / 4, abs=0.06)


def test_samples_look_like_the_bags_they_were_learned_from():
    data = make_mixture_bags(400, separation=4.0, random_state=0)
    model = MIMixture(n_init=2, random_state=0).fit(data.bags, np.where(data.y == 1, 7, 3))
    drawn = model.sample(2000, 4, random_state=0)
    assert drawn.bags.sizes.tolist() == [4] * 2000
    assert set(drawn.y) == {3, 7}
    positive = (drawn.instance_y.reshape(2000, 4) == 7).any(axis=1)
    np.testing.assert_array_equal(drawn.y == 7, positive)
    assert model.score(drawn.bags, drawn.y) > 0.9
    again = MIMixture(n_init=2, random_state=0).fit(drawn.bags, drawn.y)
    np.testing.assert_allclose(
        again.positive_components_[0].mean, model.positive_components_[0].mean, atol=0.15
    )
    with pytest.raises(ValueError, match="must be at least 1"):
        model.sample(2, [1, 0])


def test_the_bound_of_section_six_is_the_sum_it_is_the_closed_form_of():
    from scipy.stats import binom

    pi, e_plus, e_minus = 0.3, 0.05, 0.2
    for size in (1, 2, 7):
        n = np.arange(1, size + 1)
        misses = binom.pmf(n, size, pi) * e_minus**n * (1 - e_plus) ** (size - n)
        expected = (1 - (1 - e_plus) ** size) * (1 - pi) ** size + misses.sum()
        rates = {"positive_rate": pi, "false_positive_rate": e_plus, "false_negative_rate": e_minus}
        assert bayes_error_bound(size, **rates) == pytest.approx(expected, rel=1e-12)
    assert bayes_error_bound(1, **rates) == pytest.approx(e_plus * (1 - pi) + e_minus * pi)
    with pytest.raises(ValueError, match="positive_rate must be between 0 and 1"):
        bayes_error_bound(1, positive_rate=2.0, false_positive_rate=0.1, false_negative_rate=0.1)
    with pytest.raises(ValueError, match=r"size must be at least 1; got \[3, 0\]"):
        bayes_error_bound([3, 0], **rates)


def test_the_rate_of_negative_bags_is_that_of_bags_without_positive_instances():
    sizes = np.array([1, 2, 7])
    rng = np.random.default_rng(0)
    drawn = [(rng.random((20_000, size)) < 0.3).any(axis=1).mean() for size in sizes]
    rate = negative_bag_rate(sizes, positive_rate=0.3)
    np.testing.assert_allclose(1 - rate, drawn, atol=0.015)
    assert negative_bag_rate(4, positive_rate=0.5) == 0.0625
    assert negative_bag_rate(4, positive_rate=0.0) == 1.0 and negative_bag_rate(4, positive_rate=1.0) == 0.0
    for size, pi in ((0, 0.5), (3, 1.5)):
        with pytest.raises(ValueError, match=r"(size must be at least 1|positive_rate must be)"):
            negative_bag_rate(size, positive_rate=pi)


@pytest.mark.parametrize("n_components", [1, 2])
@pytest.mark.parametrize("supervision, seed", [("none", 1), ("none", 0), ("negatives", 0), ("negatives", 3)])
def test_a_positive_rate_of_zero_makes_everything_negative(supervision, seed, n_components):
    # In 100 dimensions the posteriors of one class can underflow to zero in all instances.
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 4, 100))
    X[:, 0] += (rng.random(30) < 0.5)[:, None]
    y = (X[:, 0].mean(axis=1) > 0.5).astype(int)
    model = MIMixture(
        "gaussian_diag", supervision=supervision, n_components=n_components, n_init=1, random_state=seed
    ).fit(X, y)
    if n_components == 1:
        assert model.positive_rate_ == 0.0
    assert np.isfinite(model.log_likelihood_) and not np.isnan(model.params_.log_weights).any()
    np.testing.assert_allclose(model.positive_weights_.sum(), 1.0)
    np.testing.assert_allclose(model.negative_weights_.sum(), 1.0)
    if model.positive_rate_ > 0:
        return
    assert (model.predict(X) == 0).all() and (model.predict_instances(X) == 0).all()
    np.testing.assert_array_equal(model.decision_function_instances(X), -np.inf)
    np.testing.assert_array_equal(model.predict_proba(X), np.tile([1.0, 0.0], (30, 1)))
    np.testing.assert_array_equal(model.information_cost(X), np.inf)
    np.testing.assert_array_equal(model.posterior_instances(X, np.zeros(30)), 0.0)
    assert model.bayes_error_bound(5, n_samples=100) == 0.0
    assert (model.sample(5, 3, random_state=0).y == 0).all()
    assert np.isfinite(model.score_samples(X)).all()


def test_the_models_bound_holds_for_its_own_samples():
    data = make_mixture_bags(300, size=5, separation=2.0, positive_rate=0.5, random_state=0)
    model = MIMixture("gaussian_spherical", n_init=2, random_state=0).fit(data.bags, data.y)
    bound = model.bayes_error_bound([1, 5], random_state=0)
    assert bound[0] == pytest.approx(norm.cdf(-1.0), abs=0.03)  # two unit Gaussians, two units apart
    drawn = model.sample(4000, 5, random_state=1)
    assert 1 - model.score(drawn.bags, drawn.y) <= bound[1] + 0.01


# ---------------------------------------------------------------------- sequences, missing values


def test_sequences_are_told_apart_by_their_steps():
    rng = np.random.RandomState(0)
    sticky = MarkovParams(np.array([0.5, 0.5]), np.array([[0.9, 0.1], [0.1, 0.9]]))
    restless = MarkovParams(np.array([0.5, 0.5]), np.array([[0.2, 0.8], [0.8, 0.2]]))
    family = Markov(sample_length=12)
    z = rng.random_sample(400) < 0.2
    drawn = [family.sample(restless if positive else sticky, 1, rng)[0] for positive in z]
    bags = Bags(Sequences.from_list(drawn), np.arange(0, 401, 4))
    y = z.reshape(100, 4).any(axis=1)
    model = MIMixture("markov", n_init=3, random_state=0).fit(bags, y)
    np.testing.assert_allclose(model.positive_components_[0].transition, restless.transition, atol=0.1)
    assert np.mean((model.predict_instances(bags) == 1) == z) > 0.95
    assert cross_val_score(MIMixture("markov", n_init=1, random_state=0), bags, y, cv=3).mean() > 0.85
    assert DiscriminativeMixture("markov", alpha=0.1, random_state=0).fit(bags, y).score(bags, y) > 0.9
    shuffled = bags[rng.permutation(100)]
    assert sorted(map(len, (seq for bag in shuffled for seq in bag))) == [12] * 400
    assert model.sample(5, 3, random_state=0).bags.instances.shape == (15, 2)
    with pytest.raises(TypeError, match="accepts feature vectors, not Sequences"):
        MILogisticRegression().fit(bags, y)
    with pytest.raises(TypeError, match="this MIMixture accepts only Sequences"):
        MIMixture("markov").fit([np.zeros((2, 2))] * 4, [0, 1, 0, 1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.5], [0, 1]), "symbols must be a 1-D array of integers"),
        (([0, 1], [0, 1]), "offsets must start at 0 and end at the number of symbols, 2"),
        (([0, 1], [0, 2, 2]), "sequence 1 is empty"),
        (([0, -1], [0, 2]), "symbols must be between 0"),
    ],
)
def test_broken_sequences_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Sequences(*arguments)


def test_sequences_are_selected_joined_and_pickled_like_rows():
    import pickle

    sequences = Sequences.from_list([[0, 1], [2], [1, 1, 1]], n_symbols=4)
    assert [part.tolist() for part in sequences.take([2, 0])] == [[1, 1, 1], [0, 1]]
    assert sequences[-1].tolist() == [1, 1, 1] and len(sequences[1:]) == 2
    bags = Bags(sequences, [0, 1, 3], ids=["a", "b"])
    joined = Bags.concat([bags, bags[[1]]])
    assert (len(joined), joined.n_instances, joined.n_features) == (3, 5, 4)
    again = pickle.loads(pickle.dumps(joined))
    assert [part.tolist() for part in again[2]] == [[2], [1, 1, 1]]
    assert not again.instances.symbols.flags.writeable
    assert Bags.from_list([sequences, sequences[:1]]).sizes.tolist() == [3, 1]


@pytest.mark.parametrize("family", ["gaussian", "gaussian_diag"])
def test_a_fit_with_missing_values_is_close_to_the_complete_one(family):
    data = make_mixture_bags(300, separation=5.0, random_state=0)
    X = np.array(data.bags.instances)
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    X[0] = np.nan
    model = MIMixture(family, n_init=2, random_state=0).fit(data.bags.with_instances(X), data.y)
    whole = MIMixture(family, n_init=2, random_state=0).fit(data.bags, data.y)
    for a, b in zip(model.params_.components, whole.params_.components, strict=True):
        np.testing.assert_allclose(a.mean, b.mean, atol=0.25)
    assert model.score(data.bags.with_instances(X), data.y) > 0.9
    with pytest.raises(ValueError, match="X contains infinity: bag 0, instance 0, feature 1"):
        X[0, 1] = np.inf
        model.predict(data.bags.with_instances(X))


def test_a_family_that_knows_nothing_of_nan_refuses_it():
    class Plain(GaussianDiag):
        missing = "refuse"

    with pytest.raises(ValueError, match="X contains NaN"):
        MIMixture(Plain()).fit([np.array([[np.nan]]), np.array([[1.0]])], [0, 1])


# ---------------------------------------------------------------------- contract


def test_threads_change_nothing():
    data = make_mixture_bags(60, separation=1.0, random_state=0)
    sequential, parallel = (
        MIMixture(n_init=4, random_state=0, n_jobs=n).fit(data.bags, data.y) for n in (1, 2)
    )
    np.testing.assert_array_equal(sequential.objectives_, parallel.objectives_)
    np.testing.assert_allclose(
        sequential.predict_proba(data.bags), parallel.predict_proba(data.bags), rtol=1e-8
    )


def test_verbose_reports_starts_and_iterations(caplog):
    data = make_mixture_bags(20, random_state=0)
    with caplog.at_level("INFO", logger="bagwise"):
        MIMixture(n_init=2, random_state=0, verbose=2).fit(data.bags, data.y)
    text = caplog.text
    assert "MIMixture: start 2 of 2: objective" in text and "MIMixture: iteration 1: objective" in text


def test_posteriors_need_a_label_for_every_bag():
    data = make_mixture_bags(20, random_state=0)
    model = MIMixture(n_init=1, random_state=0).fit(data.bags, data.y)
    with pytest.raises(ValueError, match="X has 20 bags but y has 19 labels"):
        model.posterior_instances(data.bags, data.y[:19])


def test_too_few_iterations_warn_with_a_remedy():
    data = make_mixture_bags(60, separation=1.0, random_state=0)
    with pytest.warns(ConvergenceWarning, match="reached max_iter=1 before tol=1e-06; increase max_iter"):
        MIMixture(n_init=1, max_iter=1, random_state=0).fit(data.bags, data.y)


@pytest.mark.parametrize("wrong", [0, (1, 0), (1, 2, 3)])
def test_a_wrong_number_of_components_is_refused(wrong):
    with pytest.raises(ValueError, match="n_components"):
        MIMixture(n_components=wrong).fit([np.zeros((1, 1)), np.ones((1, 1))], [0, 1])


def test_new_values_of_a_category_are_refused_at_prediction():
    X = np.array([[0.0], [1.0], [0.0], [1.0]])
    model = MIMixture("categorical", n_init=1, random_state=0).fit(X, [0, 1, 0, 1])
    with pytest.raises(ValueError, match="instance 0 has 2 in feature 0"):
        model.predict(np.array([[2.0]]))


def test_the_partner_finds_the_boundary_of_the_mixture_it_belongs_to():
    data = make_mixture_bags(3000, size=3, separation=2.0, random_state=0)
    mixture = MIMixture(n_init=1, random_state=0).fit(data.bags, data.y)
    partner = DiscriminativeMixture(n_init=1, random_state=0).fit(data.bags, data.y)
    eta, other = (m.decision_function_instances(data.bags) for m in (mixture, partner))
    assert np.corrcoef(eta, other)[0, 1] > 0.98
    assert np.mean((eta > 0) == (other > 0)) > 0.97


def test_pictures_are_figures_and_refuse_what_they_cannot_draw():
    from bagwise.models.mixture.plots import plot_components

    data = make_mixture_bags(20, random_state=0)
    for family in ("gaussian", "gaussian_spherical"):
        model = MIMixture(family, n_init=1, random_state=0).fit(data.bags, data.y)
        display = plot_components(model, data.bags, data.y)
        assert len(display.ax_.patches) == 4, "two ellipses per component"
    binary = data.bags.with_instances((data.bags.instances > 0).astype(float))
    model = MIMixture("bernoulli", n_init=1, random_state=0).fit(binary, data.y)
    with pytest.raises(TypeError, match="needs a model with a Gaussian family"):
        plot_components(model, binary, data.y)


@pytest.mark.slow
def test_few_missing_values_do_not_slow_the_fit_down_by_an_order_of_magnitude():
    """Usually by a factor of 2.5 to 4: EM takes more steps, and a step fills the missing values."""
    rng = np.random.default_rng(0)
    offsets = np.r_[0, np.cumsum(rng.integers(3, 8, 120))]
    y, X = rng.integers(0, 2, 120), rng.normal(size=(offsets[-1], 50))
    with_gaps = np.where(rng.uniform(size=X.shape) < 0.012, np.nan, X)
    seconds = {"complete": [], "gaps": []}
    for _ in range(4):  # the first fit compiles
        for name, instances in (("complete", X), ("gaps", with_gaps)):
            begin = time.process_time()
            MIMixture(random_state=0).fit(Bags(instances, offsets), y)
            seconds[name].append(time.process_time() - begin)
    assert min(seconds["gaps"]) < 9 * min(seconds["complete"])
