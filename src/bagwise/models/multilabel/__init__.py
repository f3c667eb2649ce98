"""Bags with several labels: one model per label, or one model of label sets.

`per_label`: one model per label. `miml`: one model of all labels, and its likelihood.
`label_matrix`: labels as indicator matrices, even if every bag has one of several labels.
"""

from bagwise.models.multilabel.miml import MIMLLogisticRegression
from bagwise.models.multilabel.per_label import MultiLabelBagClassifier

__all__ = ["MIMLLogisticRegression", "MultiLabelBagClassifier"]
