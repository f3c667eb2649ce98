"""Classifiers that know what they are shown: to see what a comparison does with them."""

import os
import signal

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

# What classifiers were fitted to and asked about: numbers of bags.
FITTED: list = []
ASKED: list = []


def numbers(bags):
    """The first feature of the first instance of every bag, which tests set to the bag's number."""
    return bags.instances[np.asarray(bags.offsets)[:-1], 0].astype(int)


class Recorder(ClassifierMixin, BaseEstimator):
    """Predicts the most frequent label, and writes down which bags it sees."""

    def __init__(self, setting=0):
        self.setting = setting

    def fit(self, X, y):
        FITTED.append(numbers(X))
        self.classes_, counts = np.unique(y, return_counts=True)
        self.most_ = self.classes_[counts.argmax()]
        return self

    def predict(self, X):
        ASKED.append(numbers(X))
        return np.full(len(X), self.most_)


class Guess(ClassifierMixin, BaseEstimator):
    """Predicts by a coin that is thrown for every bag, one for every setting; labels teach it nothing."""

    def __init__(self, setting=0):
        self.setting = setting

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        coins = np.random.default_rng(self.setting).random(1000) < 0.5
        return self.classes_[coins[numbers(X)].astype(int)]


class Stops(Recorder):
    """Behaves as if somebody pressed Ctrl-C in one of its fits: when there are none left."""

    fits_left = np.inf

    def fit(self, X, y):
        if type(self).fits_left == 0:
            signal.raise_signal(signal.SIGINT)
        type(self).fits_left -= 1
        return super().fit(X, y)


class Refuses(Recorder):
    """Fails where it sees the bag with the number 0."""

    def fit(self, X, y):
        if 0 in numbers(X):
            raise ValueError("bag 0 is not to be learned from.")
        return super().fit(X, y)


class Dies(Recorder):
    """Takes the process with it, as kill -9 does, in the fit whose number the environment names."""

    fits = 0

    def fit(self, X, y):
        type(self).fits += 1
        if type(self).fits == int(os.environ.get("DIES_AT", -1)):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().fit(X, y)
