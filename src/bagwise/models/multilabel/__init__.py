"""Bags with several labels: one model per label, or one model of sets of labels.

`per_label`: one model per label. `miml`: one model of all labels, with its likelihood.
`label_matrix`: indicator matrices as labels, also of bags with one of several labels.
"""

from bagwise.models.multilabel.miml import MIMLLogisticRegression
from bagwise.models.multilabel.per_label import MultiLabelBagClassifier

__all__ = ["MIMLLogisticRegression", "MultiLabelBagClassifier"]
