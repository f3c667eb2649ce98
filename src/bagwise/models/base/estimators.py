"""What every estimator of bags shares: reading, tags, and pickles that know their version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from bagwise._version import __version__
from bagwise.data.bags import Bags, as_bags, describes_bags
from bagwise.data.blocks import Block, PerBag
from bagwise.data.types import BagsLike
from bagwise.exceptions import VersionWarning, warn_user
from bagwise.models.base.huge import overflow_explained, refuse_overflow
from bagwise.models.base.reading import lie_large, read_bags, warn_of_rows


class BagEstimator(BaseEstimator):
    """An estimator whose ``X`` is a collection of bags."""

    # What the estimator can work on; a meta-estimator asks the estimator inside.
    @property
    def _accepts_sparse(self) -> bool:
        return True

    @property
    def _accepts_missing(self) -> bool:
        return False

    @property
    def _accepts_sequences(self) -> bool:
        return False

    # Whether a matrix is as good as bags after the fit, because every instance goes its own way.
    @property
    def _takes_rows(self) -> bool:
        return False

    # Whether `fit` passes over blocks, so that it learns from bags in files as well.
    @property
    def _streams(self) -> bool:
        return False

    def _read(self, X: BagsLike, *, reset: bool = False) -> Bags:
        """Read bags for `fit` (`reset`) or for a prediction, all at once; only `fit` may get a scan."""
        if not reset:
            check_is_fitted(self)
        return self._enter(X, reset=reset, streams=reset and self._streams)

    def _open(self, X: BagsLike) -> Bags:
        """Read what is known of bags for a prediction; instances of large ones are left as they lie."""
        check_is_fitted(self)
        return self._enter(X, whole=False)

    def _enter(self, X: BagsLike, *, reset: bool = False, **how: bool) -> Bags:
        bags = read_bags(
            self,
            X,
            reset=reset,
            accept_sparse=self._accepts_sparse,
            accept_missing=self._accepts_missing,
            accept_sequences=self._accepts_sequences,
            **how,
        )
        if reset:
            self._learned_from_several = bags.n_instances > len(bags)
        elif not self._takes_rows and getattr(self, "_learned_from_several", False):
            warn_of_rows(type(self).__name__, X, bags)
        return bags

    def _by_blocks(
        self, X: BagsLike, f: Callable[..., Any], labels: Callable[[Bags], np.ndarray] | None = None
    ) -> Any:
        """Give ``f(bags)`` of all bags, computed block by block where they are large or lie in files.

        Every prediction goes through here. `f` gives a row per bag or a row per instance. `labels` reads
        labels for the bags; then `f` gets those of its bags, too.
        """
        if isinstance(X, (list, tuple)) and describes_bags(X):
            X = as_bags(X)
        if not lie_large(X):
            bags = self._read(X)
            return self._said_of(bags, f, None if labels is None else labels(bags))
        bags = self._open(X)
        read = None if labels is None else labels(bags)
        return bags.blocks().joined(
            self._of_block, f, PerBag(bags.ids), None if read is None else PerBag(read)
        )

    def _of_block(
        self, block: Block, f: Callable[..., Any], ids: np.ndarray, labels: np.ndarray | None
    ) -> Any:
        return self._said_of(self._read(Bags(block.X, block.offsets, ids=ids)), f, labels)

    def _said_of(self, bags: Bags, f: Callable[..., Any], labels: np.ndarray | None) -> Any:
        with overflow_explained(self, lambda: bags.instances):
            said = f(bags) if labels is None else f(bags, labels)
        refuse_overflow(self, said, lambda: bags.instances)
        return said

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._accepts_sparse
        tags.input_tags.allow_nan = self._accepts_missing
        tags.input_tags.three_d_array = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_bagwise_version": __version__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        written_by = state.pop("_bagwise_version", None)
        if written_by != __version__:
            warn_user(
                f"this {type(self).__name__} was pickled by bagwise {written_by} and is read by "
                f"{__version__}; predictions may differ. Fit it again to be safe.",
                VersionWarning,
            )
        super().__setstate__(state)


class BagTransformer(TransformerMixin, BagEstimator):
    """A transformer of bags."""
