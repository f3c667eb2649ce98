"""A fixed set of fuzz cases that takes a minute; ``make fuzz`` runs more."""

import os
from types import SimpleNamespace

import numpy as np
import pytest
from tests.fuzz import commands, damage, driver, estimators, relations, worker
from tests.fuzz.choosing import chosen

from bagwise import Bags
from bagwise.cli.parser import COMMANDS

# Cases of each kind, about a minute of processor time in total; estimators are split for two workers.
PARTS = [("estimators", 0, 120), ("estimators", 120, 120), ("damage", 0, 200), ("rules", 0, 150)]
PARTS += [("kernels", 0, 200), ("formats", 0, 200), ("commands", 0, 15)]
PARTS += [("forgeries", 0, 150)]
# A model file that declares an array of 16 GB; only child processes have a memory limit.
PARTS += [("damage", 6424, 1)]
# Regression cases: names of Parquet columns that are not text, wrong values in a column of a scan, a part of
# a Parquet file that Arrow cannot convert, and a scanned label that is not valid UTF-8.
FAILED_ONCE = 1372, 1995, 6521, 104061


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "first", "count"), PARTS)
def test_a_part_of_the_campaign(kind, first, count):
    tally = driver.campaign(kind, first, count)
    assert not tally.failures, f"{tally}\n\n{tally.report()}"
    assert sum(tally.outcomes.values()) == count
    assert count == 1 or tally.outcomes["good"] > 0


def test_a_few_forged_model_files():
    tally = driver.campaign("forgeries", 0, 6)
    assert not tally.failures and sum(tally.outcomes.values()) == 6, tally.report()


@pytest.mark.slow
@pytest.mark.parametrize("seed", FAILED_ONCE)
def test_a_file_that_failed_once(seed):
    outcome, message, _ = worker.play(damage.run, seed)
    assert outcome != "failed", message


def test_every_kind_has_a_share():
    assert {kind for kind, *_ in PARTS} == set(driver.SHARES)


def test_what_is_exempt_is_there():
    assert not set(estimators.EXEMPT) & set(estimators.subjects())
    assert set(commands.EXEMPT) <= {command.name for command in COMMANDS}


def test_a_new_subject_leaves_other_cases_as_they_were():
    names = [f"name{i}" for i in range(20)]
    before = [chosen(seed, names) for seed in range(500)]
    after = [chosen(seed, [*names, "new"]) for seed in range(500)]
    assert set(before) == set(names)
    assert {b for a, b in zip(before, after, strict=True) if a != b} == {"new"}


class _Tied:
    """Scores near zero whose sign depends on the other bags; the label of a single bag may be wrong."""

    classes_ = np.array([0.0, 1.0])

    def __init__(self, label_alone: float):
        self.label_alone = label_alone

    def decision_function(self, bags):
        return np.full(len(bags), 1e-15 if len(bags) == 1 else -1e-15)

    def predict(self, bags):
        return np.full(len(bags), self.label_alone if len(bags) == 1 else 0.0)


def test_numeric_labels_may_differ_where_scores_tie():
    bags = Bags(np.zeros((3, 1)), [0, 1, 3])
    case = SimpleNamespace(bags=lambda: bags, rng=np.random.default_rng(0), y=None, kind="classes")
    case.weights, case.drawn = "none", SimpleNamespace(tame=True)
    predictions = {"predict": np.zeros(2), "decision_function": np.full(2, -1e-15)}
    relations.company(case, _Tied(1.0), predictions)
    with pytest.raises(AssertionError, match="predict disagrees with decision_function"):
        relations.company(case, _Tied(0.0), predictions)


@pytest.mark.parametrize("end", ["raise ValueError('an error of numpy')", "__import__('os').abort()"])
def test_a_failure_is_reported_with_the_command_that_repeats_it(end, monkeypatch):
    """If the second case of a kind fails, the other cases still run, and its seed is reported."""
    source = f"def run(seed, only=None):\n    if seed == 8:\n        {end}\n    return ''\n"
    kind = f"broken{os.getpid()}"  # a different name in every worker
    path = driver.ROOT / "tests" / "fuzz" / f"{kind}.py"
    path.write_text(source)
    try:
        tally = driver.campaign(kind, 7, 3)
        monkeypatch.setattr(driver, "_SLICE", 2)
        both = driver.campaign(kind, 5, 5, jobs=2)  # 5 and 6, 7 and 8, 9
    finally:
        path.unlink()
    assert tally.outcomes == {"good": 2, "failed": 1}
    assert both.outcomes == {"good": 4, "failed": 1} and [seed for seed, _ in both.failures] == [8]
    assert f"python -m tests.fuzz --kind {kind} --seed 8" in tally.report()
