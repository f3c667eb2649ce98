"""Round trips of models through files."""

import os
import pickle
from zipfile import ZIP_STORED, ZipFile

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import MiniBatchKMeans
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, IncrementalPCA, TruncatedSVD
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, OneHotEncoder, RobustScaler
from sklearn.svm import SVC, SVR, NuSVC, NuSVR
from tests.persist.models import DATA, SPARSE, assert_predicts_alike, assert_same, labels_for, round_trip

import bagwise
from bagwise import (
    MISVC,
    Bags,
    BagStatistics,
    ByIndex,
    ClassPriorEstimator,
    MILogisticRegression,
    MIMixture,
    MissSVC,
    MultiLabelBagClassifier,
    OnInstances,
    Sequences,
    SetKernelSVC,
    make_bag_pipeline,
    make_pu_scorer,
    save,
)
from bagwise.families import FAMILIES
from bagwise.persist import read_card
from bagwise.testing import all_estimators, all_rules, example_of

PREDICTORS = [cls for cls in all_estimators() if hasattr(cls, "predict")]

pytestmark = pytest.mark.filterwarnings("ignore::bagwise.exceptions.ClassPriorWarning")


@pytest.mark.parametrize("cls", PREDICTORS, ids=lambda cls: cls.__name__)
def test_every_estimator_comes_back_alone(cls, tmp_path):
    model = example_of(cls)
    model.fit(DATA.bags, labels_for(model))
    again = round_trip(model, tmp_path)
    assert_same(model, again)
    assert_predicts_alike(model, again)


@pytest.mark.slow
@pytest.mark.parametrize("cls", PREDICTORS, ids=lambda cls: cls.__name__)
def test_every_estimator_comes_back_in_a_pipeline_in_a_search(cls, tmp_path):
    pipeline = make_bag_pipeline(OnInstances(PCA(random_state=0)), example_of(cls))
    grid = {"oninstances__transformer__n_components": [3]}
    model = GridSearchCV(pipeline, grid, cv=StratifiedKFold(2) if not is_regressor(pipeline) else 2)
    model.fit(DATA.bags, labels_for(pipeline))
    again = round_trip(model, tmp_path)
    assert_same(model, again)
    assert_predicts_alike(model, again)
    pipeline = round_trip(model.best_estimator_, tmp_path)
    assert_predicts_alike(model.best_estimator_, pipeline)
    assert read_card(tmp_path / "model.bagwise")["training"]["digest"] is not None


@pytest.mark.parametrize("cls", [cls for cls in all_estimators() if cls not in PREDICTORS])
def test_every_transformer_comes_back(cls, tmp_path):
    model = example_of(cls).fit(DATA.bags, DATA.y)
    assert_same(model, round_trip(model, tmp_path))


@pytest.mark.parametrize("rule", all_rules(), ids=lambda cls: cls.__name__)
def test_every_rule_comes_back(rule, tmp_path):
    example = rule(2) if rule.__name__ == "Threshold" else rule()
    model = MILogisticRegression(example, alpha=1.0, l1_ratio=0.0, n_init=1, random_state=0)
    model.fit(DATA.bags, DATA.y)
    again = round_trip(model, tmp_path)
    assert_same(model, again)
    assert_predicts_alike(model, again)


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_every_family_comes_back(family, tmp_path):
    bags = DATA.bags
    if family in ("bernoulli", "categorical"):
        bags = bags.with_instances((bags.instances > 0).astype(float))
    elif family == "markov":
        rng = np.random.default_rng(0)
        rows = Sequences.from_list([rng.integers(0, 3, size=4) for _ in range(bags.n_instances)])
        bags = Bags(rows, bags.offsets)
    model = MIMixture(family, n_init=1, random_state=0).fit(bags, DATA.y)
    again = round_trip(model, tmp_path)
    assert_same(model, again)
    assert_predicts_alike(model, again, bags)


