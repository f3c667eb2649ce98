"""Checkpoints: what a fit has computed so far, in a file from which the same call continues after a crash.

A fit that is resumed runs again and reads finished results from the checkpoint. Runs of solvers are
numbered in the order in which they start, each with a digest of its inputs, and three things are stored:
the result of a finished run, the state of an algorithm whose next step depends on little (EM), or the
function values that an algorithm has seen (`Answers`: L-BFGS and trust regions; sums of passes over many
bags).

- `opening`: around a fit. `place`: what solvers, folds and members of ensembles see. `passes`: blocks
  that remember sums. `identity`: which fit it is, and refusal of any other.
- `store`: the file, and when it is written. `file`, `plain`: values that may be stored, and their bytes.
"""

from bagwise.persist.checkpoints.identity import identity_of
from bagwise.persist.checkpoints.opening import CheckpointLike, opened
from bagwise.persist.checkpoints.passes import recorded
from bagwise.persist.checkpoints.place import Checkpoint

__all__ = ["Checkpoint", "CheckpointLike", "identity_of", "opened", "recorded"]
