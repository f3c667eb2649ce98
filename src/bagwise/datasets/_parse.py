"""Parsers for the file formats of the public data sets."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np

from bagwise.data.bags import Bags


def parse_c45(content: bytes) -> tuple[Bags, np.ndarray]:
    """Parse the Musk files of UCI: molecule, conformation, 166 integers, and a class followed by a dot."""
    rows = [line.rstrip(".").split(",") for line in content.decode("ascii").splitlines()]
    X = np.array([row[2:-1] for row in rows], dtype=np.int16)
    bags = Bags.from_groups(
        X,
        np.array([row[0] for row in rows]),
        feature_names=[f"f{j + 1}" for j in range(X.shape[1])],
        instance_columns={"conformation": np.array([row[1] for row in rows])},
    )
    return bags, bags.per_bag(np.array([int(row[-1]) for row in rows]))


def parse_indexed(content: bytes) -> tuple[Bags, np.ndarray]:
    """Parse lines ``instance:bag:label index:value ...`` after a line with the number of rows and features.

    Labels are 1 and -1, and indices start at 1. The values of missing indices are zero.
    """
    lines = content.decode("ascii").splitlines()
    n_instances, n_features = map(int, lines[0].split())
    X = np.zeros((n_instances, n_features), dtype=np.float32)
    bag, label = np.empty(n_instances, dtype=np.int64), np.empty(n_instances, dtype=np.int64)
    for i, line in enumerate(lines[1:]):
        head, *pairs = line.split()
        _, bag[i], label[i] = head.split(":")
        columns, values = zip(*(pair.split(":") for pair in pairs), strict=True)
        X[i, np.array(columns, dtype=np.int64) - 1] = np.array(values, dtype=np.float64)
    bags = Bags.from_groups(X, (bag + 1).astype(np.str_))
    return bags, (bags.per_bag(label) > 0).astype(np.int64)


def parse_birdsong(
    features: bytes, instance_labels: bytes, bag_labels: bytes, class_names: bytes
) -> dict[str, object]:
    """Parse the four text files of HJA birdsong; class indices start at 1 there, but at 0 in the result."""
    table = np.loadtxt(io.BytesIO(features), delimiter=",", skiprows=1)
    labels = np.loadtxt(io.BytesIO(instance_labels), delimiter=",", skiprows=1, dtype=np.int64)
    codes, names = zip(
        *(line.split("\t")[1].split(" - ", 1) for line in class_names.decode("ascii").splitlines()),
        strict=True,
    )
    bags = Bags.from_groups(table[:, 1:].astype(np.float32), table[:, 0].astype(np.int64).astype(np.str_))
    instance_y = np.where(labels[:, 1] > 0, labels[:, 1] - 1, -1)

    is_labelled = instance_y >= 0
    y = np.zeros((len(bags), len(names)), dtype=bool)
    y[bags.bag_index[is_labelled], instance_y[is_labelled]] = True
    annotated = np.zeros_like(y)
    for i, line in enumerate(bag_labels.decode("ascii").splitlines()[1:]):
        annotated[i, np.array(line.split(",")[1:], dtype=np.int64) - 1] = True
    return {
        "bags": bags,
        "y": y,
        "instance_y": instance_y,
        "y_annotated": annotated,
        "class_names": np.array(names),
        "class_codes": np.array(codes),
    }


def parse_mscv2(content: bytes) -> tuple[Bags, np.ndarray, np.ndarray]:
    """Parse the MATLAB file of MSRC v2, which contains cells of bags and of instance labels 1 and -1."""
    from scipy.io import loadmat

    file = loadmat(io.BytesIO(content))
    parts = list(file["Bags"][:, 0])
    ids = np.arange(1, len(parts) + 1).astype(np.str_)
    bags = Bags.from_list([part.astype(np.float32) for part in parts], ids=ids)
    instance_y = np.concatenate([part.argmax(axis=1) for part in file["y"][:, 0]])
    return bags, file["Y"] == 1, instance_y.astype(np.int64)


def parse_corel(content: bytes, *, feature_names: Sequence[str]) -> tuple[Bags, np.ndarray]:
    """Parse "Corel dogs" and restore the order of the images: 20 categories with 100 images each.

    The file starts with the 100 dogs (images 1000 to 1099), so the index of a bag is not the index of its
    image.
    """
    table = np.loadtxt(io.BytesIO(content), delimiter=",")
    code = table[:, 1].astype(np.int64)
    image = np.where(code <= 100, code + 999, np.where(code <= 1100, code - 101, code - 1))
    order = np.argsort(image, kind="stable")
    bags = Bags.from_groups(table[order, 2:], image[order].astype(np.str_), feature_names=list(feature_names))
    return bags, np.arange(len(bags)) // 100


def parse_newsgroup(content: bytes) -> tuple[Bags, np.ndarray, np.ndarray]:
    """Parse lines with bag, bag label, post, post label and 200 features, after comments with %."""
    table = np.loadtxt(io.BytesIO(content), comments="%")
    bags = Bags.from_groups(table[:, 4:].astype(np.float32), table[:, 0].astype(np.int64).astype(np.str_))
    return bags, bags.per_bag(table[:, 1]).astype(np.int64), table[:, 3].astype(np.int64)
