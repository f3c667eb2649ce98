"""Scores on held-out bags, with confidence intervals. The command line uses them. They are not public yet.

The loop over folds is in `bagwise.models.base.held_out`, because models also run it inside their fits.
`predictions` runs this loop with the folds of ``bagwise fit``. `scores`, `evaluate` and `intervals` compute
scores of the predictions, for the command line, report pages and comparisons.
"""

from bagwise.evaluation.held_out.evaluate import Evaluation, evaluate, evaluate_unlabeled
from bagwise.evaluation.held_out.predictions import predict_held_out
from bagwise.evaluation.held_out.scores import Score, score_held_out
from bagwise.models.base.held_out import HeldOut

__all__ = [
    "HeldOut",
    "Evaluation",
    "Score",
    "evaluate",
    "evaluate_unlabeled",
    "predict_held_out",
    "score_held_out",
]
