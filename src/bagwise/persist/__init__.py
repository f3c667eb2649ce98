"""Model files that are safe to load (`save`, `load`), and checkpoints of fits.

A model file is three lines and an archive: the format, a checksum of everything after it, a card that
describes the model, and an archive of skops (``pip install 'bagwise[persist]'``). Loading never executes
code.

- `models`: `save`, `load` and checks of the restored model. `files`: the format number and the checksum.
  `card`: the description.
- `known_types`: the types that may be restored, and their identifiers in files; a moved or renamed class
  keeps its identifier. `upgrades`: attributes of older formats.
- `archive`: checks of the archive before skops sees it.
- `checkpoints`: results and states of a fit, from which the same call continues after a crash.
"""

from bagwise.persist.card import read_card
from bagwise.persist.known_types import trusted_types
from bagwise.persist.models import load, save

__all__ = ["load", "read_card", "save", "trusted_types"]
