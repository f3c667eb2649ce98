"""A resumed fit reaches the result of an uninterrupted fit."""

import os
import signal
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.preprocessing import QuantileTransformer

from bagwise import (
    EMDD,
    DiscriminativeMixture,
    DiverseDensity,
    MILogisticRegression,
    MILogisticRegressionCV,
    MIMixture,
    MIMLLogisticRegression,
    PUSetKernelClassifierCV,
    SoftORLogisticRegression,
    make_count_bags,
    make_mixture_bags,
    make_noisy_or_bags,
    milr_path,
    save_npz,
    scan_bags,
)
from bagwise.persist.checkpoints.store import Store
from bagwise.rules import CountLogistic, CountTable, Or

LINEAR = make_noisy_or_bags(60, n_features=4, random_state=0)
COUNTS = make_count_bags(40, size=4, labeler=2, coef=[2.0, -2.0], random_state=0)
MIXED = make_mixture_bags(60, separation=0.7, random_state=0)
GAPS = make_mixture_bags(60, separation=0.7, random_state=0)
GAPS.bags = GAPS.bags.with_instances(np.where(GAPS.bags.instances > 0.8, np.nan, GAPS.bags.instances))
# Large enough that an L1 fit uses a copy in single precision, and computes points from other points.
WIDE = make_noisy_or_bags(400, n_features=120, random_state=0)

