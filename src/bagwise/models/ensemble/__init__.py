"""One classifier that is hard to beat: families of models, combined on calibrated log-odds."""

from bagwise.models.ensemble.classifier import BagEnsembleClassifier

__all__ = ["BagEnsembleClassifier"]
