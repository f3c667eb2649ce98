"""Classifiers that record the bags they receive, to test what a comparison does."""

import os
import signal

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

# Indices of the training bags of every fit, and of the bags of every prediction.
FITTED: list = []
PREDICTED: list = []


def bag_indices(bags):
    """Return the first feature of the first instance of every bag, which tests set to the bag's index."""
    return bags.instances[np.asarray(bags.offsets)[:-1], 0].astype(int)


class Recorder(ClassifierMixin, BaseEstimator):
    """Classifier that predicts the most frequent label and records the bags."""

    def __init__(self, setting=0):
        self.setting = setting

    def fit(self, X, y):
        FITTED.append(bag_indices(X))
        self.classes_, counts = np.unique(y, return_counts=True)
        self.most_ = self.classes_[counts.argmax()]
        return self

    def predict(self, X):
        PREDICTED.append(bag_indices(X))
        return np.full(len(X), self.most_)


class Guess(ClassifierMixin, BaseEstimator):
    """Classifier with random predictions for every bag and setting, which do not depend on the labels."""

    def __init__(self, setting=0):
        self.setting = setting

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        coins = np.random.default_rng(self.setting).random(1000) < 0.5
        return self.classes_[coins[bag_indices(X)].astype(int)]


class Stops(Recorder):
    """Recorder that sends itself SIGINT, like Ctrl-C, in the fit after the next `fits_left`."""

    fits_left = np.inf

    def fit(self, X, y):
        if type(self).fits_left == 0:
            signal.raise_signal(signal.SIGINT)
        type(self).fits_left -= 1
        return super().fit(X, y)


class Refuses(Recorder):
    """Recorder that fails if the training bags contain bag 0."""

    def fit(self, X, y):
        if 0 in bag_indices(X):
            raise ValueError("bag 0 is not allowed in training.")
        return super().fit(X, y)


class Dies(Recorder):
    """Recorder that kills its process, like kill -9, in the fit that the variable DIES_AT counts."""

    fits = 0

    def fit(self, X, y):
        type(self).fits += 1
        if type(self).fits == int(os.environ.get("DIES_AT", -1)):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().fit(X, y)
