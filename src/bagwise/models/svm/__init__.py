"""Support vector machines of bags: of instances with a maximum over the bag, and of bags as sets."""

from bagwise.models.svm.classic import MISVC, InstanceMISVC
from bagwise.models.svm.miss import MissSVC
from bagwise.models.svm.set_kernel import SetKernelSVC
from bagwise.models.svm.sparse import SparseMISVC

__all__ = ["InstanceMISVC", "MISVC", "MissSVC", "SetKernelSVC", "SparseMISVC"]
