import hashlib
import io
import re
import socket
import threading
import zipfile
from contextlib import nullcontext
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from coterie.data import datasets
from coterie.data.datasets import SOURCES, RemoteFile, Source, cache_folder, fetch, load
from coterie.errors import InputError
from coterie.progress import listening

# SCCL Table 2: vocabulary in thousands, N, mean words, K, largest over smallest cluster.
PUBLISHED = {
    "agnews": (21, 8000, 23, 4, 1),
    "stackoverflow": (15, 20000, 8, 20, 1),
    "biomedical": (19, 20000, 13, 20, 1),
    "searchsnippets": (31, 12340, 18, 8, 7),
    "googlenews-ts": (20, 11109, 28, 152, 143),
    "googlenews-s": (18, 11108, 22, 152, 143),
    "googlenews-t": (8, 11108, 6, 152, 143),
    "tweet": (5, 2472, 8, 89, 249),
}
# Words between blanks, in lower case, give all of them but two: StackOverflow has 18,935 (its titles keep their
# punctuation, and the table does not say how it was cut off), and a text of Tweet has 8.56.
COUNTED = PUBLISHED | {"stackoverflow": (19, 20000, 8, 20, 1), "tweet": (5, 2472, 9, 89, 249)}


@pytest.fixture(scope="module", params=[*PUBLISHED, "bbc", "bbc-6000"])
def benchmark_set(request, benchmark_data):
    return benchmark_data(request.param)


# -- what is in the sets -----------------------------------------------------------------------------------


@pytest.mark.data
@pytest.mark.parametrize("benchmark_set", COUNTED, indirect=True)
def test_statistics_equal_the_published_ones(benchmark_set):
    texts, sizes = [text.lower().split() for text in benchmark_set.texts], np.bincount(benchmark_set.true_labels)
    vocabulary, mean = len(set().union(*texts)), np.mean([len(text) for text in texts])
    found = (round(vocabulary / 1000), len(texts), round(mean), len(sizes), round(sizes.max() / sizes.min()))
    assert found == COUNTED[benchmark_set.name]


@pytest.mark.data
def test_labels_are_0_to_k_and_every_text_says_something(benchmark_set):
    source = SOURCES[benchmark_set.name]
    assert (len(benchmark_set.texts), len(benchmark_set.label_names)) == (source.n_items, source.n_clusters)
    assert benchmark_set.true_labels.dtype == np.int64
    assert benchmark_set.true_labels.shape == (source.n_items,)
    assert set(benchmark_set.true_labels.tolist()) == set(range(source.n_clusters))
    assert all(text.strip() for text in benchmark_set.texts)
    assert not any("\ufeff" in text or "\r" in text or "\n" in text for text in benchmark_set.texts)


@pytest.mark.data
@pytest.mark.parametrize(
    "tag", ["wordpress", "oracle", "svn", "apache", "excel", "matlab", "visual-studio", "cocoa", "bash", "spring",
            "hibernate", "scala", "sharepoint", "ajax", "qt", "drupal", "linq", "haskell", "magento"],
)  # fmt: skip
def test_a_class_of_stackoverflow_is_where_its_name_is_said_most(benchmark_data, tag):
    data = benchmark_data("stackoverflow")
    said = [tag.replace("-", " ") in text.lower() for text in data.texts]
    assert data.label_names[np.bincount(data.true_labels, said).argmax()] == tag


@pytest.mark.data
def test_bbc_has_2225_articles_of_five_kinds(benchmark_data):
    with zipfile.ZipFile(io.BytesIO(fetch(SOURCES["bbc"].files[0]))) as archive:
        articles = [name for name in archive.namelist() if re.fullmatch(r"bbc/\w+/\d+\.txt", name)]
    assert len(articles) == 2225
    assert benchmark_data("bbc").label_names == sorted({name.split("/")[1] for name in articles})


@pytest.mark.data
def test_the_sample_of_bbc_is_of_different_sentences_and_the_same_for_everybody(benchmark_data):
    sample, whole = benchmark_data("bbc-6000"), benchmark_data("bbc")
    assert len(set(sample.texts)) == 6000
    assert set(sample.texts) < set(whole.texts)
    assert hashlib.sha256("\n".join(sample.texts).encode()).hexdigest()[:12] == "9d2bc97e2fd3"
    shares = [np.bincount(data.true_labels) / len(data.texts) for data in (sample, whole)]
    np.testing.assert_allclose(*shares, atol=0.02)


def test_helpdesk_is_as_described(helpdesk):
    sizes = np.bincount(helpdesk.true_labels)
    assert len(set(helpdesk.texts)) == len(helpdesk.texts) == 1325 == SOURCES["helpdesk"].n_items
    assert len(sizes) == len(set(helpdesk.label_names)) == 16 == SOURCES["helpdesk"].n_clusters
    assert (sizes.min(), sizes.max()) == (25, 160)
    assert all(text.strip() for text in helpdesk.texts)


def test_an_unknown_set_is_refused_with_the_names_there_are():
    with pytest.raises(InputError, match=r"no data set called 'agnew'\. There are: helpdesk, agnews, .*bbc"):
        load("agnew")


# -- where files come from ---------------------------------------------------------------------------------

DATA = "10\tlate label\r\n2\tearly label\twith a tab\r\n10\tlabel twice\r\n".encode("utf-8-sig")


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        self.wfile.write(self.server.reply)

    def log_message(self, *args):
        pass


def ok(data, length=None):
    return f"HTTP/1.0 200 OK\r\nContent-Length: {length or len(data)}\r\n\r\n".encode() + data


