"""Mixtures of bags in files, with any blocks, in both precisions, and in any order."""

import itertools
import warnings

import numpy as np
import pytest
from reproduction.labelled import fit_labelled

from bagwise import Bags, DiscriminativeMixture, MIMixture, make_mixture_bags, save_parquet, scan_bags
from bagwise.data.blocks import Block, Blocks, MemoryBlocks, hold
from bagwise.data.blocks.base import call
from bagwise.exceptions import ConvergenceWarning
from bagwise.families import FAMILIES, make_family
from bagwise.models.base import Training
from bagwise.models.mixture.build import Survey, build_model, content_of, prepare, survey_block
from bagwise.rules import Or
from bagwise.solvers import Control, run_em

MATRICES = sorted(set(FAMILIES) - {"markov"})


@pytest.fixture
def large(large_from):
    """Treat data with more than 100 values as large."""
    large_from(100)


class NpyBlocks(Blocks):
    """Bags with one file per block, which every pass reads again."""

    def __init__(self, folder, X, runs, offsets, y, weight):
        self.offsets, self.y, self.weight = offsets, y, weight
        self.n_features, self.n_blocks = X.shape[1], len(runs)
        self._runs, self._folder = runs, folder
        for i, bags in enumerate(runs):
            np.save(folder / f"{i}.npy", X[offsets[bags.start] : offsets[bags.stop]])

    def each(self, f, *args):
        self.n_passes += 1
        for i, bags in enumerate(self._runs):
            offsets = self.offsets[bags.start : bags.stop + 1]
            X = np.load(self._folder / f"{i}.npy")
            yield call(f, Block(X, offsets - offsets[0], self.y[bags], self.weight[bags], bags.start), args)


class BagSource:
    """The interface of bags that a fit needs, for any storage."""

    def __init__(self, make_blocks, offsets, n_features):
        self._make_blocks, self.offsets, self.n_features = make_blocks, offsets, n_features

    def blocks(self, y, weight):
        self.last = self._make_blocks(y, weight)
        return self.last


def draw(name="gaussian_diag", n_bags=40, seed=0, *, missing=False, dtype=np.float64):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 9, n_bags)
    offsets = np.append(0, np.cumsum(sizes))
    X = make_family(name).example(offsets[-1], rng)
    y = (np.arange(n_bags) % 3 > 0).astype(np.int8)
    if isinstance(X, np.ndarray):
        if name.startswith("gaussian"):
            X[np.repeat(y, sizes) == 1] += 2.0 * (rng.random((int(sizes[y == 1].sum()), 1)) < 0.4)
        X = X.astype(dtype)
        if missing and make_family(name).missing != "refuse":
            X[rng.random(X.shape) < 0.2] = np.nan
    return X, offsets, y, rng.random(n_bags) + 0.5


def mixture(name="gaussian_diag", **parameters):
    return MIMixture(name, **{"n_init": 3, "max_iter": 8, "random_state": 0, **parameters})


