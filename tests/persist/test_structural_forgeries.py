"""Model files with a valid checksum, archive and schema whose nodes `save` would not write.

All files are loaded in one child process with limited memory, and all methods of the models that load are
called there, because a file that is not refused could crash the process or exhaust the memory.
"""

import io
import json
import os
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.decomposition import PCA, IncrementalPCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import ElasticNet, LogisticRegression, Ridge, RidgeClassifier, SGDClassifier
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    MultiLabelBinarizer,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC
from tests.persist import forging
from tests.persist.models import DATA, SPARSE

from bagwise import MILogisticRegression, SetKernelSVC, save

X, Y = DATA.bags.instances[: len(DATA.y)], DATA.y
CELLS = np.round(X[:, :2])

CHILD = """
import json, resource, sys, warnings
warnings.simplefilter("ignore")
import numpy as np
import bagwise, sklearn.svm, sklearn.preprocessing, sklearn.pipeline
from tests.persist.models import DATA, SPARSE
from tests.persist.test_structural_forgeries import X, CELLS
with open("/proc/self/statm") as file:
    held = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (held + 2**30, resource.RLIM_INFINITY))
for path in json.load(sys.stdin):
    try:
        model = bagwise.load(path)
    except Exception as error:
        cause, wanted = error, False
        while cause is not None:
            wanted |= isinstance(cause, MemoryError)
            cause = cause.__cause__ or cause.__context__
        print(json.dumps("MemoryError" if wanted else f"{type(error).__name__}: {error}"), flush=True)
        continue
    for data in (DATA.bags, SPARSE, X, CELLS):
        for method in ("predict", "decision_function", "predict_proba", "transform", "partial_fit"):
            try:
                getattr(model, method)(data)
            except Exception:
                pass
    print(json.dumps("loaded"), flush=True)
"""


