"""Checkpoints: what a fit has found out so far, in a file from which the same call goes on after a crash."""

from bagwise.persist.checkpoints.identity import identity_of
from bagwise.persist.checkpoints.opening import CheckpointLike, opened
from bagwise.persist.checkpoints.passes import recorded
from bagwise.persist.checkpoints.place import Checkpoint, cell_of, seed_of

__all__ = ["Checkpoint", "CheckpointLike", "cell_of", "identity_of", "opened", "recorded", "seed_of"]