def fit(model, bags, y, weight):
    model.classes_ = np.array([0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a few iterations are enough
        return model._fit(Training(bags, y, weight))


def values_of(model):
    parts = [part for component in model.params_.components for part in component]
    return [model.objectives_, model.objective_history_, model.params_.log_rate, *parts]


def in_memory(X, offsets, **options):
    return BagSource(lambda y, weight: MemoryBlocks(X, offsets, y, weight, **options), offsets, X.shape[1])


RUNS = [slice(0, 1), slice(1, 14), slice(14, 15), slice(15, 33), slice(33, 33), slice(33, 40)]


@pytest.mark.parametrize("is_large", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        *((name, {}) for name in MATRICES),
        ("gaussian", {"n_components": (2, 1)}),
        ("gaussian_diag", {"n_components": (1, 2)}),
        ("gaussian_diag", {"supervision": "none"}),
        ("gaussian_diag", {"rule": "mean"}),
    ],
    ids=str,
)
def test_files_give_the_bits_that_memory_gives(name, parameters, dtype, is_large, tmp_path, large_from):
    if is_large:
        large_from(100)
    X, offsets, y, weight = draw(name, dtype=dtype)
    in_files = BagSource(lambda y, w: NpyBlocks(tmp_path, X, RUNS, offsets, y, w), offsets, X.shape[1])
    models = [
        fit(mixture(name, **parameters), source, y, weight)
        for source in (in_memory(X, offsets, runs=RUNS), in_files)
    ]
    for mine, its in zip(*map(values_of, models), strict=True):
        np.testing.assert_array_equal(mine, its)
    assert models[0].n_passes_ == models[1].n_passes_ == in_files.last.n_passes


@pytest.mark.slow
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_any_cut_ends_at_the_same_objectives(name, missing, large):
    X, offsets, y, weight = draw(name, missing=missing)
    objectives = [
        fit(mixture(name), in_memory(X, offsets, most=most), y, weight).objectives_
        for most in (None, 1, 7, 10**6)
    ]
    for other in objectives[1:]:
        np.testing.assert_allclose(other, objectives[0], rtol=1e-10)


@pytest.mark.parametrize("supervision", ["bags", "negatives", "none"])
@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_many_bags_are_fitted_as_few_are(name, supervision, large_from):
    X, offsets, y, weight = draw(name)
    models = []
    for limit in (2**23, 100):
        large_from(limit)
        model = mixture(name, supervision=supervision)
        models.append(fit(model, in_memory(X, offsets, most=20), y, weight))
    few, many = models
    np.testing.assert_allclose(many.objectives_, few.objectives_, rtol=1e-10)
    assert many.n_passes_ > few.n_passes_


@pytest.mark.parametrize("rule", ["or", "mean"])
@pytest.mark.parametrize("supervision", ["bags", "none"])
def test_a_fit_takes_five_reads_beside_its_iterations(rule, supervision, large):
    X, offsets, y, weight = draw()
    model = mixture(rule=rule, supervision=supervision, n_init=10, max_iter=12, tol=0.0)
    fit(model, in_memory(X, offsets, most=20), y, weight)
    assert 12 < model.n_passes_ <= 12 + 5
    assert len(model.objectives_) == 10


def test_starts_that_share_passes_are_starts_by_themselves(large):
    X, offsets, y, weight = draw()
    blocks = MemoryBlocks(X, offsets, y, weight, most=20)
    model, unknown = build_model(prepare(make_family("gaussian"), "default", (1, 1), blocks), Or())
    before = blocks.n_passes
    together = run_em(model, unknown, Control(1e-9, 30), n_init=4, rng=np.random.RandomState(0))
    assert blocks.n_passes - before == 1 + max(result.n_iter for result in together)
    alone = run_em(model, hold(unknown), Control(1e-9, 30), n_init=4, rng=np.random.RandomState(0))
    for mine, its in zip(together, alone, strict=True):
        assert mine.n_iter == its.n_iter
        np.testing.assert_allclose(mine.history, its.history, rtol=1e-12)


# ---------------------------------------------------------------------- order, weight, precision


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_many_bags_in_any_order_and_twice_instead_of_weight_two_start_alike(name, large, monkeypatch):
    monkeypatch.setattr("bagwise.models.mixture.build._DRAWN_VALUES", 64 * 3)  # fewer than all instances
    X, offsets, y, _ = draw(name, n_bags=90)
    bags, weight = Bags(X, offsets), np.where(np.arange(90) % 2 == 0, 2.0, 1.0)
    shuffled = np.random.default_rng(1).permutation(90)
    twice = np.repeat(np.arange(90), weight.astype(int))
    objectives = []
    for order, each in ((np.arange(90), weight), (shuffled, weight[shuffled]), (twice, np.ones(len(twice)))):
        chosen = bags[order]
        source = in_memory(chosen.instances, chosen.offsets, most=50)
        objectives.append(fit(mixture(name, tol=0.0), source, y[order], each).objectives_)
    np.testing.assert_allclose(objectives[1], objectives[0], rtol=1e-9)
    np.testing.assert_allclose(objectives[2], objectives[0], rtol=1e-9)


@pytest.mark.parametrize("name", MATRICES)
def test_single_precision_is_the_same_numbers_in_half_the_space(name, large):
    X, offsets, y, weight = draw(name, dtype=np.float32)
    assert X.dtype == np.float32
    objectives = [
        fit(mixture(name), in_memory(Z, offsets, most=20), y, weight).objectives_
        for Z in (X, X.astype(np.float64))
    ]
    np.testing.assert_allclose(objectives[0], objectives[1], rtol=1e-10)


def test_keys_depend_on_content_alone():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 7)).astype(np.float32)
    X[3, 2], X[4, 5] = 0.0, np.nan
    keys = content_of(X)
    assert len(np.unique(keys)) == 500
    np.testing.assert_array_equal(content_of(X.astype(np.float64)), keys)
    np.testing.assert_array_equal(content_of(X[::-1]), keys[::-1])
    other = X.copy()
    other[3, 2], other[4, 5] = -0.0, np.uint32(0xFFC00001).view(np.float32)  # a negative zero, another NaN
    np.testing.assert_array_equal(content_of(other), keys)
    assert len(np.unique(content_of(np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]])))) == 2
    # The keys look random: every bit is set in half of them, within five standard errors.
    share = [((keys >> np.uint64(bit)) & np.uint64(1)).mean() for bit in range(64)]
    np.testing.assert_allclose(share, 0.5, atol=5 * 0.5 / np.sqrt(500))


