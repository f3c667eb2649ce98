"""`Bags`, the container in memory: flat instances, and offsets that cut them into bags.

Selecting, joining and pickling are array copies; a slice is a view. `from_frame` takes as features only
what varies inside bags, so labels cannot leak from a frame.

- `bags`: `Bags`, and what else can be read as bags (`as_bags`).
- `common`: `AnyBags`, the base of `Bags` and `ScannedBags`; finding bags by number or id.
- `parts`: checks and conversions of instances, offsets, names and side columns.
"""

from bagwise.data.bags.bags import Bags, as_bags, describes_bags, is_scan, refuse_empty_list
from bagwise.data.bags.common import AnyBags, index_of

__all__ = ["AnyBags", "Bags", "as_bags", "describes_bags", "is_scan", "index_of", "refuse_empty_list"]
