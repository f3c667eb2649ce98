"""Scores of instances, and the tables and findings of the pages about assumptions and instances."""

import numpy as np
import pytest
from reproduction import assumption, instances
from reproduction.framework import Settings
from sklearn.metrics import roc_auc_score

from bagwise.datasets.assumptions import KINDS


def test_auc_within_bags_is_the_weighted_mean_of_the_bags():
    rng = np.random.default_rng(0)
    bag, truth = rng.integers(6, size=80), rng.integers(2, size=80)
    truth[bag == 3] = 0  # a negative bag has no pairs
    values = np.round(rng.normal(size=80) + truth, 1)
    aucs, weights = [], []
    for index in set(bag.tolist()) - {3}:
        z = truth[bag == index]
        aucs.append(roc_auc_score(z, values[bag == index]))
        weights.append(z.sum() * (1 - z).sum())
    assert instances.auc_within(values, truth, bag) == pytest.approx(np.average(aucs, weights=weights))


def test_true_probabilities_are_calibrated_and_extreme_ones_are_not():
    rng = np.random.default_rng(0)
    log_odds = rng.normal(scale=2.0, size=20_000)
    truth = (rng.random(20_000) < 1 / (1 + np.exp(-log_odds))).astype(int)
    calibrated = instances.calibration(1 / (1 + np.exp(-log_odds)), truth)
    extreme = instances.calibration(1 / (1 + np.exp(-2 * log_odds)), truth)
    constant = instances.calibration(np.full(20_000, truth.mean()), truth)
    assert calibrated["slope"] == pytest.approx(1.0, abs=0.05) and extreme["slope"] == pytest.approx(
        0.5, abs=0.03
    )
    assert calibrated["log_loss"] < extreme["log_loss"]
    assert constant["log_loss"] == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("dataset", ["digits", "slides"])
def test_bags_are_positive_because_of_their_instances(dataset):
    data = instances.load(dataset, 20, 1)
    assert data.y.sum() == 10 and len(data.instance_y) == data.bags.n_instances
    assert (np.maximum.reduceat(data.instance_y, data.bags.offsets[:-1]) == data.y).all()


def test_page_of_instances_sorts_models_and_counts_only_probabilities():
    def cell(auc, slope):
        loss = None if slope is None else 0.5
        return {
            "auc": auc, "auc_within": auc, "precision": auc, "share": 0.1, "log_loss": loss, "slope": slope
        }  # fmt: skip

    results = {
        f"{dataset}-{model}-0": cell(auc, slope)
        for dataset in instances.DATASETS
        for model, auc, slope in (("milr_or", 0.7, 2.0), ("mi_svm", 0.9, None), ("mimm", 0.8, 0.9))
    }
    tables = {table.title: table for table in instances.report(results, Settings()).tables}
    assert [row["model"] for row in tables["AUC of instances"].rows] == [
        "MI-SVM",
        "MIMM: all features (diagonal) or ten components (full)",
        "MI logistic regression, or rule",
    ]
    slopes = tables["Calibration slope of instance probabilities"].rows
    assert [row["mean"] for row in slopes] == ["0.900", "2.000"]  # nearest to 1 first
    assert tables["Average precision of instances"].rows[-1]["digits"] == "0.100"


def test_page_of_assumptions_separates_models_by_the_tag():
    def cell(auc, uses):
        return {"train_auc": 1.0, "test_auc": auc, "can_use_absence": uses}

    results = {
        f"{kind}-{model}-{repeat}": cell(auc + 0.02 * repeat, uses)
        for kind in KINDS
        for model, auc, uses in (("milr_or", 0.9, False), ("set_kernel", 0.1, True), ("miles", 0.8, True))
        for repeat in range(2)
    }
    report = assumption.report(results, Settings())
    rows = report.tables[0].rows
    assert [row["absence"] for row in rows] == ["no", "yes", "yes"] and len(report.tables) == 1
    assert rows[0]["single concept"] == "0.91 ± 0.01 (1.00)" and rows[1]["model"] == "MILES"
    text = " ".join(report.text.split())
    assert "**1 model that cannot use absence.**" in text and "**2 models that can use absence.**" in text
    assert "1 of them are below 0.5; the exceptions are: MILES." in text and "with 2 seeds" in text
