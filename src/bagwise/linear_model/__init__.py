"""Linear models of instances joined to a bag rule."""

from bagwise.linear_model.logistic import MILogisticRegression

__all__ = ["MILogisticRegression"]
