"""Bags with names that break a page if it does not escape them."""

import numpy as np

from bagwise import Bags, make_noisy_or_bags

HOSTILE = '<script>alert("x")</script>&amp;{{ 7 * 7 }}'
RIGHT_TO_LEFT = "\u202e\u05e9\u05dc\u05d5\u05dd\u202d \u0645\u0631\u062d\u0628\u0627"
LONG = "W" * 500


def hostile_bags(n=40):
    """Return bags with names that break a page if it does not escape them, and their labels."""
    data = make_noisy_or_bags(n, size=(4, 9), coef=[3.0, -3.0, 0.0], intercept=-3.0, random_state=1)
    names = [HOSTILE, RIGHT_TO_LEFT, LONG]
    ids = [f"{names[i % 3]}{i}" for i in range(n)]
    ids[0], ids[1] = "a\x00b\x1b[31m\ud800", "$\\frac{1}{0"
    columns = {"shape": np.array([names[i % 3] for i in range(data.bags.n_instances)])}
    bags = Bags(
        data.bags.instances,
        data.bags.offsets,
        ids=ids,
        feature_names=[f"{name} $x_{{" for name in names],
        instance_columns=columns,
        bag_columns={HOSTILE: np.array([f"{LONG}{i % 20}" for i in range(n)])},
    )
    return bags, np.where(data.y == 1, f"{HOSTILE} yes", f"{LONG} no")
