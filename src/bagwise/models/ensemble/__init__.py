"""One classifier that is hard to beat: families of models, combined on calibrated log-odds."""

from bagwise.ensemble.classifier import BagEnsembleClassifier

__all__ = ["BagEnsembleClassifier"]
