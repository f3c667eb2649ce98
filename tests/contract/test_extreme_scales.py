"""Finite input leads to finite results or one clear error, however large or small its values are."""

import re
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import bagwise
from bagwise import (
    Bags,
    BagStatistics,
    ClusterEmbedding,
    InstanceMISVC,
    LSDDClassifier,
    MILogisticRegression,
    MILogisticRegressionCV,
    MIMixture,
    OnInstances,
    SetKernelSVC,
    make_noisy_or_bags,
    save_parquet,
    scan_bags,
)
from bagwise.models.base import InstanceScoreClassifier, validated_fit
from bagwise.testing import all_estimators, example_of

DATA = make_noisy_or_bags(20, size=(2, 4), n_features=3, random_state=0)


def says_overflow(error):
    return "overflow" in str(error) or "overflows" in str(error)


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
            assert says_overflow(error)
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
        assert says_overflow(error)
    else:
        assert np.isfinite(scores).all()


def hostile(X):
    """Return instances with finite values whose squares, sums or differences overflow."""
    single, mixed, ends = X.copy(), X * [1e300, 1e-300, 1.0], X.copy()
    single[3, 1] = 1e300
    ends[:, 2] = np.where(X[:, 2] > 0, 1.7e308, -1.7e308)
    return [X * 1e200, single, mixed, np.full_like(X, 1e300), ends]


def is_finite(prediction):
    prediction = getattr(prediction, "instances", prediction)
    if isinstance(prediction, list):
        return all(map(is_finite, prediction))
    values = prediction.data if sp.issparse(prediction) else np.asarray(prediction)
    return values.dtype.kind != "f" or bool(np.isfinite(values).all())


def all_predictions(model, bags):
    kinds = ("decision_function", "predict_proba", "predict", "transform")
    ways = [*kinds, *(f"{kind}_instances" for kind in kinds)]
    return [getattr(model, way)(bags) for way in ways if hasattr(model, way)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("fitted_to_them", [True, False], ids=["fit", "predict"])
@pytest.mark.parametrize("cls", all_estimators(), ids=lambda cls: cls.__name__)
def test_every_estimator_predicts_finite_values_or_explains_why_not(cls, fitted_to_them):
    example = example_of(cls)
    several = cls.__name__ in ("MIMLLogisticRegression", "MultiLabelBagClassifier")
    y = np.column_stack([DATA.y, 1 - DATA.y]) if several else DATA.y
    scales = ("standard", "minmax", None) if "scale" in example.get_params(deep=False) else ("default",)
    for scale in scales:
        base = clone(example) if scale == "default" else clone(example).set_params(scale=scale)
        model = base if fitted_to_them else base.fit(DATA.bags, y)
        for X in hostile(DATA.bags.instances):
            bags = DATA.bags.with_instances(X)
            try:
                model = clone(base).fit(bags, y) if fitted_to_them else model
                answers = all_predictions(model, bags)
            except ValueError as error:
                assert says_overflow(error)
                continue
            assert all(map(is_finite, answers))
            objective = np.append(getattr(model, "objective_history_", []), getattr(model, "objective_", 0.0))
            assert np.isfinite(objective).all()
            assert (np.diff(objective) <= 1e-9 * np.abs(objective).max()).all()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["EMDD", "DiverseDensity", "DSDDClassifier", "MILogisticRegression"])
@pytest.mark.parametrize("learned_from", [1e-150, 1e-300, [1e-150, 1.0, 1e-300]], ids=str)
def test_a_model_of_tiny_values_predicts_ordinary_ones_or_refuses(name, learned_from):
    X = DATA.bags.instances
    for scale in ("standard", "minmax", None):
        model = getattr(bagwise, name)(scale=scale, random_state=0)
        model.fit(DATA.bags.with_instances(X * learned_from), DATA.y)
        for size in (1.0, 1e50):
            try:
                predictions = all_predictions(model, DATA.bags.with_instances(X * size))
            except ValueError as error:
                assert says_overflow(error)
            else:
                assert all(map(is_finite, predictions))


