"""Scans: locate the bags in files without reading the instances, for data larger than memory.

- `scan_files`: `scan_bags`, the entry point for all formats.
- `parquet` (`parquet_bags`: one row per bag, `parquet_long`: one row per instance), `folder` and `npz`: the
  sources.
- `runs`: detection of bags in tables with one row per instance.
- `converting`: conversion to Parquet in one pass, and sorting if the rows of a bag are not consecutive.
"""

from bagwise.io.scan.scan_files import scan_bags

__all__ = ["scan_bags"]
