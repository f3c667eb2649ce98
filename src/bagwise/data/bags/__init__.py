"""`Bags`, the one container of the library: flat instances, and offsets that cut them into bags."""

from bagwise.bags.collection import Bags
from bagwise.bags.common import AnyBags
from bagwise.bags.recognise import as_bags, describes_bags, is_scan

__all__ = ["AnyBags", "Bags", "as_bags", "describes_bags", "is_scan"]
