"""`Bags`, the in-memory container: one instance matrix, and offsets that delimit the bags.

Selecting, concatenating and pickling bags copies the arrays; slicing returns a view. `from_frame` uses only
columns that vary within bags as features, so that a label column never becomes a feature.

- `alignment`: labels, weights and groups with an index, in the order of the bags.
- `bags`: `Bags`, and the conversion of other inputs to bags (`as_bags`).
- `common`: `AnyBags`, the base class of `Bags` and `ScannedBags`; lookup of bags by index or id.
- `instance_groups`: groups of instances inside bags.
- `parts`: checks and conversions of instances, offsets, ids and side columns.
"""

from bagwise.data.bags.alignment import aligned
from bagwise.data.bags.bags import Bags, as_bags, check_container, describes_bags, is_scan
from bagwise.data.bags.common import AnyBags, index_of

__all__ = [
    "AnyBags",
    "Bags",
    "aligned",
    "as_bags",
    "describes_bags",
    "index_of",
    "is_scan",
    "check_container",
]
