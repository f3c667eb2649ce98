"""The leaderboard: all models follow the protocol, tables agree with cells, and pages can be partial."""

import numpy as np
import pytest
from reproduction import leaderboard
from reproduction.__main__ import main
from reproduction.code import Sources
from reproduction.framework import Cell, Experiment, Report, Settings, Table
from reproduction.leaderboard_tables import (
    Board,
    against_the_best,
    cells_of,
    scaling_study,
    tables_of,
    unsettled,
    what_can_be_seen,
)
from reproduction.nested import cross_validated
from reproduction.runner import run_experiment
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline

from bagwise import Bags, BagStatistics, load_digit_bags, make_noisy_or_bags


def test_scores_equal_those_of_scikit_learn():
    data = load_digit_bags(60, random_state=0)
    bags, y = Bags(np.asarray(data.bags.instances, float), data.bags.offsets), np.asarray(data.y)
    model = make_pipeline(BagStatistics(), LogisticRegression(max_iter=5000))
    scores = cross_validated(model, bags, y, 3, 5)
    folds = StratifiedKFold(3, shuffle=True, random_state=5)
    p = cross_val_predict(model, bags, y, cv=folds, method="predict_proba")[:, 1]
    assert scores["accuracy"] == accuracy_score(y, p >= 0.5)
    assert scores["log_loss"] == pytest.approx(log_loss(y, p))
    pairs = [(roc_auc_score(y[t], p[t]), y[t].sum() * (1 - y[t]).sum()) for _, t in folds.split(y, y)]
    aucs, weights = zip(*pairs, strict=True)
    assert scores["auc"] == pytest.approx(np.average(aucs, weights=weights))
    assert [int(hit) for hit in scores["right"]] == ((p >= 0.5) == y).astype(int).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("run", leaderboard.MODELS, ids=lambda run: run.__name__)
def test_every_model_fits_with_the_protocol(run):
    if run is leaderboard.models.attention:
        pytest.importorskip("torch", reason="the network needs torch")
    data = make_noisy_or_bags(24, n_features=12, random_state=3)
    scores = cross_validated(run.__wrapped__(0), data.bags, np.asarray(data.y), 2, 0)
    assert 0.0 <= scores["accuracy"] <= 1.0 and 0.0 <= scores["auc"] <= 1.0
    assert len(scores["right"]) == 24 and scores["seconds"] > 0


def test_cell_depends_only_on_its_model():
    sources = Sources()
    modules = {part.module for part in sources.parts(leaderboard.models.bayesian_knn)}
    assert "bagwise.models.neighbors.bayesian" in modules and "reproduction.nested" in modules
    assert not any(
        module.startswith(("bagwise.models.svm", "bagwise.models.trees", "bagwise.models.prototypes"))
        for module in modules
    )


def cell(right, **others):
    hits = [int(hit) for hit in right]
    return {
        "accuracy": np.mean(hits),
        "auc": 0.9,
        "log_loss": None,
        "seconds": 2.0,
        "right": right,
        "unsettled": 0,
        **others,
    }


@pytest.fixture
def board(monkeypatch):
    """Return two models on two data sets; the second has no probabilities, and one repetition less."""
    labels = np.array([0, 1, 1, 1])
    for module in ("leaderboard_tables", "nested"):
        monkeypatch.setattr(f"reproduction.{module}.fetched", lambda dataset: (None, labels))
    results = {
        "musk1-a-0": cell("1111", log_loss=0.5),
        "musk1-a-1": cell("1110", log_loss=0.7),
        "musk1-b-0": cell("1100"),
        "fox-a-0": cell("1000", log_loss=0.1, unsettled=4),
        "fox-b-0": cell("1110"),
    }
    return Board(results, {"a": "model A", "b": "model B", "c": "not there"})


def test_tables_contain_means_errors_and_repetitions(board):
    accuracy, auc, loss, seconds = tables_of(board)
    by_model = {row["model"]: row for row in accuracy.rows}
    assert by_model["model A"]["musk1"] == "87.5 ± 12.5" and by_model["model A"]["fox"] == "25.0"
    assert by_model["model A"]["mean"] == "56.2" and by_model["model A"]["repetitions"] == "1 to 2"
    assert by_model["(larger class)"]["fox"] == "75.0"
    assert [row["model"] for row in accuracy.rows][:2] == ["model B", "model A"]  # 62.5 comes first
    assert [row["model"] for row in loss.rows] == ["model A"] and loss.rows[0]["musk1"] == "0.600 ± 0.100"
    assert auc.rows[0]["fox"] == "90.0" and seconds.rows[0]["musk1"] == "2.00 ± 0.00"


