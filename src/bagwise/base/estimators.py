"""What every estimator of bags shares: reading, tags, and pickles that know their version."""

from __future__ import annotations

from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from bagwise._version import __version__
from bagwise.bags import Bags
from bagwise.base.reading import BagsLike, read_bags
from bagwise.exceptions import VersionWarning, warn_user


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

    def _read(self, X: BagsLike, *, reset: bool = False) -> Bags:
        if not reset:
            check_is_fitted(self)
        return read_bags(
            self,
            X,
            reset=reset,
            accept_sparse=self._accepts_sparse,
            accept_missing=self._accepts_missing,
            accept_sequences=self._accepts_sequences,
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._accepts_sparse
        tags.input_tags.allow_nan = self._accepts_missing
        tags.input_tags.three_d_array = True
        return tags

    def __getstate__(self):
        return {**super().__getstate__(), "_bagwise_version": __version__}

    def __setstate__(self, state):
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
