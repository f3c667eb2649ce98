"""Bag SVMs: instance-level SVMs with a maximum over each bag, and SVMs with bag kernels.

MI-SVM, mi-SVM and MissSVM are special cases of one optimization problem with three loss weights. Each convex
step only changes bounds of the dual and starts from the previous solution. A bag with several witnesses is
represented by a mean of kernel rows.

- `classic`, `miss`, `sparse`, `set_kernel`: the estimators; `base`: their shared code, which also handles
  precomputed kernels.
- `problem`: the problem that `solvers.cccp` minimizes, and its kernel matrix.
"""

from bagwise.models.svm.classic import MISVC, InstanceMISVC
from bagwise.models.svm.miss import MissSVC
from bagwise.models.svm.set_kernel import SetKernelSVC
from bagwise.models.svm.sparse import SparseMISVC

__all__ = ["InstanceMISVC", "MISVC", "MissSVC", "SetKernelSVC", "SparseMISVC"]
