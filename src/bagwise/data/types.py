"""What estimators accept as bags."""

from __future__ import annotations

from typing import TypeAlias

import scipy.sparse as sp
from numpy.typing import ArrayLike

from bagwise.data.bags import Bags
from bagwise.data.scanned import ScannedBags

# What an estimator takes as `X`: a list of 2-D arrays and a 3-D array are array-like, and so is a frame.
BagsLike: TypeAlias = Bags | ScannedBags | ArrayLike | sp.sparray | sp.spmatrix
