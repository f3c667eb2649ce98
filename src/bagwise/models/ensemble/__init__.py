"""`BagEnsembleClassifier`: several model families, combined on calibrated log-odds.

The log-odds are a weighted sum of the scores of all settings. All SVMs on one kernel matrix are therefore
merged into one coefficient vector, and a prediction needs one matrix per kernel, for a grid of any size.

- `classifier`: the estimator. `families`: the model families, their selection for a data set, and their
  estimated cost in time and memory.
- `views`: kernel matrices of bags, with folds (`vectors`, `sets`, `prototypes`).
- `machines`: SVMs on one matrix, for all bags and for every fold. `members`: the common interface of fitted
  family members. `kernel_part`, `linear_part`, `model_part`: the three kinds of members; the last two stream
  the data. `blend`: conversion of held-out scores to log-odds. `vote`: the sum over the families, and the
  text of ``report_``.
"""

from bagwise.models.ensemble.classifier import BagEnsembleClassifier

__all__ = ["BagEnsembleClassifier"]
