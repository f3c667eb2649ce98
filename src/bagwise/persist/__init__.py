"""Models in files that can do no harm: `save` and `load`, by skops (``pip install 'bagwise[persist]'``).

A file is three lines and an archive (`files.py`): the format, a checksum of all that follows, a card that
says what is inside (`card.py`), and what skops writes. Only types that are known to be harmless are restored
(`known_types.py`); the archive is looked through before skops sees it (`archive.py`).
"""

from bagwise.persist.files import read_card
from bagwise.persist.known_types import trusted_types
from bagwise.persist.models import load, save

__all__ = ["load", "read_card", "save", "trusted_types"]
