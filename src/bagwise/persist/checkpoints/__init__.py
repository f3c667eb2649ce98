"""Checkpoints: files with intermediate results of a fit, from which the same call continues after a crash.

A resumed fit runs from the beginning, but reads finished results from the checkpoint. Solver runs are
numbered in the order in which they start, and each has a digest of its inputs. The checkpoint stores the
results of finished runs and the states of unfinished runs. EM and Adam store their complete state; Newton's
method and L-BFGS store the current parameters. A fit without a checkpoint uses
`bagwise._core.checkpoint.NO_CHECKPOINT`.

- `opening`: opens a checkpoint for the duration of a fit. `checkpoint`: the interface for solvers, folds and
  ensemble members. `identity`: the description of a fit, and the rejection of checkpoints from different
  fits.
- `store`: the stored entries, and when they are written. `file`, `plain`: the file format and value types.
"""

from bagwise.persist.checkpoints.checkpoint import Checkpoint
from bagwise.persist.checkpoints.identity import identity_of
from bagwise.persist.checkpoints.opening import CheckpointLike, opened

__all__ = ["Checkpoint", "CheckpointLike", "identity_of", "opened"]