@pytest.fixture
def server(socket_enabled, monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.reply, server.asked = ok(DATA), []
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def places(tmp_path, monkeypatch):
    """The folder in COTERIE_DATA and the cache, both empty."""
    given, cache = tmp_path / "given", tmp_path / "cache" / "datasets"
    given.mkdir()
    cache.mkdir(parents=True)
    monkeypatch.setenv("COTERIE_DATA", str(given))
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path / "cache"))
    return given, cache


@pytest.fixture
def remote(server, places):
    return RemoteFile("tiny", f"http://127.0.0.1:{server.server_port}/raw/tiny", hashlib.sha256(DATA).hexdigest())


def test_the_named_folder_comes_first(server, places, remote):
    given, cache = places
    (given / "tiny").write_bytes(DATA)
    (cache / "tiny").write_bytes(b"never looked at")
    assert fetch(remote) == DATA
    assert server.asked == []


@pytest.mark.parametrize("named", ["empty folder", "no such folder", "empty", "unset"])
def test_the_cache_comes_second(server, places, remote, monkeypatch, named):
    given, cache = places
    if named == "unset":
        monkeypatch.delenv("COTERIE_DATA")
    else:
        place = {"empty folder": given, "no such folder": given / "no", "empty": ""}[named]
        monkeypatch.setenv("COTERIE_DATA", str(place))
    (cache / "tiny").write_bytes(DATA)
    assert fetch(remote) == DATA
    assert server.asked == []


def test_a_download_comes_last_and_only_once(server, places, remote):
    given, cache = places
    cache.rmdir()
    cache.parent.rmdir()
    assert [fetch(remote), fetch(remote)] == [DATA, DATA]
    assert server.asked == ["/raw/tiny"]
    assert (cache / "tiny").read_bytes() == DATA
    assert list(cache.iterdir()) == [cache / "tiny"]
    assert list(given.iterdir()) == []


def test_a_set_is_downloaded_once_and_its_classes_are_numbered(server, remote, monkeypatch):
    source = Source("Tiny", (remote,), "none", 3, 2, datasets._label_tab_text)
    monkeypatch.setitem(SOURCES, "tiny", source)
    for _ in range(2):
        data = load("tiny")
        assert data.texts == ["late label", "early label\twith a tab", "label twice"]
        assert data.true_labels.tolist() == [1, 0, 1]
        assert data.label_names == ["2", "10"]
    assert server.asked == ["/raw/tiny"]


def test_a_download_tells_its_progress(remote):
    opened, done = [], []

    def listener(label, total):
        opened.append((label, total))
        return nullcontext(done.append)

    with listening(listener):
        fetch(remote)
    assert (opened, sum(done)) == ([("Downloading tiny", len(DATA))], len(DATA))


@pytest.mark.parametrize("place", [0, 1], ids=["COTERIE_DATA", "cache"])
def test_a_wrong_file_is_refused_by_its_path_and_not_replaced(server, places, remote, place):
    path = places[place] / "tiny"
    path.write_bytes(b"altered")
    with pytest.raises(InputError, match=f"{re.escape(str(path))} is not the published tiny"):
        fetch(remote)
    assert path.read_bytes() == b"altered"
    assert server.asked == []


@pytest.mark.parametrize(
    "reply", [ok(b"altered"), ok(DATA[:9], len(DATA)), ok(b"")], ids=["altered", "cut off", "empty"]
)
def test_a_wrong_download_is_refused_and_not_kept(server, places, remote, reply):
    server.reply = reply
    with pytest.raises(InputError, match=re.escape(remote.url)) as refusal:
        fetch(remote)
    assert "Remove it" not in str(refusal.value)  # there is nothing to remove
    assert list(places[1].iterdir()) == []


@pytest.mark.parametrize(
    "reply", [b"HTTP/1.0 404 Not Found\r\n\r\n", b"HTTP/1.0 503 Busy\r\n\r\n", b"", b"what is HTTP?\r\n\r\n"]
)
def test_a_failed_download_says_what_else_to_do(server, places, remote, reply):
    server.reply = reply
    with pytest.raises(InputError, match=rf"(?s)Cannot download {remote.url} .*by hand.*COTERIE_DATA"):
        fetch(remote)
    assert list(places[1].iterdir()) == []


@pytest.mark.usefixtures("socket_enabled", "places")
def test_an_unreachable_address_says_what_else_to_do(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    with socket.socket() as taken:  # bound but not listening: refuses
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(InputError, match=r"Cannot download .*by hand.*COTERIE_DATA"):
            fetch(RemoteFile("tiny", f"http://127.0.0.1:{taken.getsockname()[1]}/tiny", "0" * 64))


def test_a_cache_that_cannot_be_written_is_told_in_words(places, remote, monkeypatch):
    (places[0] / "file").write_text("in the way")
    monkeypatch.setenv("COTERIE_CACHE", str(places[0] / "file"))
    with pytest.raises(InputError, match="COTERIE_CACHE"):
        fetch(remote)


def test_the_cache_is_the_named_one_else_the_users(monkeypatch):
    monkeypatch.setattr(Path, "home", lambda: Path("/home/me"))
    for named, xdg, folder in [("/a", "/b", "/a"), ("", "/b", "/b/coterie"), ("", "", "/home/me/.cache/coterie")]:
        monkeypatch.setenv("COTERIE_CACHE", named)
        monkeypatch.setenv("XDG_CACHE_HOME", xdg)
        assert cache_folder() == Path(folder, "datasets")