def test_a_sample_is_fair_and_does_not_depend_on_the_cut():
    rng = np.random.default_rng(0)
    x = rng.exponential(size=(20_000, 1))
    family = make_family("gaussian_diag")
    prior = family.start(family.start_statistics(x, np.ones(20_000)), 2, "default")
    offsets, weight = np.arange(0, 20_001, 10), np.ones(2000)
    samples = []
    for most in (None, 300, 4000):
        blocks = MemoryBlocks(x, offsets, np.zeros(2000, dtype=np.int8), weight, most=most)
        survey = blocks.total(survey_block, family, prior, 1000)
        assert isinstance(survey, Survey)
        assert survey.weight == 20_000
        samples.append(survey.sample)
    assert len(samples[0].X) == 1000
    for other in samples[1:]:
        np.testing.assert_array_equal(other.X, samples[0].X)
    assert samples[0].X.mean() == pytest.approx(1.0, abs=4 / np.sqrt(1000))
    assert (samples[0].X > 2).mean() == pytest.approx(np.exp(-2), abs=4 * 0.34 / np.sqrt(1000))


# ---------------------------------------------------------------------- scans, errors, edge cases


@pytest.mark.parametrize("name", ["gaussian", "bernoulli"])
def test_a_scan_is_fitted_and_predicted(name, large, tmp_path):
    X, offsets, y, _ = draw(name, dtype=np.float32)
    X[3, 1] = np.nan
    bags = Bags(X, offsets)
    scan = scan_bags(save_parquet(tmp_path / "bags.parquet", bags, y))
    models = [mixture(name, max_iter=300).fit(source, y) for source in (bags, scan)]
    np.testing.assert_allclose(models[1].objectives_, models[0].objectives_, rtol=1e-10)
    assert 3 < models[1].n_passes_ <= 300 + 5
    for mine, its in itertools.product(models, (bags, scan)):
        np.testing.assert_allclose(mine.predict_proba(its), models[0].predict_proba(bags), rtol=1e-6)
    np.testing.assert_allclose(models[0].score_samples(scan), models[0].score_samples(bags), rtol=1e-12)


def test_error_reports_the_index_among_all_instances(large):
    X, offsets, y, _ = draw("bernoulli")
    X[97, 2] = 7.0
    with pytest.raises(ValueError, match=r"needs features that are 0 or 1; instance 97 has 7 in feature 2\."):
        prepare(make_family("bernoulli"), "default", (1, 1), MemoryBlocks(X, offsets, y, np.ones(40), most=9))


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_bags_that_all_are_known_are_fitted(name, large_from):
    X, offsets, _, _ = draw(name)
    values = []
    for limit in (2**23, 100):
        large_from(limit)
        model = fit_labelled(mixture(name, max_iter=50), Bags(X, offsets), np.zeros(40))
        assert model.positive_rate_ == 0.0 and model.converged_
        values.append(model.objective_)
        sums = model.family_.statistics(X, np.ones(len(X)), None, model.prior_)
        _, expected = model.family_.mstep_all([0.0 * sums, sums], [0.0, len(X)], model.prior_)
        for mine, its in zip(model.negative_components_[0], expected, strict=True):
            np.testing.assert_allclose(mine, its, rtol=1e-9)
    assert values[0] == pytest.approx(values[1], rel=1e-10)


def test_few_bags_are_held_and_read_once():
    data = make_mixture_bags(40, random_state=0)
    assert mixture(max_iter=200).fit(data.bags, data.y).n_passes_ == 1


@pytest.mark.parametrize("name", ["gaussian", "categorical"])
def test_the_partner_learns_from_a_scan_what_it_learns_from_memory(name, large, tmp_path):
    X, offsets, y, _ = draw(name, dtype=np.float32)
    bags = Bags(X, offsets)
    scan = scan_bags(save_parquet(tmp_path / "bags.parquet", bags, y))
    models = [DiscriminativeMixture(name, random_state=0, tol=1e-9).fit(source, y) for source in (bags, scan)]
    np.testing.assert_allclose(models[1].objective_, models[0].objective_, rtol=1e-9)
    for mine, its in itertools.product(models, (bags, scan)):
        np.testing.assert_allclose(mine.predict_proba(its), models[0].predict_proba(bags), rtol=1e-4)
    assert models[1].n_passes_ > 1


def test_the_partner_knows_the_categories_of_all_training_bags():
    X, offsets, y, _ = draw("categorical")
    model = DiscriminativeMixture("categorical", random_state=0).fit(Bags(X, offsets), y)
    assert model.family_.n_values == 4
    few = np.zeros((2, 1, 3))
    assert model.decision_function_instances(few).shape == (2,)
    with pytest.raises(ValueError, match="instance 2 has 4 in feature 2"):
        model.predict([np.zeros((2, 3)), np.array([[0.0, 0.0, 4.0]])])
