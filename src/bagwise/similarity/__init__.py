"""Kernels: of instances, and of bags as sets; blockwise, and refused before they would fill the memory.

`set_kernel`, `statistic_kernel` and `minimax_kernel` give plain matrices, for ``SVC(kernel="precomputed")``
and anything else that takes a kernel matrix. `InstanceKernel` is what the machines in `bagwise.svm` use.
"""

from bagwise.kernels.bags import bag_statistics, minimax_kernel, set_kernel, statistic_kernel
from bagwise.kernels.instances import InstanceKernel, resolve_gamma
from bagwise.kernels.means import MeanKernel, mean_kernel
from bagwise.kernels.memory import available_memory, require_memory

__all__ = [
    "InstanceKernel",
    "MeanKernel",
    "available_memory",
    "bag_statistics",
    "mean_kernel",
    "minimax_kernel",
    "require_memory",
    "resolve_gamma",
    "set_kernel",
    "statistic_kernel",
]
