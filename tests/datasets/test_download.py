"""Downloads from a local server, both successful and failed."""

import gzip
import hashlib
import http.server
import os
import threading
from pathlib import Path

import pytest

from bagwise import fetch_hja_birdsong, fetch_musk1, fetch_newsgroups
from bagwise.datasets import _download, _sources
from bagwise.datasets._sources import SOURCES, Source

DATA = os.environ.get("BAGWISE_DATA")

# Two molecules in the format of Musk.
CONTENT = "".join(
    f"{molecule},{molecule}_{k},{','.join(str(j + k) for j in range(166))},{label}.\n"
    for molecule, label in (("MUSK-1", 1), ("NON-MUSK-2", 0))
    for k in range(2)
).encode()


class Server:
    """Local server of `files` by name, or else of `body`, with status `status` and cut after `cut` bytes."""

    def __init__(self):
        self.body, self.status, self.cut, self.asked, self.files = CONTENT, 200, None, [], {}
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                server.asked.append(self.path)
                file = server.files.get(self.path.rsplit("/", 1)[1], "")
                body = Path(file).read_bytes() if file else server.body
                self.send_response(server.status)
                self.send_header("Content-Length", str(len(body)))
                if str(file).endswith(".gz"):
                    self.send_header("Content-Encoding", "gzip")
                self.end_headers()
                self.wfile.write(body[: server.cut])

            def log_message(self, *_):
                pass

        self.http = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.http.server_port}"
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def stop(self):
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()


@pytest.fixture
def server(monkeypatch):
    server = Server()
    monkeypatch.setattr(_sources, "HOST", server.address)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    yield server
    server.stop()


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """Set up an empty cache without local data, and replace Musk 1 by a small file."""
    source = Source(
        "someone/mirror", "c0ffee", "a/musk1.data", len(CONTENT), hashlib.sha256(CONTENT).hexdigest()
    )
    monkeypatch.setitem(SOURCES, "musk1", (source,))
    monkeypatch.delenv("BAGWISE_DATA", raising=False)
    monkeypatch.setenv("BAGWISE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def files(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_a_download_is_parsed_and_kept_for_the_next_time(server, cache):
    data = fetch_musk1()
    assert data.bags.ids.tolist() == ["MUSK-1", "NON-MUSK-2"] and data.y.tolist() == [1, 0]
    assert server.asked == ["/someone/mirror/c0ffee/a/musk1.data"]
    assert files(cache) == ["musk1.data"]
    fetch_musk1()
    assert len(server.asked) == 1


@pytest.mark.skipif(not DATA, reason="BAGWISE_DATA is not set: the original files are not available")
def test_the_original_files_pass_through_a_download(server, cache):
    server.files = {
        path.name.removesuffix(".gz"): path for path in (Path(DATA) / "raw").rglob("*") if path.is_file()
    }
    assert len(fetch_hja_birdsong().bags) == 548
    assert len(fetch_newsgroups("sci.med").bags) == 100  # sent compressed, as by GitHub
    assert files(cache) == sorted([*(s.name for s in SOURCES["hja_birdsong"]), "sci_med.txt"])


def test_a_terminal_sees_a_progress_bar(server, monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    fetch_musk1()
    assert "musk1.data  " + "#" * 30 + " 100%\n" in capsys.readouterr().err


def test_local_files_come_before_cache_and_network(tmp_path, cache, monkeypatch):
    monkeypatch.setenv("BAGWISE_DATA", str(tmp_path))
    folder = tmp_path / "raw" / "musk1"
    folder.mkdir(parents=True)
    (folder / "musk1.data").write_bytes(CONTENT)
    assert len(fetch_musk1().bags) == 2
    (folder / "musk1.data").unlink()
    (folder / "musk1.data.gz").write_bytes(gzip.compress(CONTENT))
    assert len(fetch_musk1().bags) == 2
    assert not cache.exists()


def test_a_local_file_that_is_not_the_original_is_refused_by_name(tmp_path, monkeypatch):
    monkeypatch.setenv("BAGWISE_DATA", str(tmp_path))
    folder = tmp_path / "raw" / "musk1"
    folder.mkdir(parents=True)
    (folder / "musk1.data").write_bytes(CONTENT[:-1])
    with pytest.raises(ValueError, match=r"musk1\.data' is not the original file \(its SHA-256 is not "):
        fetch_musk1()
    (folder / "musk1.data").unlink()
    (folder / "musk1.data.gz").write_bytes(gzip.compress(CONTENT)[:50])
    with pytest.raises(ValueError, match=r"musk1\.data\.gz' is not a readable gzip file"):
        fetch_musk1()


def test_a_download_that_breaks_off_leaves_nothing(server, cache):
    server.cut = 100
    with pytest.raises(
        ConnectionError, match=r"^cannot download http://\S+/musk1\.data \(the connection was lost"
    ):
        fetch_musk1()
    assert files(cache) == []


def test_a_wrong_checksum_leaves_nothing(server, cache):
    server.body = CONTENT.replace(b"MUSK-1", b"MUSK-9")
    with pytest.raises(ValueError, match=r"musk1\.data is not the original file .* was deleted"):
        fetch_musk1()
    assert files(cache) == []


def test_a_server_error_is_reported(server, cache):
    server.status = 404
    with pytest.raises(ConnectionError, match=r"\(the server returned 404 Not Found\); try again, or save"):
        fetch_musk1()
    assert files(cache) == []


def test_no_network_is_one_sentence_that_says_what_to_do(server, cache):
    server.stop()
    with pytest.raises(ConnectionError, match=r"\(no connection\); try again, or save the file as '.*musk1"):
        fetch_musk1()
    assert files(cache) == []


def test_a_broken_file_in_the_cache_is_downloaded_again(server, cache):
    (cache / "musk1").mkdir(parents=True)
    (cache / "musk1" / "musk1.data").write_bytes(b"half")
    assert len(fetch_musk1().bags) == 2
    assert (cache / "musk1" / "musk1.data").read_bytes() == CONTENT


def test_a_cache_that_cannot_be_written_is_one_sentence(server, cache):
    cache.write_text("a file where a folder should be")
    with pytest.raises(
        PermissionError, match=r"cannot write to the cache folder '.*' .*; set BAGWISE_CACHE to"
    ):
        fetch_musk1()
    assert server.asked == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root can write anywhere")
def test_a_read_only_cache_is_one_sentence_but_gives_what_it_has(server, cache):
    fetch_musk1()
    (cache / "musk1").chmod(0o500)
    assert len(fetch_musk1().bags) == 2
    (cache / "musk1" / "musk1.data").chmod(0o600)
    (cache / "musk1" / "musk1.data").write_bytes(b"half")
    with pytest.raises(PermissionError, match="cannot write to the cache folder"):
        fetch_musk1()
    (cache / "musk1").chmod(0o700)


def test_a_cache_on_a_read_only_disk_gives_what_it_has(server, cache, monkeypatch):
    fetch_musk1()

    def refused(*_, **__):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(_download.tempfile, "TemporaryFile", refused)
    assert len(fetch_musk1().bags) == 2
    (cache / "musk1" / "musk1.data").unlink()
    with pytest.raises(PermissionError, match=r"cannot write .* \(Read-only file system\)"):
        fetch_musk1()


def test_an_interrupted_download_leaves_nothing(server, cache, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr(_download._Bar, "update", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fetch_musk1()
    assert files(cache) == []
