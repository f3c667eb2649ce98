"""Forged model files: the nodes of a valid file are recombined, and arrays and values replaced.

`damage` changes bytes, so most of its files are not archives any more. Here, every file has a valid checksum,
archive and schema, as an attacker would write it: a node gets another loader, type, id or file, nodes are
swapped, attributes are added and removed, and nodes are inserted that would call types with large arguments,
assign the attributes of sparse matrices, or move the position of a random state. Loading must raise a
ValueError or return a model. All methods of the model must end without a crash, with or without an error.
"""

from __future__ import annotations

import copy
import functools
import io
import json
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.cluster import MiniBatchKMeans
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR
from tests.fuzz.choosing import chosen, generator
from tests.fuzz.damage import read_or_refused
from tests.fuzz.judging import shown
from tests.persist import forging

from bagwise import BagStatistics, MILogisticRegression, load, make_noisy_or_bags, save
from bagwise.persist.known_types import _LOADERS
from bagwise.testing import all_estimators, example_of

_METHODS = ("predict", "predict_proba", "decision_function", "transform", "predict_instances")
_METHODS += ("predict_proba_instances", "decision_function_instances", "partial_fit")
_PAIRS = sorted((name, loader) for name, loaders in _LOADERS.items() for loader in loaders)
_LOADER_NAMES = sorted({loader for _, loader in _PAIRS} | {"CachedNode", "MethodNode", "OperatorFuncNode"})
_LOADER_NAMES += ["PartialNode", "TreeNode", "BytearrayNode"]
_STRANGE = ("os.system", "builtins.eval", "builtins.map", "operator.methodcaller", "functools.partial")
_STRANGE += ("sklearn.tree._tree.Tree", "scipy.sparse._csr.csr_array", "numpy._core.numeric.ndarray")
_VALUES = (0, -1, 2**31, 10**12, 2**63, 1e308, None, True, "x", "precomputed", [], {}, [1, 2], [[]] * 9)
_STATES = [np.random.MT19937(0).state, np.random.Philox(0).state, np.random.PCG64(0).state]
_DATA = make_noisy_or_bags(24, size=(2, 5), coef=[2.0, -2.0, 0.0, 1.0], intercept=-1.5, random_state=7)
_SPARSE = _DATA.bags.with_instances(
    sp.csr_array(np.where(_DATA.bags.instances > 0, _DATA.bags.instances, 0.0))
)


def _third_party() -> dict[str, Any]:
    """Return models of scikit-learn, most of which have compiled code that trusts their attributes."""
    return {
        "SVC": SVC(),
        "SVC probability": SVC(kernel="poly", probability=True, random_state=0),
        "SVC precomputed": SVC(kernel="precomputed"),
        "SVC sparse": SVC(kernel="linear"),
        "SVR": SVR(),
        "statistics, SVC": make_pipeline(BagStatistics(), StandardScaler(), SVC()),
        "scalers": make_pipeline(MinMaxScaler(), PCA(2, random_state=0), LogisticRegression()),
        "SGDClassifier": SGDClassifier(average=True, random_state=0),
        "MiniBatchKMeans": MiniBatchKMeans(3, n_init=1, random_state=0),
        "OneHotEncoder": OneHotEncoder(
            sparse_output=False, handle_unknown="infrequent_if_exist", min_frequency=2
        ),
        "KBinsDiscretizer": KBinsDiscretizer(3, encode="onehot-dense"),
        "search": GridSearchCV(MILogisticRegression(), {"alpha": [1.0, 2.0]}, scoring="roc_auc", cv=2),
        "RandomState": MILogisticRegression(random_state=np.random.RandomState(0)),
        "Generator": MILogisticRegression(random_state=0),
    }


def subjects() -> list[str]:
    """Return the names of all models."""
    names = [cls.__name__ for cls in all_estimators()]
    return [*names, *(f"{name}, CSR" for name in names if name in _READ_SPARSE), *_third_party()]


# Estimators that also have a file with sparse instances.
_READ_SPARSE = (
    "MILogisticRegression",
    "SetKernelSVC",
    "MISVC",
    "CitationKNNClassifier",
    "PrototypeEmbedding",
)


