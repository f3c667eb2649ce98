"""`BagEnsembleClassifier`: several model families, combined on calibrated log-odds.

Every setting is linear in its score, settings are weighted and families averaged. All SVMs on one matrix
thus become one vector of coefficients, and a prediction costs one matrix per view, however large the
grid.

- `classifier`: the estimator. `families`: which families there are, which suit the data, and their cost in
  time and memory before the fit.
- `views`: kernel matrices of bags with folds (`vectors`, `sets`, `prototypes`).
- `machines`: SVMs on one matrix, cut by folds. `members`: what a fitted member of a family is.
  `kernel_part`, `linear_part`, `model_part`: the three kinds; the last two stream. `blend`: from held-out
  scores to log-odds. `vote`: their sum, and the text of ``report_``.
"""

from bagwise.models.ensemble.classifier import BagEnsembleClassifier

__all__ = ["BagEnsembleClassifier"]
