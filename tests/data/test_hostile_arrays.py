"""Invalid input: broken sparse matrices, masked arrays, invalid class weights."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from bagwise import (
    Bags,
    ClusterEmbedding,
    MILogisticRegression,
    MIMixture,
    SetKernelSVC,
    SingleInstanceClassifier,
    load_npz,
    make_noisy_or_bags,
)

# Error messages, with the indices and indptr of an invalid CSR matrix of shape (3, 2).
BROKEN = {
    "column 100000000, but there are 2 columns": ([0, 10**8, 1], [0, 1, 2, 3]),
    "row 2 has a value in column -1": ([0, 1, -1], [0, 1, 2, 3]),
    "indptr decreases at row 1, from 1000000000 to -1000000000": ([0, 1, 1], [0, 10**9, -(10**9), 3]),
    "indptr decreases at row 0, from 0 to -5": ([0, 1, 1], [0, -5, 2, 3]),
    "indptr ends at 9 but there are 3 values": ([0, 1, 1], [0, 1, 2, 9]),
}


def broken(indices, indptr):
    """Return an invalid matrix by changing a valid one, because scipy would refuse to create it."""
    whole = sp.csr_array(np.ones((3, 2)))
    whole.data, whole.indices, whole.indptr = np.ones(3), np.array(indices), np.array(indptr)
    return whole


@pytest.mark.parametrize("sentence", BROKEN)
def test_a_broken_csr_matrix_is_refused_wherever_it_comes_in(sentence):
    X = broken(*BROKEN[sentence])
    bags = Bags(np.zeros((3, 2)), [0, 1, 3])
    for use in (
        lambda: Bags(X, [0, 1, 3]),
        lambda: Bags.from_list([X, X]),
        lambda: Bags.from_groups(X, [0, 1, 1]),
        lambda: bags.with_instances(X),
        lambda: MILogisticRegression().fit(X, [0, 1, 1]),
        lambda: SetKernelSVC().fit([X, X], [0, 1]),
    ):
        with pytest.raises(ValueError, match=sentence):
            use()


@pytest.mark.parametrize("make", [sp.csc_array, sp.bsr_array])
def test_other_compressed_matrices_are_checked_before_they_are_turned(make):
    for whole in (make(np.kron(np.eye(2), np.ones((2, 2)))), make((4, 4))):
        np.testing.assert_array_equal(Bags(whole, [0, 1, 4]).instances.toarray(), whole.toarray())
    X = make(np.kron(np.eye(2), np.ones((2, 2))))
    X.indices[0] = 10**8
    with pytest.raises(ValueError, match=r"0 has a value in (row|column) 100000000, but there are"):
        Bags(X, [0, 1, 4])


@pytest.mark.slow
@pytest.mark.parametrize("sentence", BROKEN)
def test_a_broken_csr_matrix_in_a_file_ends_in_a_sentence(tmp_path, sentence):
    indices, indptr = BROKEN[sentence]
    path = tmp_path / "a.npz"
    np.savez(
        path,
        X_data=np.ones(3),
        X_indices=np.array(indices, dtype=np.int32),
        X_indptr=np.array(indptr),
        X_shape=np.array([3, 2]),
        offsets=np.array([0, 1, 3]),
        y=np.array([0, 1]),
    )
    # A separate process, because such files used to cause crashes or endless loops.
    code = f"import bagwise as b; b.MILogisticRegression().fit(*b.load_npz({str(path)!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "ValueError" in done.stderr
    with pytest.raises(ValueError, match=r"a\.npz' is not a readable npz file, arrays 'X_"):
        load_npz(path)


MASKED = np.ma.masked_array([[1.0, 2], [999.0, 3], [0, 1], [1, 1]], mask=[[0, 0], [1, 0], [0, 0], [0, 0]])


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_what_is_masked_is_missing(dtype):
    X = MASKED.astype(dtype)
    for bags in (
        Bags(X, [0, 2, 4]),
        Bags.from_list([X[:2], X[2:]]),
        Bags.from_list(X.reshape(2, 2, 2)),
        Bags.from_groups(X, [0, 0, 1, 1]),
        Bags(np.zeros((4, 2)), [0, 2, 4]).with_instances(X),
    ):
        np.testing.assert_array_equal(bags.instances, [[1, 2], [np.nan, 3], [0, 1], [1, 1]])
        assert bags.instances.dtype == (np.float64 if dtype is np.int64 else dtype)
    unmasked = Bags(np.ma.masked_array(X.data), [0, 2, 4])
    assert unmasked.instances.dtype == dtype and not isinstance(unmasked.instances, np.ma.MaskedArray)


def test_models_without_missing_values_refuse_what_is_masked():
    for X, y in ((MASKED, [0, 1, 0, 1]), (MASKED.reshape(2, 2, 2), [0, 1])):
        with pytest.raises(ValueError, match="NaN"):
            MILogisticRegression().fit(X, y)
    MIMixture(random_state=0).fit(MASKED.reshape(2, 2, 2), [0, 1])  # masked values are integrated out
    bags = Bags(np.arange(8.0).reshape(4, 2), [0, 2, 4])
    hidden = np.ma.masked_array([0, 1], mask=[0, 1])
    with pytest.raises(ValueError, match="y contains NaN"):
        MILogisticRegression().fit(bags, hidden)
    with pytest.raises(ValueError, match="sample_weight contains NaN"):
        MILogisticRegression().fit(bags, [0, 1], sample_weight=hidden)
    with pytest.raises(ValueError, match="cannot store NaN for masked values; fill them first"):
        Bags(bags.instances, [0, 2, 4], ids=np.ma.masked_array(["a", "b"], mask=[0, 1]))


@pytest.mark.parametrize("factor", [-2.0, np.nan, np.inf, "a", None])
def test_a_bad_class_weight_is_named_as_such(factor):
    data = make_noisy_or_bags(30, random_state=0)
    for model in (MILogisticRegression(), SetKernelSVC()):
        model.set_params(class_weight={0: 1, 1: factor})
        with pytest.raises(
            ValueError, match=rf"class_weight is {factor!r} for the class 1; expected a finite"
        ):
            model.fit(data.bags, data.y)


@pytest.mark.parametrize("cls", [sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix])
def test_sparse_instances_get_short_indices_that_scikit_learn_accepts(cls):
    X = sp.csr_array(np.random.default_rng(0).poisson(0.5, size=(60, 5)).astype(float))
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    X, y = cls(X), np.arange(12) % 2
    bags = Bags(X, np.arange(0, 61, 5))
    assert bags.instances.indices.dtype == bags.instances.indptr.dtype == np.int32
    np.testing.assert_array_equal(bags.instances.toarray(), X.toarray())
    vectors = ClusterEmbedding(3, random_state=0).fit_transform(bags)
    dense = ClusterEmbedding(3, random_state=0).fit_transform(bags.with_instances(X.toarray()))
    assert vectors.shape == dense.shape
    assert SingleInstanceClassifier().fit(bags, y).predict(bags).shape == (12,)