three = np.arange(48) % 3
label_sets = np.column_stack([DATA.y, np.ones(48, dtype=int), 1 - DATA.y])
OTHERS = {
    "maximum likelihood": (MILogisticRegression(alpha=0.0, random_state=0), DATA.bags, DATA.y),
    "calibrated mixture": (MIMixture(calibrate=True, n_init=1, random_state=0), DATA.bags, DATA.y),
    "many classes": (MissSVC(), DATA.bags, three),
    "many labels": (MultiLabelBagClassifier(MILogisticRegression(random_state=0)), DATA.bags, label_sets),
    "sparse kernel bags": (SetKernelSVC(), SPARSE, DATA.y),
    "sparse support": (MISVC(), SPARSE, DATA.y),
    "precomputed": (MISVC(kernel="precomputed"), bagwise.instance_kernel(DATA.bags), DATA.y),
    "boolean keys": (MILogisticRegression(class_weight={False: 1.0, True: 2.0}), DATA.bags, DATA.y == 1),
    "a search by its score": (
        GridSearchCV(MILogisticRegression(random_state=0), {"alpha": [1.0, 2.0]}, scoring="roc_auc", cv=2),
        DATA.bags,
        DATA.y,
    ),
    "a search by two scores": (
        GridSearchCV(
            MILogisticRegression(random_state=0),
            {"alpha": [1.0, 2.0]},
            scoring=["roc_auc", "accuracy"],
            refit="accuracy",
            cv=2,
        ),
        DATA.bags,
        DATA.y,
    ),
    "a search by the PU risk": (
        GridSearchCV(
            bagwise.PUSetKernelClassifier(class_prior=0.3), {"degree": [1]}, scoring=make_pu_scorer(0.3), cv=2
        ),
        DATA.bags,
        DATA.y,
    ),
    "vectors of bags": (
        make_pipeline(BagStatistics(), SelectKBest(k=3), LogisticRegression()),
        DATA.bags,
        DATA.y,
    ),
    "calibrated": (CalibratedClassifierCV(MILogisticRegression(random_state=0), cv=2), DATA.bags, DATA.y),
    "one against the rest": (OneVsRestClassifier(MILogisticRegression(random_state=0)), DATA.bags, three),
    "a vote": (VotingClassifier([("a", MILogisticRegression()), ("b", MISVC())]), DATA.bags, DATA.y),
    "a stack": (StackingClassifier([("a", MILogisticRegression(random_state=0))], cv=2), DATA.bags, DATA.y),
    "by index": (ByIndex(MILogisticRegression(random_state=0), DATA.bags), np.arange(48)[:, None], DATA.y),
}


@pytest.mark.filterwarnings("ignore:every training bag has label 1")
@pytest.mark.parametrize("name", OTHERS)
def test_what_else_stands_in_models_comes_back(name, tmp_path):
    model, bags, y = OTHERS[name]
    model.fit(bags, y)
    again = round_trip(model, tmp_path)
    assert_predicts_alike(model, again, bags)
    assert read_card(tmp_path / "model.bagwise")["trusted"] == []


@pytest.mark.parametrize(
    "weights",
    [
        {False: 1.0, True: 2.0},
        {np.False_: 1.0, np.True_: 2.0},
        {0: 1.0, 1: 2.0},
        {"a": 1.0},
        {0.5: 1.0, -1: 2},
    ],
    ids=repr,
)
def test_keys_of_dictionaries_come_back(weights, tmp_path):
    model = make_bag_pipeline(MILogisticRegression(class_weight=weights), memory=None)
    assert round_trip(model, tmp_path)[-1].class_weight == weights