@functools.cache
def _whole(name: str) -> tuple[bytes, list[Any]]:
    """Return the file of a model, and the data that its methods are called with."""
    third_party = _third_party()
    bags, y = (_SPARSE if name.endswith(", CSR") else _DATA.bags), _DATA.y
    if name in third_party:
        model, data = third_party[name], [bags]
        if not hasattr(model, "steps") or name == "scalers":
            X = bags.instances[: len(y)]
            X = np.round(X) if name == "OneHotEncoder" else X @ X.T if "precomputed" in name else X
            data = [sp.csr_array(X) if "sparse" in name else X]
        if name in ("search", "RandomState", "Generator"):
            data = [bags]
    else:
        cls = next(cls for cls in all_estimators() if cls.__name__ == name.removesuffix(", CSR"))
        model, data = clone(example_of(cls)), [bags]
        y = (
            bags.instances[bags.offsets[:-1], 0]
            if getattr(model, "_estimator_type", "") == "regressor"
            else y
        )
    model.fit(data[0], y)
    if name == "Generator":
        model.generators_ = [np.random.Generator(bits(0)) for bits in (np.random.MT19937, np.random.Philox)]
    with tempfile.TemporaryDirectory(prefix="fuzz") as folder:
        content = save(model, Path(folder) / "model.bagwise").read_bytes()
    rows = data[0][:3]
    return content, [*data, rows]


def run(seed: int, only: str | None = None) -> str:
    """Forge one model file, load it, and call all methods of the model."""
    rng = generator("forgeries", seed)
    name = only or chosen(seed, subjects())
    content, data = _whole(name)
    story = [name]
    with tempfile.TemporaryDirectory(prefix="fuzz") as folder:
        path = Path(folder) / "model.bagwise"
        path.write_bytes(content)
        schema, members = forging.members_of(path)
        try:
            for _ in range(int(rng.integers(1, 3))):
                way = _WAYS[rng.integers(len(_WAYS))]
                try:
                    story.append(f"{way.__name__[1:]} {way(schema, members, rng)}")
                except (AttributeError, IndexError, KeyError, TypeError):
                    story.append(f"{way.__name__[1:]} of a node that is changed already")
            forging.write_members(path, schema, members)
            model = read_or_refused(lambda: load(path), [path], "forged")
            story += _call_all(model, data)
        except Exception as end:
            end.add_note(", ".join(story))
            raise
    return ", ".join(story)


def _call_all(model: Any, data: list[Any]) -> list[str]:
    """Call the methods of a model, which may raise any error; return the errors."""
    errors = []
    for X in data:
        for method in _METHODS:
            try:
                getattr(model, method)(X)
            except AttributeError:
                pass
            except Exception as error:
                errors.append(f"{method}: {shown(error)}")
    for value in [getattr(model, "random_state", None), *getattr(model, "generators_", [])]:
        if isinstance(value, (np.random.RandomState, np.random.Generator)):
            value.bytes(10_000)
    return errors


# ---------------------------------------------------------------- changes of a file


def _draw(items: list[Any], rng: np.random.Generator) -> Any:
    return items[rng.integers(len(items))]


def _any_node(schema: Any, rng: np.random.Generator) -> Any:
    return _draw(list(forging.all_nodes(schema))[1:], rng)


def _become(node: dict[str, Any], other: dict[str, Any]) -> None:
    node.clear()
    node.update(copy.deepcopy(other))


def _loader(schema: Any, members: Any, rng: np.random.Generator) -> str:
    node = _any_node(schema, rng)
    node["__loader__"] = _draw(_LOADER_NAMES, rng)
    return f"{node['__class__']} by {node['__loader__']}"


def _type(schema: Any, members: Any, rng: np.random.Generator) -> str:
    node = _any_node(schema, rng)
    name = _draw(_STRANGE, rng) if rng.random() < 0.2 else _draw(_PAIRS, rng)[0]
    node["__module__"], _, node["__class__"] = name.rpartition(".")
    return f"{name} by {node['__loader__']}"


def _type_of_loader(schema: Any, members: Any, rng: np.random.Generator) -> str:
    """Another type that the same loader restores."""
    node = _any_node(schema, rng)
    names = [name for name, loader in _PAIRS if loader == node["__loader__"]] or ["builtins.list"]
    name = _draw(names, rng)
    node["__module__"], _, node["__class__"] = name.rpartition(".")
    return name


def _swap(schema: Any, members: Any, rng: np.random.Generator) -> str:
    first, second = _any_node(schema, rng), _any_node(schema, rng)
    before, after = copy.deepcopy(first), copy.deepcopy(second)
    _become(first, after)
    _become(second, before)
    return f"{before['__class__']} and {after['__class__']}"


