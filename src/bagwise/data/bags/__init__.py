"""`Bags`, the container in memory: flat instances, and offsets that cut them into bags.

Selecting, joining and pickling are array copies; a slice is a view. `from_frame` takes as features only
what varies inside bags, so labels cannot leak from a frame.

- `collection`: the constructors. `held`: what is stored in memory, and selection by bag. `telling`:
  frames, descriptions and merging. `common`: what bags of any storage have. `places`: bags by id.
- `recognise`: `Bags` from anything that describes bags. `parts`: checks of offsets, names and columns.
"""

from bagwise.data.bags.collection import Bags
from bagwise.data.bags.common import AnyBags
from bagwise.data.bags.recognise import as_bags, describes_bags, is_scan

__all__ = ["AnyBags", "Bags", "as_bags", "describes_bags", "is_scan"]
