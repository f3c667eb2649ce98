"""Parsers of all public data sets, tested with small files in the original formats."""

import hashlib
import io

import numpy as np
import pytest
from scipy.io import savemat

from bagwise import (
    fetch_corel2000,
    fetch_elephant,
    fetch_fox,
    fetch_hja_birdsong,
    fetch_mscv2,
    fetch_musk1,
    fetch_musk2,
    fetch_newsgroups,
    fetch_tiger,
)
from bagwise.datasets._sources import SOURCES, Source


@pytest.fixture
def publish(tmp_path, monkeypatch):
    """Return a function that replaces the original files of a data set by small ones."""
    monkeypatch.setenv("BAGWISE_DATA", str(tmp_path))

    def write(dataset, *contents):
        folder = tmp_path / "raw" / dataset
        folder.mkdir(parents=True)
        sources = []
        for old, content in zip(SOURCES[dataset], contents, strict=True):
            (folder / old.name).write_bytes(content)
            checksum = hashlib.sha256(content).hexdigest()
            sources.append(Source(old.repository, old.commit, old.path, len(content), checksum))
        monkeypatch.setitem(SOURCES, dataset, tuple(sources))

    return write


@pytest.mark.parametrize(("dataset", "fetch"), [("musk1", fetch_musk1), ("musk2", fetch_musk2)])
def test_musk_has_a_line_for_every_shape_of_a_molecule(publish, dataset, fetch):
    publish(
        dataset,
        b"MUSK-188,188_1+1,42,-198,-32768,1.\n"
        b"MUSK-188,188_1+2,43,-199,32767,1.\n"
        b"NON-MUSK-j96,j96_1+1,-1,0,1,0.\n",
    )
    data = fetch()
    assert data.bags.ids.tolist() == ["MUSK-188", "NON-MUSK-j96"] and data.y.tolist() == [1, 0]
    assert data.bags.sizes.tolist() == [2, 1] and data.bags.instances.dtype == np.int16
    assert data.bags.instances.tolist() == [[42, -198, -32768], [43, -199, 32767], [-1, 0, 1]]
    assert data.bags.instance_columns["conformation"].tolist() == ["188_1+1", "188_1+2", "j96_1+1"]
    assert data.bags.feature_names.tolist() == ["f1", "f2", "f3"]
    assert data.class_names.tolist() == ["non-musk", "musk"]
    assert "2 bags, 3 instances, 3 features" in data.DESCR


@pytest.mark.parametrize(
    ("name", "fetch"), [("elephant", fetch_elephant), ("fox", fetch_fox), ("tiger", fetch_tiger)]
)
def test_images_of_animals_leave_zeros_out(publish, name, fetch):
    publish(name, b"3 4\n0:0:1 1:2.5 4:-1\n1:0:1 2:0.25\n2:1:-1 1:1 2:2 3:3 4:4\n")
    data = fetch()
    assert data.bags.ids.tolist() == ["1", "2"] and data.y.tolist() == [1, 0]
    assert data.bags.sizes.tolist() == [2, 1] and data.bags.instances.dtype == np.float32
    assert data.bags.instances.tolist() == [[2.5, 0, 0, -1], [0, 0.25, 0, 0], [1, 2, 3, 4]]
    assert data.class_names.tolist() == [f"not {name}", name]


def test_birdsong_joins_four_files_and_counts_classes_from_zero(publish):
    publish(
        "hja_birdsong",
        b"bag_id, [segment features]\n1,0.5,1.5\n1,0.25,2.5\n2,3.5,-1.0\n",
        b"bag_id, instance_label\n1,-1\n1,3\n2,1\n",
        b"bag_id, [labels]\n1,2,3\n2,1\n",
        b"1\tBRCR - Brown Creeper\n2\tWIWR - Winter Wren\n3\tPSFL - Pacific-slope - Flycatcher\n",
    )
    data = fetch_hja_birdsong()
    assert data.bags.ids.tolist() == ["1", "2"] and data.bags.sizes.tolist() == [2, 1]
    assert data.bags.instances.tolist() == [[0.5, 1.5], [0.25, 2.5], [3.5, -1.0]]
    assert data.bags.instances.dtype == np.float32
    assert data.instance_y.tolist() == [-1, 2, 0]
    # `y` follows from the labeled segments; `y_annotated` contains the annotations of the whole recording.
    assert data.y.tolist() == [[False, False, True], [True, False, False]]
    assert data.y_annotated.tolist() == [[False, True, True], [True, False, False]]
    assert data.class_names.tolist() == ["Brown Creeper", "Winter Wren", "Pacific-slope - Flycatcher"]
    assert data.class_codes.tolist() == ["BRCR", "WIWR", "PSFL"]


