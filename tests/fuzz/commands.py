"""Every command with unusual arguments: a valid exit status and a one-sentence error, never a traceback."""

from __future__ import annotations

import argparse
import contextlib
import io
import tempfile
from pathlib import Path

from tests.fuzz import data, stock
from tests.fuzz.choosing import chosen, generator
from tests.fuzz.damaging import damage
from tests.fuzz.judging import Refused, require

from bagwise import save_bags
from bagwise.cli import main
from bagwise.cli.models import MODELS
from bagwise.cli.parser import COMMANDS
from bagwise.io.files import FORMATS

# Commands that are not tested, with the reason.
EXEMPT = {"demo": "takes seconds, has no arguments, and uses included data"}
# Options that are always passed: without `models`, a comparison fits all model families, which takes minutes.
_ALWAYS = {"compare": {"models"}}
_NUMERIC_TEXTS = ("0", "1", "3", "-1", "0.5", "1e300", "nan", "x", "")
_TEXTS = (
    "bag=1",
    "max_iter=3",
    "bag",
    "bag_id",
    "y",
    "label",
    "class",
    "no such column",
    "",
    "a",
    "yes",
    "1",
)


def subjects() -> list[str]:
    """Return the names of all tested commands."""
    return [command.name for command in COMMANDS if command.name not in EXEMPT]


def run(seed: int, only: str | None = None) -> str:
    """Run one command with random arguments."""
    name = only or chosen(seed, subjects())
    rng = generator("commands", seed)
    with tempfile.TemporaryDirectory(prefix="fuzz") as folder:
        argv = [name, *_arguments(name, Path(folder), rng)]
        out, err = io.StringIO(), io.StringIO()
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), contextlib.chdir(folder):
                status = main(argv)
        except BaseException as error:
            error.add_note(f"bagwise {' '.join(map(repr, argv))}")
            raise
        errors = err.getvalue()
        story = f"bagwise {' '.join(map(repr, argv))}: status {status}: {errors[-500:]}"
        require(status in (0, 1, 2), story)
        require("Traceback" not in errors and "Traceback" not in out.getvalue(), story)
        if status == 2:
            require(len(errors.split()) >= 3, f"no error message: {story}")
            if "usage:" not in errors:
                require(len(errors.strip().splitlines()) == 1, f"more than one line: {story}")
            raise Refused(story)
        return story


def _arguments(name: str, folder: Path, rng) -> list[str]:
    command = next(command for command in COMMANDS if command.name == name)
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    argv: list[str] = []
    for action in parser._actions:
        if isinstance(action, argparse._HelpAction):
            continue
        if not action.option_strings:
            count = {
                "*": int(rng.integers(0, 3)),
                "+": int(rng.integers(1, 3)),
                "?": int(rng.integers(0, 2)),
            }.get(str(action.nargs), 1)
            if rng.random() < 0.02:
                count = 0
            argv += [_value(action, folder, rng) for _ in range(count)]
        elif (
            action.required
            or action.dest in _ALWAYS.get(name, ())
            or rng.random() < (0.3 if action.nargs == 0 else 0.1)
        ):
            argv.append(action.option_strings[-1])
            if action.nargs != 0:
                argv.append(_value(action, folder, rng))
    return argv


def _value(action, folder: Path, rng) -> str:
    if action.choices is not None and rng.random() < 0.9:
        return str(sorted(action.choices, key=str)[rng.integers(len(action.choices))])
    if action.dest == "jobs":  # starting processes takes seconds
        return str(rng.choice(["0", "1", "x", "1.5"]))
    if action.type in (int, float):
        return str(rng.choice(_NUMERIC_TEXTS))
    if action.type is Path:
        if any(word in action.dest for word in ("target", "out", "save", "to")):
            return str(
                folder
                / f"new{rng.choice(['.npz', '.csv', '.parquet', '', '.arff', '.bagwise', '.html', '.json'])}"
            )
        return str(_file(action, folder, rng))
    if "format" in action.dest:
        return str(rng.choice([*FORMATS, "no-such-format"]))
    if action.dest in ("model", "models") and rng.random() < 0.9:
        return str(rng.choice(list(MODELS)))
    return str(rng.choice(_TEXTS))


def _file(action, folder: Path, rng) -> Path:
    """Return the path of a file to read: intact, unusual, damaged, of the wrong kind, or missing."""
    choice = rng.integers(6)
    if choice == 0:
        return folder / "absent.npz"
    wants_model = "model" in action.dest or (action.help and "model" in action.help)
    if choice in (1, 2) and not wants_model:
        drawn = data.draw_bags(rng, hostile=rng.random() < 0.5)
        y = data.as_labels(rng, data.draw_classes(rng, drawn.n_bags))[0]
        X = drawn.X.astype(float) if drawn.X.dtype == object else drawn.X
        y = y.astype(str) if y.dtype == object else y
        suffix = str(rng.choice([".npz", ".csv", ".parquet"]))
        return save_bags(folder / f"drawn{rng.integers(1000)}{suffix}", drawn.bags.with_instances(X), y)
    kinds = ["model"] if wants_model and choice < 5 else stock.kinds()
    wholes = stock.whole_files()[kinds[rng.integers(len(kinds))]]
    whole = wholes[rng.integers(len(wholes))]
    copy_folder = folder / f"copy{rng.integers(1000)}"
    copy_folder.mkdir(exist_ok=True)
    path = whole.copy(copy_folder)
    if choice == 4 and path.is_file():
        path.write_bytes(damage(path.read_bytes(), rng)[1])
    return path
