"""Advice in messages of the library, rewritten for the command line."""

from __future__ import annotations

import re

# Python advice, as a regular expression, and the advice for the command line.
_REMEDIES = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in {
        # gaps and features
        r"(contains infinity: .*); remove or impute it, for instance with OnInstances.* in a pipeline": (
            r"\1; correct the value, or leave the cell empty"
        ),
        r"remove or impute it, for instance with OnInstances\(SimpleImputer\(\)\) in a pipeline": (
            "fill the gaps, or fit the model with --impute median, which also fills the gaps of new data"
        ),
        r"Remove or impute them, for example with OnInstances\(SimpleImputer\(\)\) in a pipeline": (
            "bagwise fit and bagwise compare replace missing values by medians; correct infinite values"
        ),
        r"remove them with OnInstances\(VarianceThreshold\(\)\)": "name the other features with --features",
        r"linear and kernel models have a parameter scale; for other models use OnInstances\S+\)\)": (
            "linear and kernel models do so by default (--set scale=standard)"
        ),
        r"scale the features \(BagPipeline with OnInstances\(StandardScaler\(\)\)\)": (
            "scale the features (--set scale=standard)"
        ),
        r"approximate the kernel with features .*? or compare bags instead of instances \(.*?\)": (
            "compare bags instead of instances (--model set-kernel or statistics-cv)"
        ),
        # bags, labels and groups
        r" \((bag|label)=\.\.\.\)": r" (--\1 COLUMN)",
        r"name the column with the bag ids: bag=\.\.\.": "name the column with the bag ids: --bag COLUMN",
        r'pass missing="skip" to skip bags without a label, or "keep" to keep them': (
            "use --missing skip to skip bags without a label"
        ),
        r'pass missing="skip" to': "use --missing skip to",
        r"name the features(?: to read)?:? \(?features=\[\.\.\.\]\)?": "name the features with --features",
        r"remove them: keep = bags\.sizes > 0, then bags\[keep\], y\[keep\]": "remove them from the data",
        r"compare them with BagStatistics\(\('size',\)\) alone": (
            "compare them with the baseline 'size of the bag' in bagwise compare"
        ),
        r"pass groups=bags\.bag_columns\[.*?\] with GroupKFold \(command line: (--groups .*?)\)": r"use \1",
        r", or merge them: bags\.merge\(.*?\)": "",
        r"Shuffle them in every cross-validation: StratifiedKFold\(shuffle=True\)": (
            "bagwise fit and bagwise compare shuffle them"
        ),
        r", but most bagwise models are binary: wrap them in sklearn\S*RestClassifier or \S*Classifier": (
            ". bagwise fit trains binary models once per class (one-vs-rest)"
        ),
        r"\d+ label columns: fit one model per column, y\[:, k\]": (
            "several labels per bag: bagwise fit fits one model per label"
        ),
        r"keep bags that share rows in the same fold \(GroupKFold\)": (
            "keep bags that share rows in the same fold (--groups)"
        ),
        r"pass y == .*? \(command line: (--positive .*?)\)": r"use \1",
        r"pass the id of the one to explain": "choose the one to explain with --id",
        r"explain the model of one label, such as model\.estimators_\[0\]": "choose a label with --label",
        r"pass label=, one of": "choose one with --label:",
        # files and options
        r"pass coords=, one or two of the available columns": "choose one or two columns with --coords, from",
        r"coords=": "--coords ",
        r"; pass the folder, with format='\w+'": "; pass the folder that contains them",
        r"use scan_bags \(on the command line: --scan\) to read": "use --scan to read",
        r"(?<=; )pass, for example, '": "use --encoding, for example with '",
        r"Pass the encoding of the program": "Pass --encoding, the encoding of the program",
        r"unknown encoding (?='\S+';)": "unknown --encoding ",
    }.items()
)


def with_options(message: str) -> str:
    """Rewrite the Python advice of a message as options of the command line.

    Examples
    --------
    >>> from bagwise.cli.remedies import with_options
    >>> with_options("t.csv has no column called bag; name the column (bag=...).")
    't.csv has no column called bag; name the column (--bag COLUMN).'
    """
    for pattern, replacement in _REMEDIES:
        message = pattern.sub(replacement, message)
    return message
