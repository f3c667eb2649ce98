"""Damaged files of every format: the same bags, or a ValueError that names the file."""

from __future__ import annotations

import io
import tempfile
import zipfile
from pathlib import Path

import numpy as np
from tests.fuzz import stock
from tests.fuzz.choosing import chosen, generator
from tests.fuzz.damaging import damage
from tests.fuzz.judging import Refused, require, shown
from tests.same_bags import assert_same

from bagwise import Bags, iter_parquet, load, load_bags, scan_bags
from bagwise._core.cache import cache_folder
from bagwise.persist.files import read_model, write_model

# These formats have checksums, so the bags that are read must equal those that were written. Other formats
# have none: a changed digit in a CSV file is another valid value. Bags read from them must be consistent.
_CHECKED = ("npz", "model")
_SCANNED = ("parquet", "parquet-long", "npy", "h5", "npz")


def run(seed: int, only: str | None = None) -> str:
    """Damage one file of a kind, and read it."""
    rng = generator("damage", seed)
    kind = only or chosen(seed, stock.kinds())
    wholes = stock.whole_files()[kind]
    whole = wholes[rng.integers(len(wholes))]
    story = [f"{kind} {whole.variant}"]
    with tempfile.TemporaryDirectory(prefix="fuzz") as name:
        folder = Path(name)
        path = whole.copy(folder)
        try:
            if whole.is_model:
                _damaged_model(path, rng, story)
            elif kind in ("npy", "h5") and rng.random() < 0.1:
                _damaged_index(whole, path, rng, story)
            else:
                _damaged_bags(whole, path, folder, rng, story)
        except Exception as end:
            end.add_note(", ".join(story))
            raise
    return ", ".join(story)


def _damaged_bags(whole: stock.Whole, path: Path, folder: Path, rng, story: list[str]) -> None:
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    file = files[rng.integers(len(files))]
    inside = file.suffix == ".npz" and rng.random() < 0.3
    change = _forge_member(file, rng) if inside else _damage_file(file, rng)
    story.append(f"{change} {file.name}")
    reader = str(rng.choice(["load", "load", "scan", "parts"]))
    if reader == "scan" and whole.kind not in _SCANNED:
        reader = "load"
    if reader == "parts" and not whole.kind.startswith("parquet"):
        reader = "load"
    story.append(reader)
    bags, y = read_or_refused(lambda: _read(reader, path), files, change)
    _look_at(bags, y)
    if whole.kind in _CHECKED and not inside:
        try:
            assert_same(whole.bags, whole.y, bags, y)
        except AssertionError as error:
            raise AssertionError("the bags of a file with a checksum differ from the written ones") from error


def _damage_file(file: Path, rng) -> str:
    if rng.random() < 0.03:
        file.unlink()
        return "removed"
    if rng.random() < 0.02:
        file.write_bytes(b"")
        return "emptied"
    change, bad = damage(file.read_bytes(), rng)
    file.write_bytes(bad)
    return change


def _forge_member(file: Path, rng) -> str:
    """Damage an array inside an npz file, and write the archive with correct checksums."""
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = sorted(members)[rng.integers(len(members))]
    change, members[name] = damage(members[name], rng)
    file.write_bytes(_zipped(members))
    return f"forged {name}, {change}, in"


def _zipped(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def read_or_refused(call, files: list[Path], change: str):
    """Call a reader; a ValueError that names a file becomes `Refused`, and any other error is a failure."""
    try:
        return call()
    except Exception as error:
        kinds = (ValueError, FileNotFoundError) if change == "removed" else (ValueError,)
        # Subclasses of ValueError that bagwise defines are allowed. Others, as from decoders, are not.
        is_ours = isinstance(error, kinds) and type(error).__module__.startswith("bagwise.")
        require(type(error) in kinds or is_ours, f"not a ValueError: {shown(error)}")
        require(not _wanted_memory(error), f"allocated a size that the file declares: {shown(error)}")
        message, names = str(error), {file.name for file in files} | {file.parent.name for file in files}
        require(any(name in message for name in names), f"the error does not name a file: {shown(error)}")
        raise Refused(shown(error)) from error


def _wanted_memory(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, MemoryError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _read(reader: str, path: Path):
    if reader == "scan":
        scan = scan_bags(path)
        return scan.load(), scan.y
    if reader == "parts":
        parts = list(iter_parquet(path))
        bags = Bags.concat([part for part, _ in parts])
        labels = [y for _, y in parts if y is not None]
        return bags, np.concatenate(labels) if labels else None
    return load_bags(path)


def _look_at(bags: Bags, y) -> None:
    """Check that bags are consistent, for any values."""
    offsets = bags.offsets
    require(offsets[0] == 0 and offsets[-1] == bags.n_instances, "offsets do not match the instances")
    require((np.diff(offsets) >= 0).all(), "offsets decrease")
    require(
        len(bags.ids) == len(bags) and (y is None or len(y) == len(bags)), "ids or labels are not per bag"
    )
    require(str(bags) and bags[:1] is not None, "bags cannot be printed")
    _ = bags.instances @ np.ones(bags.n_features) if bags.instances.dtype.kind in "fiub" else None


def _damaged_index(whole: stock.Whole, path: Path, rng, story: list[str]) -> None:
    """Damage the index that a scan of a folder stores: the next scan must rebuild it."""
    scan_bags(path)
    index = max((cache_folder() / "scans").glob("*.npz"), key=lambda file: file.stat().st_mtime_ns)
    try:
        story.append(f"index of a scan, {_damage_file(index, rng)}")
        scan = scan_bags(path)
        assert_same(whole.bags, whole.y, scan.load(), scan.y)
    finally:
        index.unlink(missing_ok=True)


def _damaged_model(path: Path, rng, story: list[str]) -> None:
    if rng.random() < 0.5:
        whole = path.read_bytes()
        story.append(change := _damage_file(path, rng))
        model = read_or_refused(lambda: load(path), [path], change)
        require(path.read_bytes() == whole, "a damaged model was loaded")
        # A forged file with a correct checksum: the model may predict nonsense, but it must not crash.
    story.append(change := _forge_model(path, rng))
    model = read_or_refused(lambda: load(path), [path], change)
    bags, _ = stock.training()
    try:
        for method in ("predict", "decision_function"):
            getattr(model, method)(bags)
    except Exception as error:
        story.append(f"predict: {shown(error)}")


def _forge_model(path: Path, rng) -> str:
    _, card, archive = read_model(path)
    with zipfile.ZipFile(io.BytesIO(archive)) as file:
        members = {name: file.read(name) for name in file.namelist()}
    name = sorted(members)[rng.integers(len(members))]
    if rng.random() < 0.5:
        name = "schema.json"
    change, members[name] = damage(members[name], rng)
    write_model(path, card, _zipped(members))
    return f"forged {name}, {change}"
