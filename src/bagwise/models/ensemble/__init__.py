"""`BagEnsembleClassifier`: several model families, combined by averaging their log-odds.

The log-odds are a weighted sum of the scores of all settings. All SVMs that share a kernel matrix are
therefore merged into one coefficient vector, so a prediction needs one matrix per kernel, regardless of the
size of the grid.

- `classifier`: the estimator. `families`: the model families, their selection for a data set, and their
  estimated cost in time and memory.
- `views`: bag kernel matrices, for all bags and for every fold (`vectors`, `sets`, `prototypes`).
  `training`: the training bags, from which predictions compute the views again.
- `machines`: SVMs on one kernel matrix, fitted to all bags and in every fold. `members`: the common interface
  of fitted family members. `kernel_part`, `linear_part`, `model_part`: the three kinds of members; the last
  two stream the data. `blend`: conversion of held-out scores to log-odds. `vote`: the combination of the
  families, and the text of ``report_``.
"""

from bagwise.models.ensemble.classifier import BagEnsembleClassifier

__all__ = ["BagEnsembleClassifier"]
