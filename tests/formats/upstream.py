"""A server that answers every call with what a test gave it, whole or as a stream, and remembers what it was asked."""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Upstream:
    """What the server answers, and the requests that came."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.requests: list[dict[str, Any]] = []
        self.answer: dict[str, Any] = {}
        self.answers: list[dict[str, Any]] = []  # one after the other, before that one
        self.by_path: Callable[[str], dict[str, Any]] | None = None  # an answer for each path, instead of all others
        self.events: Sequence[tuple[str | None, dict[str, Any]]] = ()  # the name and the data of each


@contextmanager
def upstream() -> Iterator[Upstream]:
    """A running server on a port of its own."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            state.requests.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            is_stream = state.requests[-1].get("stream") or "alt=sse" in self.path
            if state.by_path is not None:
                answer = state.by_path(self.path)
            else:
                answer = state.answers.pop(0) if state.answers else state.answer
            body = b"".join(_event(*event) for event in state.events) if is_stream else json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("content-type", "text/event-stream" if is_stream else "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state = Upstream(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()


def _event(name: str | None, data: dict[str, Any]) -> bytes:
    return (f"event: {name}\n" if name else "").encode() + b"data: " + json.dumps(data).encode() + b"\n\n"
