"""Kernels and distances of instances and bags, computed block by block, with a memory check.

`set_kernel`, `statistic_kernel` and `minimax_kernel` return plain matrices for
``SVC(kernel="precomputed")`` and other estimators that accept a kernel matrix. The SVMs in
`bagwise.models.svm` use `InstanceKernel`. Distances are computed from differences of instances, not from
products. This avoids cancellation far from the origin, and the distance between two bags does not depend on
other bags.

- `instance_kernels`, `instance_distances`, and polynomial kernels without cancellation (`centred`).
- `bag_kernels`, with `instance_weights` and `mean_kernels`. `distances`: distances between bags.
- `kernel_bags`: `KernelBags`, rows of precomputed kernels whose columns are grouped by bag.
- `statistics`: statistics of the instances of every bag. `matrix_memory`: the size of a matrix before it
  is computed.
"""

from bagwise.similarity.bag_kernels import bag_statistics, minimax_kernel, set_kernel, statistic_kernel
from bagwise.similarity.distances import bag_distances
from bagwise.similarity.instance_kernels import InstanceKernel, resolve_gamma
from bagwise.similarity.kernel_bags import KernelBags, instance_kernel
from bagwise.similarity.matrix_memory import available_memory, require_memory
from bagwise.similarity.mean_kernels import MeanKernel, mean_kernel

__all__ = [
    "InstanceKernel",
    "KernelBags",
    "MeanKernel",
    "available_memory",
    "bag_distances",
    "bag_statistics",
    "instance_kernel",
    "mean_kernel",
    "minimax_kernel",
    "require_memory",
    "resolve_gamma",
    "set_kernel",
    "statistic_kernel",
]