# Fits that store their complete state, so that resumed fits are bit-identical.
WHOLE_STATE = {
    "EM": (MILogisticRegression(solver="em", alpha=0.5, n_init=2, tol=1e-5, max_iter=1000), LINEAR),
    "mixture": (MIMixture(n_init=3), MIXED),
    "mixture, two threads": (MIMixture(n_init=3, n_jobs=2), MIXED),
    "mixture, learned rule": (
        MIMixture("gaussian_diag", rule="count_logistic", n_components=(2, 1), n_init=2, tol=1e-4),
        MIXED,
    ),
    "mixture, learned table": (MIMixture(rule=CountTable(monotone=True), n_init=2, max_iter=30), MIXED),
    "mixture, rules compared": (MIMixture(rule="threshold", n_init=2, max_iter=50), MIXED),
    "mixture, missing values": (MIMixture(n_init=3), GAPS),
    "mixture, calibrated": (MIMixture(n_init=1, calibrate=True), MIXED),
    "mixture without labels": (MIMixture(supervision="none", n_init=2), MIXED),
    "EM-DD": (EMDD(n_init=3), MIXED),
    "cross-validation, PU": (PUSetKernelClassifierCV(cv=3, class_prior=0.4, alphas=(1.0, 1e-2)), MIXED),
}
# Fits by Newton's method, trust regions and L-BFGS, which only store the current point of an unfinished run.
# Objectives of resumed fits agree up to a relative error: 1e-7 for convex fits with the default tolerance.
POINTS = {
    "convex ridge": (MILogisticRegression("mean", l1_ratio=0.0), LINEAR, 1e-7),
    "convex ridge, tight": (MILogisticRegression("mean", l1_ratio=0.0, tol=1e-8), LINEAR, 1e-9),
    "convex LASSO": (MILogisticRegression("mean"), LINEAR, 1e-7),
    "convex LASSO, tight": (MILogisticRegression("mean", tol=1e-8), LINEAR, 1e-9),
    "convex LASSO, many features": (MILogisticRegression("mean", alpha=5.0, tol=1e-8), WIDE, 1e-9),
    "ridge": (MILogisticRegression(l1_ratio=0.0, n_init=3), LINEAR, 1e-7),
    "ridge, tight": (MILogisticRegression(l1_ratio=0.0, tol=1e-10, n_init=2), LINEAR, 1e-9),
    "maximum likelihood": (MILogisticRegression(alpha=0.0, n_init=2), LINEAR, 1e-7),
    "link": (MILogisticRegression("softmax", l1_ratio=0.0, n_init=2), LINEAR, 1e-7),
    "kinks": (MILogisticRegression("max", l1_ratio=0.0, n_init=2), LINEAR, 1e-4),
    "learned rule": (SoftORLogisticRegression(n_init=2, tol=1e-4), COUNTS, 1e-5),
    "learned table": (SoftORLogisticRegression("count_table", n_init=1, tol=1e-3), COUNTS, 1e-4),
    "learned rule by EM": (
        SoftORLogisticRegression("count_table", solver="em", n_init=2, max_iter=1000, tol=1e-4),
        COUNTS,
        1e-5,
    ),
    "rules compared": (MILogisticRegression("threshold", l1_ratio=0.0, n_init=2), COUNTS, 1e-7),
    "discriminative mixture": (DiscriminativeMixture(n_init=2), MIXED, 1e-7),
    "diverse density": (DiverseDensity(n_init=3), MIXED, 1e-7),
    "MIML": (MIMLLogisticRegression(n_init=2), LINEAR, 1e-7),
    "LASSO": (MILogisticRegression(n_init=2), LINEAR, 1e-7),
    "elastic net": (MILogisticRegression(alpha=0.5, l1_ratio=0.5, n_init=2), LINEAR, 1e-7),
    "LASSO, many features": (MILogisticRegression(alpha=5.0, n_init=2), WIDE, 1e-7),
    "LASSO, many features, tight": (MILogisticRegression(alpha=5.0, n_init=2, tol=1e-8), WIDE, 1e-9),
    "LASSO with a learned rule": (
        MILogisticRegression("count_logistic", alpha=0.5, n_init=1, tol=1e-3, max_iter=20),
        COUNTS,
        1e-4,
    ),
    "cross-validation": (MILogisticRegressionCV(alphas=5, cv=3, n_init=2), LINEAR, 1e-7),
    "BIC": (MILogisticRegressionCV(alphas=5, criterion="bic", n_init=2), LINEAR, 1e-7),
}
# With many bags: a search on a sample, then passes that all runs share.
LARGE = {
    "convex ridge": (MILogisticRegression("mean", l1_ratio=0.0, tol=1e-8), LINEAR, 1e-9),
    "ridge": (MILogisticRegression(l1_ratio=0.0, n_init=3, tol=1e-10), LINEAR, 1e-9),
    "LASSO": (MILogisticRegression(n_init=2), LINEAR, 1e-7),
    "kinks": (MILogisticRegression("max", l1_ratio=0.0, n_init=2), LINEAR, 1e-2),
    "learned rule": (SoftORLogisticRegression(n_init=2, tol=1e-4), COUNTS, 1e-5),
    "learned rule, LASSO": (
        SoftORLogisticRegression(l1_ratio=1.0, alpha=0.5, n_init=1, tol=1e-3, max_iter=20),
        COUNTS,
        1e-4,
    ),
    "rules compared": (MILogisticRegression("threshold", l1_ratio=0.0, n_init=2), COUNTS, 1e-7),
    "cross-validation": (MILogisticRegressionCV(alphas=4, cv=3, n_init=1), LINEAR, 1e-7),
    "mixture": (MIMixture(n_init=3), MIXED, 0.0),
    "discriminative mixture": (DiscriminativeMixture(n_init=2), MIXED, 1e-7),
    "MIML": (MIMLLogisticRegression(n_init=2), LINEAR, 1e-7),
}


class CutOffError(Exception):
    """Raised to interrupt a fit."""


class Puts:
    """Counter of the values that a fit stores; interrupts the fit at value number `last`."""

    def __init__(self, monkeypatch):
        self.n, self.last = 0, np.inf
        put = Store.put

        def counted(store, *args, **kwargs):
            self.n += 1
            if self.n >= self.last:
                raise CutOffError
            put(store, *args, **kwargs)

        monkeypatch.setattr(Store, "put", counted)

    def cut_off(self, fit, last):
        self.n, self.last = 0, last
        with pytest.raises(CutOffError):
            fit()
        self.n, self.last = 0, np.inf


@pytest.fixture
def puts(monkeypatch):
    return Puts(monkeypatch)


