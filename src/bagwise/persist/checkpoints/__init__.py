"""Checkpoints: what a fit has computed so far, in a file from which the same call continues after a crash.

A fit that is resumed runs again and reads finished results from the checkpoint. Runs of solvers are
numbered in the order in which they start, each with a digest of its inputs. The checkpoint stores the result
of a finished run, and the state of an unfinished one: all of it for EM and Adam, the current parameters for
Newton's method and L-BFGS. A fit without a checkpoint has `bagwise._core.checkpoint.NO_CHECKPOINT`.

- `opening`: around a fit. `checkpoint`: what solvers, folds and members of ensembles see. `identity`: which
  fit it is, and refusal of any other.
- `store`: the file, and when it is written. `file`, `plain`: values that may be stored, and their bytes.
"""

from bagwise.persist.checkpoints.checkpoint import Checkpoint
from bagwise.persist.checkpoints.identity import identity_of
from bagwise.persist.checkpoints.opening import CheckpointLike, opened

__all__ = ["Checkpoint", "CheckpointLike", "identity_of", "opened"]
