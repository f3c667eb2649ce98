"""`ScannedBags`: bags that stay in their files until a pass reads them.

Sizes, ids, labels and bag columns are in memory; using them does not read the instances.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from bagwise._core.precision import computing_dtype
from bagwise._core.types import Labels
from bagwise.data.bags import AnyBags, Bags
from bagwise.data.bags.parts import LARGEST, are_small, as_feature_names, read_only, refuse_missing_values
from bagwise.data.blocks import Block, Blocks, FileBlocks, TransformedBlocks, block_rows, cut, is_large
from bagwise.data.blocks.layout import read_runs
from bagwise.data.description import join

if TYPE_CHECKING:
    from bagwise.data.cluster import Cluster
    from bagwise.data.scanned.source import FileSource


class Step(NamedTuple):
    """A transformer that is applied to instances when they are read."""

    transform: Callable[[Any], Any]
    n_features: int
    feature_names: np.ndarray | None
    accepts_missing: bool

    def checked(self, *, accept_nan: bool, largest: float) -> Callable[[Any], Any]:
        """Return the transformer with a check that the next step can process its output."""
        return partial(_apply, self.transform, accept_nan=accept_nan, largest=largest)


class ScannedBags(AnyBags):
    """Bags in files: ids, sizes, labels and bag columns are in memory; instances are read when needed.

    Create them with `scan_bags`. Estimators that pass over blocks of bags can be fitted to scans in the same
    way as to `Bags`, and all estimators can predict from scans. Indexing selects bags, so scikit-learn's
    cross-validation, searches and splits work. Selected bags stay in the files: a fold reads only the row
    groups that contain its bags, each once per pass. Scans of at most 2**23 values are kept in memory after
    the first read.

    See Also
    --------
    scan_bags : Scan files and return `ScannedBags`.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from bagwise import make_noisy_or_bags, save_parquet, scan_bags
    >>> data = make_noisy_or_bags(5, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     scan = scan_bags(save_parquet(pathlib.Path(folder) / "five.parquet", data.bags, data.y))
    ...     print(scan, scan.sizes)
    ...     bags = scan[scan.y == 1].load()
    ScannedBags(5 bags, 15 instances, 3 features) [3 3 3 3 3]
    >>> len(bags) == int(data.y.sum())
    True
    """

    def __init__(
        self,
        source: FileSource,
        indices: np.ndarray | None = None,
        *,
        steps: tuple[Step, ...] = (),
        accept_missing: bool = False,
        largest: float = LARGEST,
        memory: dict[str, Bags] | None = None,
        cluster: Cluster | None = None,
    ):
        self._source = source
        self._indices = indices
        self._steps = steps
        self._accept_missing = accept_missing
        self._largest = largest  # the largest absolute value that blocks may contain
        # Shared by all selections of a scan that is small enough to be kept in memory.
        self._memory: dict[str, Bags] = {} if memory is None else memory
        self._cluster = cluster
        sizes = np.diff(source.offsets)
        sizes = sizes if indices is None else sizes[indices]
        self._offsets = read_only(np.append(0, np.cumsum(sizes)))

    @property
    def offsets(self) -> np.ndarray:
        """Index of the first instance of each bag, and the end of the last bag."""
        return self._offsets

    @property
    def ids(self) -> np.ndarray:
        """The bag ids, or the bag indices in the files if the bags have no ids."""
        return self._source.named(self._all_indices)

    @property
    def _has_ids(self) -> bool:
        """Whether the files contain bag ids; if not, `ids` contains bag indices."""
        return self._source.ids is not None

    @property
    def y(self) -> Labels:
        """The bag labels, or None."""
        return None if self._source.y is None else self._of_bags(self._source.y)

    @property
    def bag_columns(self) -> Mapping[str, np.ndarray]:
        """Side columns with a value per bag."""
        columns = self._source.bag_columns
        return MappingProxyType({name: self._of_bags(values) for name, values in columns.items()})

    def _of_bags(self, values: np.ndarray) -> np.ndarray:
        return read_only(values if self._indices is None else values[self._indices])

    @property
    def feature_names(self) -> np.ndarray | None:
        """The names of the features, or None."""
        if self._steps:
            return self._steps[-1].feature_names
        return as_feature_names(self._source.feature_names, self._source.n_features)

    @property
    def n_features(self) -> int:
        """The number of features of an instance."""
        return self._steps[-1].n_features if self._steps else self._source.n_features

    @property
    def nbytes(self) -> int:
        """Memory that all instances would need, in bytes."""
        return self.n_instances * self.n_features * self._source.dtype.itemsize

    @property
    def shown_bytes(self) -> str:
        """Memory that all instances would need, as text with a unit."""
        units = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("bytes", 1.0))
        unit, size = next((u, s) for u, s in units if self.nbytes >= s or s == 1.0)
        return f"{self.nbytes / size:.3g} {unit}"

    @property
    def dtype(self) -> np.dtype:
        """The dtype of instances in blocks: float32 for floats of at most 32 bits, otherwise float64."""
        return computing_dtype(self._source.dtype)

    @property
    def in_order(self) -> bool:
        """Whether the bags are in the order of the files, without repetitions."""
        return bool((np.diff(self._all_indices) > 0).all())

    @property
    def file_order(self) -> np.ndarray:
        """Indices that sort the bags into the order of the files."""
        return np.argsort(self._all_indices, kind="stable")

    @property
    def fits(self) -> bool:
        """Whether there are at most 2**23 values, which are kept in memory after the first read."""
        return not is_large(self.n_instances * max(self.n_features, self._source.n_features))

    @cached_property
    def _all_indices(self) -> np.ndarray:
        return np.arange(len(self)) if self._indices is None else self._indices

    # ------------------------------------------------------------------ selection

    def __getitem__(self, key: Any) -> Any:
        """Read one bag (a 2-D array) by index or text id, or select several without reading, as in `Bags`."""
        chosen = self._chosen(key)
        if isinstance(chosen, int):
            return self._select(np.array([chosen])).load()[0]
        return self._select(np.arange(chosen.start, chosen.stop) if isinstance(chosen, slice) else chosen)

    def _select(self, positions: np.ndarray) -> ScannedBags:
        return self._but(indices=positions if self._indices is None else self._indices[positions])

    def _but(self, **parts: Any) -> ScannedBags:
        """Return a copy of the scan with some parts replaced."""
        return ScannedBags(
            self._source,
            parts.get("indices", self._indices),
            steps=parts.get("steps", self._steps),
            accept_missing=parts.get("accept_missing", self._accept_missing),
            largest=parts.get("largest", self._largest),
            memory=self._memory,
            cluster=parts.get("cluster", self._cluster),
        )

    def on(self, client: Any) -> ScannedBags:
        """Return the same scan, with passes over its blocks computed by the workers of a Dask cluster.

        This applies to all passes: fits of streaming estimators, predictions, and cross-validation. The
        workers must be able to read the files under the same paths. The results are bit-identical to those
        without a cluster. A scan, or a fold of it, of at most 2**23 values is read in the calling process.

        Parameters
        ----------
        client : distributed.Client
            The connection to a cluster: ``Client("tcp://host:8786")``, or ``Client()`` for this machine.

        Returns
        -------
        ScannedBags
        """
        from bagwise.data.cluster import Cluster

        return self._but(cluster=Cluster(client))

    @property
    def cluster(self) -> Cluster | None:
        """The cluster that computes passes over the bags, or None."""
        return self._cluster

    def standalone(self, run: slice) -> ScannedBags:
        """Return consecutive bags with only the metadata of their files, for sending to another process."""
        indices = self._all_indices[run]
        low, high = (int(indices.min()), int(indices.max()) + 1) if len(indices) else (0, 0)
        source = self._source.part(low, high)
        return ScannedBags(
            source,
            indices - (source.first_bag - self._source.first_bag),
            steps=self._steps,
            accept_missing=self._accept_missing,
            largest=self._largest,
        )

    def accepting(self, *, missing: bool, largest: float = LARGEST) -> ScannedBags:
        """Return the same scan with different checks: whether NaN is allowed, and the `largest` value."""
        return self._but(accept_missing=missing, largest=largest)

    def transformed(
        self, transform: Callable[[Any], Any], feature_names: np.ndarray | None = None
    ) -> ScannedBags:
        """Return the same bags with a transformer that is applied whenever instances are read.

        Parameters
        ----------
        transform : callable
            Function from a matrix of instances to a matrix with the same number of rows. Each output row
            must depend only on its input row.
        feature_names : sequence of str, optional
            Names of the new features.

        Returns
        -------
        ScannedBags
        """
        n_features = transform(np.asarray(self.head(1).instances, dtype=self.dtype)).shape[1]
        names = None if feature_names is None else as_feature_names(feature_names, n_features)
        step = Step(transform, n_features, names, self._accept_missing)
        return self._but(steps=(*self._steps, step), accept_missing=False)

    # ------------------------------------------------------------------ reading

    def __iter__(self) -> Iterator[np.ndarray]:
        if self.fits or (np.diff(self._all_indices) < 0).any():
            yield from (self[i] for i in range(len(self)))
            return
        for block in self._in_files(dtype=self._source.dtype).each(lambda block: block):
            X = block.X
            for step in self._steps:
                X = step.transform(X)
            yield from np.split(X, block.offsets[1:-1])

    def load(self) -> Bags:
        """Read all instances into memory: `Bags`, with ids, names and side columns."""
        return self._transformed(self._held() if self.fits else self._read(self._indices))

    def _transformed(self, bags: Bags) -> Bags:
        """Apply all transformers to bags that have been read."""
        if self._steps:
            bags = bags.with_instances(bags.instances.astype(self.dtype, copy=False))
        for step in self._steps:
            _refuse_missing(bags, accept_nan=step.accepts_missing, largest=np.inf)
            bags = bags.with_instances(step.transform(bags.instances), feature_names=step.feature_names)
        return bags

    def parts(self, most: int | None = None, *, columns: bool = True) -> Iterator[tuple[Bags, Labels]]:
        """Read all bags in order, part by part; this is a single pass if the bags are in file order.

        Parameters
        ----------
        most : int, optional
            The maximum number of instances per part. A bag with more instances is a separate part.
        columns : bool, default=True
            Whether to read the instance columns.

        Yields
        ------
        bags : Bags
            Bags with ids, feature names and side columns.
        y : array or None
            Their labels.
        """
        most = block_rows(self._source.n_features) if most is None else most
        runs = cut(self.offsets, most)
        read: Iterator[Bags] = (self[run].load() for run in runs)
        if self.in_order:
            indices, are_all = self._all_indices, self._indices is None
            untransformed = self._read_runs(indices, [indices[run] for run in runs], are_all, sides=columns)
            read = (self._transformed(bags) for bags in untransformed)
        y = self.y
        for run, bags in zip(runs, read, strict=True):
            yield bags, None if y is None else y[run]

    def in_memory(self) -> Bags:
        """Read all instances of a small scan into memory; raise an error for a large one."""
        if self.fits:
            return self.load()
        raise ValueError(
            f"the instances of this scan take {self.shown_bytes}, and this operation needs all of them in "
            "memory; pass scan.load() if they fit, or a part such as scan.head(100)."
        )

    def head(self, n: int = 5) -> Bags:
        """Read the first `n` bags."""
        return self[:n].load()

    def _blocks(self, y: np.ndarray, weight: np.ndarray) -> Blocks:
        if self.fits:
            was_read = bool(self._memory)
            bags = self.load()
            if not self._steps:  # otherwise keep the precision of the transformer's output
                bags = bags.with_instances(bags.instances.astype(self.dtype, copy=False))
            _refuse_missing(bags, accept_nan=self._accept_missing, largest=self._largest)
            in_memory = bags.blocks(y, weight)
            in_memory.n_passes += not was_read
            return in_memory
        in_files = self._in_files(y, weight, check=self._check())
        blocks: Blocks = in_files
        if self._cluster is not None:
            from bagwise.data.cluster import ClusterBlocks

            blocks = ClusterBlocks(in_files, self._cluster)
        for step, transform in zip(self._steps, self._transforms(), strict=True):
            blocks = TransformedBlocks(blocks, transform, step.n_features)
        return blocks

    def _transforms(self) -> list[Callable[[Any], Any]]:
        """Return the transformers of the instances, each with a check of its output."""
        accepts = [(step.accepts_missing, np.inf) for step in self._steps[1:]]
        steps = zip(self._steps, [*accepts, (self._accept_missing, self._largest)], strict=False)
        return [step.checked(accept_nan=accept_nan, largest=largest) for step, (accept_nan, largest) in steps]

    def shuffled_blocks(
        self, rng: np.random.RandomState, y: np.ndarray, weight: np.ndarray
    ) -> Iterator[Block]:
        """Yield the blocks in random order, for estimators that learn block by block: one pass."""
        if self._cluster is not None:
            raise ValueError(
                "X is on a cluster, but an estimator with partial_fit processes one block at a time in a "
                "single process; pass the scan without .on(client)."
            )
        for block in self._in_files(y, weight, check=self._check()).shuffled(rng):
            for transform in self._transforms():
                block = block._replace(X=transform(block.X))
            yield block

    def _in_files(
        self, y: Any = None, weight: Any = None, *, dtype: Any = None, check: Any = None
    ) -> FileBlocks:
        nothing = np.zeros(len(self))
        return FileBlocks(
            self._source,
            self._all_indices,
            nothing if y is None else y,
            nothing if weight is None else weight,
            dtype=self.dtype if dtype is None else dtype,
            check=check,
        )

    def _held(self) -> Bags:
        """Read bags that fit in memory; if the whole scan fits, read it once for all selections."""
        source = self._source
        if is_large(int(source.offsets[-1]) * max(self.n_features, source.n_features)):
            return self._read(self._indices)
        if "all" not in self._memory:
            self._memory["all"] = self._read(None)
        return self._memory["all"] if self._indices is None else self._memory["all"][self._indices]

    def _read(self, indices: np.ndarray | None) -> Bags:
        source = self._source
        wanted = np.arange(len(source.offsets) - 1) if indices is None else indices
        sizes = np.diff(source.offsets)
        if not sizes[wanted].any() and sizes.any():
            # All selected bags are empty: read one other bag to get the instance columns.
            return self._read(np.append(np.argmax(sizes), wanted))[1:]
        bags, inverse = np.unique(wanted, return_inverse=True)
        read = next(self._read_runs(bags, [bags], indices is None))
        return read if len(wanted) == len(bags) and (np.diff(wanted) > 0).all() else read[inverse]

    def _read_runs(
        self, indices: np.ndarray, runs: list[np.ndarray], are_all: bool, *, sides: bool = True
    ) -> Iterator[Bags]:
        """Read runs of bags, in increasing order of their indices in the files; yield `Bags` per run."""
        source = self._source
        sizes = np.diff(source.offsets)
        for run, (X, columns) in zip(
            runs, read_runs(source, indices, runs, source.dtype, sides=sides), strict=True
        ):
            yield Bags(
                X,
                np.append(0, np.cumsum(sizes[run])),
                ids=None if are_all and source.ids is None else source.named(run),
                feature_names=source.feature_names,
                instance_columns={name: join(parts) for name, parts in columns.items()},
                bag_columns={name: values[run] for name, values in source.bag_columns.items()},
            )

    def _check(self) -> Callable[..., None]:
        """Return a function that raises an error if a block contains missing or too large values."""
        accepts = self._steps[0].accepts_missing if self._steps else self._accept_missing
        largest = np.inf if self._steps else self._largest
        names = as_feature_names(self._source.feature_names, self._source.n_features)
        return partial(refuse_missing_values, feature_names=names, accept_nan=accepts, largest=largest)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        raise TypeError(
            "ScannedBags cannot be converted to one array; use scan.load().instances for the flat matrix. "
            "In a pipeline, wrap a transformer of matrices such as StandardScaler: "
            "OnInstances(StandardScaler())."
        )

    def __getstate__(self) -> dict[str, Any]:
        # The receiving process reads the files itself.
        return {**self.__dict__, "_memory": {}, "_cluster": None}


def _refuse_missing(bags: Bags, **accepted: Any) -> None:
    refuse_missing_values(bags.instances, bags.offsets, bags.ids, bags.feature_names, **accepted)


def _apply(transform: Callable[[Any], Any], instances: Any, *, accept_nan: bool, largest: float) -> Any:
    transformed = transform(instances)
    values = transformed.data if sp.issparse(transformed) else transformed
    if are_small(values, largest):
        return transformed
    if not np.isfinite(np.sum(values)) and (np.isinf(values).any() or not accept_nan):
        raise ValueError(
            "a transformer of the instances of a scan returned infinity or NaN, which the next step does not "
            "accept; impute missing values, or use a different transformer."
        )
    if float(max(np.nanmax(values, initial=0.0), -np.nanmin(values, initial=0.0))) > largest:
        raise ValueError(
            "a transformer of the instances of a scan returned absolute values above "
            f"{largest:g}, which the next step does not accept; use a different transformer."
        )
    return transformed
