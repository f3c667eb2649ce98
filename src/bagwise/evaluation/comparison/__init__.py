"""`compare`: several models on the same folds, with intervals and paired tests.

- `portfolio`: the models and baselines, their settings and assumptions, and what is known of a user's model.
  `suited`: which of them suit the data.
- `plan`: what is read and refused before anything runs. `perform`: the whole run. `running`: all models
  on all splits, and how long they may take; a checkpoint keeps finished cells. `assemble`: rows.
- `scoring`, `differences`: scores, intervals, paired tests. `assumption`: what the data imply about the
  rule.
- `compare`, `comparison`, `results`, `table`: what is returned and shown. `with_truth`: the demonstration.
"""

from bagwise.evaluation.comparison.compare import compare
from bagwise.evaluation.comparison.comparison import Comparison
from bagwise.evaluation.comparison.results import ModelResult

__all__ = ["Comparison", "ModelResult", "compare"]
