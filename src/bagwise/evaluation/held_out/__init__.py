"""What a model is worth on bags that it has not learned from, with intervals. Without a public name yet."""

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
