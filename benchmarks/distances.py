"""Distances of bags against one matrix of distances of their instances."""

import tracemalloc

from sklearn.metrics import pairwise_distances

from bagwise import bag_distances, fetch_musk2
from benchmarks.harness import race

TITLE = "Distances of bags"
NOTE = (
    "All 102 bags of Musk2 with each other, 6,598 instances of 166 features, against scikit-learn's "
    "`pairwise_distances` of these instances, which is the matrix that the definitions reduce. *Peak*: "
    "memory beside the data, ours against that matrix. Goals: a ratio of at most 3, and memory by blocks."
)


def run() -> list[dict]:
    """Time every distance that looks at the nearest instances, and the discrepancy of means."""
    bags = fetch_musk2().bags
    X = bags.instances.astype(float)
    bags = bags.with_instances(X)
    table = []
    for metric in ("minimal", "maximal", "ranked", "mean_min", "mmd"):
        how = {"rank": 3} if metric == "ranked" else {}

        def ours(metric=metric, how=how):
            return bag_distances(bags, metric=metric, **how)

        seconds = race(3, ours=ours, theirs=lambda: pairwise_distances(X))
        tracemalloc.start()
        ours()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        table.append(
            {
                "distance": metric,
                "bagwise (s)": f"{seconds['ours']:.2f}",
                "pairwise_distances (s)": f"{seconds['theirs']:.2f}",
                "ratio": f"{seconds['ours'] / seconds['theirs']:.2f}",
                "peak (MB)": f"{peak / 1e6:.0f}",
                "matrix of instances (MB)": f"{8 * len(X) ** 2 / 1e6:.0f}",
            }
        )
    return table
