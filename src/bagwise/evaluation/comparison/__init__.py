"""`compare`: compare models on the same cross-validation folds, with intervals and paired tests.

- `portfolio`: the default models and the baselines, with their settings and assumptions; also the family and
  the assumption of a user's model. `suited`: the default models that suit the data.
- `direction`: the positive class of text labels, chosen once for all models.
- `plan`: input validation before any computation. `perform`: the complete run. `running`: fits and
  predictions of all models in all splits, and the checkpoint of finished cells (one model in one split).
  `estimate`: the estimated time, from a small sample. `assemble`: one result per model.
- `scoring`, `differences`: scores, intervals and paired tests. `assumption`: the assumption about bag labels
  that the data support.
- `compare`, `comparison`, `results`, `table`: the public function, its results and their display.
  `with_truth`: scores of instances and bags for the demonstration.
"""

from bagwise.evaluation.comparison.compare import compare
from bagwise.evaluation.comparison.comparison import Comparison
from bagwise.evaluation.comparison.results import ModelResult

__all__ = ["Comparison", "ModelResult", "compare"]
