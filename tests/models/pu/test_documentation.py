"""The code on the page about positive and unlabeled bags runs and prints the documented output."""

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import f1_score, precision_score, recall_score, roc_auc_score

from bagwise import pu_report

PAGE = (Path(__file__).parents[3] / "docs/pu.md").read_text()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:negative bags seem:bagwise.exceptions.ClassPriorWarning")
def test_documentation_examples_print_the_documented_output(capsys):
    scope = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, flags=re.S):
        exec(block, scope)
    (shown,) = re.findall(r"```text\n(.*?)```", PAGE, flags=re.S)
    assert capsys.readouterr().out == shown
    test, truth = scope["test"], scope["truth"]
    assert scope["model"].score(test, truth) == pytest.approx(0.77, abs=0.005)
    assert scope["recall_aware"] > 0.5
    assert scope["estimator"].estimate_.overlap
    assert scope["printed"] > 0 and scope["printed"] != scope["corrected"]
    assert scope["search"].best_params_["kernel"].keywords["degree"] in (1, 2, 3)

    model, data, judge = scope["estimated"], scope["data"], scope["judge"]
    score = model.decision_function(test)
    called = score >= 0
    metrics = (precision_score, recall_score, f1_score)
    exact = [*(m(truth, called) for m in metrics), roc_auc_score(truth, score), np.mean(called != truth)]
    with_prior = pu_report(model, data.bags[judge], data.y[judge], class_prior=0.4, interval=(0.3, 0.5))
    with_estimate = pu_report(model, data.bags[judge], data.y[judge])
    reports = [
        [r.precision[1], r.recall[1], r.f1[1], r.auc[1], r.risk[1]] for r in (with_prior, with_estimate)
    ]
    rows = re.findall(r"^\| [^|]+ \| (0\.\d+) \| (0\.\d+) \| (0\.\d+) \|$", PAGE, flags=re.M)
    np.testing.assert_allclose(np.array(rows, dtype=float), np.transpose([exact, *reports]), atol=6e-4)
