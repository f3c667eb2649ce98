"""Files of models: what goes in comes back, and nothing else does."""

import hashlib
import io
import json
import pickle
import re
import subprocess
import sys
import zipfile
from functools import partial
from importlib import import_module

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import BaseEstimator, clone, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier, StackingClassifier, VotingClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import bagwise
from bagwise import (
    MISVC,
    Bags,
    BagStatistics,
    ByIndex,
    ClassPriorEstimator,
    ClusterEmbedding,
    DiverseDensity,
    Family,
    Link,
    MILogisticRegression,
    MIMixture,
    MissSVC,
    MultiLabelBagClassifier,
    OnInstances,
    Rule,
    Sequences,
    SetKernelSVC,
    SingleInstanceClassifier,
    load,
    make_bag_pipeline,
    make_noisy_or_bags,
    make_pu_scorer,
    save,
)
from bagwise.cli import main
from bagwise.exceptions import VersionWarning
from bagwise.families import FAMILIES
from bagwise.persist.files import read_card
from bagwise.persist.known_types import OUR_TYPES, SCIKIT_LEARN_TYPES
from bagwise.testing import all_estimators, all_rules, example_of

DATA = make_noisy_or_bags(48, size=(2, 6), coef=[2.0, -2.0, 0.0, 1.0], intercept=-1.5, random_state=7)
PREDICTORS = [cls for cls in all_estimators() if hasattr(cls, "predict")]
METHODS = ("predict", "predict_proba", "decision_function", "predict_instances", "predict_proba_instances")

pytestmark = pytest.mark.filterwarnings("ignore::bagwise.exceptions.ClassPriorWarning")


def labels_for(estimator):
    return DATA.bags.instances[DATA.bags.offsets[:-1], 0] if is_regressor(estimator) else DATA.y


def round_trip(model, folder, **how):
    return load(save(model, folder / "model.bagwise"), **how)


def assert_same(first, second):
    """The same types and values, all the way down: a stranger to skops, which writes types and values."""
    assert type(first) is type(second)
    if isinstance(first, np.ma.MaskedArray):
        np.testing.assert_array_equal(first.mask, second.mask)
    elif isinstance(first, np.ndarray) and first.dtype != object:
        assert first.dtype == second.dtype
        np.testing.assert_array_equal(first, second)
    elif isinstance(first, (list, tuple, np.ndarray)):
        assert len(first) == len(second)
        for one, other in zip(first, second, strict=True):
            assert_same(one, other)
    elif isinstance(first, dict):
        assert list(first) == list(second)
        for key in first:
            assert_same(first[key], second[key])
    elif sp.issparse(first):
        assert (first != second).nnz == 0
    elif callable(getattr(first, "__getstate__", None)) and isinstance(state := first.__getstate__(), dict):
        assert_same(state, second.__getstate__())
    elif isinstance(first, float) and np.isnan(first):
        assert np.isnan(second)
    elif not hasattr(first, "__dict__"):
        assert first == second


def assert_predicts_alike(first, second, bags=DATA.bags):
    checked = 0
    for name in METHODS:
        if hasattr(first, name):
            np.testing.assert_array_equal(getattr(second, name)(bags), getattr(first, name)(bags))
            checked += 1
    assert checked


@pytest.mark.parametrize("cls", PREDICTORS, ids=lambda cls: cls.__name__)
def test_every_estimator_comes_back_alone(cls, tmp_path):
    model = example_of(cls)
    model.fit(DATA.bags, labels_for(model))
    again = round_trip(model, tmp_path)
    assert_same(model, again)
    assert_predicts_alike(model, again)


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


class Own(MILogisticRegression):
    """An estimator of a stranger."""


def own_metric(y, predicted):
    return float(np.mean(y == predicted))


