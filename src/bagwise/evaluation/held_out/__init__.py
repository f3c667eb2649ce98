"""Scores on held-out bags, with intervals. The command line shows them; there is no public name yet.

The loop over folds is `bagwise.models.base.held_out`, because models run it inside their fits, too.
`predictions`: that loop with the folds of a fit. `scores`, `judging`, `intervals`: what its predictions are
worth, here, on pages and in comparisons.
"""

from bagwise.evaluation.held_out.judging import Judgement, judge, judge_unlabeled
from bagwise.evaluation.held_out.predictions import predict_held_out
from bagwise.evaluation.held_out.scores import Score, score_held_out
from bagwise.models.base.held_out import HeldOut

__all__ = [
    "HeldOut",
    "Judgement",
    "Score",
    "judge",
    "judge_unlabeled",
    "predict_held_out",
    "score_held_out",
]
