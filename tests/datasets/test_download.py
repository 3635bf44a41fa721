"""Files of data sets: from COTERIE_DATA, from the cache, or downloaded from a local server."""

import hashlib
import re
import socket
import threading
from contextlib import nullcontext
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from coterie.datasets.dataset import TextEntry
from coterie.datasets.download import RemoteFile, cache_folder, fetch
from coterie.datasets.readers import read_label_tab_text
from coterie.errors import InputError
from coterie.progress import listening

DATA = "10\tlate label\r\n2\tearly label\twith a tab\r\n10\tlabel twice\r\n".encode("utf-8-sig")


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.requests.append(self.path)
        self.wfile.write(self.server.reply)

    def log_message(self, *args):
        pass


def ok(data, length=None):
    return f"HTTP/1.0 200 OK\r\nContent-Length: {length or len(data)}\r\n\r\n".encode() + data


@pytest.fixture
def server(socket_enabled, monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.reply = ok(DATA)
        server.requests = []
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """The folder COTERIE_DATA and the cache, both empty."""
    data_folder = tmp_path / "data"
    cache = tmp_path / "cache" / "datasets"
    data_folder.mkdir()
    cache.mkdir(parents=True)
    monkeypatch.setenv("COTERIE_DATA", str(data_folder))
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path / "cache"))
    return data_folder, cache


@pytest.fixture
def remote(server, folders):
    return RemoteFile("tiny", f"http://127.0.0.1:{server.server_port}/raw/tiny", hashlib.sha256(DATA).hexdigest())


def test_the_folder_coterie_data_is_searched_first(server, folders, remote):
    data_folder, cache = folders
    (data_folder / "tiny").write_bytes(DATA)
    (cache / "tiny").write_bytes(b"never read")
    assert fetch(remote) == DATA
    assert server.requests == []


@pytest.mark.parametrize("named", ["empty folder", "no such folder", "empty", "unset"])
def test_the_cache_is_searched_second(server, folders, remote, monkeypatch, named):
    data_folder, cache = folders
    if named == "unset":
        monkeypatch.delenv("COTERIE_DATA")
    else:
        path = {"empty folder": data_folder, "no such folder": data_folder / "no", "empty": ""}[named]
        monkeypatch.setenv("COTERIE_DATA", str(path))
    (cache / "tiny").write_bytes(DATA)
    assert fetch(remote) == DATA
    assert server.requests == []


def test_a_file_is_downloaded_only_once(server, folders, remote):
    data_folder, cache = folders
    cache.rmdir()
    cache.parent.rmdir()
    assert [fetch(remote), fetch(remote)] == [DATA, DATA]
    assert server.requests == ["/raw/tiny"]
    assert (cache / "tiny").read_bytes() == DATA
    assert list(cache.iterdir()) == [cache / "tiny"]
    assert list(data_folder.iterdir()) == []


def test_classes_are_numbered_in_the_order_of_numeric_labels(remote):
    entry = TextEntry(
        name="tiny", title="Tiny", terms="none", n_items=3, n_clusters=2, files=(remote,), read=read_label_tab_text
    )
    data = entry.load()
    assert data.texts == ["late label", "early label\twith a tab", "label twice"]
    assert data.true_labels.tolist() == [1, 0, 1]
    assert data.label_names == ["2", "10"]


def test_a_download_reports_its_progress(remote):
    opened, done = [], []

    def listener(label, total):
        opened.append((label, total))
        return nullcontext(done.append)

    with listening(listener):
        fetch(remote)
    assert (opened, sum(done)) == ([("Downloading tiny", len(DATA))], len(DATA))


@pytest.mark.parametrize("folder", [0, 1], ids=["COTERIE_DATA", "cache"])
def test_a_file_with_another_hash_is_an_error_and_not_replaced(server, folders, remote, folder):
    path = folders[folder] / "tiny"
    path.write_bytes(b"altered")
    with pytest.raises(InputError, match=f"{re.escape(str(path))} is not the published tiny"):
        fetch(remote)
    assert path.read_bytes() == b"altered"
    assert server.requests == []


@pytest.mark.parametrize(
    "reply", [ok(b"altered"), ok(DATA[:9], len(DATA)), ok(b"")], ids=["altered", "cut off", "empty"]
)
def test_a_download_with_another_hash_is_an_error_and_not_stored(server, folders, remote, reply):
    server.reply = reply
    with pytest.raises(InputError, match=re.escape(remote.url)) as error:
        fetch(remote)
    assert "Remove it" not in str(error.value)  # no file to remove
    assert list(folders[1].iterdir()) == []


@pytest.mark.parametrize(
    "reply", [b"HTTP/1.0 404 Not Found\r\n\r\n", b"HTTP/1.0 503 Busy\r\n\r\n", b"", b"what is HTTP?\r\n\r\n"]
)
def test_the_error_of_a_failed_download_has_the_alternative(server, folders, remote, reply):
    server.reply = reply
    with pytest.raises(InputError, match=rf"(?s)Cannot download {remote.url} .*by hand.*COTERIE_DATA"):
        fetch(remote)
    assert list(folders[1].iterdir()) == []


@pytest.mark.usefixtures("socket_enabled", "folders")
def test_the_error_of_an_unreachable_address_has_the_alternative(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    with socket.socket() as taken:  # bound but not listening: refuses
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(InputError, match=r"Cannot download .*by hand.*COTERIE_DATA"):
            fetch(RemoteFile("tiny", f"http://127.0.0.1:{taken.getsockname()[1]}/tiny", "0" * 64))


def test_a_cache_that_cannot_be_written_is_an_error(folders, remote, monkeypatch):
    (folders[0] / "file").write_text("in the way")
    monkeypatch.setenv("COTERIE_CACHE", str(folders[0] / "file"))
    with pytest.raises(InputError, match="COTERIE_CACHE"):
        fetch(remote)


def test_the_cache_is_coterie_cache_else_that_of_the_user(monkeypatch):
    monkeypatch.setattr(Path, "home", lambda: Path("/home/me"))
    for named, xdg, folder in [("/a", "/b", "/a"), ("", "/b", "/b/coterie"), ("", "", "/home/me/.cache/coterie")]:
        monkeypatch.setenv("COTERIE_CACHE", named)
        monkeypatch.setenv("XDG_CACHE_HOME", xdg)
        assert cache_folder() == Path(folder, "datasets")