three = np.arange(48) % 3
label_sets = np.column_stack([DATA.y, np.ones(48, dtype=int), 1 - DATA.y])
sparse = DATA.bags.with_instances(sp.csr_array(np.where(DATA.bags.instances > 0, DATA.bags.instances, 0.0)))
OTHERS = {
    "maximum likelihood": (MILogisticRegression(alpha=0.0, random_state=0), DATA.bags, DATA.y),
    "calibrated mixture": (MIMixture(calibrate=True, n_init=1, random_state=0), DATA.bags, DATA.y),
    "many classes": (MissSVC(), DATA.bags, three),
    "many labels": (MultiLabelBagClassifier(MILogisticRegression(random_state=0)), DATA.bags, label_sets),
    "sparse kernel bags": (SetKernelSVC(), sparse, DATA.y),
    "sparse support": (MISVC(), sparse, DATA.y),
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


@pytest.mark.filterwarnings("ignore:label 1 is that of every training bag")
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


def test_an_estimate_of_the_prior_comes_back(tmp_path):
    model = ClassPriorEstimator(random_state=0).fit(DATA.bags, DATA.y)
    assert_same(model, round_trip(model, tmp_path))


def test_requests_of_metadata_which_refer_to_themselves_are_refused(tmp_path):
    with config_context(enable_metadata_routing=True):
        model = MILogisticRegression().set_fit_request(sample_weight=True)
        with pytest.raises(TypeError, match="cannot be saved: a part of it contains itself"):
            save(model, tmp_path / "model.bagwise")


def test_pickle_and_joblib_keep_working(tmp_path):
    model = SetKernelSVC().fit(sparse, DATA.y)
    assert_same(model, pickle.loads(pickle.dumps(model)))
    joblib.dump(model, tmp_path / "model.joblib")
    assert_same(model, joblib.load(tmp_path / "model.joblib"))


# ---------------------------------------------------------------------- what is refused


@pytest.fixture(scope="module")
def fitted():
    return MILogisticRegression(random_state=0).fit(DATA.bags, DATA.y)


def forge(path, change):
    """Write a file again with another archive and a right checksum, as someone who means harm would."""
    head, _, card, archive = path.read_bytes().split(b"\n", 3)
    old, members = zipfile.ZipFile(io.BytesIO(archive)), {}
    for name in old.namelist():
        members[name] = old.read(name)
    forged = io.BytesIO()
    with zipfile.ZipFile(forged, "w", change(members) or zipfile.ZIP_STORED) as new:
        for name, content in members.items():
            new.writestr(name, content)
    content = card + b"\n" + forged.getvalue()
    path.write_bytes(head + b"\n" + hashlib.sha256(content).hexdigest().encode() + b"\n" + content)
    return path


def test_any_flipped_bit_and_any_cut_is_found(fitted, tmp_path):
    path = save(fitted, tmp_path / "model.bagwise")
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for place in [*range(120), *rng.integers(len(whole), size=400), *range(len(whole) - 40, len(whole))]:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"model\.bagwise"):
            load(path)
        with pytest.raises(ValueError, match=r"model\.bagwise"):
            read_card(path)
    for end in (0, 5, 16, 81, 82, 500, len(whole) - 1):
        path.write_bytes(whole[:end])
        with pytest.raises(ValueError, match=r"model\.bagwise"):
            load(path)


def test_other_files_are_refused_by_name(tmp_path):
    other = tmp_path / "other.bin"
    other.write_bytes(pickle.dumps(DATA.y))
    with pytest.raises(ValueError, match=r"other\.bin' is no model that bagwise\.save wrote"):
        load(other)
    other.write_bytes(b"bagwise model 2\n" + 64 * b"0" + b"\n{}\n")
    with pytest.raises(ValueError, match="begins with 'bagwise model 2', and this version of bagwise reads"):
        load(other)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing.bagwise")


def test_types_of_strangers_are_refused_by_name_until_they_are_trusted(tmp_path):
    model = make_pipeline(BagStatistics(), RandomForestClassifier(3, random_state=0)).fit(DATA.bags, DATA.y)
    path = save(model, tmp_path / "forest.bagwise")
    with pytest.raises(ValueError, match=r"forest\.bagwise' holds .*'sklearn\.tree\._tree\.Tree', not known"):
        load(path)
    wanted = read_card(path)["trusted"]
    assert "sklearn.tree._tree.Tree" in wanted
    with pytest.raises(ValueError, match=r"holds 'sklearn.tree._tree.Tree', not known to be harmless"):
        load(path, trusted=[name for name in wanted if name != "sklearn.tree._tree.Tree"])
    np.testing.assert_array_equal(load(path, trusted=wanted).predict(DATA.bags), model.predict(DATA.bags))

    machine = make_pipeline(BagStatistics(), SVC()).fit(DATA.bags, DATA.y)
    save(machine, path)
    with pytest.raises(ValueError, match=r"sklearn\.svm\._classes\.SVC"):
        load(path)
    np.testing.assert_array_equal(load(path, trusted=[SVC]).predict(DATA.bags), machine.predict(DATA.bags))