def _swap_kind(schema: Any, members: Any, rng: np.random.Generator) -> str:
    """Swap two attributes of the same kind, such as two arrays."""
    first = _any_node(schema, rng)
    alike = [node for node in forging.all_nodes(schema) if node["__loader__"] == first["__loader__"]]
    second = _draw(alike, rng)
    before, after = copy.deepcopy(first), copy.deepcopy(second)
    _become(first, after)
    _become(second, before)
    return str(before["__class__"])


def _identity(schema: Any, members: Any, rng: np.random.Generator) -> str:
    node, other = _any_node(schema, rng), _any_node(schema, rng)
    node["__id__"] = other.get("__id__", 7)
    return f"{node['__class__']} as {other['__class__']}"


def _file(schema: Any, members: Any, rng: np.random.Generator) -> str:
    readers = [node for node in forging.all_nodes(schema) if "file" in node]
    if not readers:
        return "none"
    node = _draw(readers, rng)
    node["file"] = _draw([*sorted(members), "schema.json", "absent.npy"], rng)
    return str(node["file"])


def _attribute(schema: Any, members: Any, rng: np.random.Generator) -> str:
    """Remove an attribute, or add one that may hide a method or a constant of the class."""
    objects = [node for node in forging.all_nodes(schema) if node["__loader__"] == "ObjectNode"]
    node = _draw(objects, rng)
    if not isinstance(node.get("content"), dict) or not isinstance(node["content"].get("content"), dict):
        return "none"
    attributes = node["content"]["content"]
    if rng.random() < 0.5 and attributes:
        name = _draw(sorted(attributes), rng)
        index = list(attributes).index(name)
        del attributes[name], node["content"]["key_types"]["content"][index]
        return f"without {name}"
    name = _draw(["_impl", "_sparse_kernels", "predict", "__dict__", "__class__", "steps", "classes_"], rng)
    if name not in attributes:
        node["content"]["key_types"]["content"].append(forging.of_type("builtins", "str"))
    attributes[name] = copy.deepcopy(_any_node(schema, rng))
    return f"with {name}"


def _json(schema: Any, members: Any, rng: np.random.Generator) -> str:
    nodes = [node for node in forging.all_nodes(schema) if node["__loader__"] == "JsonNode"]
    node, item = _draw(nodes, rng), _draw(_VALUES, rng)
    was, node["content"] = node["content"], json.dumps(item)
    return f"{was} is {item!r}"


def _insert(schema: Any, members: Any, rng: np.random.Generator) -> str:
    """Replace a node by one that would take memory, or read other memory."""
    node = _any_node(schema, rng)
    much = forging.value(10**9)
    typed = forging.node("ConstructorFromReduceNode", _draw(_PAIRS, rng)[0])
    state = copy.deepcopy(_draw(_STATES, rng))
    state["buffer_pos"] = state["pos"] = _draw([-1, 5, 625, 2**31 - 5], rng)
    if "pos" in state["state"]:
        state["state"]["pos"] = state["pos"]
    shared = {**forging.sequence(*([forging.value(1)] * 9), kind="list"), "__id__": 10**6}
    for depth in range(8):
        shared = {**forging.sequence(shared, shared, kind="list"), "__id__": 10**6 + depth + 1}
    makers = {
        "a call": lambda: forging.call("builtins.list", forging.call("builtins.range", much)),
        "a call of a known type": lambda: {**typed, "content": _items()},
        "a long range": lambda: forging.call("builtins.range", much),
        "a sparse object": lambda: forging.sparse_object(members, 4),
        "a sparse matrix": lambda: _sparse(members, rng),
        "a random state": lambda: forging.random_state(int(_draw([-1, 0, 624, 625, 2**31 - 5], rng))),
        "a generator": lambda: forging.generator(state, pool_size=int(_draw([0, 4, 10**8], rng))),
        "a claimed array": lambda: _claimed(members, rng),
        "shared lists": lambda: forging.node(
            "NdArrayNode", "numpy.ndarray", type="json", content=[shared, shared],
            shape=forging.sequence(forging.value(2), forging.value(2)),
        ),
    }  # fmt: skip

    def _items() -> dict[str, Any]:
        arguments = [much, forging.value([1, 2]), copy.deepcopy(_any_node(schema, rng))]
        return forging.sequence(*arguments[: rng.integers(1, 4)])

    name = _draw(list(makers), rng)
    identity = node.get("__id__")
    _become(node, makers[name]())
    if rng.random() < 0.5 and identity is not None:
        node["__id__"] = identity
    return f"{name} for {node['__class__']}"


