"""The provider of a story: its model calls the tools of a script, one in each answer, is done, and begins again for the next client."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import cycle
from typing import Any, NamedTuple

from tests.apps.gateway.answers import ANTHROPIC, events
from tests.scripted_vendors import chat_completion

DONE = "Done."
_LETTERS = 4  # of a token, about


class Call(NamedTuple):
    """A tool and its arguments."""

    name: str
    arguments: dict[str, str]


class Provider:
    """What the model does, and what it was sent."""

    def __init__(self, script: Sequence[Call]) -> None:
        self.url = ""
        self.asked: list[dict[str, Any]] = []
        self._script = cycle([*script, None])

    def answer(self, path: str, body: dict[str, Any]) -> tuple[str, bytes]:
        """The content type and the answer: a stream in Anthropic's form, or a whole one in OpenAI's."""
        before = json.dumps(self.asked[-1]) if self.asked else ""
        sent = json.dumps(body)
        self.asked.append(body)
        number = len(self.asked)
        call = next(self._script)
        if path.endswith(ANTHROPIC):
            read = _alike(before, sent) // _LETTERS
            use = call and (f"toolu_{number}", call.name, json.dumps(call.arguments))
            told = b"".join(events(ANTHROPIC, f"Step {number}." if call else DONE, use, id_=f"msg_{number}"))
            told = told.replace(b'"input_tokens": 100,', b'"input_tokens": %d,' % (len(sent) // _LETTERS - read))
            told = told.replace(b'"cache_read_input_tokens": 900,', b'"cache_read_input_tokens": %d,' % read)
            return "text/event-stream", told.replace(b'"model-1"', json.dumps(body["model"]).encode())
        whole = chat_completion(call)
        for each in whole["choices"][0]["message"].get("tool_calls", ()):
            each["id"] = f"call_{number}"
        whole["usage"] = {"prompt_tokens": len(sent) // _LETTERS, "completion_tokens": 9}
        whole["usage"]["total_tokens"] = len(sent) // _LETTERS + 9
        return "application/json", json.dumps(whole).encode()


def _alike(before: str, sent: str) -> int:
    """How many letters two requests begin with in common: what the provider's cache would have."""
    pairs = enumerate(zip(before, sent, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(before), len(sent)))


@contextmanager
def listening(script: Sequence[Call]) -> Iterator[Provider]:
    """A provider at an address of its own."""
    provider = Provider(script)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            kind, told = provider.answer(self.path.partition("?")[0], body)
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(told)))
            self.end_headers()
            self.wfile.write(told)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
