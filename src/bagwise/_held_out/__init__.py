"""What a model is worth on bags that it has not learned from, with intervals. Without a public name yet."""

from bagwise._held_out.predictions import HeldOut, predict_held_out
from bagwise._held_out.scores import Score, score_held_out

__all__ = ["HeldOut", "Score", "predict_held_out", "score_held_out"]
