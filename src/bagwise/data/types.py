"""Types of the bags that estimators accept."""

from __future__ import annotations

from typing import TypeAlias

import scipy.sparse as sp
from numpy.typing import ArrayLike

from bagwise.data.bags import Bags
from bagwise.data.scanned import ScannedBags

# Types that an estimator accepts as `X`. Lists of 2-D arrays, 3-D arrays and data frames are array-like.
BagsLike: TypeAlias = Bags | ScannedBags | ArrayLike | sp.sparray | sp.spmatrix
