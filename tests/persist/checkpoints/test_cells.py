"""Cells and states in a checkpoint, and the times at which it is written."""

import signal
import threading

import numpy as np
import pytest

from bagwise._core.interrupt import interruptible
from bagwise.families.gaussian import GaussianParams
from bagwise.models.mixture.model import MixtureParams
from bagwise.persist.checkpoints import file as files
from bagwise.persist.checkpoints import opened
from bagwise.persist.checkpoints import store as stores
from bagwise.persist.checkpoints.plain import (
    NotPlainError,
    Packer,
    copied,
    digest_of,
    put_together,
    taken_apart,
    unpack,
)
from bagwise.rules import CountLogistic, CountTable, Or


class CutOffError(Exception):
    """Raised to interrupt a run."""


def identity():
    return {"model": "test"}


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(stores, "_EVERY", 0.0)
    monkeypatch.setattr(stores, "_SHARE", 0.0)


def cut_off(path, run):
    with pytest.raises(CutOffError), opened(path, identity) as checkpoint:
        run(checkpoint)
        raise CutOffError


# ---------------------------------------------------------------------- plain values

VALUES = [
    None,
    True,
    7,
    -0.1,
    float("inf"),
    "text",
    np.float64(1 / 3),
    np.float32(0.1),
    np.array(2.5),
    np.arange(6).reshape(2, 3)[:, ::2],
    np.array([np.nan, -np.inf, -0.0, 5e-324]),
    np.empty((0, 3)),
    np.array([True, False]),
    (1.5, [np.ones(2), {"a": (), "b": None}]),
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_plain_values_come_back_with_their_bits_and_types(value):
    packer = Packer()
    terms = packer.pack(value)
    back = unpack(terms, packer.content)
    assert repr(back) == repr(value) and type(back) is type(value)
    if isinstance(value, np.ndarray):
        assert back.dtype == value.dtype and back.tobytes() == value.tobytes() and back.flags.writeable


def test_nan_that_is_a_float_comes_back():
    packer = Packer()
    assert np.isnan(unpack(packer.pack(float("nan")), packer.content))


@pytest.mark.parametrize("value", [object(), np.array([None]), np.array(["a"]), {1, 2}, Or(), print])
def test_nothing_else_is_packed(value):
    with pytest.raises(NotPlainError):
        Packer().pack([value])


@pytest.mark.parametrize("form", ["|O", "<U3", "|V8"])
def test_nothing_else_is_unpacked(form):
    with pytest.raises(ValueError, match="it contains"):
        unpack({"array": [form, [1], 0]}, b"\0" * 16)
    with pytest.raises(ValueError, match="it contains"):
        unpack({"object": "os.system"}, b"")


@pytest.mark.parametrize(
    "rule", [Or(), CountLogistic(0.25, 3.0, ("slope",)), CountTable(np.array([0.1, 0.7]))]
)
def test_parameters_are_taken_apart_and_put_together(rule):
    def params(value):
        component = GaussianParams(np.full(2, value), value * np.eye(2))
        return MixtureParams(np.zeros(2) + value, np.zeros(1), [component], 1, rule)

    packer = Packer()
    terms = packer.pack(taken_apart(params(1 / 3)))
    back = put_together(unpack(terms, packer.content), params(0.0))
    assert type(back) is MixtureParams and type(back.components[0]) is GaussianParams
    assert repr(back) == repr(params(1 / 3)) and back.rule.get_params().keys() == rule.get_params().keys()


def test_a_copy_is_another():
    value = {"a": [np.zeros(2)], "b": (np.zeros(2),)}
    other = copied(value)
    other["a"][0][0] = other["b"][0][0] = 1.0
    assert not value["a"][0].any() and not value["b"][0].any()


def test_digests_tell_values_apart():
    values = [1, 1.0, "1", None, (1,), ((1,),), np.ones(1), np.ones((1, 1)), np.ones(1, int), print, len]
    assert len({digest_of(value) for value in values}) == len(values)
    assert digest_of(np.arange(3.0)) == digest_of(np.arange(6.0)[:3]) != digest_of(np.arange(3.0)[::-1])
    x = np.zeros(2**20)
    assert digest_of(x) == digest_of(x.copy()) != digest_of(x + 1)


# ---------------------------------------------------------------------- cells


def test_cells_that_have_ended_are_not_computed_again(tmp_path):
    computed = []

    def cells(checkpoint):
        def compute(n):
            checkpoint.within(f"cell {n}").within("inside").keep({"x": np.ones(n)})
            computed.append(n)
            return np.arange(n)

        return [checkpoint.cell(f"cell {n}", compute, n) for n in range(3)]

    path = tmp_path / "run"
    cut_off(path, cells)
    with opened(path, identity) as checkpoint:
        assert [len(cell) for cell in cells(checkpoint)] == [0, 1, 2]
        assert not [name for name in checkpoint.store.entries if "inside" in name]
    assert computed == [0, 1, 2] and not path.exists()


def test_a_cell_has_the_same_type_when_it_is_read(tmp_path):
    value = (1.5, ["a", (2, None)], {"x": True})

    def cell(checkpoint):
        return checkpoint.cell("cell", lambda: value)

    cut_off(tmp_path / "run", cell)
    with opened(tmp_path / "run", identity) as checkpoint:
        assert repr(cell(checkpoint)) == repr(value)


def test_a_run_with_another_question_is_not_the_same_run(tmp_path):
    path = tmp_path / "run"

    def runs(checkpoint, questions):
        ended = []
        for question in questions:
            run = checkpoint.next_run(*question)
            ended.append(run.has_ended)
            run.finish(1.0)
        return ended

    cut_off(
        path, lambda checkpoint: runs(checkpoint, [(np.zeros(2), 1.0), (np.zeros(2), 2.0), (np.ones(2), 2.0)])
    )
    kept = path.read_bytes()
    with opened(path, identity) as checkpoint:
        # The second run differs, so this run and all later ones are computed again.
        asked = [(np.zeros(2), 1.0), (np.zeros(2), 3.0), (np.ones(2), 2.0)]
        assert runs(checkpoint, asked) == [True, False, False]
    path.write_bytes(kept)
    with opened(path, identity) as checkpoint:
        asked = [(np.zeros(2), 1.0), (np.zeros(2), 2.0), (np.ones(2), 2.0), (np.ones(2), 9.0)]
        assert runs(checkpoint, asked) == [True, True, True, False]


def test_a_state_is_the_last_one_until_the_end(tmp_path):
    path = tmp_path / "run"
    form = {"x": None, "n": None}

    def run(checkpoint):
        assert checkpoint.state(form) is None
        for n in range(3):
            checkpoint.keep({"x": np.full(2, n), "n": n})

    cut_off(path, run)
    with pytest.raises(CutOffError), opened(path, identity) as checkpoint:
        state = checkpoint.state(form)
        assert state["n"] == 2 and (state["x"] == 2).all()
        assert checkpoint.state({**form, "other": None}) is None  # another form
        checkpoint.finish("end")
        assert checkpoint.state(form) is None and checkpoint.end() == "end"
        raise CutOffError


# ---------------------------------------------------------------------- the file


def test_it_is_written_every_few_seconds(tmp_path, monkeypatch):
    now, path = [0.0], tmp_path / "run"
    monkeypatch.setattr(stores.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(stores, "_EVERY", 2.0)
    with opened(path, identity) as checkpoint:
        begun = path.read_bytes()
        checkpoint.keep(1.0)
        assert path.read_bytes() == begun
        now[0] = 2.5
        checkpoint.keep(2.0)
        written = path.read_bytes()
        assert written != begun
        checkpoint.keep(3.0)
        now[0] = 4.0
        checkpoint.keep(4.0)
        assert path.read_bytes() == written


def test_writing_takes_a_small_part_of_the_time(tmp_path, monkeypatch):
    now, path = [0.0], tmp_path / "run"
    monkeypatch.setattr(stores.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(stores, "_SHARE", 20.0)
    slow, write = [1.0], files.write_sealed

    def write_slowly(*args):
        now[0] += slow[0]
        write(*args)

    monkeypatch.setattr(files, "write_sealed", write_slowly)
    with opened(path, identity) as checkpoint:
        for _ in range(1000):
            now[0] += 0.1
            checkpoint.keep(now[0])
    # 100 seconds of work, and one second per write.
    assert now[0] < 106


def test_a_write_that_fails_is_a_warning_and_the_next_is_tried(tmp_path, monkeypatch):
    path, write, is_full = tmp_path / "run", files.write_sealed, [False]

    def write_if_there_is_room(*args):
        if is_full[0]:
            raise OSError(28, "No space left on device")
        write(*args)

    monkeypatch.setattr(files, "write_sealed", write_if_there_is_room)
    with opened(path, identity) as checkpoint:
        is_full[0] = True
        with pytest.warns(UserWarning, match="could not be written .*No space left.*the fit continues"):
            checkpoint.keep(1.0)
        is_full[0] = False
        before = path.read_bytes()
        checkpoint.keep(2.0)
        assert path.read_bytes() != before


def test_a_full_disk_at_the_beginning_is_a_warning(tmp_path, monkeypatch):
    path, write, is_full = tmp_path / "run", files.write_sealed, [True]

    def write_if_there_is_room(*args):
        if is_full[0]:
            raise OSError(28, "No space left on device", str(path))
        write(*args)

    monkeypatch.setattr(files, "write_sealed", write_if_there_is_room)
    with (
        pytest.warns(UserWarning, match="run' could not be written .No space left on device.; the fit cont"),
        opened(path, identity) as checkpoint,
    ):
        is_full[0] = False
        checkpoint.keep(1.0)
        assert path.exists()
    assert not path.exists()


def test_a_full_disk_at_the_end_does_not_hide_the_error_of_the_fit(tmp_path, monkeypatch):
    def write(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "write_sealed", write)
    for error, message in ((RuntimeError("the fit failed"), "failed"), (KeyboardInterrupt(), "interrupted$")):
        with (
            pytest.warns(UserWarning, match="could not be written"),
            pytest.raises(type(error), match=message),
            opened(tmp_path / "run", identity) as checkpoint,
        ):
            checkpoint.keep(1.0)
            raise error


def test_a_path_that_cannot_be_written_is_an_error_at_the_beginning(tmp_path, monkeypatch):
    def write(*_):
        raise PermissionError(13, "Permission denied", "run")

    monkeypatch.setattr(files, "write_sealed", write)
    with pytest.raises(PermissionError, match="Permission denied: 'run'"), opened(tmp_path / "run", identity):
        pass


def test_threads_keep_their_states(tmp_path):
    path = tmp_path / "run"

    def run(checkpoint):
        def work(i_start):
            cell = checkpoint.within(f"start {i_start}")
            for n in range(50):
                cell.keep(np.full(3, i_start + n))

        threads = [threading.Thread(target=work, args=(i_start,)) for i_start in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    cut_off(path, run)
    with opened(path, identity) as checkpoint:
        states = [checkpoint.within(f"start {i_start}").state(None) for i_start in range(8)]
    assert [state[0] for state in states] == [i_start + 49 for i_start in range(8)]


def test_a_link_leads_to_the_file(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "elsewhere/run")
    cut_off(link, lambda checkpoint: checkpoint.keep(1.0))
    assert link.is_symlink() and (tmp_path / "elsewhere/run").exists()
    with opened(link, identity) as checkpoint:
        assert checkpoint.state(None) == 1.0
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.fixture
def usual_handler():
    """Install the default SIGINT handler, because background processes ignore SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_states_after_ctrl_c_are_not_stored(tmp_path, usual_handler):
    path = tmp_path / "run"

    def run():
        with interruptible() as stop, opened(path, identity) as checkpoint:
            checkpoint.within("a").keep(1.0)
            stop.set()
            checkpoint.within("a").keep(2.0)
            checkpoint.within("b").finish(3.0)

    with pytest.raises(
        KeyboardInterrupt, match=r"repeat the same call to continue from the checkpoint '.*run'"
    ):
        run()
    with opened(path, identity) as checkpoint:
        assert checkpoint.within("a").state(None) == 1.0 and not checkpoint.within("b").has_ended


def test_inner_fits_have_their_own_cells_and_the_outer_removes_the_file(tmp_path):
    path, computed = tmp_path / "run", []

    def member(checkpoint, n):
        with opened(checkpoint, lambda: {"model": "member", "parameters": {"n": str(n)}}) as cell:
            return cell.cell("fit", lambda: computed.append(n) or n)

    def ensemble(checkpoint):
        return [member(checkpoint.within(f"member {n}"), n) for n in range(3)]

    cut_off(path, ensemble)
    with (
        pytest.raises(ValueError, match="belongs to a fit with n=0, but this fit has n=5"),
        opened(path, identity) as checkpoint,
    ):
        member(checkpoint.within("member 0"), 5)
    with opened(path, identity) as checkpoint:
        assert ensemble(checkpoint) == [0, 1, 2] and path.exists()
    assert computed == [0, 1, 2] and not path.exists()
