"""Scores on held-out bags, with intervals. The command line shows them; there is no public name yet.

`predictions`: fits and held-out predictions. `scores`, `judging`, `intervals`: what they are worth.
"""

from bagwise.evaluation.held_out.judging import Judgement, judge, judge_unlabeled
from bagwise.evaluation.held_out.predictions import HeldOut, predict_held_out
from bagwise.evaluation.held_out.scores import Score, score_held_out

__all__ = [
    "HeldOut",
    "Judgement",
    "Score",
    "judge",
    "judge_unlabeled",
    "predict_held_out",
    "score_held_out",
]