def test_msrc_is_a_matlab_file_of_cells(publish):
    def cells(*parts):
        column = np.empty((len(parts), 1), dtype=object)
        column[:, 0] = [np.asarray(part, dtype=float) for part in parts]
        return column

    file = io.BytesIO()
    savemat(
        file,
        {
            "Bags": cells([[0.5, 1.0], [0.25, 2.0]], [[3.0, 4.0]]),
            "y": cells([[-1, -1, 1], [1, -1, -1]], [[-1, 1, -1]]),
            "Y": np.array([[1, -1, 1], [-1, 1, -1]]),
        },
    )
    publish("mscv2", file.getvalue())
    data = fetch_mscv2()
    assert data.bags.ids.tolist() == ["1", "2"] and data.bags.sizes.tolist() == [2, 1]
    assert data.bags.instances.tolist() == [[0.5, 1.0], [0.25, 2.0], [3.0, 4.0]]
    assert data.bags.instances.dtype == np.float32
    assert data.instance_y.tolist() == [2, 0, 1]
    assert data.y.tolist() == [[True, False, True], [False, True, False]]
    assert len(data.class_names) == 23 and data.class_names[:3].tolist() == ["building", "grass", "tree"]


def test_the_dogs_of_corel_are_sorted_by_image(publish):
    # In the file, the dogs (images 1000 to 1099) come first.
    images = [*range(1000, 1100), *range(1000), *range(1100, 2000)]
    lines = []
    for index, image in enumerate(images, start=1):
        # The first dog has two regions; two features contain the indices of image and region.
        for region in range(2 if image == 1000 else 1):
            lines.append(f"{int(image // 100 == 10)},{index},{image},{region},0,0,0,0,0,0,0.5\n")
    publish("corel2000", "".join(lines).encode())
    data = fetch_corel2000()
    assert data.bags.ids.tolist() == [str(image) for image in range(2000)]
    np.testing.assert_array_equal(data.bags.instances[:, 0], np.repeat(np.arange(2000), data.bags.sizes))
    assert data.bags[1000][:, 1].tolist() == [0, 1] and data.bags.n_instances == 2001
    np.testing.assert_array_equal(data.y, np.arange(2000) // 100)
    assert data.class_names[data.y[[0, 1050, 1999]]].tolist() == [
        "African people and villages",
        "Dogs",
        "Desserts",
    ]
    assert data.bags.feature_names[:3].tolist() == ["L", "U", "V"] and data.bags.n_features == 9


def test_newsgroups_have_labels_of_bags_and_of_posts(publish):
    publish(
        "news_sci_med",
        b"% Each line corresponds to an instance\n% Column1: Bag ID\n"
        b"1 1 1 0 0.5 0\n1 1 2 1 0 0.25\n2 0 3 0 1 1\n",
    )
    data = fetch_newsgroups("sci.med")
    assert data.bags.ids.tolist() == ["1", "2"] and data.bags.sizes.tolist() == [2, 1]
    assert data.bags.instances.tolist() == [[0.5, 0.0], [0.0, 0.25], [1.0, 1.0]]
    assert data.bags.instances.dtype == np.float32
    assert data.y.tolist() == [1, 0] and data.instance_y.tolist() == [0, 1, 0]
    assert data.class_names.tolist() == ["other", "sci.med"]