@pytest.fixture
def rule_calls(monkeypatch):
    """Count the calls of rules that read instances."""
    counted = {"n": 0}
    for rule in (Or, CountLogistic, CountTable):
        for name in ("gradient", "estep", "hessian_product", "gradient_and_statistics"):
            method = getattr(rule, name, None)

            def counting(self, *args, method=method, **kwargs):
                counted["n"] += 1
                return method(self, *args, **kwargs)

            if method is not None:
                monkeypatch.setattr(rule, name, counting)
    return counted


def fitted(model, data, **options):
    return clone(model).set_params(random_state=0).fit(data.bags, data.y, **options)


def fitted_values(model):
    """Return all fitted values."""
    values = {}
    for name, value in vars(model).items():
        if name.endswith("_") and isinstance(value, (float, np.ndarray)) and name != "n_passes_":
            values[name] = np.asarray(value)
    if hasattr(model, "params_"):
        for i, component in enumerate(model.params_.components):
            values |= {f"component {i}.{k}": part for k, part in enumerate(component)}
    if hasattr(model, "rule_") and hasattr(model.rule_, "parameters"):
        values["rule"] = model.rule_.parameters()
    return values


def assert_same_bits(model, whole):
    ours, theirs = fitted_values(model), fitted_values(whole)
    assert ours.keys() == theirs.keys()
    different = [name for name in ours if not np.array_equal(ours[name], theirs[name])]
    assert not different


@pytest.mark.parametrize("name", WHOLE_STATE)
def test_a_fit_whose_state_is_stored_ends_with_the_same_bits(name, puts, tmp_path):
    model, data = WHOLE_STATE[name]
    whole = fitted(model, data)
    path = tmp_path / "fit"
    assert_same_bits(fitted(model, data, checkpoint=path), whole)
    n = puts.n
    for share in (0.3, 0.95):
        puts.cut_off(lambda: fitted(model, data, checkpoint=path), max(2, round(share * n)))
        assert path.exists()
        assert_same_bits(fitted(model, data, checkpoint=path), whole)
        assert not list(tmp_path.iterdir())
        # Values from the checkpoint are not stored again, except for a few such as the seed.
        assert share < 0.9 or puts.n < 0.1 * n + 10


def assert_agree(model, whole, rtol):
    """Compare two fits; near a minimum, parameters differ by about the root of the objective's difference."""
    np.testing.assert_allclose(model.objective_, whole.objective_, rtol=rtol)
    assert (np.diff(model.objective_history_) <= 1e-14 * np.abs(model.objective_)).all()
    if hasattr(whole, "coef_"):
        atol = 10 * np.sqrt(rtol) * np.abs(whole.coef_).max()
        np.testing.assert_allclose(model.coef_, whole.coef_, rtol=0, atol=atol)


@pytest.mark.parametrize("name", POINTS)
def test_a_resumed_fit_agrees(name, puts, rule_calls, tmp_path):
    model, data, rtol = POINTS[name]
    path = tmp_path / "fit"
    without = fitted(model, data)
    rule_calls["n"] = 0
    whole = fitted(model, data, checkpoint=path)
    n, n_calls = puts.n, rule_calls["n"]
    assert_same_bits(whole, without)
    for share in (0.3, 0.95):
        puts.cut_off(lambda: fitted(model, data, checkpoint=path), max(2, round(share * n)))
        rule_calls["n"] = 0
        resumed = fitted(model, data, checkpoint=path)
        assert_agree(resumed, whole, rtol)
        assert not list(tmp_path.iterdir())
        assert share < 0.9 or rule_calls["n"] < max(0.6 * n_calls, 1)
        if hasattr(whole, "criterion_path_"):
            # Folds are bit-identical; the path of BIC continues from stored points.
            of_path = 0.0 if whole.criterion == "deviance" else rtol
            np.testing.assert_allclose(resumed.criterion_path_, whole.criterion_path_, rtol=of_path)
            assert resumed.alpha_ == whole.alpha_


