"""The runner of experiments and ``python -m reproduction``, with a trivial experiment."""

import csv
import json
import re

import numpy as np
import pytest
import reproduction
from reproduction.__main__ import main
from reproduction.framework import (
    Cell,
    Experiment,
    Figure,
    Report,
    Settings,
    Table,
    mean_and_error,
    with_error,
)
from reproduction.runner import count_stored, run_experiment

computed = []


def square(value, seed):
    computed.append(value)
    return {"square": np.int64(value**2), "values": np.array([0.1, seed])}


def interrupted(value, seed):
    if value == 2:
        raise KeyboardInterrupt
    return square(value, seed)


def broken(value, seed):
    raise ZeroDivisionError("the cell fails")


def make_experiment(run=square, key="cell-{}", needs_data=()):
    def cells(settings):
        values = range(2 if settings.quick else 4)
        return [Cell(key.format(n), run, {"value": n, "seed": settings.seed}) for n in values]

    def report(results, settings):
        from matplotlib.figure import Figure as Drawn

        rows = [{"cell": key, "square": value["square"]} for key, value in results.items()]
        tables, figures = [Table("Squares", rows, "A note.")], [Figure("plot", Drawn())]
        return Report("What was done.", tables, figures, {"long": [{"n": n} for n in range(3)]})

    return Experiment("toy", "squares", "Author (1900)", cells, report, 0.5, needs_data)


@pytest.fixture(autouse=True)
def nothing_computed():
    computed.clear()


