"""Data sets: simulators with known ground truth, digit bags, and public benchmarks.

Simulators also return the instance labels and the parameters, so that estimates can be compared with the
ground truth. Only the ``fetch_`` functions need the network; downloads are verified and cached.

- `logistic`, `mixture`, `assumptions`: simulators, with shared code in `_draw`. `resample`: new data sets
  from existing bags.
- `digits`: digit bags. `fetch`: public data (`_sources`, `_download`, `_parse`).
"""

from bagwise.datasets.assumptions import make_assumption_bags
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
    "make_assumption_bags",
    "make_count_bags",
    "make_mixture_bags",
    "make_noisy_or_bags",
    "make_positive_unlabeled",
]
