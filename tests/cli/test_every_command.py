"""Tests of every command: help with an example and exit codes, JSON output, a terminal of 80 columns."""

import io
import json
import os
import re
import subprocess
import sys

import pytest

from bagwise import make_noisy_or_bags
from bagwise.cli import main
from bagwise.cli.parser import COMMANDS
from bagwise.cli.screen import RichScreen, Screen

NAMES = [command.name for command in COMMANDS]


@pytest.mark.parametrize("name", NAMES)
def test_help_has_an_example_and_says_what_exit_codes_mean(name, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main([name, "--help"]) == 0
    out = capsys.readouterr().out
    assert re.search(rf"^  bagwise {name}", out, flags=re.M), "the help has no example"
    assert "The exit status is 0" in out and "--json" in out
    assert [line for line in out.splitlines() if len(line) > 80] == []


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("every")
    data = make_noisy_or_bags(40, coef=[3.0, -3.0], intercept=-3.0, random_state=0)
    lines = ["molecule,activity,angle,charge"]
    for index, (X, label) in enumerate(zip(data.bags, data.y, strict=True)):
        lines += [f"{index:03d},{'yes' if label else 'no'},{a},{b}" for a, b in X.tolist()]
    (folder / "a.csv").write_text("\n".join(lines) + "\n")
    return folder


def commands(folder):
    data, model = str(folder / "a.csv"), str(folder / "m.bagwise")
    columns = ["--bag", "molecule", "--label", "activity"]
    return {
        "check": ["check", data, *columns],
        "convert": ["convert", data, str(folder / "a.npz"), *columns],
        "fit": ["fit", data, *columns, "--positive", "yes", "-m", "milr", "--cv", "2", "-o", model],
        "compare": ["compare", data, *columns, "--positive", "yes", "--models", "single", "--cv", "2"],
        "predict": ["predict", model, data],
        "explain": ["explain", model, data, "--id", "003"],
        "plot": ["plot", model, data, "--what", "path", "-o", str(folder / "a.png")],
        "show": ["show", model],
        "demo": ["demo", "--bags", "20", "--out", str(folder / "demo.html")],
    }


@pytest.mark.slow
def test_every_command_writes_one_json_object_and_nothing_else(folder, capsys):
    pytest.importorskip("matplotlib", reason="for plots")
    all_commands = commands(folder)
    assert set(all_commands) == set(NAMES)
    for name, arguments in all_commands.items():
        assert main([*arguments, "--json"]) in (0, 1), name
        out, err = capsys.readouterr()
        assert isinstance(json.loads(out), dict) and err == "", name


@pytest.mark.slow
@pytest.mark.parametrize("rich", [True, False])
def test_screens_fit_a_terminal_of_80_columns(rich, folder, monkeypatch):
    pytest.importorskip("matplotlib", reason="for plots")
    monkeypatch.setenv("COLUMNS", "80")
    for name, arguments in commands(folder).items():
        if name == "demo" and rich:
            continue  # a dozen fits that test nothing new: rich wraps lines that plain text does not
        stream = io.StringIO()
        stream.isatty = lambda: True  # type: ignore[method-assign]
        if rich:
            console = pytest.importorskip("rich.console", reason="this screen needs rich").Console(
                file=stream, width=80, force_terminal=True, highlight=False, markup=False, emoji=False
            )
            screen = RichScreen(console)
        else:
            screen = Screen(stream)
        monkeypatch.setattr("bagwise.cli.make_screen", lambda screen=screen, **_: screen)
        assert main(arguments) in (0, 1), name
        plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", stream.getvalue())
        lines = [line.split("\r")[-1].rstrip() for line in plain.split("\n")]
        # Paths are never wrapped, and the metadata of models has long cells.
        wide = [line for line in lines if len(line) > 80 and str(folder) not in line]
        if name != "show":
            assert not wide, (name, wide)


TERMINAL = """
import sys
sys.modules.update(rich=None) if {plain} else None
from bagwise.cli import main
sys.exit(main({arguments!r}))
"""


@pytest.mark.slow
@pytest.mark.parametrize("plain", [True, False])
def test_on_a_real_terminal_progress_comes_and_goes(plain, folder):
    pty = pytest.importorskip("pty", reason="the test needs a terminal")
    arguments = commands(folder)["fit"]
    master, slave = pty.openpty()
    environment = {**os.environ, "COLUMNS": "80", "TERM": "xterm-256color"}
    code = TERMINAL.format(plain=plain, arguments=arguments)
    program = subprocess.Popen([sys.executable, "-c", code], stdout=slave, stderr=slave, env=environment)
    os.close(slave)
    text = b""
    while True:
        try:
            part = os.read(master, 4096)
        except OSError:
            break
        if not part:
            break
        text += part
    os.close(master)
    assert program.wait() == 0, text.decode()
    shown = text.decode()
    # The bar is updated ten times per second, so a fast fold may not be shown.
    assert re.search(r"fold \d of 2|all bags", shown) and "accuracy" in shown
    assert ("\x1b[" in shown) is not plain
    assert "written: " in shown.splitlines()[-1]
