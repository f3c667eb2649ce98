import io
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from bagwise import Bags, save_bags, save_npz
from bagwise._display.parts import Table
from bagwise.cli import main
from bagwise.cli.screen import RichScreen, Screen, make_screen
from bagwise.evaluation.comparison.portfolio import REPRESENTATIVES
from bagwise.evaluation.comparison.with_truth import ModelScores

CONTROL = {chr(i) for i in range(32)} - {"\n"}


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch):
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)


def clean():
    """Return bags and labels without any problem to report."""
    rng = np.random.default_rng(0)
    return Bags.from_list(rng.normal(size=(40, 3, 3))), rng.permutation(40) % 2


# ---------------------------------------------------------------------- bagwise check


@pytest.fixture
def file(tmp_path):
    return save_npz(tmp_path / "clean.npz", *clean())


def test_check_ends_with_0_without_and_with_1_with_a_warning(file, tmp_path, capsys):
    assert main(["check", str(file)]) == 0
    assert capsys.readouterr().out.endswith("0 warnings, 0 notes.\n")
    bags, _ = clean()
    spoiled = save_npz(tmp_path / "spoiled.npz", bags, np.ones(40))
    assert main(["check", str(spoiled)]) == 1
    out = capsys.readouterr().out
    assert "warning   labels" in out and out.endswith("1 warning, 0 notes.\n")


def test_check_writes_a_page(file, tmp_path, capsys):
    pytest.importorskip("jinja2", reason="reports need it")
    page = tmp_path / "check.html"
    assert main(["check", str(file), "--html", str(page)]) == 0
    assert capsys.readouterr().out.endswith(f"written: {page}\n")
    text = page.read_text()
    assert "No problems were found" in text and "clean.npz" in text
    assert f"bagwise check {file} --html {page}" in text
    assert main(["check", str(file), "--html", str(tmp_path / "check.pdf")]) == 2
    assert "--html must end in .html" in capsys.readouterr().err


def test_piped_output_is_plain_with_a_line_for_each_finding(file, capsys):
    main(["check", str(file)])
    out = capsys.readouterr().out
    assert not CONTROL & set(out) and out.isascii()
    assert sum(line.startswith("ok ") for line in out.splitlines()) == 12


def test_on_a_terminal_rich_colours_the_same_findings(file, capsys, monkeypatch):
    pytest.importorskip("rich", reason="colors need rich")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    assert main(["check", str(file)]) == 0
    out = capsys.readouterr().out
    assert "\x1b[" in out and "✓ ok" in out and "kernel memory" in out


CSV = "molecule,shape,angle,active\nm1,0.1,3,1\nm2,0.2,1,0\nm1,0.3,2,1\nm2,0.5,5,0\n"


def test_a_csv_is_read_without_any_library_of_frames(tmp_path, capsys, monkeypatch):
    for name in ("pandas", "polars"):
        monkeypatch.setitem(sys.modules, name, None)
    path = tmp_path / "long.csv"
    path.write_text(CSV)
    assert main(["check", str(path), "--bag", "molecule", "--label", "active"]) == 1
    out = capsys.readouterr().out
    assert "features   2" in out and "0: 1 bag (50%), 1: 1 bag (50%)" in out
    assert main(["check", str(path), "--bag", "molecule"]) == 0
    assert "labels             none, so only the instances were checked" in capsys.readouterr().out