CELLS = np.round(DATA.bags.instances)[: len(DATA.y)]
OF_SCIKIT_LEARN = {
    "libsvm": SVC(),
    "libsvm, probabilities": SVC(kernel="poly", probability=True, random_state=0),
    "libsvm, linear": SVC(kernel="linear", class_weight="balanced"),
    "libsvm, precomputed": SVC(kernel="precomputed"),
    "libsvm, sparse": NuSVC(nu=0.2),
    "libsvm, regression": NuSVR(),
    "libsvm, sparse regression": SVR(),
    "averaged gradients": SGDClassifier(average=True, random_state=0),
    "one-hot": OneHotEncoder(drop="if_binary", min_frequency=3, handle_unknown="infrequent_if_exist"),
    "one-hot, dropped": OneHotEncoder(drop="first", sparse_output=False, handle_unknown="ignore"),
    "bins": KBinsDiscretizer(3, strategy="uniform"),
    "clusters": MiniBatchKMeans(3, n_init=1, random_state=0),
    "components": make_pipeline(RobustScaler(), IncrementalPCA(2), TruncatedSVD(1)),
    "ranges": ColumnTransformer([("a", "passthrough", [0]), ("b", FunctionTransformer(), slice(1, 3))]),
    "a search over a range": GridSearchCV(LogisticRegression(), {"max_iter": range(100, 102)}, cv=2),
}


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("name", OF_SCIKIT_LEARN)
def test_what_compiled_code_trusts_comes_back(name, tmp_path):
    model, y = OF_SCIKIT_LEARN[name], DATA.y if "regression" not in name else CELLS[:, 0]
    data = CELLS @ CELLS.T if "precomputed" in name else sp.csr_array(CELLS) if "sparse" in name else CELLS
    again = round_trip(model.fit(data, y), tmp_path)
    assert read_card(tmp_path / "model.bagwise")["trusted"] == []
    for method in ("predict", "transform", "decision_function"):
        if hasattr(model, method):
            first, second = getattr(model, method)(data), getattr(again, method)(data)
            assert abs(first - second).max() == 0


def test_an_example_of_ours_loads_without_trust(tmp_path):
    model = make_pipeline(BagStatistics(), SVC()).fit(DATA.bags, DATA.y)
    assert_predicts_alike(model, round_trip(model, tmp_path))


def test_a_random_state_comes_back(tmp_path):
    model = MILogisticRegression(random_state=np.random.RandomState(3)).fit(DATA.bags, DATA.y)
    again = round_trip(model, tmp_path)
    assert again.random_state.randint(1000) == model.random_state.randint(1000)


@pytest.mark.parametrize("bits", [np.random.MT19937, np.random.PCG64, np.random.Philox, np.random.SFC64])
def test_a_generator_comes_back(bits, tmp_path):
    model = BagStatistics()
    model.generator_ = np.random.Generator(bits(5))
    model.generator_.random(3)
    assert round_trip(model, tmp_path).generator_.random() == model.generator_.random()


def test_a_number_of_threads_is_limited_to_this_computer(tmp_path):
    model = MiniBatchKMeans(3, n_init=1, random_state=0).fit(CELLS)
    model._n_threads = 10**6
    assert round_trip(model, tmp_path)._n_threads == os.cpu_count()


def test_sparse_matrices_are_stored_without_compression(tmp_path):
    path = save(SetKernelSVC().fit(SPARSE, DATA.y), tmp_path / "model.bagwise")
    with ZipFile(path) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".npz")]
        with archive.open(name) as member, ZipFile(member) as arrays:
            assert all(part.compress_type == ZIP_STORED for part in arrays.infolist())


def test_an_estimate_of_the_prior_comes_back(tmp_path):
    model = ClassPriorEstimator(random_state=0).fit(DATA.bags, DATA.y)
    assert_same(model, round_trip(model, tmp_path))


def test_requests_of_metadata_which_refer_to_themselves_are_refused(tmp_path):
    with config_context(enable_metadata_routing=True):
        model = MILogisticRegression().set_fit_request(sample_weight=True)
        with pytest.raises(TypeError, match="cannot be saved: it contains a circular reference"):
            save(model, tmp_path / "model.bagwise")


def test_pickle_and_joblib_keep_working(tmp_path):
    model = SetKernelSVC().fit(SPARSE, DATA.y)
    assert_same(model, pickle.loads(pickle.dumps(model)))
    joblib.dump(model, tmp_path / "model.joblib")
    assert_same(model, joblib.load(tmp_path / "model.joblib"))