def test_every_cell_is_a_row_with_the_correct_bags(board):
    rows = cells_of(board)
    assert len(rows) == 5 and rows[1] == {
        "data": "musk1",
        "model": "model A",
        "repetition": 1,
        "accuracy": "0.75",
        "auc": "0.9",
        "log_loss": "0.7",
        "seconds": "2",
        "bags": "rrrw",
    }
    assert rows[2]["log_loss"] == ""  # model B has no probabilities


def test_fits_that_did_not_converge_are_counted(board):
    assert unsettled(board, 10).endswith("convergence warning: model A (4 of 30 fits).\n")


def test_gains_are_paired_by_bags(board):
    table = scaling_study(board, "b", ["a"])
    # Gains per bag, as a share of the repetitions: 0, 0, 1 and 1/2 for Musk1; 0, -1, -1 and 0 for Fox.
    gains = np.array([0, 0, 1, 0.5])
    error = gains.std(ddof=1) / 2
    assert table.rows[-1]["musk1"] == f"+37.5 ± {100 * error:.1f}"
    assert table.rows[-1]["fox"].startswith("-50.0 ±") and table.rows[-1]["mean"].startswith("-6.2 ±")
    assert scaling_study(board, "b", ["c"]) is None


def test_model_is_compared_with_best_here_and_best_elsewhere(board):
    """Model A is more often correct on one data set, and model B on the two others."""
    hits = (
        {"musk1": "1111", "fox": "1000", "tiger": "1000"},
        {"musk1": "1100", "fox": "1110", "tiger": "1110"},
    )
    results = {
        f"{dataset}-{model}-0": cell(right)
        for model, rights in (("a", hits[0]), ("b", hits[1]), ("e", dict.fromkeys(hits[0], "0111")))
        for dataset, right in rights.items()
    }
    rows = against_the_best(Board(results, {"a": "model A", "b": "model B", "e": "all"}), "e").rows
    first, second = rows[:2]
    assert first["best here"] == "model A (100.0)" and first["best elsewhere"] == "model B (50.0)"
    assert second["best here"] == "model B (75.0)"
    assert second["best elsewhere"] == "model A (25.0)"  # tied mean ranks: both win one data set
    gains = np.array([-1, 0, 1, 1])  # the ensemble's 0111 minus B's 1100
    error = gains.std(ddof=1) / 2
    assert first["difference from the best elsewhere"] == f"+25.0 ± {100 * error:.1f}"
    assert first["difference from the best here"] == "-25.0 ± 25.0"
    assert against_the_best(board, "not there") is None


def test_what_can_be_seen_is_so_many_errors_of_a_difference(board):
    row = what_can_be_seen(board).rows[0]
    error = np.std([0, 0, 1, 0.5], ddof=1) / 2
    assert row["bags"] == 4 and row["error of a difference (%)"] == f"{100 * error:.1f}"
    assert row["smallest detectable difference (%)"] == f"{280 * error:.1f}"
    assert row["models within this difference of the best"] == "2 of 2"


def double(value):
    return 2.0 * value


def make_experiment(**options):
    def cells(settings):
        return [Cell(f"n{n}", double, {"value": n}) for n in range(3)]

    def report(results, settings):
        return Report("Found.", [Table("Doubles", [{"n": k, "value": v} for k, v in results.items()])])

    return Experiment("doubles", "twice", "No paper.", cells, report, **options)


def test_page_is_made_from_stored_cells(tmp_path):
    experiment = make_experiment(is_partial=True)
    with pytest.raises(ValueError, match="none of its cells is stored"):
        run_experiment(experiment, Settings(), out=tmp_path, stored=True)
    run_experiment(experiment, Settings(), out=tmp_path)
    (tmp_path / "cells" / "doubles-seed0" / "n1.json").unlink()
    page = run_experiment(experiment, Settings(), out=tmp_path, stored=True).read_text()
    assert "2 of 3 cells" in page and "--stored" in page
    assert "| n2 | 4.0 |" in page and "n1" not in page


def test_report_that_needs_all_cells_is_refused_without_them(tmp_path):
    run_experiment(make_experiment(), Settings(), out=tmp_path)
    with pytest.raises(ValueError, match="doubles cannot be reported from the stored cells: it needs all"):
        run_experiment(make_experiment(), Settings(), out=tmp_path, stored=True)


def test_program_reports_missing_cells(tmp_path, capsys):
    assert main(["mimm-fig2", "--stored", "--out", str(tmp_path)]) == 2
    assert "none of its cells is stored" in capsys.readouterr().err
    assert main(["mimm-fig2", "--stored", "--fresh", "--out", str(tmp_path)]) == 2
    assert "mutually exclusive" in capsys.readouterr().err
