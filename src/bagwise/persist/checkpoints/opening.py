"""Open a checkpoint for the duration of a fit, and remove or keep the file at the end."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bagwise._core.checkpoint import NO_CHECKPOINT, CheckpointLocation
from bagwise._core.files.atomic import refuse_other_than_file
from bagwise.persist.checkpoints.checkpoint import Checkpoint
from bagwise.persist.checkpoints.identity import refuse_other, with_version
from bagwise.persist.checkpoints.store import Store

# Types that `fit` accepts as `checkpoint`: a path, or a location in the checkpoint of an outer fit.
CheckpointLike = str | os.PathLike[str] | CheckpointLocation


@contextmanager
def opened(
    checkpoint: CheckpointLike | None, identity: Callable[[], dict[str, Any]]
) -> Iterator[CheckpointLocation]:
    """Open or create a checkpoint for the duration of a fit, and remove the file if the fit succeeds.

    After an error or Ctrl-C, the file is kept with all stored values. The message of the KeyboardInterrupt
    contains its path. A new file is removed if an error occurs before the fit has stored any value.

    Parameters
    ----------
    checkpoint : path, CheckpointLocation or None
        The path of the file, or a location in the checkpoint of an outer fit, which manages the file. None
        means no checkpoint.
    identity : callable
        Function that returns the identity of the fit (see `identity_of`); only called if there is a
        checkpoint. A checkpoint with a different identity raises an error.

    Yields
    ------
    CheckpointLocation
        The location for this fit; `NO_CHECKPOINT` without a checkpoint.
    """
    if checkpoint is None or (isinstance(checkpoint, CheckpointLocation) and not checkpoint.is_stored):
        yield NO_CHECKPOINT
        return
    ours = with_version(identity())
    if isinstance(checkpoint, Checkpoint):
        location = checkpoint.within("identity")
        if location.has_ended:
            refuse_other(location.store.path, location.end(), ours)
        location.finish(ours)
        yield checkpoint
        return
    store = Store(_checked(checkpoint), ours)
    is_new = not store.path.exists()
    if not is_new:
        refuse_other(store.path, store.read(), ours)
    else:
        # Report an invalid path immediately, not after hours of computation.
        store.write_or_warn(is_first=True)
    try:
        yield Checkpoint(store)
    except BaseException as error:
        if is_new and not store.entries:
            store.remove()
            raise
        store.write_or_warn()
        if isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt(_stays(store)) from error
        raise
    if store.is_stopped:
        store.write_or_warn()
        raise KeyboardInterrupt(_stays(store))
    store.remove()


def _checked(checkpoint: Any) -> Path:
    if not isinstance(checkpoint, (str, os.PathLike)) or not str(checkpoint):
        raise TypeError(f"checkpoint must be a file path or None; got {checkpoint!r}.")
    path = Path(checkpoint)
    try:
        refuse_other_than_file(path)
    except OSError as error:
        raise type(error)(f"checkpoint {error}") from None
    return path


def _stays(store: Store) -> str:
    if not store.path.exists():
        return "the fit was interrupted"
    path = str(store.path)
    return f"the fit was interrupted; repeat the same call to continue from the checkpoint {path!r}"
