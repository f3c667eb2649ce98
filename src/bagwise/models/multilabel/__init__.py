"""Bags with several labels each: one model per label, or one model of sets of labels."""

from bagwise.models.multilabel.miml import MIMLLogisticRegression
from bagwise.models.multilabel.per_label import MultiLabelBagClassifier

__all__ = ["MIMLLogisticRegression", "MultiLabelBagClassifier"]
