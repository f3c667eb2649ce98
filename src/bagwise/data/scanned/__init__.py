"""`ScannedBags`: bags whose instances stay in their files.

`known` holds sizes, ids, labels and columns, which need no read of the instances; `scan` selects bags and
reads them; `steps` are transformations applied as blocks are read. `source` is what a file format
provides; the formats are in `bagwise.io.scan`. A scan of few values is kept in memory after its first
read.
"""

from bagwise.data.scanned.scan import ScannedBags

__all__ = ["ScannedBags"]
