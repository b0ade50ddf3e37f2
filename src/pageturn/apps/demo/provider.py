"""A scripted provider on a loopback port: it rejects what is not valid, counts tokens, caches prefixes, and keeps what it was asked."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, NamedTuple

from pageturn.apps.demo.model import ScriptedModel
from pageturn.apps.demo.strict import rejection
from pageturn.formats import openai_chat
from pageturn.lab.traces import estimated_tokens
from pageturn.values.errors import InvalidInput
from pageturn.values.json import to_json
from pageturn.values.messages import Message

PATH = "/v1/chat/completions"


class Request(NamedTuple):
    """A request that was answered, with the answer. Tokens are a quarter of the characters, as in the table."""

    body: bytes
    messages: tuple[Message, ...]
    tools_tokens: int
    tokens: int  # with the tools
    cached: int  # of these, what the request before began with
    reply: Message


class Provider:
    """What the scripted provider was asked."""

    def __init__(self, model: ScriptedModel) -> None:
        self.requests: list[Request] = []
        self.rejected: list[str] = []  # why, for each request that was not valid
        self.unanswered: bytes | None = None  # the request during which the gateway died
        self.interrupt: Callable[[], None] | None = None  # called in the middle of the next request
        self._model = model
        self._before: tuple[Any, list[Any]] = (None, [])  # the tools and messages of the last request

    def answer(self, body: bytes) -> tuple[int, dict[str, Any]]:
        """The status and the answer to a request."""
        if self.interrupt is not None:
            interrupt, self.interrupt = self.interrupt, None
            self.unanswered = body
            interrupt()
            raise ConnectionAbortedError("the gateway has died")
        asked = json.loads(body)
        try:
            request = self._request(body, asked)
        except InvalidInput as error:
            self.rejected.append(str(error))
            return 400, {"error": {"message": str(error), "type": "invalid_request_error"}}
        self.requests.append(request)
        self._before = (asked.get("tools"), asked["messages"])
        return 200, _completion(request, asked["model"], len(self.requests))

    def _request(self, body: bytes, asked: dict[str, Any]) -> Request:
        if (problem := rejection(asked["messages"])) is not None:
            raise InvalidInput("$.messages", expected="a valid conversation", got=problem)
        messages = openai_chat.load_messages(asked["messages"])
        tools = asked.get("tools") or []
        tools_tokens = tokens_of_tools(tools)
        tokens = tools_tokens + sum(map(estimated_tokens, messages))
        tools_before, before = self._before
        same = shared(before, asked["messages"]) if tools == tools_before else 0
        cached = tools_tokens + sum(map(estimated_tokens, messages[:same])) if same else 0
        reply = self._model.reply(messages, [tool["function"]["name"] for tool in tools])
        return Request(body, tuple(messages), tools_tokens, tokens, cached, reply)


def tokens_of_tools(tools: Sequence[Any]) -> int:
    """What definitions of tools count."""
    return len(to_json(list(tools))) // 4 if tools else 0


@contextmanager
def listening(provider: Provider) -> Iterator[str]:
    """The provider on a free port of this machine; the address of its API."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            status, answer = provider.answer(body) if self.path == PATH else (404, {"error": {"message": self.path}})
            written = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(written)))
            self.end_headers()
            self.wfile.write(written)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    with _Server(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        finally:
            server.shutdown()
            thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A gateway that is killed leaves connections behind; nobody needs to read about them."""


def shared(before: Sequence[Any], after: Sequence[Any]) -> int:
    """How many messages two requests have in common at their beginning."""
    return next((at for at, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]), len(before))


def _completion(request: Request, model: str, number: int) -> dict[str, Any]:
    """An answer as OpenAI's chat format has it."""
    said = request.reply
    message: dict[str, Any] = {"role": "assistant", "content": said.text or None}
    if said.tool_calls:
        functions = [(call.id, {"name": call.name, "arguments": call.arguments}) for call in said.tool_calls]
        message["tool_calls"] = [{"id": id_, "type": "function", "function": body} for id_, body in functions]
    out = estimated_tokens(said)
    details = {"cached_tokens": request.cached, "cache_write_tokens": request.tokens - request.cached}
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if said.tool_calls else "stop"}],
        "usage": {
            "prompt_tokens": request.tokens,
            "completion_tokens": out,
            "total_tokens": request.tokens + out,
            "prompt_tokens_details": details,
        },
    }
