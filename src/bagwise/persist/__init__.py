"""Model files that are safe to load (`save`, `load`), and checkpoints of fits.

A model file consists of three lines and an archive. The lines contain the format, a checksum of the remaining
file, and a card that describes the model. The archive is written by skops
(``pip install 'bagwise[persist]'``). Loading never executes code.

- `models`: `save`, `load` and checks of the restored model. `files`: the format number and the checksum.
  `card`: the description.
- `known_types`: the types that can be restored, and their identifiers in files; a moved or renamed class
  keeps its identifier. `upgrades`: conversion of older formats.
- `archive`: checks of the archive before it is passed to skops. `node_checks`: checks of the description of
  the model in it. `consistency`: checks of the restored model.
- `checkpoints`: stored results and states of a fit, from which the same call continues after a crash.
"""

from bagwise.persist.card import read_card
from bagwise.persist.known_types import trusted_types
from bagwise.persist.models import load, save

__all__ = ["load", "read_card", "save", "trusted_types"]
