"""The page on the papers' equations: its tests exist, its code runs, its names are public and linked."""

import ast
import os
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from reproduction.milr_simulations import printed_alpha_max
from reproduction.mimm_table import PRINTED, accuracy

import bagwise
from bagwise import make_noisy_or_bags, milr_path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/explanation/papers.md").read_text()
LINES = [line.strip("|") for line in PAGE.splitlines() if line.startswith("| ")]
ROWS = [[cell.strip() for cell in line.split("|")] for line in LINES]
ROWS = [row for row in ROWS if row[0] not in ("paper", "---")]
# Estimators of the papers; their docstrings refer to the page.
ESTIMATORS = [
    "ClassPriorEstimator",
    "DSDDClassifier",
    "DiscriminativeMixture",
    "LSDDClassifier",
    "MILogisticRegression",
    "MILogisticRegressionCV",
    "MIMixture",
    "MissSVC",
    "PUMILClassifier",
    "PUSetKernelClassifier",
    "PUSetKernelClassifierCV",
    "SoftORLogisticRegression",
    "pearson_class_prior",
]


def test_every_row_has_a_test_that_exists():
    assert len(ROWS) > 55
    for row in ROWS:
        path, name = re.fullmatch(r"`(tests/[\w/]+\.py)::(test_\w+)`", row[-1]).groups()
        tree = ast.parse((ROOT / path).read_text())
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, (path, name)


@pytest.mark.slow
def test_the_code_of_the_page_runs():
    for block in re.findall(r"```python\n(.*?)```", PAGE, flags=re.S):
        exec(block, {})


def test_classes_of_the_tables_are_public():
    elsewhere = {"VotingClassifier", "RBFSampler", "GridSearchCV", "NaN"}
    cells = " ".join(cell for row in ROWS for cell in row[:-1])
    for name in set(re.findall(r"`([A-Z]\w+)", cells)) - elsewhere:
        assert hasattr(bagwise, name), name


@pytest.mark.parametrize("name", ESTIMATORS)
def test_docstrings_refer_to_the_page(name):
    assert "docs/explanation/papers.md" in getattr(bagwise, name).__doc__
    assert f"`{name}" in PAGE


def test_the_page_is_linked():
    assert "docs/explanation/papers.md" in (ROOT / "README.md").read_text()
    assert "papers" in (ROOT / "docs/explanation/index.md").read_text().splitlines()


def test_the_printed_bound_of_milr_is_a_bound():
    """Section III: no feature enters at the printed lambda_max, which is far above the exact one."""
    data = make_noisy_or_bags(80, size=(1, 5), coef=[2.0, -2.0, 0.0], random_state=0)
    m, z = data.bags.sizes, data.y
    bound = np.sqrt(np.sum(m - 1) * np.sum(m ** (1.0 - 2 * z)))
    assert bound == pytest.approx(printed_alpha_max(m, z))
    path = milr_path(data.bags, data.y, alphas=np.geomspace(bound, 0.001 * bound, 20), both_ways=False)
    assert len(path.alphas) == 20 and path.n_nonzero[0] == 0 and path.n_nonzero[-1] == 3
    assert bound > 1.5 * path.alpha_max


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("BAGWISE_DATA"), reason="BAGWISE_DATA is not set")
def test_wekas_misvm_on_tiger():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = 100 * accuracy("tiger", "raw", "MISVM", 0, 10, 1, 0)
    assert ours == pytest.approx(PRINTED["tiger", "raw"][-1], abs=2.5)
