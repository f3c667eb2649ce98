"""The public data sets, compared with prepared arrays of the same data if both are available."""

import os
from pathlib import Path

import numpy as np
import pytest

import bagwise
from bagwise.datasets._sources import SOURCES
from bagwise.datasets.fetch import NEWSGROUPS

DATA = os.environ.get("BAGWISE_DATA")
needs_data = pytest.mark.skipif(
    not DATA, reason="BAGWISE_DATA is not set: the original files are not available"
)


def fetch(dataset):
    if dataset.startswith("news_"):
        group = next(g for g in NEWSGROUPS if "news_" + g.replace(".", "_") == dataset)
        return bagwise.fetch_newsgroups(group)
    return getattr(bagwise, f"fetch_{dataset}")()


@needs_data
@pytest.mark.parametrize("dataset", SOURCES)
def test_what_is_parsed_equals_the_prepared_arrays(dataset):
    data = fetch(dataset)
    with np.load(Path(DATA) / f"{dataset}.npz") as file:
        expected = dict(file)
    # The public file of Corel is rounded to nine decimals.
    tolerance = 1e-7 if dataset == "corel2000" else 0
    assert data.bags.instances.dtype == expected["X"].dtype
    np.testing.assert_allclose(data.bags.instances, expected["X"], rtol=0, atol=tolerance)
    assert np.array_equal(data.bags.offsets, expected["offsets"])
    assert np.array_equal(data.bags.ids, expected["bag_ids"])
    for name in ("y", "instance_y", "y_annotated", "class_names", "class_codes"):
        assert (name in data) == (name in expected)
        if name in data:
            assert np.array_equal(data[name], expected[name]), name
    if "feature_names" in expected:
        assert np.array_equal(data.bags.feature_names, expected["feature_names"])
    if "instance_ids" in expected:
        assert np.array_equal(data.bags.instance_columns["conformation"], expected["instance_ids"])
    assert f"{len(data.bags)} bags" in data.DESCR and "shuffle" in data.DESCR


def test_every_data_set_names_its_source_and_license():
    for name in (name for name in bagwise.__all__ if name.startswith("fetch_")):
        tokens = getattr(bagwise, name).__doc__.split()
        assert {"Source:", "License:", "Cite"} <= set(tokens), name


def test_an_unknown_newsgroup_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"group is 'sci\.space'; expected one of alt\.atheism, comp"):
        bagwise.fetch_newsgroups("sci.space")
