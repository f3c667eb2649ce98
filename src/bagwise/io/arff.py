r"""Read ARFF files: WEKA's multi-instance format, in which each bag is a table inside a quoted value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bagwise._core.files.damage import reading
from bagwise._core.types import FilePath, Labels
from bagwise.data.bags import Bags
from bagwise.data.description import refuse_duplicates

_NUMERIC = ("numeric", "real", "integer")
# A value in a row: unquoted, or quoted with ' or " (quotes inside are escaped with \).
_VALUE = re.compile(r"""\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^,]*?))\s*(,|$)""", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


@dataclass
class _Attribute:
    """A column of the file: numeric, nominal, text, or relational (a nested table)."""

    name: str
    kind: str
    categories: list[str] = field(default_factory=list)
    inner: list[_Attribute] = field(default_factory=list)


def load_arff(path: FilePath) -> tuple[Bags, Labels]:
    r"""Read bags and their labels from a relational ARFF file, as written by WEKA.

    Such a file has one row per bag: its id, a relational attribute with the instances (a quoted table whose
    lines are separated by ``\n``), and the class. All attributes inside the bag are features. Nominal values
    are converted to their index (from 0) in the list in the header; ``?`` becomes NaN.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    bags : Bags
        The ids are read from the first attribute, if it precedes the relational attribute. Attributes other
        than the id, the bag and the class become bag columns.
    y : array or None
        The last attribute, if it follows the relational attribute; else None. A nominal attribute is returned
        as integers if all its declared values are integers, else as text.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from bagwise import load_arff
    >>> text = '''@relation two
    ... @attribute molecule {m1,m2}
    ... @attribute bag relational
    ...   @attribute angle numeric
    ...   @attribute charge numeric
    ... @end bag
    ... @attribute class {0,1}
    ... @data
    ... m1,"0.1,1\\n0.3,-1",1
    ... m2,"0.7,0",0
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "two.arff"
    ...     _ = file.write_text(text)
    ...     bags, y = load_arff(file)
    >>> bags, y
    (Bags(2 bags, 3 instances, 2 features), array([1, 0]))
    """
    with reading(path, "ARFF file"):
        return _read(Path(path))


def _read(path: Path) -> tuple[Bags, np.ndarray | None]:
    where = repr(str(path))
    lines = path.read_text(encoding="utf-8").splitlines()
    attributes, start = _header(lines, where)
    relational = [i for i, attribute in enumerate(attributes) if attribute.kind == "relational"]
    if len(relational) != 1:
        raise ValueError(
            f"{where} has {len(relational)} relational attributes; expected one, which contains the bags."
        )
    bag = relational[0]
    table: list[list[str | None]] = [[] for _ in attributes]
    parts: list[np.ndarray] = []
    rows: list[int] = []
    for row, line in _data(lines, start):
        values = list(_values(line, f"{where}, line {row}"))
        if len(values) != len(attributes):
            raise ValueError(
                f"{where}, line {row}: got {len(values)} values; expected {len(attributes)}, one per "
                "attribute; is the file truncated?"
            )
        parts.append(_matrix(values[bag] or "", attributes[bag], f"{where}, line {row}"))
        rows.append(row)
        for column, value in zip(table, values, strict=True):
            column.append(value)
    if not parts:
        raise ValueError(f"{where} has no bags after @data.")
    label = len(attributes) - 1 if bag < len(attributes) - 1 else None
    name = 0 if bag > 0 else None
    for i, value_name in ((name, "bag id"), (label, "label")):
        if i is not None and None in table[i]:
            raise ValueError(f"{where}, line {rows[table[i].index(None)]}: the {value_name} is missing.")
    ids = None if name is None else np.array(table[name])
    if ids is not None:
        refuse_duplicates(ids.tolist(), where, lambda i: f"line {rows[i]}")
    bags = Bags.from_list(
        parts,
        ids=ids,
        feature_names=[attribute.name for attribute in attributes[bag].inner],
        bag_columns={
            attribute.name: _column(attribute, table[i], where)
            for i, attribute in enumerate(attributes)
            if i not in (name, bag, label)
        },
    )
    return bags, None if label is None else _column(attributes[label], table[label], where)


def _header(lines: list[str], where: str) -> tuple[list[_Attribute], int]:
    """Read the declarations; return the attributes and the index of the line after @data."""
    attributes: list[_Attribute] = []
    into = attributes
    for i, line in enumerate(lines, start=1):
        word, _, rest = line.strip().partition(" ")
        keyword = word.lower()
        if keyword == "@attribute":
            attribute = _declaration(rest.strip(), f"{where}, line {i}")
            into.append(attribute)
            if attribute.kind == "relational":
                into = attribute.inner
        elif keyword == "@end":
            into = attributes
        elif keyword == "@data":
            return attributes, i
    raise ValueError(f"{where} has no @data section; it is truncated or not an ARFF file.")


def _declaration(text: str, where: str) -> _Attribute:
    match = re.fullmatch(r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\S+)\s+(.+)""", text)
    if match is None:
        raise ValueError(f"{where}: an attribute needs a name and a type; got {text!r}.")
    name, kind = match[1], match[2].strip()
    if name[0] in "'\"":
        name = _unescaped(name[1:-1])
    if kind.startswith("{"):
        categories = [category or "?" for category in _values(kind.strip("{} "), where)]
        return _Attribute(name, "nominal", categories)
    kind = kind.split()[0].lower()
    return _Attribute(name, "numeric" if kind in _NUMERIC else kind)


def _data(lines: list[str], start: int) -> Iterator[tuple[int, str]]:
    for i, line in enumerate(lines[start:], start=start + 1):
        if line.strip() and not line.lstrip().startswith("%"):
            yield i, line.strip()


def _values(line: str, where: str) -> Iterator[str | None]:
    """Split a row at its commas; an unquoted question mark becomes None."""
    start, comma = 0, ","
    while comma:
        match = _VALUE.match(line, start)
        if match is None or (match[3] or "").startswith(("'", '"')):
            raise ValueError(f"{where}: the quote at column {start + 1} is not closed.")
        quoted = match[1] if match[1] is not None else match[2]
        if quoted is not None:
            yield _unescaped(quoted)
        else:
            yield None if match[3] == "?" else match[3]
        start, comma = match.end(), match[4]


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text, flags=re.DOTALL)


def _matrix(text: str, bag: _Attribute, where: str) -> np.ndarray:
    """Read the table inside a bag."""
    rows = [row.strip() for row in text.split("\n") if row.strip()]
    X = np.zeros((len(rows), len(bag.inner)))
    for i, row in enumerate(rows):
        if row.startswith("{"):  # sparse row: pairs of index and value, without zeros
            pairs = [pair.strip() for pair in row.strip("{}").split(",") if pair.strip()]
            cells = [_cell(pair, len(bag.inner), where) for pair in pairs]
        else:
            values = list(_values(row, where))
            if len(values) != len(bag.inner):
                raise ValueError(
                    f"{where}: instance {i} of the bag has {len(values)} values; expected "
                    f"{len(bag.inner)}, one per feature."
                )
            cells = list(enumerate(values))
        for j, value in cells:
            X[i, j] = _numeric_value(value, bag.inner[j], where)
    return X


def _cell(pair: str, n_features: int, where: str) -> tuple[int, str | None]:
    """Read an index and a value of a sparse row."""
    index, _, value = pair.partition(" ")
    if not (index.isascii() and index.isdigit() and int(index) < n_features and value.strip()):
        raise ValueError(
            f"{where}: got {pair!r} in a sparse row; expected an index from 0 to {n_features - 1} "
            "and a value."
        )
    return int(index), _bare(value.strip())


def _bare(value: str) -> str | None:
    if value[:1] in ("'", '"'):
        return _unescaped(value[1:-1])
    return None if value == "?" else value


def _numeric_value(value: str | None, attribute: _Attribute, where: str) -> float:
    if value is None:
        return np.nan
    try:
        return float(attribute.categories.index(value)) if attribute.kind == "nominal" else float(value)
    except ValueError:
        expected = "one of its declared values" if attribute.kind == "nominal" else "a number"
        raise ValueError(
            f"{where}: {value!r} is not a value of the attribute {attribute.name!r}; expected {expected}."
        ) from None


def _column(attribute: _Attribute, values: list[str | None], where: str) -> np.ndarray:
    """Convert a bag column to an array of numeric or text values."""
    if attribute.kind == "numeric":
        return np.array([_numeric_value(value, attribute, where) for value in values])
    if attribute.kind == "nominal":
        unknown = [value for value in values if value is not None and value not in attribute.categories]
        if unknown:
            raise ValueError(f"{where}: {unknown[0]!r} is not a declared value of {attribute.name!r}.")
        if all(re.fullmatch(r"[+-]?\d+", word) for word in attribute.categories) and None not in values:
            return np.array([int(value or 0) for value in values])
    return np.array([value or "" for value in values])
