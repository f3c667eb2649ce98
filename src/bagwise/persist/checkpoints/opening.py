"""Opening a checkpoint around a fit, and what becomes of it at the end."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bagwise._core.checkpoint import NO_CHECKPOINT, CheckpointLocation
from bagwise.persist.checkpoints.checkpoint import Checkpoint
from bagwise.persist.checkpoints.identity import refuse_other, with_version
from bagwise.persist.checkpoints.store import Store

# What `fit` takes: a path, or a location in the checkpoint of the fit around it.
CheckpointLike = str | os.PathLike[str] | CheckpointLocation


@contextmanager
def opened(
    checkpoint: CheckpointLike | None, identity: Callable[[], dict[str, Any]]
) -> Iterator[CheckpointLocation]:
    """Open a checkpoint around a fit, or begin one; remove it when the fit has ended well.

    After an error the file stays, with all that is known; after Ctrl-C too, and the KeyboardInterrupt says
    so. Of a fit that was refused before it had kept anything, nothing stays.

    Parameters
    ----------
    checkpoint : path, CheckpointLocation or None
        The file; or a location in the checkpoint of the fit around this one, which removes it; or nothing.
    identity : callable
        Says what the fit is (`identity_of`), if there is a checkpoint: that of another one is refused.

    Yields
    ------
    CheckpointLocation
        `NO_CHECKPOINT`, if there is none.
    """
    if checkpoint is None or (isinstance(checkpoint, CheckpointLocation) and not checkpoint.is_stored):
        yield NO_CHECKPOINT
        return
    ours = with_version(identity())
    if isinstance(checkpoint, Checkpoint):
        place = checkpoint.within("identity")
        if place.has_ended:
            refuse_other(place.store.path, place.end(), ours)
        place.finish(ours)
        yield checkpoint
        return
    store = Store(_checked(checkpoint), ours)
    is_new = not store.path.exists()
    if not is_new:
        refuse_other(store.path, store.read(), ours)
    else:
        store.write()  # lest an hour passes before one hears that there is no such folder
    try:
        yield Checkpoint(store)
    except BaseException as error:
        if is_new and not store.entries:
            store.remove()
            raise
        store.write()
        if isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt(_stays(store)) from error
        raise
    if store.is_stopped:
        store.write()
        raise KeyboardInterrupt(_stays(store))
    store.remove()


def _checked(checkpoint: Any) -> Path:
    if not isinstance(checkpoint, (str, os.PathLike)) or not str(checkpoint):
        raise TypeError(f"checkpoint must be the path of a file, or None; got {checkpoint!r}.")
    path = Path(checkpoint)
    if path.is_dir():
        raise IsADirectoryError(f"checkpoint {str(path)!r} is a folder; give the path of a file.")
    return path


def _stays(store: Store) -> str:
    path = str(store.path)
    return f"the fit was interrupted; its checkpoint {path!r} stays, and the same call goes on from it"