def test_an_estimator_of_ones_own_is_trusted_by_its_class(tmp_path, monkeypatch):
    # As in a module of the user's own: this file is imported by pytest under a name of its making.
    module = type(sys)("strangers_module")
    module.Own = Own
    monkeypatch.setitem(sys.modules, "strangers_module", module)
    monkeypatch.setattr(Own, "__module__", "strangers_module")
    model = Own(random_state=0).fit(DATA.bags, DATA.y)
    path = save(model, tmp_path / "own.bagwise")
    with pytest.raises(ValueError, match=re.escape("pass trusted=['strangers_module.Own']")):
        load(path)
    for trusted in ([Own], "strangers_module.Own", ("strangers_module.Own",)):
        assert_predicts_alike(model, load(path, trusted=trusted))
    for wrong in (True, [3]):
        with pytest.raises(TypeError, match=r"trusted .*; expected"):
            load(path, trusted=wrong)


def kernel(a, b):
    return a @ b.T


@pytest.mark.parametrize(
    ("model", "name", "shown"),
    [
        (MISVC(kernel=kernel), "kernel", "kernel"),
        (make_bag_pipeline(MISVC(kernel=lambda a, b: a @ b.T)), "misvc__kernel", "<lambda>"),
        (MISVC(kernel=partial(kernel)), "kernel", "partial"),
        (MISVC(kernel=np.dot), "kernel", "dot"),
        (MISVC(kernel=np.add), "kernel", "add"),
        (MISVC(kernel=len), "kernel", "len"),
        (MISVC(kernel=MISVC().fit), "kernel", "fit"),
    ],
)
def test_a_parameter_that_is_a_function_is_refused_with_its_name(model, name, shown, tmp_path):
    with pytest.raises(TypeError, match=f"the parameter '{name}' is the function .*{shown}.*holds no code"):
        save(model, tmp_path / "model.bagwise")
    assert not list(tmp_path.iterdir())


def test_a_function_inside_a_part_is_refused_too(tmp_path):
    search = GridSearchCV(MILogisticRegression(), {"alpha": [1.0]}, scoring=make_scorer(own_metric))
    with pytest.raises(TypeError, match=r"holds the function '.*own_metric', and a file that can do no harm"):
        save(search, tmp_path / "model.bagwise")


def test_what_could_not_be_restored_is_refused_before_it_is_written(tmp_path):
    class Local(MILogisticRegression):
        """Nobody finds it by its name."""

    for model in (Local(), MILogisticRegression(class_weight={None: 1.0})):
        with pytest.raises(TypeError, match="cannot be saved, for it could not be restored"):
            save(model, tmp_path / "model.bagwise")
    with pytest.raises(TypeError, match="cannot be saved: keys must be"):
        save(MILogisticRegression(class_weight={(1, 2): 1.0}), tmp_path / "model.bagwise")
    assert not list(tmp_path.iterdir())


def test_what_is_no_estimator_is_refused(tmp_path):
    for wrong in (DATA.bags, MILogisticRegression, 3):
        with pytest.raises(TypeError, match="expected an estimator"):
            save(wrong, tmp_path / "model.bagwise")