def test_run_writes_page_table_and_figure(tmp_path):
    seen = []
    page = run_experiment(make_experiment(), Settings(seed=3), out=tmp_path, begin=seen.append)
    text = page.read_text()
    assert page == tmp_path / "toy.md" and text.startswith("# toy: squares\n\nAuthor (1900)\n\nCommand: ")
    assert "`python -m reproduction toy --seed 3 --jobs 1`" in text and "min processor time" in text
    assert re.search(r"bagwise \d+\.\d+\.\d+(?:\.dev\d+)?, code [0-9a-f]{12}, Python", text)
    assert "| cell-3 | 9 |" in text and "A note." in text and "![plot](toy-plot.png)" in text
    with (tmp_path / "toy.csv").open() as file:
        assert list(csv.DictReader(file))[2] == {"cell": "cell-2", "square": "4"}
    assert (tmp_path / "toy-plot.png").read_bytes().startswith(b"\x89PNG")
    assert seen == ["", "cell-0", "cell-1", "cell-2", "cell-3"]
    again = []
    run_experiment(make_experiment(), Settings(seed=3), out=tmp_path, begin=again.append)
    assert again == seen and len(computed) == 4  # stored cells are reported, too
    assert (tmp_path / "toy-long.csv").read_text() == "n\n0\n1\n2\n"
    names = ["cells", "toy-long.csv", "toy-plot.png", "toy.csv", "toy.md"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names


def test_interrupted_run_is_resumed(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run_experiment(make_experiment(interrupted), Settings(), out=tmp_path)
    assert computed == [0, 1]
    assert not (tmp_path / "toy.md").exists()
    interrupted_name = interrupted.__qualname__
    try:  # the same cells with a working function
        interrupted.__qualname__, square.__qualname__ = "other", interrupted_name
        run_experiment(make_experiment(square), Settings(), out=tmp_path)
    finally:
        interrupted.__qualname__, square.__qualname__ = interrupted_name, "square"
    assert computed == [0, 1, 2, 3]


def test_stored_cells_count_only_for_the_same_function_arguments_and_seed(tmp_path):
    run_experiment(make_experiment(), Settings(), out=tmp_path)
    run_experiment(make_experiment(), Settings(), out=tmp_path)
    assert len(computed) == 4
    run_experiment(make_experiment(), Settings(seed=1), out=tmp_path)
    assert len(computed) == 8
    run_experiment(make_experiment(), Settings(), out=tmp_path, fresh=True)
    assert len(computed) == 12
    stored = tmp_path / "cells" / "toy-seed0" / "cell-1.json"
    stored.write_text(stored.read_text()[:20])  # a truncated file
    run_experiment(make_experiment(), Settings(), out=tmp_path)
    assert computed[12:] == [1]
    assert json.loads(stored.read_text())["value"] == {"square": 1, "values": [0.1, 0.0]}


def test_stored_cells_count_only_for_the_same_code(tmp_path, monkeypatch):
    run_experiment(make_experiment(), Settings(), out=tmp_path)
    monkeypatch.setattr("reproduction.code.Sources.key", lambda sources, function: "edited")
    run_experiment(make_experiment(), Settings(), out=tmp_path)
    assert len(computed) == 8
    run_experiment(make_experiment(), Settings(), out=tmp_path)
    assert len(computed) == 8


def test_cell_is_stored_with_the_code_at_its_start(tmp_path, monkeypatch):
    def edit_while_running(value, seed):
        monkeypatch.setattr("reproduction.code.Sources.key", lambda sources, function: "edited")
        return square(value, seed)

    monkeypatch.setattr("reproduction.code.Sources.key", lambda sources, function: "as it was")
    run_experiment(make_experiment(edit_while_running), Settings(), out=tmp_path)
    run_experiment(make_experiment(edit_while_running), Settings(), out=tmp_path)
    assert len(computed) == 8


def test_quick_run_does_not_change_the_full_run(tmp_path):
    full = run_experiment(make_experiment(), Settings(), out=tmp_path).read_text()
    quick = run_experiment(make_experiment(), Settings(quick=True), out=tmp_path)
    assert quick.name == "toy-quick.md" and (tmp_path / "toy.md").read_text() == full


def test_several_processes_write_the_same_page(tmp_path):
    texts = []
    for jobs in (1, 2):
        page = run_experiment(make_experiment(), Settings(), out=tmp_path / str(jobs), jobs=jobs)
        texts.append(page.read_text().split("What was done.")[1])
    assert texts[0] == texts[1]


def test_error_names_the_failed_cell(tmp_path):
    with pytest.raises(ZeroDivisionError) as caught:
        run_experiment(make_experiment(broken), Settings(), out=tmp_path)
    assert caught.value.__notes__ == ["in the cell 'cell-0'"]


def test_keys_must_be_unique_file_names(tmp_path):
    for key in ("same", "a/b{}"):
        with pytest.raises(ValueError, match="cell keys must be unique and valid file names"):
            run_experiment(make_experiment(key=key), Settings(), out=tmp_path)


def test_errors_are_standard_errors_of_the_mean_over_repeats():
    assert mean_and_error([1.0, 3.0]) == (2.0, 1.0)
    assert with_error([0.5, 0.7]) == "60.0 ± 10.0" and with_error([0.5]) == "50.0"


# ---------------------------------------------------------------------- the command line


@pytest.fixture
def toy(monkeypatch, request):
    experiment = make_experiment(**getattr(request, "param", {}))
    monkeypatch.setattr(reproduction, "all_experiments", lambda: {"toy": experiment})


def test_the_program_lists_experiments(toy, capsys):
    assert main([]) == 0
    out = capsys.readouterr().out
    assert "toy" in out and "squares" in out and "0.5" in out


def test_the_program_runs_an_experiment(toy, tmp_path, capsys):
    assert main(["toy", "--quick", "--seed", "5", "--out", str(tmp_path / "deep" / "out")]) == 0
    out = capsys.readouterr().out
    assert "cell-1" in out and f"written: {tmp_path / 'deep' / 'out' / 'toy-quick.md'}" in out
    assert len(computed) == 2


@pytest.mark.parametrize("toy", [{"run": interrupted}], indirect=True)
def test_ctrl_c_keeps_finished_cells_and_explains_how_to_resume(toy, tmp_path, capsys):
    assert main(["toy", "--out", str(tmp_path)]) == 130
    error = capsys.readouterr().err
    assert (
        "2 of 4 cells are finished and stored in" in error and "to resume, repeat the same command" in error
    )
    # Cells that other code has stored do not count.
    stored = tmp_path / "cells" / "toy-seed0" / "cell-0.json"
    stored.write_text(json.dumps(json.loads(stored.read_text()) | {"fingerprint": "old"}))
    (tmp_path / "cells" / "toy-seed0" / "cell-3.json").write_text('{"fingerprint": "old"}')
    assert count_stored(make_experiment(interrupted), Settings(), tmp_path) == 1


@pytest.mark.parametrize("toy", [{"needs_data": ("musk1",)}], indirect=True)
def test_unavailable_data_are_reported_in_a_sentence(toy, tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("BAGWISE_DATA", raising=False)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("BAGWISE_CACHE", str(tmp_path / "file"))
    assert main(["toy", "--out", str(tmp_path)]) == 2
    assert "bagwise: cannot write to the cache folder" in capsys.readouterr().err


def test_invalid_arguments_are_reported_in_a_sentence(toy, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    for arguments, sentence in (
        (["nothing"], "there is no experiment 'nothing'; choose from toy."),
        (["toy", "--jobs", "0"], "--jobs is 0"),
        (["toy", "--out", str(tmp_path / "file")], "cannot write to"),
    ):
        assert main(arguments) == 2
        assert sentence in capsys.readouterr().err
