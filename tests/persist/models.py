"""Helpers to save, load, compare and forge model files."""

import hashlib
import io
import zipfile

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_regressor

from bagwise import (
    load,
    make_noisy_or_bags,
    save,
)

DATA = make_noisy_or_bags(48, size=(2, 6), coef=[2.0, -2.0, 0.0, 1.0], intercept=-1.5, random_state=7)
SPARSE = DATA.bags.with_instances(sp.csr_array(np.where(DATA.bags.instances > 0, DATA.bags.instances, 0.0)))
METHODS = ("predict", "predict_proba", "decision_function", "predict_instances", "predict_proba_instances")


def labels_for(estimator):
    return DATA.bags.instances[DATA.bags.offsets[:-1], 0] if is_regressor(estimator) else DATA.y


def round_trip(model, folder, **options):
    return load(save(model, folder / "model.bagwise"), **options)


def assert_same(first, second):
    """Compare types and values recursively, independently of skops."""
    assert type(first) is type(second)
    if isinstance(first, np.ma.MaskedArray):
        np.testing.assert_array_equal(first.mask, second.mask)
    elif isinstance(first, np.ndarray) and first.dtype != object:
        assert first.dtype == second.dtype
        np.testing.assert_array_equal(first, second)
    elif isinstance(first, (list, tuple, np.ndarray)):
        assert len(first) == len(second)
        for item, other in zip(first, second, strict=True):
            assert_same(item, other)
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


def forge(path, change):
    """Rewrite a model file with a changed archive and a valid checksum, as an attacker would."""
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


def kernel(a, b):
    return a @ b.T
