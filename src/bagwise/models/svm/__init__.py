"""Support vector machines of bags: of instances with a maximum over the bag, and of bags as sets.

MI-SVM, mi-SVM and MissSVM are one problem with three weights. A step of the search moves bounds only, the
last solution starts the next, and the virtual example of a bag is a mean of kernel rows.

- `classic`, `miss`, `sparse`, `set_kernel`: the estimators; `base` is what they share, also for kernels that
  the user computed.
- `problem`: what `solvers.cccp` minimises, and its kernel matrix.
"""

from bagwise.models.svm.classic import MISVC, InstanceMISVC
from bagwise.models.svm.miss import MissSVC
from bagwise.models.svm.set_kernel import SetKernelSVC
from bagwise.models.svm.sparse import SparseMISVC

__all__ = ["InstanceMISVC", "MISVC", "MissSVC", "SetKernelSVC", "SparseMISVC"]
