"""Checks for instances and bags that occur more than once."""

from __future__ import annotations

import numpy as np

from bagwise.evaluation.checks.data import DataSet
from bagwise.evaluation.checks.report import Finding, count, first_few, quoted
from bagwise.evaluation.checks.rows import mix


def check_repeated_rows(data: DataSet) -> Finding:
    """Look for equal instances: inside a bag, in several bags, in bags of different labels."""
    codes, bag_index = data.row_codes, data.bags.bag_index
    n_different = int(codes.max(initial=-1)) + 1
    n_repeats = len(codes) - n_different
    if n_repeats == 0:
        return Finding("ok", "repeated rows", "none.")
    # Each row once per bag that holds it, the bags of a row side by side.
    order = np.lexsort((bag_index, codes))
    row, bag = codes[order], bag_index[order]
    once = np.ones(len(row), dtype=bool)
    once[1:] = (row[1:] != row[:-1]) | (bag[1:] != bag[:-1])
    row, bag = row[once], bag[once]
    n_within = len(codes) - len(row)
    n_shared = int((np.bincount(row, minlength=n_different) > 1).sum())

    repeat = "repeats" if n_repeats == 1 else "repeat"
    parts = [f"{n_repeats:,} of {len(codes):,} rows {repeat} an earlier one"]
    if n_within:
        first = int(bag_index[np.sort(order[~once])[0]])
        parts.append(f"{n_within:,} inside a bag (first in bag {quoted(data.bag_name(first))})")
    if n_shared:
        stand = "stands" if n_shared == 1 else "stand"
        parts.append(f"{count(n_shared, 'different row')} {stand} in more than one bag")
    text = ", ".join(parts)
    if not n_shared:
        return Finding("note", "repeated rows", f"{text}. If they are copies, drop them: they count twice.")
    if data.kind in ("classes", "labels"):
        same = row[1:] == row[:-1]
        label = data.label_codes[bag]
        n_mixed = len(np.unique(row[1:][same & (label[1:] != label[:-1])]))
        text += f", {n_mixed:,} of them in bags of different labels"
    return Finding(
        "note",
        "repeated rows",
        f"{text}. If they are copies, keep bags that share rows in one fold (GroupKFold).",
    )


def check_repeated_bags(data: DataSet) -> Finding:
    """Look for bags of the same instances, in any order."""
    bags, sizes = data.bags, data.bags.sizes
    # A bag's key is the sum of scrambled row numbers: the order of its rows does not matter.
    keys = mix(data.row_codes.astype(np.uint64))
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(keys, dtype=np.uint64)])
    key = sums[bags.offsets[1:]] - sums[bags.offsets[:-1]]
    filled = np.flatnonzero(sizes > 0)
    order = filled[np.lexsort((filled, sizes[filled], key[filled]))]
    equal = (key[order[1:]] == key[order[:-1]]) & (sizes[order[1:]] == sizes[order[:-1]])
    copies, originals = order[1:][equal], order[:-1][equal]
    if len(copies) == 0:
        return Finding("ok", "repeated bags", "none.")
    n = len(copies)
    text = f"{count(n, 'bag')} {'has' if n == 1 else 'have'} the content of another"
    if data.kind in ("classes", "labels"):
        differ = data.label_codes[copies] != data.label_codes[originals]
        if differ.any():
            i = int(np.argmax(differ))
            pair = first_few([data.bag_name(originals[i]), data.bag_name(copies[i])])
            return Finding(
                "warning",
                "repeated bags",
                f"{text}, and {'its label is' if n == 1 else 'some labels are'} not the same (bags {pair}): "
                "no model can get both right. Correct the labels, or drop one of each pair.",
            )
    pair = first_few([data.bag_name(originals[0]), data.bag_name(copies[0])])
    return Finding(
        "warning",
        "repeated bags",
        f"{text} (bags {pair}). In training and test at once they make a model look better than it is; "
        "keep one of each.",
    )
