"""`ScannedBags`: bags whose instances stay in their files.

`scan` is the container: what it knows of its bags, selection, and reading them. `source` is what a file
format provides; the formats are in `bagwise.io.scan`. A scan of few values is kept in memory after its
first read.
"""

from bagwise.data.scanned.scan import ScannedBags

__all__ = ["ScannedBags"]
