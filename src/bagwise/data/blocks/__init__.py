"""Blocks of whole bags: the interface between models and data.

Models use data only through sums over blocks. Each term is a function of one block and a few parameters. A
model is written once, as functions of a block, and works with any storage of the blocks. Block boundaries
are the same for every storage, and sums are added in the order of a fixed binary tree. Therefore results are
bit-identical for memory, files and any number of threads. Small data in memory are one block. Data above
2**23 values are streamed and never copied as a whole.

- `base`: `Blocks` with `total`, `each` and `sample`. `cutting`: the only module that splits bags into
  blocks.
- `memory`: blocks in memory, distributed to threads by `sharing`. `files`, `buffers`: blocks that every
  pass reads from files. The next block is read in advance. `layout`: the mapping from bags to file rows.
- `views`: blocks with transformed instances, other weights, instance weights and bag features, or a subset
  of the bags. Selected bags of a scan are read in file order and returned in the requested order.
- `together`: independent runs (starts, penalties, folds) that share their passes.
- `pairs`: values for pairs of bags (kernels, distances); each pair is computed once.
- `sampling`: random samples of bags and instances, for starts. `ranges`: the range of every feature.
"""

from bagwise.data.blocks.base import Block, Blocks, PerBag, PerBlock, Sums, add_up, is_large, stack
from bagwise.data.blocks.cutting import block_rows, cut, cut_rows
from bagwise.data.blocks.files import FileBlocks
from bagwise.data.blocks.memory import MemoryBlocks, hold, sparse_in_parts
from bagwise.data.blocks.pairs import fill_pairs, in_doubles
from bagwise.data.blocks.ranges import ColumnRanges
from bagwise.data.blocks.sampling import pick_instance, sample_bags
from bagwise.data.blocks.sharing import share_out
from bagwise.data.blocks.together import run_together
from bagwise.data.blocks.views import (
    ExtendedBlocks,
    PickedRows,
    ReweightedBlocks,
    SelectColumns,
    SelectedBlocks,
    TransformedBlocks,
)

__all__ = [
    "Block",
    "Blocks",
    "ColumnRanges",
    "ExtendedBlocks",
    "FileBlocks",
    "MemoryBlocks",
    "PerBag",
    "PerBlock",
    "PickedRows",
    "ReweightedBlocks",
    "SelectColumns",
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
