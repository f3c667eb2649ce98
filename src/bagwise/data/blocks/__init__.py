"""Blocks of whole bags: the interface between models and data.

Whatever a model needs from the data is a sum over blocks of a function of a block and a few parameters. A
model is written once, as functions of a block; where the blocks are stored decides how the sum is
computed. Blocks begin and end at the same bags everywhere, and sums are added by one fixed binary tree,
so memory, files and any number of threads return the same bits. Few bags in memory are one block; data
above 2**23 values are streamed and never copied whole.

- `base`: `Blocks` with `total`, `each` and `sample`. `cutting`: the only module that cuts bags into
  blocks.
- `memory`: blocks in memory, shared out to threads by `sharing`. `files`, `buffers`: blocks read from
  files for every pass, one ahead. `layout`: which rows of which file belong to which bag.
- `views`: blocks transformed, reweighted, with instance weights and bag features, or some of the bags. A
  selection of scanned bags is read in the order of the file and returned in the order asked for.
- `together`: runs that do not depend on each other (starts, penalties, folds) share their passes.
- `pairs`: a value for every two bags (kernels, distances), each pair computed once.
- `sampling`: bags and instances drawn at random, for starts.
"""

from bagwise.data.blocks.base import Block, Blocks, PerBag, PerBlock, Sums, add_up, is_large, stack
from bagwise.data.blocks.cutting import block_rows, cut, cut_rows
from bagwise.data.blocks.files import FileBlocks
from bagwise.data.blocks.memory import MemoryBlocks, hold, sparse_in_parts
from bagwise.data.blocks.pairs import fill_pairs, in_doubles
from bagwise.data.blocks.sampling import pick_instance, sample_bags
from bagwise.data.blocks.sharing import share_out
from bagwise.data.blocks.together import run_together
from bagwise.data.blocks.views import (
    ExtendedBlocks,
    PickedRows,
    ReweightedBlocks,
    SelectedBlocks,
    TransformedBlocks,
)

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
