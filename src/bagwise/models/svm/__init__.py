"""Support vector machines of bags: of instances with a maximum over the bag, and of bags as sets."""

from bagwise.svm.classic import MISVC, InstanceMISVC
from bagwise.svm.miss import MissSVC
from bagwise.svm.set_kernel import SetKernelSVC
from bagwise.svm.sparse import SparseMISVC

__all__ = ["InstanceMISVC", "MISVC", "MissSVC", "SetKernelSVC", "SparseMISVC"]
