"""Bags that stay in their files: what is known of them, and passes over them."""

from bagwise.data.scanned.scan import ScannedBags

__all__ = ["ScannedBags"]
