"""Blocks of whole bags: where they begin and end, and threads that share them out.

What a pass over the instances needs beside them must not have their size: so they are looked at a block at a
time.
"""

from bagwise.blocks.cutting import block_rows, cut, cut_rows
from bagwise.blocks.sharing import share_out

__all__ = ["block_rows", "cut", "cut_rows", "share_out"]
