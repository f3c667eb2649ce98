"""`Bags`, the one container of the library: flat instances, and offsets that cut them into bags."""

from bagwise.data.bags.collection import Bags
from bagwise.data.bags.common import AnyBags
from bagwise.data.bags.recognise import as_bags, describes_bags, is_scan

__all__ = ["AnyBags", "Bags", "as_bags", "describes_bags", "is_scan"]
