"""`ScannedBags`: bags whose instances stay in their files.

`scan` is the container: metadata of the bags, selection, and reading. `source` is the interface that file
formats implement; the formats are in `bagwise.io.scan`. A scan of at most 2**23 values is kept in memory
after the first read.
"""

from bagwise.data.scanned.scan import ScannedBags

__all__ = ["ScannedBags"]
