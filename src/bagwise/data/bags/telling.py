"""What bags in memory tell of themselves: as a data frame, feature by feature; and joined by groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from bagwise.data.bags.held import HeldBags
from bagwise.data.bags.parts import as_python, group
from bagwise.data.sequences import Sequences

if TYPE_CHECKING:
    from bagwise.data.bags.collection import Bags

# So many numbers are looked at as double precision at a time.
_AT_ONCE = 4_000_000


class TellingBags(HeldBags):
    """`HeldBags` that can be looked at and joined by groups."""

    __slots__ = ()

    def to_frame(self, *, backend: str | None = None) -> Any:
        """Give a data frame with a row per instance: `Bags.from_frame(frame, bag="bag")` the other way round.

        Parameters
        ----------
        backend : "pandas" or "polars", optional
            The kind of data frame; by default pandas if it is installed, else polars.

        Returns
        -------
        data frame
            `bag` (its id), the columns of bags and of instances (several of one with several values an
            instance), and the features, by their names or as x0, x1, ....

        Examples
        --------
        >>> import numpy as np
        >>> from bagwise import Bags
        >>> bags = Bags(np.zeros((3, 2)), [0, 1, 3], ids=["a", "b"], feature_names=["u", "v"])
        >>> list(bags.to_frame().columns), len(bags.to_frame())
        (['bag', 'u', 'v'], 3)
        """
        import narwhals as nw

        from bagwise.data.frames import frame_backend, instance_columns_of

        self._refuse_sequences("to_frame")
        columns = {"bag": self.ids[self.bag_index]}
        for name, column in instance_columns_of(self, features=True).items():
            while name in columns:
                name += "_"
            columns[name] = column
        return nw.from_dict(columns, backend=frame_backend(backend)).to_native()

    def describe(self, *, backend: str | None = None) -> Any:
        """Describe every feature: a data frame with a row each.

        Parameters
        ----------
        backend : str, optional
            The library of the frame, such as "pandas" or "polars"; by default one that is installed.

        Returns
        -------
        data frame
            `feature`, `missing` (NaN, counted), `mean`, `std`, `min`, `max`, and `between`: the share of the
            variance that lies between bags, 0 where they are alike on average and 1 where a feature is
            constant inside every bag. A feature with 1 describes bags, and may give their labels away.

        Examples
        --------
        >>> import numpy as np
        >>> from bagwise import Bags
        >>> bags = Bags(np.array([[1.0, 0.0], [1.0, 4.0], [3.0, 2.0]]), [0, 2, 3], feature_names=["u", "v"])
        >>> bags.describe()["between"].round(2).tolist()
        [1.0, 0.0]
        """
        import narwhals as nw

        from bagwise.data.frames import feature_names_of, frame_backend

        self._refuse_sequences("describe")
        step = max(1, _AT_ONCE // max(1, self.n_instances))
        parts = [self._describe(slice(k, k + step)) for k in range(0, self.n_features, step)]
        names = ("missing", "mean", "std", "min", "max", "between")
        values = [np.concatenate(column) for column in zip(*parts, strict=True)] or [np.empty(0)] * 6
        table = {"feature": feature_names_of(self), **dict(zip(names, values, strict=True))}
        return nw.from_dict(table, backend=frame_backend(backend)).to_native()

    def _describe(self, columns: slice) -> tuple[np.ndarray, ...]:
        some = self._instances[:, columns]
        X = np.asarray(some.toarray() if sp.issparse(some) else some, dtype=np.float64)
        there = ~np.isnan(X)
        n = there.sum(axis=0)
        with np.errstate(all="ignore"):  # of features without a value, and of infinite ones, there is NaN
            mean = np.where(there, X, 0.0).sum(axis=0) / n
            centred = np.where(there, X - mean, 0.0)
            square = np.square(centred).sum(axis=0)
            full = np.flatnonzero(self.sizes)
            starts = self._offsets[:-1][full]
            n_each = np.add.reduceat(there, starts, axis=0, dtype=np.float64) if len(full) else there
            sums = np.add.reduceat(centred, starts, axis=0) if len(full) else centred
            between = np.where(n_each > 0, np.square(sums) / n_each, 0.0).sum(axis=0) / square
            low, high = (
                reduce(np.where(there, X, fill), axis=0, initial=fill)
                for reduce, fill in ((np.min, np.inf), (np.max, -np.inf))
            )
            std = np.sqrt(square / n)
        nothing = n == 0
        low, high = np.where(nothing, np.nan, low), np.where(nothing, np.nan, high)
        return len(X) - n, mean, std, low, high, between

    def merge(self, groups: Any, *, column: str = "bag") -> Bags:
        """Join bags of one group into one: several slides of a patient become one bag.

        Parameters
        ----------
        groups : str, or array of shape (n_bags,)
            The name of a column of bags, such as "patient", or the group of every bag. Groups become the ids,
            in order of first appearance.
        column : str, default="bag"
            The instance column that keeps the id of the bag that an instance was in.

        Returns
        -------
        Bags
            Columns of bags that are constant inside every group stay what they are, the others become
            columns of instances.

        Examples
        --------
        >>> import numpy as np
        >>> from bagwise import Bags
        >>> slides = Bags(np.arange(5.0)[:, None], [0, 2, 3, 5], ids=["s1", "s2", "s3"],
        ...               bag_columns={"patient": ["p1", "p2", "p1"]})
        >>> patients = slides.merge("patient")
        >>> patients.ids.tolist(), patients.sizes.tolist(), patients.instance_columns["bag"].tolist()
        (['p1', 'p2'], [4, 1], ['s1', 's1', 's3', 's3', 's2'])
        """
        of_bag = self._groups(groups)
        names, order, offsets = group(of_bag)
        sorted_bags = self._gather(order)
        index = sorted_bags.bag_index
        firsts = np.repeat(offsets[:-1], np.diff(offsets))
        kept, spread = {}, {}
        for name, values in sorted_bags.bag_columns.items():
            if _equal(values, values[firsts]):
                kept[name] = values[offsets[:-1]]
            else:
                spread[name] = values[index]
        columns = {**sorted_bags.instance_columns, **spread}
        while column in columns:
            column += "_"
        columns[column] = sorted_bags.ids[index]
        return self._of_parts(
            instances=sorted_bags.instances,
            offsets=sorted_bags.offsets[offsets],
            ids=names,
            feature_names=self._feature_names,
            instance_columns=columns,
            bag_columns=kept,
        )

    def _groups(self, groups: Any) -> np.ndarray:
        if isinstance(groups, str):
            if groups not in self._bag_columns:
                known = sorted(self._bag_columns)
                raise KeyError(f"there is no column of bags {groups!r}; there are {known}.")
            groups = self._bag_columns[groups]
        values = np.asarray(groups)
        if values.shape != (len(self),):
            raise ValueError(
                f"groups has the shape {values.shape}, but there are {len(self)} bags; give one each."
            )
        missing = np.array([value is None or value != value for value in values.tolist()], dtype=bool)
        if missing.any():
            where = as_python(self.ids[int(np.argmax(missing))])
            raise ValueError(f"groups has no value for bag {where!r}; give every bag a group.")
        return values

    def _refuse_sequences(self, method: str) -> None:
        if isinstance(self._instances, Sequences):
            raise TypeError(f"{method} is for bags of vectors; these hold Sequences.")


def _equal(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether columns are equal, NaN to NaN."""
    same = (a == b) | ((a != a) & (b != b))
    return bool(np.all(same))
