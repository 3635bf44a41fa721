"""A language model of the test's own: a server on this machine that answers chats as it is told."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import coterie

TITLES = {"goal": "Team players", "stock": "Market trade", "gene": "Protein cell"}


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, dict(self.headers), body))
        status, answer = self.server.reply(body, len(self.server.requests))
        data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        if status == 302:
            self.send_header("Location", f"http://127.0.0.1:{self.server.server_port}/elsewhere")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_args):
        pass


def chat_answer(content):
    return {"choices": [{"message": {"role": "assistant", "content": content}}]}


def title_of(body):
    """The right title for the texts in a chat."""
    question = body["messages"][-1]["content"]
    return next(title for word, title in TITLES.items() if word in question)


@pytest.fixture
def server():
    """The server; ``reply(body, n)`` gives status and answer of its nth request."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as opened:
        opened.requests = []
        opened.reply = lambda body, _n: (200, chat_answer(title_of(body)))
        opened.address = f"http://127.0.0.1:{opened.server_port}"
        thread = threading.Thread(target=opened.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield opened
        opened.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def fitted(topics):
    return coterie.KMeans(n_clusters=3, encoder="tfidf", random_state=0).fit(topics[0])