class Computes(InstanceScoreClassifier):
    """A classifier that predicts a fixed value for all instances."""

    _accepts_missing = True
    _parameter_constraints = {}

    def __init__(self, value=0.0, error=None):
        self.value = value
        self.error = error

    @validated_fit
    def fit(self, X, y):
        self._read_training(X, y)
        if self.error is not None:
            raise self.error
        self.objective_ = abs(self.value)
        return self

    def _instance_scores(self, bags):
        return np.full(bags.n_instances, self.value)


def test_nan_of_finite_values_is_refused():
    model = Computes(0.0).fit(DATA.bags, DATA.y)
    model.value = np.nan
    with pytest.raises(ValueError, match="Computes overflows on these values of X"):
        model.decision_function(DATA.bags)
    missing = DATA.bags.with_instances(np.full(DATA.bags.instances.shape, np.nan))
    assert np.isnan(model.decision_function(missing)).all()
    model.value = -np.inf
    assert np.isinf(model.decision_function(DATA.bags)).all()  # a known label
    with pytest.raises(ValueError, match="Computes overflows on these values of X"):
        Computes(np.nan).fit(DATA.bags, DATA.y)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (
            np.linalg.LinAlgError("3-th leading minor"),
            r"builds from X is numerically singular \(3-th leading",
        ),
        (OverflowError("math range error"), "Computes overflows on these values of X"),
    ],
)
def test_errors_of_linear_algebra_and_overflow_are_explained(error, sentence):
    with pytest.raises(ValueError, match=sentence) as caught:
        Computes(error=error).fit(DATA.bags, DATA.y)
    assert type(caught.value) is ValueError and caught.value.__cause__ is error


def test_an_allocation_that_fails_names_the_model():
    for reason in ("Allocation failed (probably too large).", "Unable to allocate 7 TiB for an array"):
        message = (
            rf"^Computes needs more memory than is available \({re.escape(reason.rstrip('.'))}\); use fewer"
        )
        with pytest.raises(MemoryError, match=message):
            Computes(error=MemoryError(reason)).fit(DATA.bags, DATA.y)
    with pytest.raises(MemoryError, match=r"^the kernel matrix of"):
        Computes(error=MemoryError("the kernel matrix of 9 x 9 bags")).fit(DATA.bags, DATA.y)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_a_value_that_is_too_large_is_named_when_bags_are_read(kind):
    X = DATA.bags.instances.copy()
    X[DATA.bags.offsets[4] + 1, 2] = -1e61
    bags = DATA.bags.with_instances(kind(X))
    message = r"X has values up to 1e\+61 \(bag 4, instance 1, feature 2\), .* above 1e\+60 overflow; rescale"
    model = MILogisticRegression(random_state=0)
    with pytest.raises(ValueError, match=message):
        model.fit(bags, DATA.y)
    with pytest.raises(ValueError, match=message):
        model.fit(DATA.bags, DATA.y).predict(bags)
    X[X == -1e61] = 1e60
    assert np.isfinite(model.predict_proba(DATA.bags.with_instances(kind(X)))).all()


