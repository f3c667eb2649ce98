"""Bags whose truth is known: simulators, positive-unlabeled samples, copies with noise, digits.

Simulators return the labels of the instances and the parameters beside the bags, so that an
estimator can be held against the truth. Nothing in this room needs the network.
"""

from bagwise.datasets.digits import load_digit_bags
from bagwise.datasets.logistic import make_count_bags, make_noisy_or_bags
from bagwise.datasets.mixture import make_mixture_bags
from bagwise.datasets.resample import augment_bags, make_positive_unlabeled

__all__ = [
    "augment_bags",
    "load_digit_bags",
    "make_count_bags",
    "make_mixture_bags",
    "make_noisy_or_bags",
    "make_positive_unlabeled",
]
