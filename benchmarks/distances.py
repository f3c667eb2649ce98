"""Bag distances against the distance matrix of all instances."""

from sklearn.metrics import pairwise_distances

from bagwise import bag_distances, fetch_musk2
from benchmarks.harness import megabytes, race, seconds, traced_peak

TITLE = "Bag distances"
NOTE = (
    "Distances between all 102 bags of Musk2 (6,598 instances, 166 features), against scikit-learn's "
    "`pairwise_distances` between the instances. The definitions of the bag distances reduce this matrix. "
    "*Peak*: memory of bagwise in addition to the data; the last column is the size of the matrix. Goals: a "
    "ratio of at most 3, and memory for one block instead of the whole matrix."
)


def run() -> list[dict]:
    """Time the distances that use pairs of instances, and the mean discrepancy (MMD)."""
    bags = fetch_musk2().bags
    X = bags.instances.astype(float)
    bags = bags.with_instances(X)
    table = []
    for metric in ("minimal", "maximal", "ranked", "mean_min", "mmd"):
        options = {"rank": 3} if metric == "ranked" else {}

        def ours(metric=metric, options=options):
            return bag_distances(bags, metric=metric, **options)

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