@pytest.mark.parametrize(
    ("name", "source"),
    [
        *((name, "memory") for name in LARGE),
        *((name, "file") for name in ("ridge", "cross-validation", "mixture", "discriminative mixture")),
    ],
)
def test_a_resumed_fit_of_many_bags_agrees(name, source, puts, large_from, tmp_path):
    large_from(1)
    model, data, rtol = LARGE[name]
    if source == "file":
        file = save_npz(tmp_path / "bags", data.bags, data.y)
        with np.load(file) as arrays:
            np.savez(file, **arrays)  # not compressed, so that it can be scanned
        data = SimpleNamespace(bags=scan_bags(file), y=data.y)
    whole = fitted(model, data)
    path = tmp_path / "fit"
    assert_same_bits(fitted(model, data, checkpoint=path), whole)
    n = puts.n
    # Fits with a learned rule store most values while they use the sample, before the passes over all bags.
    for share in (0.2, 1.0):
        puts.cut_off(lambda: fitted(model, data, checkpoint=path), max(2, round(share * n)))
        resumed = fitted(model, data, checkpoint=path)
        if rtol == 0.0:
            assert_same_bits(resumed, whole)
        else:
            assert_agree(resumed, whole, rtol)
        assert not path.exists()
        assert share < 0.9 or resumed.n_passes_ < 0.7 * whole.n_passes_ + 4


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("data", [LINEAR, WIDE], ids=["few features", "many"])
def test_a_resumed_path_agrees(data, large, puts, large_from, tmp_path):
    if large:
        large_from(1)
    options = {"alphas": 6, "tol": 1e-8, "checkpoint": tmp_path / "path"}
    without = milr_path(data.bags, data.y, alphas=6, tol=1e-8)
    whole = milr_path(data.bags, data.y, **options)
    for name in ("alphas", "objectives", "coefs", "intercepts", "kkt", "n_iter", "from_below"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(without, name), name)
    n = puts.n
    for share in (0.3, 0.8):
        puts.cut_off(lambda: milr_path(data.bags, data.y, **options), max(2, round(share * n)))
        resumed = milr_path(data.bags, data.y, **options)
        assert not list(tmp_path.iterdir())
        np.testing.assert_array_equal(resumed.alphas, whole.alphas)
        np.testing.assert_allclose(resumed.objectives, whole.objectives, rtol=1e-9)
        np.testing.assert_allclose(resumed.coefs, whole.coefs, rtol=0, atol=1e-6)
        assert resumed.kkt.max() <= 1e-8


@pytest.mark.parametrize(
    "model",
    [
        MILogisticRegression(l1_ratio=0.0, n_init=1, tol=1e-8),
        MILogisticRegression(solver="em", n_init=1, tol=1e-3),
        MIMixture(n_init=1, tol=1e-4),
    ],
    ids=["ridge", "EM", "mixture"],
)
def test_it_does_not_matter_when(model, puts, tmp_path):
    path = tmp_path / "fit"
    whole = fitted(model, LINEAR, checkpoint=path)
    for last in range(2, puts.n + 1):
        puts.cut_off(lambda last=last: fitted(model, LINEAR, checkpoint=path), last)
        resumed = fitted(model, LINEAR, checkpoint=path)
        if model.get_params().get("solver") == "newton":
            assert_agree(resumed, whole, 1e-9)
        else:
            assert_same_bits(resumed, whole)
        if last == 60:
            break


def test_bags_that_were_held_out_are_scored_once(puts, monkeypatch, tmp_path):
    model, path = MIMixture(n_init=1, calibrate=True), tmp_path / "fit"
    fitted(model, MIXED, checkpoint=path)
    puts.cut_off(lambda: fitted(model, MIXED, checkpoint=path), puts.n - 2)
    scored, score = [], MIMixture._positive_scores
    monkeypatch.setattr(MIMixture, "_positive_scores", lambda *args: scored.append(1) or score(*args))
    fitted(model, MIXED, checkpoint=path)
    assert len(scored) == 1


CTRL_C = {
    "ridge": (*POINTS["ridge"], 12),
    "EM": (*WHOLE_STATE["EM"], 0.0, 12),
    "mixture": (*WHOLE_STATE["mixture"], 0.0, 12),
    "LASSO": (*POINTS["LASSO"], 5),
    "folds": (*POINTS["cross-validation"], 3),
    "folds, PU": (*WHOLE_STATE["cross-validation, PU"], 0.0, 3),
}