def _claimed(members: dict[str, bytes], rng: np.random.Generator) -> dict[str, Any]:
    name = str(_draw(["x.bin", "x.npy", "x"], rng))
    members[name] = forging.claimed_array((10**13,), str(_draw(["<f8", "<U0", "|b1"], rng)))
    return forging.node("NdArrayNode", "numpy.ndarray", type="numpy", file=name)


def _sparse(members: dict[str, bytes], rng: np.random.Generator) -> dict[str, Any]:
    index = int(_draw([0, 3, -1, 10**6, 2**31 - 7], rng))
    data: Any = [1.0]
    if rng.random() < 0.5:
        data = forging.claimed_array((3 * 10**8,)) + bytes(10**7)
    arrays = forging.sparse_arrays(data, [index], [0, 1], (1, 4))
    name = str(_draw(["y.npz", "y.npy", "y"], rng))
    members[name] = forging.sparse_bytes(arrays, _draw([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED], rng))
    kind = _draw(["csr_array", "csc_array", "csr_matrix"], rng)
    return forging.node("SparseMatrixNode", f"scipy.sparse.{kind}", type="scipy", file=name)


def _protocol(schema: Any, members: Any, rng: np.random.Generator) -> str:
    schema["protocol"] = _draw([0, 1, 3, True, None, "2"], rng)
    return str(schema["protocol"])


def _array(schema: Any, members: dict[str, bytes], rng: np.random.Generator) -> str:
    """Replace an array by one of another shape, dtype or content."""
    # Inserted members have no digits, and may declare any size.
    names = sorted(name for name in members if name.endswith((".npy", ".npz")) and name[0].isdigit())
    if not names:
        return "none"
    name = _draw(names, rng)
    if name.endswith(".npz"):
        with zipfile.ZipFile(io.BytesIO(members[name])) as archive:
            arrays = {inner.removesuffix(".npy"): archive.read(inner) for inner in archive.namelist()}
        inner = _draw(sorted(arrays), rng)
        change, changed = _changed(np.load(io.BytesIO(arrays[inner])), rng)
        arrays[inner] = forging.array_bytes(changed)
        members[name] = forging.sparse_bytes(arrays)
        return f"{inner} of {name}: {change}"
    change, changed = _changed(np.load(io.BytesIO(members[name])), rng)
    members[name] = forging.array_bytes(changed)
    return f"{name}: {change} {changed.shape} {changed.dtype}"


def _changed(a: np.ndarray, rng: np.random.Generator) -> tuple[str, np.ndarray]:
    way = rng.integers(11)
    numeric, whole = a.dtype.kind in "iufb", a.dtype.kind in "iu"
    if way == 0 and a.ndim and len(a):
        return "shorter", a[: int(rng.integers(len(a)))]
    if way == 1 and a.ndim > 1:
        return "narrower", a[:, :-1]
    if way == 2:
        return "twice", np.concatenate([a, a]) if a.ndim else np.append(a, a)
    if way == 3:
        return "transposed", a.T
    if way == 4 and numeric:
        return "float32", a.astype(np.float32)
    if way == 5 and numeric:
        return "text", a.astype("U9")
    if way in (6, 7) and whole and a.size:
        a = a.copy()
        extremes = [2**30, -1, -(2**30), 10**6, np.iinfo(a.dtype).max, np.iinfo(a.dtype).min]
        with np.errstate(over="ignore"):
            extreme = np.array(extremes).astype(a.dtype)[rng.integers(6)]
        if way == 6:
            a.flat[rng.integers(a.size)] = extreme
            return f"one is {extreme}", a
        return f"all are {extreme}", np.full_like(a, extreme)
    if way == 8 and a.dtype.kind == "f":
        return "not finite", np.full_like(a, _draw([np.nan, np.inf, 1e308, -1e308], rng))
    if way == 9 and numeric:
        return "big-endian", a.astype(a.dtype.newbyteorder(">"))
    return "permuted", rng.permutation(a.ravel()).reshape(a.shape)


_WAYS = (_loader, _type, _type_of_loader, _swap, _swap_kind, _identity, _file, _attribute, _json, _insert)
_WAYS += (_insert, _protocol, _array, _array, _array)