def test_everything_that_can_be_read_can_be_checked(tmp_path, capsys):
    for name, options in (("a.parquet", {}), ("a.csv", {}), ("folder", {"format": "npy"})):
        path = save_bags(tmp_path / name, *clean(), **options)
        assert main(["check", str(path)]) == 0
        assert capsys.readouterr().out.endswith("0 warnings, 0 notes.\n")


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("absent.npz", None, [], "there is no file"),
        ("text.npz", b"hello", [], "is not a readable npz file"),
        ("data.parquet", b"", [], "is not a readable Parquet file"),
        ("d.npz", b"", ["--bag", "a"], "is read as npz, which has no option 'bag'"),
        ("d.csv", b"a,b\n1,2\n", [], "name the column that contains the bag id"),
        ("d.csv", b"", ["--bag", "a"], "d.csv"),
        ("d.csv", b"\xff\xfe\x00", ["--bag", "a"], "d.csv"),
        ("d.csv", CSV.encode(), ["--bag", "bag"], "has no column 'bag' for the bag of every row; it has 'm"),
        ("d.csv", CSV.encode(), ["--bag", "molecule", "--label", "y"], "has no column 'y' for the labels"),
        ("d.csv", b"b,x,y\n1,2,3\n1,3,2\n", ["--bag", "b", "--label", "y"], "has two values of 'y', 3 and 2"),
        ("d.csv", b"b,x,y\n1,2,0\n1,3,\n", ["--bag", "b", "--label", "y"], "two values of 'y', 0.0 and nan"),
    ],
)  # fmt: skip
def test_a_mistake_ends_with_one_sentence_and_status_2(name, content, options, message, tmp_path, capsys):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    assert main(["check", str(path), *options]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("bagwise: ") and err.count("\n") == 1
    assert message in err


def test_folder_with_the_name_of_a_file_is_refused(tmp_path, capsys):
    (tmp_path / "folder.npz").mkdir()
    assert main(["check", str(tmp_path / "folder.npz")]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_reader_that_stops_early_sees_no_complaint(file):
    read, write = os.pipe()
    os.close(read)
    program = [sys.executable, "-m", "bagwise", "check", str(file)]
    done = subprocess.run(program, stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    assert done.stderr == b"" and done.returncode == 128 + signal.SIGPIPE


# ---------------------------------------------------------------------- bagwise demo


@pytest.mark.slow
def test_the_demo_ends_with_the_path_of_a_page(tmp_path):
    pytest.importorskip("matplotlib", reason="the plot needs matplotlib")
    pytest.importorskip("jinja2", reason="the report needs jinja2")
    program = [sys.executable, "-W", "error", "-m", "bagwise", "demo", "--bags", "40"]
    done = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, check=True)
    last = done.stdout.splitlines()[-1]
    assert last == "report: bagwise-demo.html"
    page = (tmp_path / "bagwise-demo.html").read_text()
    assert page.startswith("<!doctype html>") and "Which image is the 9?" in page
    assert "logistic, or rule" in page and "Models compared" in page
    assert (tmp_path / "bagwise-demo.png").read_bytes().startswith(b"\x89PNG")
    assert done.stderr == "" and not CONTROL & set(done.stdout)
    assert "logistic, or rule" in done.stdout and "A bag is" in done.stdout


@pytest.mark.study
def test_all_adds_the_variants_and_rich_shows_them(tmp_path, capsys, monkeypatch):
    pytest.importorskip("rich", reason="the formatted table needs rich")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("matplotlib", "matplotlib.colors", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--all", "--bags", "30"]) == 0
    out = capsys.readouterr().out
    assert "logistic, softmax" in out and "\x1b[" in out
    assert "pip install 'bagwise[report]'" in out
    assert out.splitlines()[-1] == "No report was written."
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--bags", "5"], "--bags must be at least 20"),
        (["--bags", "5000"], "reduce n_bags or size"),
        (["--seed", "-1"], "--seed must be"),
        (["--out", "nowhere/page.html"], "there is no folder 'nowhere'"),
        (["--out", "picture.png"], "--out must end in .html"),
        (["--out", "taken.html"], "cannot be written"),
    ],
)
def test_a_mistake_in_the_demo_is_told_before_any_work(options, message, tmp_path, capsys, monkeypatch):
    pytest.importorskip("matplotlib", reason="without it no plot is drawn")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken.html").mkdir()
    assert main(["demo", *options]) == 2
    out, err = capsys.readouterr()
    assert "A bag is" not in out and message in err and err.count("\n") == 1


def test_the_demo_says_what_it_is_doing_where_no_bar_can(monkeypatch, capsys, tmp_path):
    pytest.importorskip("matplotlib", reason="the plot needs matplotlib")
    pytest.importorskip("jinja2", reason="the report needs jinja2")
    monkeypatch.chdir(tmp_path)
    seen = {}  # the output before each step
    threads = []

    def scored(model, *args):
        threads.extend(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        seen[model.name] = capsys.readouterr().out
        return ModelScores(model, 0.9, 0.9, None, 1.0, ())

    monkeypatch.setattr("bagwise.evaluation.comparison.with_truth.cross_validate", scored)
    for name in ("_draw", "_write_page"):
        monkeypatch.setattr(
            f"bagwise.cli.demo.{name}", lambda *args, name=name: seen.update({name: capsys.readouterr().out})
        )
    with threadpool_limits(2, user_api="blas"):
        assert main(["demo", "--bags", "20"]) == 0
    models = [model.name for model in REPRESENTATIVES]
    assert "loading the digits" in seen[models[0]]
    for index, name in enumerate(models, start=1):
        assert seen[name].endswith(f"model {index} of {len(models)}: {name} ...\n")
    assert seen["_draw"].endswith("drawing the plot ...\n")
    assert seen["_write_page"].endswith("writing the report ...\n")
    assert set(threads) == {1}, "several threads are slower on small matrices"


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemError])
def test_ctrl_c_ends_the_program(error, monkeypatch, capsys):
    def interrupted(*args, **kwargs):
        try:
            signal.raise_signal(signal.SIGINT)
            pytest.fail("the program was not interrupted")
        except KeyboardInterrupt:
            raise error from None  # a kernel raises another error instead

    monkeypatch.setattr("bagwise.evaluation.comparison.with_truth.cross_validate", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert main(["demo", "--bags", "20"]) == 130
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert capsys.readouterr().err == "bagwise: stopped by Ctrl-C.\n"


# ---------------------------------------------------------------------- the program and its screen


def test_help_and_version_come_without_loading_anything_heavy():
    code = """
import sys
from bagwise.cli import main
assert main(["--help"]) == 0 and main(["check", "--help"]) == 0 and main(["--version"]) == 0
heavy = {"numpy", "scipy", "sklearn", "numba", "rich", "matplotlib", "pandas"} & set(sys.modules)
assert not heavy, heavy
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    import bagwise

    assert f"bagwise {bagwise.__version__}" in done.stdout
    assert "exit status is 0 if there are no warnings" in done.stdout


def test_without_a_command_the_help_is_shown(capsys):
    assert main([]) == 0
    out = capsys.readouterr().out
    assert "demo" in out and "check" in out


@pytest.mark.parametrize(
    "argv", [["fit"], ["check"], ["check", "a.npz", "--colour"], ["demo", "--bags", "x"]]
)
def test_a_wrong_command_line_ends_with_status_2(argv, capsys):
    assert main(argv) == 2
    assert "usage: bagwise" in capsys.readouterr().err


class Terminal(io.StringIO):
    encoding = "ascii"

    def isatty(self):
        return True


def show(screen):
    screen.title("Title")
    screen.paragraph("word " * 40)
    with screen.progress(2) as begin:
        begin("first")
        begin("second")
    screen.table(Table.of(["name", "two\nlines"], [["a", "1.0"], ["long name", "[red]"]]))
    screen.finding("warning", "topic", "advice " * 30)
    screen.note("remark")
    screen.line("x" * 300)


def test_a_plain_table_is_aligned():
    stream = io.StringIO()
    Screen(stream).table(Table.of(["name", "bag\nAUC"], [["a", "0.5"], ["longer", "12.25"]]))
    assert stream.getvalue() == (
        "          bag\n"
        "name      AUC\n"
        "------  -----\n"
        "a         0.5\n"
        "longer  12.25\n"
        "\n"
    )  # fmt: skip


def test_without_a_terminal_nothing_moves_and_findings_are_one_line():
    stream = io.StringIO()
    show(Screen(stream))
    assert not CONTROL & set(stream.getvalue())
    assert "first" not in stream.getvalue()
    assert sum("advice" in line for line in stream.getvalue().splitlines()) == 1


def test_without_a_terminal_progress_is_a_line_per_minute_on_standard_error(monkeypatch, capsys):
    monkeypatch.setattr("bagwise._core.live_line._MINUTE", 0.05)
    stream = io.StringIO()
    with Screen(stream).progress(3) as begin:
        begin("first")
        begin("second")
        time.sleep(0.2)
    assert "bagwise: 0:00, 1 of 3: second" in capsys.readouterr().err.splitlines()
    assert not stream.getvalue()


@pytest.mark.parametrize("screen", ["plain", "rich"])
def test_terminals_show_the_time_left(screen, monkeypatch):
    now = 0.0
    monkeypatch.setattr("bagwise._core.live_line.time.monotonic", lambda: now)
    stream = Terminal()
    if screen == "rich":
        rich_console = pytest.importorskip("rich.console", reason="this screen needs rich")
        console = rich_console.Console(file=stream, width=80, force_terminal=True)
    with (RichScreen(console) if screen == "rich" else Screen(stream)).progress(5) as begin:
        begin("first")
        now += 20.0
        begin("second")
    assert "about 1:20 left" in stream.getvalue()


def test_a_terminal_without_rich_has_a_counter_and_wrapped_text(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    stream = Terminal()
    show(Screen(stream))
    text = stream.getvalue()
    assert "\r   1 of 2  second" in text and "\x1b" not in text
    lines = [line for line in text.split("\n") if "advice" in line]
    assert len(lines) > 1 and max(map(len, lines)) <= 60


def test_rich_shows_the_same_and_keeps_long_lines_and_brackets_whole():
    rich_console = pytest.importorskip("rich.console", reason="this screen needs rich")
    stream = io.StringIO()
    options = {"highlight": False, "markup": False, "emoji": False}
    console = rich_console.Console(file=stream, width=80, force_terminal=True, **options)
    show(RichScreen(console))
    text = stream.getvalue()
    assert "x" * 300 in text and "[red]" in text
    assert "▲ warning" in text and "Title" in text and "remark" in text


HOSTILE = "\x1b]0;title\x07\x1b[2J\x9b31m\u202e\ud800"


def show_hostile(screen):
    screen.title(HOSTILE)
    screen.paragraph(HOSTILE)
    with screen.progress(2) as begin:
        begin("first")
        begin(HOSTILE)
    screen.table(Table.of(["id", HOSTILE], [[HOSTILE, "1.0"]], title=HOSTILE, note=HOSTILE))
    screen.finding("warning", HOSTILE, HOSTILE)
    screen.note(HOSTILE)
    screen.line(HOSTILE)
    screen.error(HOSTILE)


@pytest.mark.parametrize("has_rich", [False, True])
def test_control_characters_in_names_do_not_reach_the_terminal(has_rich, capsys):
    stream = Terminal()
    if has_rich:
        rich_console = pytest.importorskip("rich.console", reason="this screen needs rich")
        options = {"highlight": False, "markup": False, "emoji": False}
        console = rich_console.Console(file=stream, width=300, force_terminal=True, **options)
        show_hostile(RichScreen(console))
    else:
        show_hostile(Screen(stream))
    shown = "\\x1b]0;title\\x07\\x1b[2J\\x9b31m\\u202e\\ud800"
    text = stream.getvalue()
    assert "]0;title" in text and "\x1b]" not in text and "\x1b[2J\\" not in text
    assert not set("\x07\x9b\u202e\ud800") & set(text)
    assert text.count(shown) >= 8
    assert capsys.readouterr().err == f"bagwise: {shown}\n"


def test_control_characters_in_arguments_do_not_reach_the_terminal(capsys):
    assert main(["check", "a.csv", "\x1b[2Jb.csv"]) == 2
    assert capsys.readouterr().err.endswith("unrecognized arguments: \\x1b[2Jb.csv\n")


def test_letters_that_the_terminal_lacks_are_written_as_escapes():
    stream = Terminal()
    Screen(stream).line("naïve")
    assert stream.getvalue() == "na\\xefve\n"


def test_json_keeps_the_exact_text():
    stream = io.StringIO()
    Screen(stream).data({"id": HOSTILE})
    assert json.loads(stream.getvalue()) == {"id": HOSTILE}


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [["check", "a.csv"], ["check", "a.csv", "--json"], ["--help"]])
def test_output_that_cannot_be_written_is_one_sentence(tmp_path, arguments):
    (tmp_path / "a.csv").write_text("bag,y,x\na,0,1\na,0,2\nb,1,3\nb,1,4\n")
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "bagwise", *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=env, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.stderr == "bagwise: standard output cannot be written: No space left on device.\n"
    assert done.returncode == 2


def test_closed_streams_are_no_error(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("bag,y,x\na,0,1\na,0,2\nb,1,3\nb,1,4\n")
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    statuses = [main(["check", str(tmp_path / name)]) for name in ("a.csv", "b.csv")]
    sys.stdout.close()
    sys.stderr.close()
    assert statuses == [1, 2]


def test_without_rich_the_screen_is_plain(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert type(make_screen()) is Screen