@pytest.mark.parametrize("name", CTRL_C)
def test_after_ctrl_c_the_file_remains_and_is_reported(name, monkeypatch, tmp_path):
    model, data, rtol, last = CTRL_C[name]
    path, put, n = tmp_path / "fit", Store.put, [0]
    whole = fitted(model, data, checkpoint=path)

    def interrupting(store, *args, **kwargs):
        put(store, *args, **kwargs)
        n[0] += 1
        if n[0] == last:
            os.kill(os.getpid(), signal.SIGINT)

    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(Store, "put", interrupting)
            with pytest.raises(KeyboardInterrupt, match=r"same call to continue from the checkpoint '.*fit'"):
                fitted(model, data, checkpoint=path)
    finally:
        signal.signal(signal.SIGINT, handler)
    assert path.exists()
    resumed = fitted(model, data, checkpoint=path)
    if rtol == 0.0:
        assert_same_bits(resumed, whole)
    else:
        assert_agree(resumed, whole, rtol)
    assert not path.exists()


def test_a_fit_may_be_cut_off_again_and_again(puts, tmp_path):
    model, data = WHOLE_STATE["mixture"]
    whole, path = fitted(model, data), tmp_path / "fit"
    for _ in range(6):
        puts.cut_off(lambda: fitted(model, data, checkpoint=path), 8)
    assert_same_bits(fitted(model, data, checkpoint=path), whole)


@pytest.mark.parametrize("random_state", [None, np.random.RandomState(5)], ids=["None", "RandomState"])
@pytest.mark.parametrize(
    "model",
    [
        MILogisticRegression("softmax", l1_ratio=0.0, n_init=3),
        MIMixture(n_init=3, max_iter=20),
        PUSetKernelClassifierCV(cv=3, class_prior=0.4, alphas=(1.0,), centers="random", n_centers=20),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore::bagwise.exceptions.ConvergenceWarning")
def test_a_seed_that_was_drawn_is_kept(model, random_state, puts, tmp_path):
    """Resumed fits use the stored seed, so their optima include those of all finished starts."""
    path, ends = tmp_path / "fit", []
    model = clone(model).set_params(random_state=random_state)
    puts.cut_off(lambda: clone(model).fit(MIXED.bags, MIXED.y, checkpoint=path), 5)
    copy = path.read_bytes()
    for _ in range(2):
        path.write_bytes(copy)
        ends.append(clone(model).fit(MIXED.bags, MIXED.y, checkpoint=path))
    assert_same_bits(*ends)


def test_inside_a_pipeline(puts, tmp_path):
    from bagwise import OnInstances, make_bag_pipeline

    pipeline = make_bag_pipeline(
        OnInstances(QuantileTransformer(n_quantiles=10)), MIMixture(n_init=3, random_state=0)
    )
    whole = clone(pipeline).fit(MIXED.bags, MIXED.y)
    options = {"mimixture__checkpoint": tmp_path / "fit"}
    puts.cut_off(lambda: clone(pipeline).fit(MIXED.bags, MIXED.y, **options), 30)
    assert (tmp_path / "fit").exists()
    resumed = clone(pipeline).fit(MIXED.bags, MIXED.y, **options)
    assert_same_bits(resumed[-1], whole[-1])
    assert not list(tmp_path.iterdir())


def test_with_metadata_routing(tmp_path):
    import sklearn
    from sklearn.pipeline import make_pipeline

    with sklearn.config_context(enable_metadata_routing=True):
        model = MIMixture(n_init=2, random_state=0).set_fit_request(checkpoint=True)
        pipeline = make_pipeline(model).fit(MIXED.bags, MIXED.y, checkpoint=tmp_path / "fit")
    assert_same_bits(pipeline[-1], fitted(MIMixture(n_init=2), MIXED))


def test_without_a_checkpoint_nothing_is_kept(puts):
    for model in (MILogisticRegression(), MILogisticRegression(l1_ratio=0.0), MIMixture(n_init=1)):
        fitted(model, LINEAR)
    assert puts.n == 0