class TestForged:
    """Files with a right checksum that someone wrote who means harm."""

    def test_code_is_not_run(self, fitted, tmp_path):
        def evil(members):
            schema = json.loads(members["schema.json"])
            schema["content"]["content"]["coef_"] = {
                "__class__": "system",
                "__module__": "os",
                "__loader__": "FunctionNode",
                "__id__": 1,
            }
            members["schema.json"] = json.dumps(schema)

        path = forge(save(fitted, tmp_path / "model.bagwise"), evil)
        with pytest.raises(ValueError, match=r"model\.bagwise' holds 'os\.system', not known"):
            load(path)

    def test_numpys_functions_are_not_known_either(self, fitted, tmp_path):
        def evil(members):
            schema = json.loads(members["schema.json"])
            node = schema["content"]["content"]["coef_"]
            node.update({"__class__": "add", "__module__": "numpy", "__loader__": "FunctionNode"})
            members["schema.json"] = json.dumps(schema)

        path = forge(save(fitted, tmp_path / "model.bagwise"), evil)
        with pytest.raises(ValueError, match=r"holds 'numpy.add', not known"):
            load(path)

    def test_compressed_parts_which_may_be_bombs_are_refused(self, fitted, tmp_path):
        path = forge(save(fitted, tmp_path / "model.bagwise"), lambda members: zipfile.ZIP_DEFLATED)
        with pytest.raises(
            ValueError, match=r"model\.bagwise' has an archive .*: a part of it is compressed"
        ):
            load(path)

    def test_sparse_matrices_that_point_outside_are_refused(self, tmp_path):
        def evil(members):
            name = next(name for name in members if name.endswith(".npz"))
            matrix = sp.load_npz(io.BytesIO(members[name]))
            matrix.indices[0] = 10**6
            buffer = io.BytesIO()
            sp.save_npz(buffer, matrix)
            members[name] = buffer.getvalue()

        path = forge(save(SetKernelSVC().fit(sparse, DATA.y), tmp_path / "model.bagwise"), evil)
        with pytest.raises(ValueError, match=r"model\.bagwise' has an archive that cannot be read: .*ind"):
            load(path)

    def test_bags_whose_offsets_point_outside_are_refused(self, tmp_path):
        def evil(members):
            for name, content in members.items():
                if name.endswith(".npy"):
                    array = np.load(io.BytesIO(content), allow_pickle=False)
                    if (
                        array.dtype == np.int64
                        and array.ndim == 1
                        and len(array) > 2
                        and array[-1] > len(array)
                    ):
                        array = array.copy()
                        array[-1] = 10**9
                        buffer = io.BytesIO()
                        np.save(buffer, array)
                        members[name] = buffer.getvalue()

        path = forge(save(SetKernelSVC().fit(DATA.bags, DATA.y), tmp_path / "model.bagwise"), evil)
        with pytest.raises(ValueError, match=r"model\.bagwise' cannot be restored here: .*offsets"):
            load(path)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize(
        "model",
        [
            DiverseDensity(n_init=1, random_state=0),
            MILogisticRegression(random_state=0),
            MIMixture("gaussian", n_init=1, random_state=0),
            MIMixture("gaussian_diag", n_init=1, random_state=0),
            MIMixture("gaussian_tied", n_init=1, random_state=0),
        ],
        ids=repr,
    )
    def test_parameters_of_fewer_features_are_refused_before_compiled_code_reads_them(
        self, model, dtype, tmp_path
    ):
        """They would be read beyond their ends; scalers are left out, for they look for themselves."""
        bags = DATA.bags.with_instances(DATA.bags.instances.astype(dtype))
        model = clone(model).set_params(**({"scale": None} if "scale" in model.get_params() else {}))
        narrow = bags.with_instances(bags.instances[:, :1])
        forged = clone(model).fit(narrow, DATA.y)
        forged.n_features_in_ = bags.n_features
        again = round_trip(forged, tmp_path)
        with pytest.raises(ValueError, match=r"it is damaged|mismatch|incompatible"):
            again.predict(bags)

    def test_centers_of_fewer_features_are_refused(self, tmp_path):
        model = make_bag_pipeline(ClusterEmbedding(3, random_state=0), LogisticRegression())
        model.fit(DATA.bags, DATA.y)
        clusterer = model[0].clusterer_
        clusterer.cluster_centers_ = clusterer.cluster_centers_[:, :1].copy()
        with pytest.raises(
            ValueError, match=r"restored here: its KMeans has centers of the shape \(3, 1\) for 4"
        ):
            round_trip(model, tmp_path)

    def test_a_schema_of_nonsense_is_a_sentence(self, fitted, tmp_path):
        path = save(fitted, tmp_path / "model.bagwise")
        for nonsense in ("[]", "{}", "", "[" * 100_000, '{"__class__": 1, "__module__": 2}'):
            forge(path, lambda members, text=nonsense: members.update({"schema.json": text}))
            with pytest.raises(ValueError, match=r"model\.bagwise"):
                load(path)


# ---------------------------------------------------------------------- the lists


def test_every_type_of_ours_in_the_list_exists_and_every_estimator_is_in_it():
    for name in OUR_TYPES:
        module, _, cls = name.rpartition(".")
        assert getattr(import_module(module), cls).__module__ == module, name
    public = [getattr(bagwise, name) for name in bagwise.__all__]
    estimators = [cls for cls in public if isinstance(cls, type) and issubclass(cls, BaseEstimator)]
    names = {f"{cls.__module__}.{cls.__name__}" for cls in estimators if cls not in (Family, Link, Rule)}
    assert names <= OUR_TYPES


def test_every_public_type_of_scikit_learn_in_the_list_exists():
    for name in SCIKIT_LEARN_TYPES:
        module, _, cls = name.rpartition(".")
        assert hasattr(import_module(module), cls), name


@pytest.mark.parametrize("loss", ["hinge", "log_loss", "modified_huber", "squared_hinge", "perceptron"])
def test_losses_of_gradients_come_back(loss, tmp_path):
    model = SingleInstanceClassifier(SGDClassifier(loss=loss, random_state=0)).fit(DATA.bags, DATA.y)
    np.testing.assert_array_equal(round_trip(model, tmp_path).predict(DATA.bags), model.predict(DATA.bags))


