"""Bags that are larger than memory: scans of files."""

from bagwise.io.scan.door import scan_bags

__all__ = ["scan_bags"]
