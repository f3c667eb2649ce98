"""The page of the ensemble, which shows the finished cells."""

import numpy as np
import pytest
from reproduction.ensemble_report import report
from reproduction.framework import Settings


def cell(n_right, model):
    found = {"right": np.arange(20) < n_right, "auc": 0.9, "seconds": 1.0}
    return found | ({"log_loss": 0.4, "slope": 1.0} if model == "ensemble" else {})


def page(finished):
    results = {key: cell(n_right, key.split("-")[1]) for key, n_right in finished.items()}
    return report(results, Settings(quick=False, seed=0))


@pytest.mark.parametrize(
    "rivals", [{}, {"news_sci_med-svm-0": 18}, {"news_sci_med-svm-0": 18, "news_sci_crypt-svm-0": 10}]
)
def test_single_models_are_shown_for_problems_on_which_all_are_finished(rivals):
    found = page({"news_sci_med-ensemble-0": 19, "news_sci_crypt-ensemble-0": 15, **rivals})
    assert [row["problem"] for row in found.tables[0].rows][:2] == ["news_sci_med", "news_sci_crypt"]
    assert len(found.tables) == (3 if rivals else 1)
    if rivals:
        best = found.tables[2].rows
        assert len(best) == len(rivals)
        assert best[0]["difference"].startswith("+5.0")


def test_there_is_no_slope_where_hardly_a_bag_is_called_wrong():
    found = page({"bird_0-ensemble-0": 15, "bird_11-ensemble-0": 16})
    assert [row["slope"] for row in found.tables[0].rows] == ["1.00", "-", "1.00"]


@pytest.mark.parametrize("n_shuffles", [9, 10])
def test_a_page_says_how_far_it_is_while_it_is_not_whole(n_shuffles):
    text = page({f"bird_0-ensemble-{k}": 15 for k in range(n_shuffles)}).text
    assert ("Finished so far" in text) == (n_shuffles < 10)
    assert ("Shuffles: 10 of each problem below." in text) == (n_shuffles == 10)
