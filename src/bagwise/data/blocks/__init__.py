"""Blocks of whole bags, the second waist: any model over bags that may lie anywhere.

What a pass over the instances needs beside them must not have their size: so they are looked at a block at a
time, and what a model asks of them is a sum over blocks.
"""

from bagwise.data.blocks.base import Block, Blocks, PerBag, PerBlock, Sums, add_up, is_large, stack
from bagwise.data.blocks.cutting import block_rows, cut, cut_rows
from bagwise.data.blocks.files import FileBlocks
from bagwise.data.blocks.memory import MemoryBlocks, hold, sparse_in_parts
from bagwise.data.blocks.pairs import fill_pairs, in_doubles
from bagwise.data.blocks.sampling import pick_instance, sample_bags
from bagwise.data.blocks.selected import PickedRows, SelectedBlocks
from bagwise.data.blocks.sharing import share_out
from bagwise.data.blocks.together import run_together
from bagwise.data.blocks.views import ExtendedBlocks, ReweightedBlocks, TransformedBlocks

__all__ = [
    "Block",
    "Blocks",
    "ExtendedBlocks",
    "FileBlocks",
    "MemoryBlocks",
    "PerBag",
    "PerBlock",
    "PickedRows",
    "ReweightedBlocks",
    "SelectedBlocks",
    "Sums",
    "TransformedBlocks",
    "add_up",
    "block_rows",
    "cut",
    "cut_rows",
    "fill_pairs",
    "hold",
    "in_doubles",
    "is_large",
    "pick_instance",
    "run_together",
    "sample_bags",
    "share_out",
    "sparse_in_parts",
    "stack",
]
