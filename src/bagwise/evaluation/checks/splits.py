"""Checks of split files: patients and bags that are in training and test bags of the same fold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import Any

from bagwise._core.types import FilePath
from bagwise._display.notebook import Shown
from bagwise._display.parts import Table
from bagwise.evaluation.checks.report import count, first_few

# Names of the parts of a split, by their spelling in files.
_PARTS = {
    **dict.fromkeys(("train", "training", "fit"), "train"),
    **dict.fromkeys(("val", "valid", "validation", "tune", "dev"), "val"),
    **dict.fromkeys(("test", "testing", "held_out", "holdout"), "test"),
}
_EMPTY = {"", "nan", "none", "null", "na", "n/a"}
_TRUE, _FALSE = {"true", "1", "1.0"}, {"false", "0", "0.0"}
# Column names for bag ids, in order of preference.
_BAGS = (
    "slide_id",
    "slide",
    "bag_id",
    "bag",
    "image_id",
    "image",
    "filename",
    "file",
    "id",
    "case_id",
    "case",
)
# Last words of columns such as train_slide_path.
_LISTED = {"path", "paths", "slide", "slides", "id", "ids", "bag", "bags", "file", "files", "image", "images"}
_FOLD = re.compile(r"(^|_)(fold|split|k)s?[_ ]?\d*$")
# Suffixes of slide and feature files, which are not part of the id of a slide.
_SUFFIXES = (".h5", ".hdf5", ".pt", ".pth", ".npy", ".npz", ".csv", ".svs", ".tif", ".tiff", ".ndpi", ".mrxs")


@dataclass(frozen=True)
class Overlap:
    """Bags and patients that two parts of a fold share.

    Attributes
    ----------
    fold : str
        Name of the fold: the file, the column or the value that defines it.
    parts : (str, str)
        The two parts: "train", "val" or "test".
    bags : tuple of str
        Bags that are in both parts with the same id.
    duplicates : tuple of str
        Bags that are in both parts with ids that differ only in folder, suffix or case.
    patients : tuple of str
        Patients with bags in both parts.
    """

    fold: str
    parts: tuple[str, str]
    bags: tuple[str, ...]
    duplicates: tuple[str, ...]
    patients: tuple[str, ...]

    @property
    def is_clean(self) -> bool:
        """Whether the two parts share no bag, duplicate or patient."""
        return not (self.bags or self.duplicates or self.patients)


@dataclass(frozen=True, repr=False)
class SplitReport(Shown):
    """Result of `check_splits`.

    Attributes
    ----------
    folds : dict of str to dict
        Number of bags in every part, by fold.
    overlaps : tuple of Overlap
        One entry for every two parts of every fold.
    has_patients : bool
        Whether patients were compared.
    without_patient : tuple of str
        Bags that are not in the table of patients.
    """

    folds: Mapping[str, Mapping[str, int]]
    overlaps: tuple[Overlap, ...]
    has_patients: bool
    without_patient: tuple[str, ...] = field(default=())

    @property
    def is_clean(self) -> bool:
        """Whether no two parts of a fold share a bag, a duplicate or a patient."""
        return all(overlap.is_clean for overlap in self.overlaps)

    def table(self) -> Table:
        """Return a row for every two parts of every fold."""
        rows = [
            {
                "fold": overlap.fold,
                "parts": " / ".join(overlap.parts),
                "bags": " / ".join(f"{self.folds[overlap.fold][part]:,}" for part in overlap.parts),
                "same bags": f"{len(overlap.bags):,}",
                "duplicates": f"{len(overlap.duplicates):,}",
                **({"same patients": f"{len(overlap.patients):,}"} if self.has_patients else {}),
            }
            for overlap in self.overlaps
        ]
        return Table("", rows, n_text=2)

    def sentences(self) -> list[str]:
        """Return a sentence for every two parts that share something, and what to do about it."""
        sentences = []
        for overlap in self.overlaps:
            shared = [
                f"{count(len(names), noun)} ({first_few(names)})"
                for noun, names in (
                    ("bag", overlap.bags),
                    ("duplicate", overlap.duplicates),
                    ("patient", overlap.patients),
                )
                if names
            ]
            if shared:
                first, second = overlap.parts
                sentences.append(f"{overlap.fold}: {', '.join(shared)} in both {first} and {second}.")
        if sentences:
            sentences.append(
                "Scores on these test bags are too optimistic. Keep all bags of a patient in one part, for "
                "example with StratifiedGroupKFold or site_folds."
            )
        if self.without_patient:
            bags = count(len(self.without_patient), "bag")
            sentences.append(
                f"{bags} without a patient ({first_few(self.without_patient)}) were not compared."
            )
        if not self.has_patients:
            sentences.append("Patients were not compared, because no patient column was specified.")
        return sentences

    def _parts(self) -> list[str | Table]:
        return [self.table(), *self.sentences()]


def check_splits(
    splits: FilePath | Sequence[Any],
    *,
    patient: str | Mapping[Any, Any] | None = None,
    table: FilePath | None = None,
    bag: str | None = None,
) -> SplitReport:
    """Find patients and bags that are in two parts of a fold, such as training and test.

    Features are not needed. The formats of the files are recognized by their columns:

    - CLAM: a file per fold, with columns train, val and test that contain slide ids (``splits_0.csv``), or a
      column of slide ids and columns train, val and test with True or False (``splits_0_bool.csv``);
    - MIL_BASELINE: columns such as train_slide_path, val_slide_path and test_slide_path;
    - Patho-Bench and others: a column of slide ids and columns such as fold_0, fold_1, ... with the values
      train, val and test; or a column fold or split with the index of the fold that tests the bag.

    Parameters
    ----------
    splits : path, list of paths, or list of (train, test)
        Split files (.csv, .tsv, .txt or .xlsx), or the splits themselves, as ids of the bags or as indices.
    patient : str or mapping, optional
        Column with the patient of a bag, in the split files or in `table`; or a dictionary from bags to
        patients. Without it, only bags are compared.
    table : path, optional
        Table with the bags and their patients, such as CLAM's dataset_csv, if the split files do not contain
        them. Ids may differ in folder and suffix.
    bag : str, optional
        Column with the id of the bag; by default it is recognized by its name (slide_id, slide, bag, ...).

    Returns
    -------
    SplitReport
        ``print(report)`` shows a table and sentences; `is_clean` is False if two parts share a bag, a
        duplicate (an id that differs only in folder, suffix or case) or a patient.

    Examples
    --------
    >>> from bagwise import check_splits
    >>> patients = {"s1": "p1", "s2": "p1", "s3": "p2", "s4": "p3"}
    >>> report = check_splits([(["s1", "s3"], ["s2", "s4"])], patient=patients)
    >>> report.overlaps[0].patients, report.is_clean
    (('p1',), False)
    """
    patients: dict[str, str] = {}
    if isinstance(patient, Mapping):
        patients = {_identity(name): str(value) for name, value in patient.items()}
    if table is not None:
        if not isinstance(patient, str):
            raise ValueError("table needs patient, the name of its column with the patient of every bag.")
        patients |= _patients_of(*_read(table), str(table), patient, bag)
    items: Any = [splits] if isinstance(splits, (str, PathLike)) else splits
    folds: dict[str, dict[str, list[str]]] = {}
    for index, item in enumerate(items):
        if isinstance(item, (str, PathLike)):
            names, rows = _read(item)
            by_fold = _folds_of(names, rows, str(item), bag)
            if isinstance(patient, str) and patient in names:
                patients |= _patients_of(names, rows, str(item), patient, bag)
            file = Path(item).name
            folds |= {f"{file}: {name}" if name else file: parts for name, parts in by_fold.items()}
        else:
            folds[f"fold {index}"] = _parts_of(item)
    if not folds:
        raise ValueError("splits is empty; expected at least one file or one pair (train, test).")
    if patient is not None and not patients:
        raise ValueError(
            f"no split file has a column {patient!r}; pass table=, a table with the bags and their patients "
            "(command line: --labels FILE)."
        )
    overlaps = [
        _compare(name, pair, parts, patients)
        for name, parts in folds.items()
        for pair in combinations([part for part in ("train", "val", "test") if part in parts], 2)
    ]
    every = dict.fromkeys(bag_id for parts in folds.values() for part in parts.values() for bag_id in part)
    unknown = tuple(name for name in every if patients and _identity(name) not in patients)
    sizes = {name: {part: len(ids) for part, ids in parts.items()} for name, parts in folds.items()}
    return SplitReport(sizes, tuple(overlaps), bool(patients), unknown)


def _compare(
    fold: str, pair: tuple[str, str], parts: Mapping[str, list[str]], patients: Mapping[str, str]
) -> Overlap:
    first, second = (dict.fromkeys(parts[part]) for part in pair)
    bags = tuple(name for name in first if name in second)
    identities = {_identity(name) for name in second if name not in first}
    duplicates = tuple(name for name in first if name not in second and _identity(name) in identities)
    of_parts = [{patients.get(_identity(name)): None for name in part} for part in (first, second)]
    shared = tuple(name for name in of_parts[0] if name is not None and name in of_parts[1])
    return Overlap(fold, pair, bags, duplicates, shared)


def _identity(name: Any) -> str:
    """Return the id of a bag without its folder and suffix, in lower case."""
    text = PurePosixPath(str(name).strip().replace("\\", "/")).name.lower()
    suffix = next((suffix for suffix in _SUFFIXES if text.endswith(suffix)), "")
    return text.removesuffix(suffix)


def _parts_of(item: Any) -> dict[str, list[str]]:
    parts = list(item)
    if len(parts) != 2:
        raise ValueError(f"a split has {len(parts)} parts; expected pairs (train, test), or paths of files.")
    return {name: [str(each) for each in part] for name, part in zip(("train", "test"), parts, strict=True)}


# ------------------------------------------------------------------ files


def _read(path: FilePath) -> tuple[list[str], list[list[str]]]:
    """Return the column names of a table, and its rows as text."""
    from bagwise.io._rows import as_table

    rows = [row for _, row in as_table(Path(path)).rows()]
    if not rows:
        raise ValueError(f"{path}: the table is empty; expected a row of column names and the splits.")
    names = [name.strip() for name in rows[0]]
    width = len(names)
    return names, [[*row, *[""] * (width - len(row))][:width] for row in rows[1:]]


def _is_empty(text: str) -> bool:
    return text.strip().lower() in _EMPTY


def _part_in(name: str) -> str | None:
    """Return the part whose bags a column such as "train" or "test_slide_path" contains, or None."""
    first, *rest = re.split(r"[_ \-.]", name.lower())
    if rest and rest[-1] not in _LISTED:
        return None
    return _PARTS.get(first)


def _folds_of(
    names: list[str], rows: list[list[str]], where: str, bag: str | None
) -> dict[str, dict[str, list[str]]]:
    """Return the parts of every fold in a split file; the name of a single fold is empty."""
    columns = dict(zip(names, zip(*rows, strict=True), strict=True)) if rows else {}
    lists = {name: part for name in columns if (part := _part_in(name))}
    if "train" in lists.values() and len(set(lists.values())) > 1:
        if all(_are_flags(columns[name]) for name in lists):
            ids = _bags(columns, where, bag, besides=set(lists))
            return {
                "": {
                    part: [each for each, flag in zip(ids, columns[name], strict=True) if _is_true(flag)]
                    for name, part in lists.items()
                }
            }
        return {"": {part: _present(columns[name]) for name, part in lists.items()}}
    by_name = {name: values for name, values in columns.items() if _assigns(values)}
    if by_name:
        ids = _bags(columns, where, bag, besides=set(by_name))
        single = len(by_name) == 1
        return {"" if single else name: _assigned(ids, values) for name, values in by_name.items()}
    for name, values in columns.items():
        if _FOLD.search(name.lower()) and all(_is_empty(v) or v.strip().isdigit() for v in values):
            ids = _bags(columns, where, bag, besides={name})
            folds = sorted({int(v) for v in values if not _is_empty(v)})
            return {
                f"{name} {fold}": {
                    "train": [
                        i for i, v in zip(ids, values, strict=True) if not _is_empty(v) and int(v) != fold
                    ],
                    "test": [
                        i for i, v in zip(ids, values, strict=True) if not _is_empty(v) and int(v) == fold
                    ],
                }
                for fold in folds
            }
    raise ValueError(
        f"{where}: no splits found in the columns {', '.join(map(repr, names))}; expected columns train and "
        "test, columns such as fold_0 with the values train and test, or a column fold with an index."
    )


def _are_flags(values: Iterable[str]) -> bool:
    return all(_is_empty(value) or value.strip().lower() in _TRUE | _FALSE for value in values)


def _is_true(value: str) -> bool:
    return value.strip().lower() in _TRUE


def _present(values: Iterable[str]) -> list[str]:
    return [value.strip() for value in values if not _is_empty(value)]


def _assigns(values: Sequence[str]) -> bool:
    """Return whether a column assigns bags to parts: its values are train, val and test, or empty."""
    parts = {value.strip().lower() for value in values if not _is_empty(value)}
    return len(parts) > 1 and parts <= set(_PARTS)


def _assigned(ids: Sequence[str], values: Sequence[str]) -> dict[str, list[str]]:
    parts: dict[str, list[str]] = {}
    for each, value in zip(ids, values, strict=True):
        if not _is_empty(value):
            parts.setdefault(_PARTS[value.strip().lower()], []).append(each)
    return parts


def _bags(columns: Mapping[str, Sequence[str]], where: str, bag: str | None, besides: set[str]) -> list[str]:
    """Return the ids of the bags: a named column, or the first column without a name."""
    lower = {name.lower(): name for name in columns if name not in besides}
    name = bag if bag is not None else next((lower[usual] for usual in (*_BAGS, "") if usual in lower), None)
    if name is None or name not in columns:
        wanted = f"no column {bag!r}" if bag is not None else "no column with the id of the bag"
        raise ValueError(f"{where}: {wanted} in {', '.join(map(repr, columns))}; pass bag= (--bag COLUMN).")
    return [value.strip() for value in columns[name]]


def _patients_of(
    names: list[str], rows: list[list[str]], where: str, patient: str, bag: str | None
) -> dict[str, str]:
    """Return the patient of every bag in a table; a bag with two patients raises an error."""
    if patient not in names:
        raise ValueError(f"{where}: no column {patient!r} in {', '.join(map(repr, names))}.")
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    patients: dict[str, str] = {}
    for each, value in zip(_bags(columns, where, bag, {patient}), columns[patient], strict=True):
        name = _identity(each)
        if _is_empty(value) or not name:
            continue
        if patients.setdefault(name, value.strip()) != value.strip():
            raise ValueError(
                f"{where}: bag {each!r} has two patients, {patients[name]!r} and {value.strip()!r}; every "
                "bag needs one."
            )
    return patients
