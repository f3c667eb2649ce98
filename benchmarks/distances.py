"""Distances of bags against one matrix of distances of their instances."""

from sklearn.metrics import pairwise_distances

from bagwise import bag_distances, fetch_musk2
from benchmarks.harness import megabytes, race, seconds, traced_peak

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

        times = race(3, ours=ours, peers={"theirs": lambda: pairwise_distances(X)})
        table.append(
            {
                "distance": metric,
                "bagwise (s)": seconds(times["ours"]),
                "pairwise_distances (s)": f"{times['theirs']:.2f}",
                "ratio": f"{times['ours'] / times['theirs']:.2f}",
                "peak (MB)": megabytes(traced_peak(ours)),
                "matrix of instances (MB)": f"{8 * len(X) ** 2 / 1e6:.0f}",
            }
        )
    return table
