"""Scores on held-out bags, with intervals. The command line shows them; there is no public name yet.

The loop over folds is `bagwise.models.base.held_out`, because models run it inside their fits, too.
`predictions`: that loop with the folds of a fit. `scores`, `evaluate`, `intervals`: what its predictions are
worth, here, on pages and in comparisons.
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
