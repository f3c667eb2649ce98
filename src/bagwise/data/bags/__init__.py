"""`Bags`, the container in memory: flat instances, and offsets that delimit the bags.

Selecting, joining and pickling copy arrays; a slice is a view. `from_frame` uses only columns that vary
within bags as features, so labels cannot leak from a frame.

- `bags`: `Bags`, and the conversion of other inputs to bags (`as_bags`).
- `common`: `AnyBags`, the base class of `Bags` and `ScannedBags`; lookup of bags by index or id.
- `parts`: checks and conversions of instances, offsets, ids and side columns.
"""

from bagwise.data.bags.bags import Bags, as_bags, describes_bags, is_scan, refuse_empty_list
from bagwise.data.bags.common import AnyBags, index_of

__all__ = ["AnyBags", "Bags", "as_bags", "describes_bags", "is_scan", "index_of", "refuse_empty_list"]