def test_values_in_files_are_checked_block_by_block(tmp_path, large_from):
    X = DATA.bags.instances.copy()
    X[-1, 0] = 1e61
    scan = scan_bags(save_parquet(tmp_path / "a.parquet", DATA.bags.with_instances(X), DATA.y))
    large_from(20)
    with pytest.raises(ValueError, match=r"X has values up to 1e\+61 \(bag 19, instance"):
        MILogisticRegression(random_state=0).fit(scan, DATA.y)
    # Only the transformed values are checked.
    divided = OnInstances(FunctionTransformer(lambda Z: Z / 1e60)).fit(DATA.bags).transform(scan)
    MILogisticRegression(random_state=0).fit(divided, DATA.y)
    multiplied = OnInstances(FunctionTransformer(lambda Z: Z * 1e10)).fit(DATA.bags).transform(scan)
    with pytest.raises(ValueError, match=r"returned absolute values above 1e\+60"):
        MILogisticRegression(random_state=0).fit(multiplied, DATA.y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_models_that_only_rank_values_take_them_of_any_size(tmp_path):
    """Ranks and trees depend only on the order of values."""
    signs = np.sign(DATA.bags.instances)
    huge = DATA.bags.with_instances(signs * np.abs(DATA.bags.instances) ** 8 * 1e250)
    for model in (
        MILogisticRegression(scale="rank", random_state=0),
        bagwise.MISVC(scale="rank"),
        bagwise.MIGradientBoostingClassifier(n_estimators=3, random_state=0),
    ):
        expected = clone(model).fit(DATA.bags, DATA.y).predict(DATA.bags)
        np.testing.assert_array_equal(model.fit(huge, DATA.y).predict(huge), expected)
    model = MILogisticRegression(scale="rank", random_state=0)
    scan = scan_bags(save_parquet(tmp_path / "a.parquet", huge, DATA.y))
    np.testing.assert_array_equal(
        model.fit(scan, DATA.y).predict(scan), model.fit(huge, DATA.y).predict(huge)
    )


@pytest.mark.slow
def test_conjugate_gradients_that_cannot_end_are_given_up():
    code = """
import warnings, numpy as np, bagwise as b
warnings.simplefilter("ignore")
X = np.array([[0.0], [1.0], [2.0], [3.0]]) * 5e-321
model = b.MILogisticRegression("mean", l1_ratio=0.0, alpha=0.1, scale=None, n_init=2, random_state=0)
model.set_params(class_weight={0: 1.0, 1: 5.0})
for weight in (1e-45, 1e-150):
    try:
        model.fit(b.Bags(X, [0, 2, 4]), [0, 1], sample_weight=[weight] * 2)
        assert np.isfinite(model.coef_).all()
    except ValueError as error:
        assert weight == 1e-150 and "the largest sample_weight is 1e-150" in str(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("sizes", [1e8, 1e59, [1e30, 1.0, 1e-30]], ids=str)
@pytest.mark.parametrize("weight", [1e-49, 1.0, 1e49])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_the_objective_of_a_machine_never_rises(kernel, weight, sizes):
    bags = DATA.bags.with_instances(DATA.bags.instances * sizes)
    for make in (SetKernelSVC, InstanceMISVC):
        try:
            model = make(kernel=kernel, scale=None).fit(bags, DATA.y, sample_weight=np.full(20, weight))
        except ValueError as error:
            assert says_overflow(error)
            continue
        objective = model.objective_history_
        assert np.isfinite(objective).all() and (np.diff(objective) <= 0.0).all()


def test_weights_are_shares_however_large():
    few = LSDDClassifier(alpha=1.0, random_state=0).fit(DATA.bags, DATA.y, sample_weight=np.full(20, 1e49))
    assert np.isfinite(few.decision_function(DATA.bags)).all()
    weight = 10.0 ** np.linspace(-150, 49, 20)
    model = MILogisticRegressionCV(alphas=3, cv=3, random_state=0)
    model.fit(DATA.bags, DATA.y, sample_weight=weight)
    assert np.isfinite(model.base_deviance_)


@pytest.mark.parametrize("family", ["gaussian", "gaussian_tied", "gaussian_diag"])
@pytest.mark.parametrize("weight", [1e-12, 1e-30])
def test_weights_far_below_one_instance_leave_the_prior_its_spread(family, weight):
    """The prior's variance was divided by one instance instead of the weight; components were too narrow."""
    model = MIMixture(family, n_components=3, rule="count_logistic", max_iter=3, tol=0.1, random_state=0)
    model.fit(DATA.bags, DATA.y, sample_weight=np.full(20, weight))
    assert 0.01 < model.positive_rate_ < 0.99
    assert np.isfinite(model.decision_function_instances(DATA.bags)).all()


@pytest.mark.parametrize("largest", [1e20, float(np.finfo(np.float32).max)])
def test_statistics_of_large_single_precision_values_are_finite(largest):
    signs = np.where(DATA.bags.instances > 0, 1.0, -1.0)
    bags = DATA.bags.with_instances((largest * signs).astype(np.float32))
    model = BagStatistics(("mean", "std", "median"), quantiles=(0.2,)).fit(bags)
    vectors = model.transform(bags)
    assert vectors.dtype == np.float32 and np.isfinite(vectors).all()
    expected = model.transform(bags.with_instances(bags.instances.astype(np.float64) / largest)) * largest
    np.testing.assert_allclose(vectors, expected, rtol=1e-6, atol=1e-6 * largest)


@pytest.mark.parametrize("scale", ["standard", "own"])
def test_large_single_precision_values_are_scaled_to_ordinary_ones(scale):
    """A scaler in single precision computed differences of values that overflowed."""
    largest = float(np.finfo(np.float32).max)
    X = np.clip(DATA.bags.instances, -1.0, 1.0)
    X[0] = -1.0  # most values are near one end, so that the difference of the other from the mean overflows
    X[1:] = np.abs(X[1:])
    bags = DATA.bags.with_instances((largest * X).astype(np.float32))
    model = BagStatistics(scale=StandardScaler() if scale == "own" else scale)
    vectors = model.fit_transform(bags)
    expected = clone(model).fit_transform(bags.with_instances(bags.instances.astype(np.float64) / largest))
    np.testing.assert_allclose(vectors, expected, rtol=1e-6, atol=1e-6)


def test_large_single_precision_values_are_scaled_per_bag():
    """Only values whose difference overflows are recomputed, independent of the other bags."""
    largest = float(np.finfo(np.float32).max)
    X = np.abs(np.clip(DATA.bags.instances, -1.0, 1.0))
    X[0] = -1.0
    bags = DATA.bags.with_instances((largest * X).astype(np.float32))
    model = BagStatistics(scale="standard").fit(bags)
    alone = np.vstack([model.transform(bags[[i]]) for i in range(len(bags))])
    np.testing.assert_array_equal(alone, model.transform(bags))


def test_a_covariance_of_one_bag_is_refused_by_a_sentence():
    weight = np.ones(20)
    weight[np.argmax(DATA.y)] = 1e49
    with pytest.raises(ValueError, match="numerically singular, for example because"):
        MIMixture(random_state=0).fit(DATA.bags, DATA.y, sample_weight=weight)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("MILog")])
