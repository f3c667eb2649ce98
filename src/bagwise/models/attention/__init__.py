"""Networks whose attention says which instances of a bag count: trained by torch, used without it."""

from bagwise.models.attention.classifier import AttentionMILClassifier

__all__ = ["AttentionMILClassifier"]
