"""Scans: find the bags of files without reading their instances, for data larger than memory.

`scan_files` is `scan_bags`; `parquet` (`parquet_bags`: a row per bag, `parquet_long`: a row per instance),
`folder` and `npz` are the sources; `runs` puts instances together that belong to one bag; `converting`
converts files in one pass, and sorts rows of a bag that do not stand together.
"""

from bagwise.io.scan.scan_files import scan_bags

__all__ = ["scan_bags"]
