"""Data to learn from: simulators with known truth, digit bags, and the public benchmarks of the field.

Simulators also return the labels of the instances and the parameters, so that an estimator can be
compared with the truth. Only the ``fetch_`` functions need the network; downloads are checked and cached.

- `logistic`, `mixture`: simulators; `_draw` is what they share. `resample`: new data sets from existing
  bags.
- `digits`: digit bags. `fetch`: public data (`_sources`, `_download`, `_parse`).
"""

from bagwise.datasets.digits import load_digit_bags
from bagwise.datasets.fetch import (
    fetch_corel2000,
    fetch_elephant,
    fetch_fox,
    fetch_hja_birdsong,
    fetch_mscv2,
    fetch_musk1,
    fetch_musk2,
    fetch_newsgroups,
    fetch_tiger,
)
from bagwise.datasets.logistic import make_count_bags, make_noisy_or_bags
from bagwise.datasets.mixture import make_mixture_bags
from bagwise.datasets.resample import augment_bags, make_positive_unlabeled

__all__ = [
    "augment_bags",
    "fetch_corel2000",
    "fetch_elephant",
    "fetch_fox",
    "fetch_hja_birdsong",
    "fetch_mscv2",
    "fetch_musk1",
    "fetch_musk2",
    "fetch_newsgroups",
    "fetch_tiger",
    "load_digit_bags",
    "make_count_bags",
    "make_mixture_bags",
    "make_noisy_or_bags",
    "make_positive_unlabeled",
]