# ---------------------------------------------------------------------- the card


def test_the_card_says_what_the_model_is(tmp_path):
    named = Bags(DATA.bags.instances, DATA.bags.offsets, feature_names=["a", "b", "c", "d"])
    model = MILogisticRegression(alpha=0.5, tol=np.float64(1e-6), random_state=0).fit(named, DATA.y == 1)
    path = save(model, tmp_path / "model.bagwise")
    card = read_card(path)
    assert card["class"] == "bagwise.linear_model.logistic.MILogisticRegression"
    assert card["parameters"].keys() == model.get_params().keys() and card["parameters"]["alpha"] == 0.5
    assert card["features"] == {"number": 4, "names": ["a", "b", "c", "d"]}
    assert card["classes"] == [False, True]
    assert card["training"]["digest"] == model.training_digest_ and card["trusted"] == []
    assert {"bagwise", "scikit-learn", "numpy", "skops", "python"} <= card["versions"].keys()
    # Anyone can read it, and any tool of archives opens the rest.
    assert path.read_bytes().startswith(b"bagwise model 1\n")
    assert "schema.json" in zipfile.ZipFile(path).namelist()


def test_a_model_without_a_fit_has_a_card_too(tmp_path):
    path = save(
        make_bag_pipeline(OnInstances(PCA()), MILogisticRegression(alpha=np.inf)), tmp_path / "a.bagwise"
    )
    card = read_card(path)
    assert card["features"]["number"] is None and card["classes"] is None
    assert card["parameters"]["milogisticregression__alpha"] == "inf"
    assert load(path).get_params()["milogisticregression__alpha"] == np.inf


def test_a_failed_save_leaves_the_old_file(fitted, tmp_path):
    path = save(fitted, tmp_path / "model.bagwise")
    before = path.read_bytes()
    with pytest.raises(TypeError, match="is the function"):
        save(MISVC(kernel=kernel), path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        save(fitted, tmp_path / "nowhere" / "model.bagwise")


def test_a_file_of_another_version_warns(fitted, tmp_path):
    def age(members):
        members["schema.json"] = members["schema.json"].replace(bagwise.__version__.encode(), b"0.0.0")

    path = forge(save(fitted, tmp_path / "model.bagwise"), age)
    with pytest.warns(VersionWarning, match=r"by bagwise 0\.0\.0"):
        load(path)


def test_without_skops_a_sentence_says_what_to_install(fitted, tmp_path):
    path = save(fitted, tmp_path / "model.bagwise")
    code = f"""
import sys
sys.modules["skops"] = None
import bagwise
from bagwise.cli import main
assert main(["show", {str(path)!r}]) == 0
try:
    bagwise.load({str(path)!r})
except ImportError as error:
    assert str(error) == "save and load need skops: pip install 'bagwise[persist]'"
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-c", code], check=True)


# ---------------------------------------------------------------------- bagwise show


def test_show_shows_the_card(fitted, tmp_path, capsys):
    path = save(fitted, tmp_path / "model.bagwise")
    assert main(["show", str(path)]) == 0
    out = capsys.readouterr().out
    assert "MILogisticRegression" in out and fitted.training_digest_ in out and "0, 1" in out
    assert re.search(r"^  alpha +\S", out, flags=re.M)
    assert f"bagwise {bagwise.__version__}" in out and "trusted" not in out
    assert main(["show", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == read_card(path)


def test_show_names_the_types_that_want_trust(tmp_path, capsys):
    model = make_pipeline(BagStatistics(), SVC()).fit(DATA.bags, DATA.y)
    assert main(["show", str(save(model, tmp_path / "model.bagwise"))]) == 0
    assert "trusted=['sklearn.svm._classes.SVC']" in capsys.readouterr().out


def test_show_tells_of_damage_in_one_sentence_with_status_2(fitted, tmp_path, capsys):
    path = save(fitted, tmp_path / "model.bagwise")
    whole = path.read_bytes()
    content = b"[1]\nnothing"
    no_card = b"bagwise model 1\n" + hashlib.sha256(content).hexdigest().encode() + b"\n" + content
    for damaged in (whole[:-1], b"", b"PK", no_card):
        path.write_bytes(damaged)
        assert main(["show", str(path)]) == 2
        err = capsys.readouterr().err
        assert err.count("\n") == 1 and "model.bagwise" in err
    assert main(["show", str(tmp_path / "none.bagwise")]) == 2
    assert "No such file" in capsys.readouterr().err
    assert main(["show", str(tmp_path)]) == 2
