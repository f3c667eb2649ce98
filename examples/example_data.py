"""Simulated data for the examples, in the formats that a pathologist, a chemist or a linguist uses."""

import csv
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from scipy.special import expit

from bagwise import Bags, make_noisy_or_bags, save_h5, save_parquet


def write_slides(folder, n_slides=60, n_features=32, seed=0):
    """Write slides in CLAM's format: a folder of .h5 files with features and coords, and a table of labels.

    A patch is 256 pixels wide. A tumour is a round region of a slide in which the features are shifted. Every
    patient has two slides. Returns the paths of the folder and of the table.
    """
    rng = np.random.default_rng(seed)
    direction = np.random.default_rng(99).normal(size=n_features)  # the same in all slides
    instances, coords, sizes, labels = [], [], [], []
    for index in range(n_slides):
        side = int(rng.integers(14, 20))
        grid = np.stack(np.meshgrid(np.arange(side), np.arange(side)), axis=-1).reshape(-1, 2)
        # Keep a round region, because tissue is not square.
        grid = grid[((grid - side / 2) ** 2).sum(axis=1) < (side / 2) ** 2 * rng.uniform(0.7, 1.0)]
        is_tumor = index // 2 % 2 == 1
        center = grid[rng.integers(len(grid))]
        near = ((grid - center) ** 2).sum(axis=1) < rng.uniform(4, 9)
        X = rng.normal(size=(len(grid), n_features)) + 0.3 * rng.normal(size=n_features)
        X[near & is_tumor] += 0.6 * direction
        instances.append(X.astype(np.float32))
        coords.append(grid * 256)
        sizes.append(len(grid))
        labels.append("tumor" if is_tumor else "normal")
    bags = Bags(
        np.concatenate(instances),
        np.append(0, np.cumsum(sizes)),
        ids=[f"slide_{seed}{i:03d}" for i in range(n_slides)],
        instance_columns={"coords": np.concatenate(coords)},
    )
    written = save_h5(Path(folder), bags)
    table = Path(f"{folder}_labels.csv")
    with open(table, "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["slide_id", "label", "patient"])
        rows.writerows(
            (name, label, f"p{i // 2}") for i, (name, label) in enumerate(zip(bags.ids, labels, strict=True))
        )
    for leftover in ("labels.csv", "labels.csv-metadata.json"):  # the table contains the labels
        (written / leftover).unlink(missing_ok=True)
    return written, table


def write_molecules(path, n_molecules=150, seed=0, first=0, missing=0.02):
    """Write a CSV file with one row per conformer, some empty cells, and ids with leading zeros.

    A molecule is active if a conformer has a wide angle and a small charge. A share `missing` of the
    conformers has one missing value each.
    """
    rng = np.random.default_rng(seed)
    names = ["angle", "charge", "polarity", "area", "weight"]
    with open(path, "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["molecule", "activity", "batch", "conformer", *names])
        for molecule in range(first, first + n_molecules):
            X = rng.normal(size=(rng.integers(2, 9), len(names)))
            log_odds = 2.5 * X[:, 0] - 2.5 * X[:, 1] - 4.0
            is_active = rng.random() < 1 - np.prod(expit(-log_odds))
            for conformer, values in enumerate(X):
                cells = [f"{value:.4f}" for value in values]
                if rng.random() < missing:
                    cells[rng.integers(2, len(names))] = ""
                word = "active" if is_active else "inactive"
                rows.writerow([f"{molecule:04d}", word, f"b{molecule % 40}", f"c{conformer}", *cells])
    return Path(path)


SPECIES = {  # mean features of a syllable: pitch in kHz, length in s, sweep in kHz, buzz
    "wren": (5.5, 0.25, 2.0, 0.6),
    "robin": (4.0, 0.45, 1.2, 0.2),
    "owl": (0.9, 0.80, 0.1, 0.1),
}
NOISE = (2.5, 0.40, 0.6, 0.4)  # rain, steps, a gate


def write_recordings(path, n_recordings=160, seed=0):
    """Write ten-minute recordings as a Parquet file: one row per syllable, with its time and features.

    A sheet (CSV) lists which species were heard in each recording, and whether a wren holds a territory
    there. A wren holds a territory if it sings at least three times. The column "truth" contains the true
    species of every syllable. Returns the paths of the file and of the sheet.
    """
    rng = np.random.default_rng(seed)
    centers = np.array([NOISE, *SPECIES.values()])
    spread = np.array([0.7, 0.12, 0.4, 0.12])
    instances, offsets, truth, times, rows = [], [0], [], [], []
    for index in range(n_recordings):
        # Each species is present with probability 0.45, with one to six syllables; the rest is noise.
        sung = [0, *(rng.integers(1, 7) if rng.random() < 0.45 else 0 for _ in SPECIES)]
        kinds = rng.permutation(np.repeat(np.arange(4), [rng.integers(4, 10), *sung[1:]]))
        instances.append(centers[kinds] + spread * rng.normal(size=(len(kinds), 4)))
        times.append(np.sort(rng.uniform(0, 600, len(kinds))).round(1))
        truth.append(kinds)
        offsets.append(offsets[-1] + len(kinds))
        heard = [int(n > 0) for n in sung[1:]]
        rows.append([f"rec{index:03d}", *heard, "yes" if sung[1] >= 3 else "no"])
    bags = Bags(
        np.concatenate(instances),
        np.array(offsets),
        ids=[row[0] for row in rows],
        feature_names=["pitch", "length", "sweep", "buzz"],
        instance_columns={
            "time": np.concatenate(times),
            "truth": np.array(["noise", *SPECIES])[np.concatenate(truth)],
        },
    )
    sheet = Path(path).with_suffix(".csv")
    with open(sheet, "w", newline="") as file:
        csv.writer(file).writerows([["recording", *SPECIES, "territory"], *rows])
    return save_parquet(path, bags, layout="long"), sheet


TOPICS = {
    "medicine": "doctor patient disease treatment drug dose symptom clinic infection vaccine".split(),
    "space": "orbit launch rocket satellite moon shuttle telescope gravity mission crew".split(),
    "sport": "team goal season coach league player match score win stadium".split(),
    "kitchen": "oven salt butter flour recipe garlic onion sauce bake taste".split(),
}
COMMON = "the a of and to in is was it that on for with as they this have from or one had by word".split()


def make_threads(n_threads=200, seed=0):
    """Create discussion threads (bags of posts); a thread is about medicine if at least one of its posts is.

    Returns the text and the thread of each post, and a label for each thread: whether it is about medicine.
    """
    rng = np.random.default_rng(seed)
    posts, threads, labels = [], [], []
    others = [topic for topic in TOPICS if topic != "medicine"]
    for index in range(n_threads):
        is_about = index % 2 == 0
        topics = list(rng.choice(others, rng.integers(4, 9)))
        if is_about:
            topics[rng.integers(len(topics))] = "medicine"
        for topic in topics:
            terms = [
                *rng.choice(TOPICS[topic], 4),
                *rng.choice(COMMON, 12),
                *rng.choice(TOPICS[rng.choice(others)], 1),
            ]
            posts.append(" ".join(rng.permutation(terms)))
            threads.append(f"thread {index:03d}")
        labels.append(is_about)
    return posts, threads, np.array(labels)


def write_large(path, n_bags=10_000, size=10, n_features=100, seed=0):
    """Write a Parquet file with one row per instance, by default a hundred thousand rows."""
    coef = np.zeros(n_features)
    coef[:5] = (2.0, -2.0, 1.5, -1.5, 1.0)
    data = make_noisy_or_bags(n_bags, size=size, coef=coef, intercept=-4.0, random_state=seed)
    bags = data.bags.with_instances(data.bags.instances.astype(np.float32))
    parts = ((bags[start : start + 1000], data.y[start : start + 1000]) for start in range(0, n_bags, 1000))
    return save_parquet(path, parts, layout="long")


@contextmanager
def watched_memory():
    """Record the memory of this process fifty times per second; yield lists of seconds and of added MB."""
    import psutil

    process, began, is_over = psutil.Process(), time.monotonic(), threading.Event()
    at_first = process.memory_info().rss
    seconds, megabytes = [0.0], [0.0]

    def watch():
        while not is_over.wait(0.02):
            seconds.append(time.monotonic() - began)
            megabytes.append((process.memory_info().rss - at_first) / 2**20)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield seconds, megabytes
    finally:
        is_over.set()
        watcher.join()
