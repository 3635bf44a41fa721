"""Answer HTTP requests with the clusters of texts, with Python's standard library only.

python examples/serve.py MODEL [PORT]
curl -d '["I was charged twice"]' http://127.0.0.1:8000
"""

import json
import sys
from wsgiref.simple_server import make_server

import coterie

MAX_BYTES = 1_000_000  # of a request


def make_app(model):
    """Return a WSGI application: a JSON list of texts in, a JSON list of clusters out."""
    names = model.describe().names

    def app(environ, start_response):
        status, answer = "200 OK", None
        try:
            size = min(int(environ.get("CONTENT_LENGTH") or 0), MAX_BYTES)
            labels, confidence = model.assign(json.loads(environ["wsgi.input"].read(size)))
            answer = [
                {"cluster": int(label), "name": names.get(int(label)), "confidence": round(float(share), 4)}
                for label, share in zip(labels, confidence, strict=True)
            ]
        except ValueError as error:  # not JSON, or not a list of texts
            status, answer = "400 Bad Request", {"error": str(error)}
        start_response(status, [("Content-Type", "application/json")])
        return [json.dumps(answer).encode()]

    return app


if __name__ == "__main__":
    port = int(sys.argv[2]) if len(sys.argv) > 2 else 8000
    make_server("127.0.0.1", port, make_app(coterie.load(sys.argv[1]))).serve_forever()