def test_a_scaler_of_others_that_overflows_is_named(name):
    bags = DATA.bags.with_instances(DATA.bags.instances * 1e300)
    with pytest.raises(ValueError, match="overflow"):
        getattr(bagwise, name)(scale=StandardScaler()).fit(bags, DATA.y)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_huge_values_that_come_as_objects_are_named():
    bags = DATA.bags.with_instances((DATA.bags.instances * 1e200).astype(object))
    with pytest.raises(ValueError, match=r"X has values up to .*e\+200 \(bag "):
        bagwise.DiscriminativeMixture(random_state=0).fit(bags, DATA.y)


def test_a_category_that_is_no_category_is_named():
    bags = DATA.bags.with_instances(np.full(DATA.bags.instances.shape, 1e50))
    with pytest.raises(ValueError, match=r"family='categorical' needs values 0, 1, \.\.\..* has 1e\+50 in"):
        MIMixture("categorical", random_state=0).fit(bags, DATA.y)


def test_small_single_precision_values_after_huge_ones_are_finite():
    """A scale beyond single precision led to infinity divided by infinity."""
    rng = np.random.default_rng(0)
    huge = Bags(np.column_stack([np.full(12, 3.7e50), 1e50 * rng.normal(size=12)]), np.arange(13))
    model = ClusterEmbedding(2, random_state=0).fit(huge)
    small = Bags(rng.normal(size=(4, 2)).astype(np.float32), np.array([0, 2, 4]))
    assert np.isfinite(model.transform(small)).all()