def outcomes_of(paths):
    """Load files in a child process; return the error of each, "loaded", or "crashed"."""
    outcomes = []
    while len(outcomes) < len(paths):
        child = subprocess.run(
            [sys.executable, "-c", CHILD],
            input=json.dumps([str(path) for path in paths[len(outcomes) :]]),
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        outcomes += [json.loads(line) for line in child.stdout.splitlines()]
        if len(outcomes) < len(paths):
            outcomes.append(f"crashed with status {child.returncode}: {child.stderr[-500:]}")
    return outcomes


def in_attribute(cls, name, make):
    """Replace an attribute of all objects of a class by a new node."""

    def change(schema, members):
        forging.set_attribute(schema, cls, name, make(members))

    return change


def other_value(cls, name, value):
    return in_attribute(cls, name, lambda members: forging.value(value))


def both(*changes):
    def change(schema, members):
        for part in changes:
            part(schema, members)

    return change


def single_group(members):
    """Return one group of all categories, for every column of an encoder."""
    groups = [np.zeros(len(np.unique(column)), int) for column in CELLS.T]
    arrays = [forging.array(members, f"{index}.npy", group) for index, group in enumerate(groups)]
    return forging.sequence(*arrays, kind="list")


def other_array(cls, name, new):
    """Replace the array of an attribute by a function of it."""

    def change(schema, members):
        node = forging.attributes_of(schema, cls)[name]
        members["new.npy"] = forging.array_bytes(new(np.load(io.BytesIO(members[node["file"]]))))
        forging.set_attribute(
            schema, cls, name, forging.node("NdArrayNode", "numpy.ndarray", type="numpy", file="new.npy")
        )

    return change


def other_sparse(arrays, name="x.npz", **options):
    """Replace the sparse instances of the bags."""

    def change(schema, members):
        members[name] = forging.sparse_bytes(arrays, **options)
        node = forging.node("SparseMatrixNode", "scipy.sparse.csr_array", type="scipy", file=name)
        forging.set_attribute(schema, "Bags", "instances", node)

    return change


def many_readers(schema, members):
    node = dict(next(node for node in forging.all_nodes(schema) if "file" in node))
    copies = [{**node, "__id__": 10**6 + index} for index in range(1000)]
    forging.set_attribute(schema, "MILogisticRegression", "coef_", forging.sequence(*copies))


def many_values_of_one_node(schema, members):
    """An object array of two dimensions, whose rows numpy would unfold: 2**8 values from each of 9 lists."""
    shared = {**forging.sequence(*([forging.value(1)] * 2), kind="list"), "__id__": 10**6}
    for depth in range(8):
        shared = {**forging.sequence(shared, shared, kind="list"), "__id__": 10**6 + depth + 1}
    shape = forging.sequence(forging.value(9), forging.value(2))
    array = forging.node("NdArrayNode", "numpy.ndarray", type="json", content=[shared] * 9, shape=shape)
    forging.set_attribute(schema, "MILogisticRegression", "coef_", array)


def other_keys(name):
    """Call a type or function with the keys of a dictionary."""

    def change(schema, members):
        schema["content"]["key_types"]["content"][0] = forging.node("FunctionNode", name)

    return change


def swapped_id(schema, members):
    """Describe a type of key as text, but with the id of a node that is restored as something else."""
    state = schema["content"]
    called = forging.call("builtins.range", forging.value(3))
    forging.set_attribute(schema, "MILogisticRegression", "coef_", {**called, "__id__": 77})
    state["key_types"]["content"][-1]["__id__"] = 77


LOSS = forging.node(
    "LossNode",
    "sklearn.linear_model._sgd_fast.Hinge",
    __reduce__={"args": forging.sequence(forging.value(1.0))},
    content=forging.sequence(forging.value(1)),
)
MT19937, PHILOX = np.random.MT19937(0).state, np.random.Philox(0).state
TINY = forging.sparse_arrays([1.0], [0], [0, 1], (1, 4))
BOMB = forging.sparse_arrays(
    forging.claimed_array((10**7,)) + bytes(8 * 10**7), np.zeros(0), [0, 10**7], (1, 4)
)
CLAIM = forging.sparse_arrays(forging.claimed_array((10**11,)), [0], [0, 1], (1, 4))
LINEAR = MILogisticRegression(random_state=0)


def coef(make):
    return in_attribute("MILogisticRegression", "coef_", make)


def member(name, content):
    """Return a maker of an array node whose member has this name and content."""

    def make(members):
        members[name] = content
        return forging.node("NdArrayNode", "numpy.ndarray", type="numpy", file=name)

    return coef(make)


def encoder(**options):
    return OneHotEncoder(sparse_output=False, **options), CELLS


FORGERIES = {
    # loaders of other types
    "a call that takes memory": (
        LINEAR,
        coef(lambda _: forging.call("builtins.list", forging.call("builtins.range", forging.value(10**9)))),
        r"ConstructorFromReduceNode would restore 'builtins\.list'",
    ),
    "a call of a function": (
        LINEAR,
        coef(lambda _: forging.call("sklearn.metrics.roc_auc_score", forging.value(1))),
        r"ConstructorFromReduceNode would restore 'sklearn\.metrics\.roc_auc_score'",
    ),
    "a range of text": (
        LINEAR,
        coef(lambda _: forging.call("builtins.range", forging.value("9"))),
        "'9' is not",
    ),
    "a long range": (
        LINEAR,
        coef(lambda _: forging.call("builtins.range", forging.value(10**9))),
        r"range\(0, 1000000000\) has more than 1,000,000 values",
    ),
    "a range without steps": (
        LINEAR,
        coef(lambda _: forging.call("builtins.range", *map(forging.value, (0, 9, 0)))),
        "range has the step 0",
    ),
    "a set of a number": (
        LINEAR,
        coef(lambda _: forging.call("builtins.frozenset", forging.value(9))),
        "frozenset has other than one list",
    ),
    "a sparse matrix by its attributes": (
        LINEAR,
        coef(lambda members: forging.sparse_object(members, 4)),
        r"ObjectNode would restore 'scipy\.sparse\.csr_array'",
    ),
    "a sparse matrix of a private module": (
        LINEAR,
        coef(lambda m: {**forging.sparse_object(m, 4), "__module__": "scipy.sparse._csr"}),
        r"ObjectNode would restore 'scipy\.sparse\._csr\.csr_array'",
    ),
    "an estimator as an array": (
        LINEAR,
        coef(lambda m: {**forging.array(m, "x.npy", np.ones(3)), "__class__": "Or", "__module__": "bagwise"}),
        r"NdArrayNode would restore 'bagwise\.Or'",
    ),
    "a method": (
        LINEAR,
        coef(lambda _: forging.node("MethodNode", "bagwise.Or", content={"func": "x", "obj": {}})),
        r"MethodNode would restore 'bagwise\.Or'",
    ),
    "a function of keys": (
        LINEAR,
        other_keys("sklearn.metrics.log_loss"),
        "the name of an attribute is not text",
    ),
    "another node with the same id": (LINEAR, swapped_id, None),
    "a loss with a state": (LINEAR, coef(lambda _: LOSS), "a loss has a state"),
    "an old protocol": (LINEAR, lambda schema, members: schema.update(protocol=0), "the skops protocol 0"),
    "no estimator": (
        LINEAR,
        lambda schema, members: schema.update(forging.value(1)),
        "does not describe an estimator",
    ),
    # sizes
    "an array in a member with another name": (
        LINEAR,
        member("x.bin", forging.claimed_array((10**13,))),
        r"NdArrayNode would read 'x\.bin'",
    ),
    "an array of many items without bytes": (
        LINEAR,
        member("x.npy", forging.claimed_array((10**13,), "<U0")),
        "but no content",
    ),
    "booleans of other bytes": (
        LINEAR,
        member("x.npy", forging.claimed_array((3,), "|b1") + b"\x00\x01\x02"),
        "booleans other than 0 and 1",
    ),
    "a thousand readers of one array": (LINEAR, many_readers, "several objects would read"),
    "lists that double": (LINEAR, many_values_of_one_node, "JsonNode|plain values"),
    "a compressed sparse matrix": ("sparse", other_sparse(BOMB), "a sparse matrix expands by"),
    "a sparse matrix that claims memory": ("sparse", other_sparse(CLAIM), "bytes are stored"),
    "a sparse matrix of other members": (
        "sparse",
        other_sparse({**TINY, "data": forging.array_bytes(np.ones(1)), "x": np.ones(1)}),
        "consists of the arrays",
    ),
    "a sparse matrix as another member": ("sparse", other_sparse(TINY, "x.npy"), "magic string|would read"),
    "sparse indices outside": (
        "sparse",
        other_sparse(forging.sparse_arrays([1.0], [2**31 - 7], [0, 1], (1, 4))),
        "indices must be < 4",
    ),
    "a sparse matrix of another format": (
        "sparse",
        other_sparse({**TINY, "format": np.array(b"bsr"), "data": np.ones((1, 1, 1))}),
        "format|shape",
    ),
    # generators of random numbers
    "a random state at another position": (
        LINEAR,
        in_attribute("MILogisticRegression", "random_state", lambda _: forging.random_state(2**31 - 5)),
        "RandomState is inconsistent: the position",
    ),
    "a random state at a negative position": (
        LINEAR,
        in_attribute("MILogisticRegression", "random_state", lambda _: forging.random_state(-1)),
        "RandomState is inconsistent: the position",
    ),
    "a generator at another position": (
        LINEAR,
        coef(lambda _: forging.generator({**MT19937, "state": {**MT19937["state"], "pos": 10**6}})),
        "Generator is inconsistent: the position",
    ),
    "a generator outside of its buffer": (
        LINEAR,
        coef(lambda _: forging.generator({**PHILOX, "buffer_pos": -(10**6)})),
        "Generator is inconsistent: the position",
    ),
    "a generator with a huge pool": (
        LINEAR,
        coef(lambda _: forging.generator(MT19937, pool_size=10**9)),
        "1000000000 is not an integer in the valid range",
    ),
    # attributes that compiled code trusts
    "columns of an encoder": (
        encoder(),
        other_value("OneHotEncoder", "_n_features_outs", [10**12, -(10**12)]),
        "_n_features_outs is",
    ),
    "categories of an encoder in another order": (
        encoder(),
        in_attribute(
            "OneHotEncoder",
            "categories_",
            lambda m: forging.sequence(
                *(forging.array(m, f"{i}.npy", np.unique(CELLS[:, i])[::-1]) for i in range(2)), kind="list"
            ),
        ),
        "categories_ are not in order",
    ),
    "groups of an encoder": (
        encoder(handle_unknown="infrequent_if_exist", min_frequency=4),
        in_attribute(
            "OneHotEncoder",
            "_default_to_infrequent_mappings",
            lambda m: forging.sequence(
                *(
                    forging.array(m, f"{i}.npy", np.full(len(np.unique(CELLS[:, i])), 10**9))
                    for i in range(2)
                ),
                kind="list",
            ),
        ),
        "_n_features_outs is",
    ),
    "groups of an encoder that has no groups": (
        encoder(handle_unknown="infrequent_if_exist", min_frequency=4),
        both(
            other_value("OneHotEncoder", "_infrequent_enabled", False),
            other_value("OneHotEncoder", "_n_features_outs", [1, 1]),
            in_attribute("OneHotEncoder", "_default_to_infrequent_mappings", single_group),
        ),
        "_n_features_outs is",
    ),
    "classes of a binarizer": (
        (MultiLabelBinarizer(), [["a"], ["b"]]),
        in_attribute(
            "MultiLabelBinarizer",
            "_cached_dict",
            lambda _: forging.dictionary(a=forging.value(10**9), b=forging.value(0)),
        ),
        "_cached_dict differs",
    ),
    "counts of clusters": (
        (MiniBatchKMeans(3, n_init=1, random_state=0), X),
        other_array("MiniBatchKMeans", "_counts", lambda counts: counts[:1]),
        "_counts has shape",
    ),
    "centers of fewer features": (
        (KMeans(3, n_init=1, random_state=0), X),
        other_array("KMeans", "cluster_centers_", lambda centers: centers[:, :1]),
        r"it has centers of shape \(3, 1\), but n_features_in_=4",
    ),
    "clusters without a check of the input": (
        (KMeans(3, n_init=1, random_state=0), X),
        in_attribute("KMeans", "_check_test_data", lambda _: forging.of_type("numpy", "float64")),
        "KMeans is inconsistent: the attribute '_check_test_data' hides a method",
    ),
    "clusters of another tree": (
        (KMeans(3, n_init=1, random_state=0), X),
        lambda schema, members: schema.update({"__class__": "BisectingKMeans"}),
        "contains 'sklearn.cluster.BisectingKMeans', which may not be safe",
    ),
    "averages of gradients": (
        (SGDClassifier(average=True, random_state=0), X),
        other_array("SGDClassifier", "_average_coef", lambda coef: coef[..., :1]),
        "_average_coef and coef_ differ in size",
    ),
}
for scaler, attribute in [
    (StandardScaler(), "scale_"),
    (MinMaxScaler(), "min_"),
    (MaxAbsScaler(), "scale_"),
    (RobustScaler(), "center_"),
    (PCA(2), "mean_"),
    (PCA(2), "components_"),
    (IncrementalPCA(2), "explained_variance_"),
    (TruncatedSVD(2), "components_"),
]:
    cls = type(scaler).__name__
    FORGERIES[f"{attribute} of {cls}"] = (
        (scaler, X),
        other_array(cls, attribute, lambda values: values[..., :-1]),
        f"{cls} is inconsistent: {attribute} has shape",
    )
for linear in [
    LogisticRegression(),
    Ridge(),
    RidgeClassifier(),
    ElasticNet(),
    LinearSVC(),
    LinearDiscriminantAnalysis(),
]:
    cls = type(linear).__name__
    FORGERIES[f"coef_ of {cls}"] = (
        (linear, X),
        other_array(cls, "coef_", lambda values: values[..., :-1]),
        f"{cls} is inconsistent: coef_ has shape",
    )
    FORGERIES[f"text in coef_ of {cls}"] = (
        (linear, X),
        other_array(cls, "coef_", lambda values: values.astype("U9")),
        f"{cls} is inconsistent: coef_ is not",
    )
for attribute, new in {
    "support_": lambda values: values[:-1],
    "support_vectors_": lambda values: values[:, :1],
    "_n_support": lambda values: values + np.array([10**6, -(10**6)], dtype=np.int32),
    "dual_coef_": lambda values: values[:, :1],
    "_dual_coef_": lambda values: values[:, :-1],
    "_intercept_": lambda values: values[:0],
    "_probA": lambda values: np.zeros(2),
    "classes_": lambda values: np.arange(30),
    "shape_fit_": None,
    "_sparse": None,
    "kernel": None,
    "_gamma": None,
    "_impl": None,
}.items():
    values = {
        "shape_fit_": [1, 2],
        "_sparse": True,
        "kernel": "precomputed",
        "_gamma": "x",
        "_impl": "one_class",
    }
    FORGERIES[f"{attribute} of SVC"] = (
        (SVC(), X),
        other_array("SVC", attribute, new) if new else other_value("SVC", attribute, values[attribute]),
        "SVC is inconsistent",
    )
FORGERIES["support_ of a precomputed SVC"] = (
    (SVC(kernel="precomputed"), X @ X.T),
    other_array("SVC", "support_", lambda values: values + 10**6),
    "SVC is inconsistent: support_ has indices outside",
)
FORGERIES["support_ of NuSVC"] = (
    (NuSVC(nu=0.2), X),
    other_array("NuSVC", "support_", lambda values: values[:-1]),
    "NuSVC is inconsistent",
)
FORGERIES["dual_coef_ of SVR"] = (
    (SVR(), X),
    other_array("SVR", "_dual_coef_", lambda values: values[:, :-1]),
    "SVR is inconsistent",
)


def other_sparse_attribute(name, arrays):
    def make(members):
        members["x.npz"] = forging.sparse_bytes(arrays)
        return forging.node("SparseMatrixNode", "scipy.sparse.csr_array", type="scipy", file="x.npz")

    return in_attribute("SVC", name, make)


for attribute in ("dual_coef_", "_dual_coef_", "support_vectors_"):
    FORGERIES[f"{attribute} of a sparse SVC"] = (
        (SVC(kernel="linear"), sp.csr_array(X)),
        other_sparse_attribute(attribute, TINY),
        "SVC is inconsistent",
    )


def valid_file(subject, path):
    if subject == "sparse":
        return save(SetKernelSVC().fit(SPARSE, Y), path)
    model, data = (subject, DATA.bags) if isinstance(subject, MILogisticRegression) else subject
    fit = model.fit if data is not CELLS and not isinstance(data, list) else lambda data, _: model.fit(data)
    return save(fit(data, Y), path)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    folder, paths = tmp_path_factory.mktemp("forged"), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        valid = {}
        for index, (subject, change, _) in enumerate(FORGERIES.values()):
            path = folder / f"{index}.bagwise"
            if repr(subject) not in valid:
                valid[repr(subject)] = valid_file(subject, path).read_bytes()
            path.write_bytes(valid[repr(subject)])
            paths.append(forging.forge_nodes(path, change))
    return dict(zip(FORGERIES, outcomes_of(paths), strict=True))


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_structure_is_refused(name, outcomes):
    match = FORGERIES[name][2]
    if match is None:  # the forged id is ignored
        assert outcomes[name] == "loaded"
    else:
        assert outcomes[name].startswith("ValueError: ")
        assert re.search(match, outcomes[name])
