"""Checks for duplicate instances and duplicate bags."""

from __future__ import annotations

import numpy as np

from bagwise.evaluation.checks.data import DataSet
from bagwise.evaluation.checks.report import Finding, count, first_few, quoted
from bagwise.evaluation.checks.rows import mix


def check_repeated_rows(data: DataSet) -> Finding:
    """Check for equal instances within a bag, in several bags, and in bags with different labels."""
    codes, bag_index = data.row_codes, data.bags.bag_index
    n_different = int(codes.max(initial=-1)) + 1
    n_repeats = len(codes) - n_different
    if n_repeats == 0:
        return Finding("ok", "repeated rows", "none.")
    # Keep each distinct row once per bag that contains it, sorted so that its bags are adjacent.
    order = np.lexsort((bag_index, codes))
    row, bag = codes[order], bag_index[order]
    once = np.ones(len(row), dtype=bool)
    once[1:] = (row[1:] != row[:-1]) | (bag[1:] != bag[:-1])
    row, bag = row[once], bag[once]
    n_within = len(codes) - len(row)
    n_shared = int((np.bincount(row, minlength=n_different) > 1).sum())

    repeat = "repeats" if n_repeats == 1 else "repeat"
    parts = [f"{n_repeats:,} of {len(codes):,} rows {repeat} an earlier row"]
    if n_within:
        first = int(bag_index[np.sort(order[~once])[0]])
        parts.append(f"{n_within:,} within the same bag (first in bag {quoted(data.bag_name(first))})")
    if n_shared:
        stand = "occurs" if n_shared == 1 else "occur"
        parts.append(f"{count(n_shared, 'distinct row')} {stand} in more than one bag")
    text = ", ".join(parts)
    if not n_shared:
        return Finding(
            "note", "repeated rows", f"{text}. If they are copies, remove them: they are counted twice."
        )
    if data.kind in ("classes", "labels"):
        same = row[1:] == row[:-1]
        label = data.label_codes[bag]
        n_mixed = len(np.unique(row[1:][same & (label[1:] != label[:-1])]))
        text += f", {n_mixed:,} of them in bags with different labels"
    return Finding(
        "note",
        "repeated rows",
        f"{text}. If they are copies, keep bags that share rows in the same fold (GroupKFold).",
    )


def check_repeated_bags(data: DataSet) -> Finding:
    """Check for bags with the same instances, in any order."""
    bags, sizes = data.bags, data.bags.sizes
    # The key of a bag is the sum of hashed row codes, so it does not depend on the order of the rows.
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
    text = f"{count(n, 'bag')} {'has' if n == 1 else 'have'} the same instances as another bag"
    if data.kind in ("classes", "labels"):
        differ = data.label_codes[copies] != data.label_codes[originals]
        if differ.any():
            i = int(np.argmax(differ))
            pair = first_few([data.bag_name(originals[i]), data.bag_name(copies[i])])
            return Finding(
                "warning",
                "repeated bags",
                f"{text}, but {'a different label' if n == 1 else 'some labels differ'} (bags {pair}): "
                "no model can predict both correctly. Correct the labels, or remove one bag of each pair.",
            )
    pair = first_few([data.bag_name(originals[0]), data.bag_name(copies[0])])
    return Finding(
        "warning",
        "repeated bags",
        f"{text} (bags {pair}). Test scores are too optimistic if one copy is in the training data and "
        "another in the test data; keep one copy of each.",
    )
