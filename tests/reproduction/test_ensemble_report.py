"""The page of the ensemble, which shows the finished cells."""

import numpy as np
import pytest
from reproduction.ensemble_report import report
from reproduction.framework import Settings


def cell(n_right, model):
    result = {"right": np.arange(20) < n_right, "auc": 0.9, "seconds": 1.0}
    return result | ({"log_loss": 0.4, "slope": 1.0} if model == "ensemble" else {})


def page(finished):
    results = {key: cell(n_right, key.split("-")[1]) for key, n_right in finished.items()}
    return report(results, Settings(quick=False, seed=0))


@pytest.mark.parametrize(
    "rivals", [{}, {"news_sci_med-svm-0": 18}, {"news_sci_med-svm-0": 18, "news_sci_crypt-svm-0": 10}]
)
def test_single_models_are_shown_for_problems_that_all_have_finished(rivals):
    report = page({"news_sci_med-ensemble-0": 19, "news_sci_crypt-ensemble-0": 15, **rivals})
    assert [row["problem"] for row in report.tables[0].rows][:2] == ["news_sci_med", "news_sci_crypt"]
    assert len(report.tables) == (3 if rivals else 1)
    if rivals:
        best = report.tables[2].rows
        assert len(best) == len(rivals)
        assert best[0]["difference"].startswith("+5.0")


def test_slope_is_omitted_if_few_bags_are_misclassified():
    report = page({"bird_0-ensemble-0": 15, "bird_11-ensemble-0": 16})
    assert [row["slope"] for row in report.tables[0].rows] == ["1.00", "-", "1.00"]


@pytest.mark.parametrize("n_shuffles", [9, 10])
def test_unfinished_page_reports_its_progress(n_shuffles):
    text = page({f"bird_0-ensemble-{k}": 15 for k in range(n_shuffles)}).text
    assert ("Finished so far" in text) == (n_shuffles < 10)
    assert ("Every problem below has 10 shuffles." in text) == (n_shuffles == 10)
