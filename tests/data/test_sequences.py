"""Sequences of symbols; their models are tested in tests/models/mixture."""

import numpy as np

from bagwise import Sequences


def test_lengths_are_those_of_the_sequences():
    sequences = Sequences.from_list([[0, 1], [2], [1, 1, 1]], n_symbols=4)
    assert sequences.lengths.tolist() == [2, 1, 3]
    assert sequences.take([2, 0]).lengths.tolist() == [3, 2]
    assert sequences.shape == (3, 4)


def test_equal_sequences_and_no_others_have_the_same_projection():
    parts = [[0, 1], [1, 0], [0], [0, 1], [0, 1, 0], [1, 1]]
    sequences = Sequences.from_list(parts, n_symbols=3)
    projections = sequences.project(np.random.RandomState(0))
    assert projections.shape == (6,) and projections[0] == projections[3]
    assert len(np.unique(projections)) == 5
    np.testing.assert_array_equal(projections, sequences.project(np.random.RandomState(0)))
    assert not np.isin(projections, sequences.project(np.random.RandomState(1))).any()
    # Projections depend on the sequences, not on their positions.
    moved = sequences.take([4, 2, 0]).project(np.random.RandomState(0))
    np.testing.assert_array_equal(moved, projections[[4, 2, 0]])
