"""Endpoints: a model behind HTTP that speaks as OpenAI's or as Anthropic's does. It needs nothing but Python.

Most local servers (llama.cpp, vLLM, Ollama, LM Studio) speak the first. Whoever wants a vendor's own client, with its ways to
authenticate and to try again, puts three lines around it: see docs/summaries.md.
"""

import re
import time
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urlsplit

import msgspec

from pageturn.checks import require_finite, require_text
from pageturn.errors import InvalidInput, SummaryFailed, show
from pageturn.summaries.contract import Stop

if TYPE_CHECKING:
    from http.client import HTTPConnection, HTTPResponse

_MOST_BYTES = 4_000_000  # of an answer
_THOUGHT = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)


class Dialect(StrEnum):
    """How an endpoint is spoken to."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"


_PATHS = {Dialect.OPENAI: "/chat/completions", Dialect.ANTHROPIC: "/messages"}


class HttpEndpoint:
    """A model at a URL such as `http://127.0.0.1:8080/v1`. A key goes into the header that the dialect wants."""

    def __init__(
        self,
        url: str,
        model: str,
        *,
        key: str | None = None,
        dialect: Dialect | str | None = None,  # by the URL where none is given
        timeout_seconds: float = 60.0,
    ) -> None:
        require_text("url", url)
        require_text("model", model)
        require_finite("timeout_seconds", timeout_seconds, at_least=0.001)
        parts = _split(url)
        if parts is None or parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
            raise InvalidInput(
                "url", expected="http://host/path or https://host/path, without a password", got="another"
            )
        if key is not None:
            require_text("key", key)
            if not key.isascii() or not key.isprintable():
                raise InvalidInput("key", expected="printable ASCII, as a header takes it", got="another")
        if dialect is None:
            speaks_anthropic = "anthropic" in parts.hostname or parts.path.endswith(_PATHS[Dialect.ANTHROPIC])
            dialect = Dialect.ANTHROPIC if speaks_anthropic else Dialect.OPENAI
        if dialect not in list(Dialect):
            raise InvalidInput("dialect", expected="openai or anthropic", got=show(dialect))
        self._dialect = Dialect(dialect)
        self._parts = parts
        self._path = parts.path.rstrip("/").removesuffix(_PATHS[self._dialect]) + _PATHS[self._dialect]
        self._key = key
        self._timeout = timeout_seconds
        self.model = model

    def complete(self, instructions: str, text: str, *, most_tokens: int, stop: Stop) -> str:
        """Ask once. An error says what failed, and never what the server wrote."""
        from http.client import HTTPException  # noqa: PLC0415  it loads sockets, which most users never need

        connection = self._connection()
        try:
            with stop.calling(lambda: _hang_up(connection)):
                if stop.is_set:
                    raise SummaryFailed("stopped")
                body = msgspec.json.encode(self._body(instructions, text, most_tokens))
                connection.request("POST", self._path, body, self._headers())
                response = connection.getresponse()
                if response.status != 200:
                    raise SummaryFailed(f"HTTP {response.status}")
                return self._said(_all_of(response, time.monotonic() + self._timeout))
        except TimeoutError as error:
            raise SummaryFailed(f"no answer in {self._timeout:g} s") from error
        except (OSError, HTTPException) as error:
            raise SummaryFailed(f"no connection: {type(error).__name__}") from error
        finally:
            connection.close()

    def _connection(self) -> "HTTPConnection":
        from http.client import HTTPConnection, HTTPSConnection  # noqa: PLC0415

        kind = HTTPSConnection if self._parts.scheme == "https" else HTTPConnection
        assert self._parts.hostname is not None
        return kind(self._parts.hostname, self._parts.port, timeout=self._timeout)

    def _headers(self) -> dict[str, str]:
        headers = {"content-type": "application/json", "accept": "application/json"}
        if self._dialect is Dialect.ANTHROPIC:
            return headers | {"anthropic-version": "2023-06-01"} | ({"x-api-key": self._key} if self._key else {})
        return headers | ({"authorization": f"Bearer {self._key}"} if self._key else {})

    def _body(self, instructions: str, text: str, most_tokens: int) -> dict[str, Any]:
        asked = {"role": "user", "content": text}
        if self._dialect is Dialect.ANTHROPIC:
            return {"model": self.model, "max_tokens": most_tokens, "system": instructions, "messages": [asked]}
        # OpenAI itself has another word for the limit, which others do not know.
        limit = "max_completion_tokens" if self._parts.hostname == "api.openai.com" else "max_tokens"
        return {
            "model": self.model,
            limit: most_tokens,
            "messages": [{"role": "system", "content": instructions}, asked],
        }

    def _said(self, data: bytes) -> str:
        try:
            answer = msgspec.json.decode(data)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise SummaryFailed("the answer is not JSON") from error
        match answer:
            case {"choices": [{"message": {"content": str() as text}}, *_]}:
                return _THOUGHT.sub("", text)
            case {"content": [*blocks]}:
                return "".join(
                    block["text"] for block in blocks if isinstance(block, dict) and isinstance(block.get("text"), str)
                )
            case _:
                raise SummaryFailed("the answer has no text")


def _split(url: str) -> SplitResult | None:
    """The parts of a URL; None where they are none, the port among them."""
    try:
        parts = urlsplit(url)
        return parts if parts.port != 0 and url.isprintable() and " " not in url else None
    except ValueError:
        return None


def _all_of(response: "HTTPResponse", until: float) -> bytes:
    """The body of an answer, if it is not too large and does not take too long."""
    pieces, size = [], 0
    while piece := response.read1(65_536):
        pieces.append(piece)
        size += len(piece)
        if size > _MOST_BYTES:
            raise SummaryFailed(f"the answer is larger than {_MOST_BYTES:,} bytes")
        if time.monotonic() > until:
            raise TimeoutError
    return b"".join(pieces)


def _hang_up(connection: "HTTPConnection") -> None:
    """End a connection under the hands of the thread that waits for it."""
    import socket  # noqa: PLC0415

    if connection.sock is not None:
        try:
            connection.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            return  # it has ended by itself
