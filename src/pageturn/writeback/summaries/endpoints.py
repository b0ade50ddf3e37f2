"""Calls a model over an OpenAI or Anthropic compatible HTTP API. Needs the extra `summaries`.

Most local servers (llama.cpp, vLLM, Ollama, LM Studio) offer the first. To use a vendor's own client, with its authentication and
retries, wrap it in three lines: see docs/summaries.md.
"""

import re
from collections.abc import Callable
from enum import StrEnum
from typing import Any
from urllib.parse import SplitResult, urlsplit, urlunsplit

import msgspec

from pageturn.values.checks import require_finite, require_text
from pageturn.values.errors import InvalidInput, MissingExtra, SummaryFailed, show
from pageturn.writeback.summaries.stop import Stop

_THOUGHT = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)


class Dialect(StrEnum):
    """The API that an endpoint speaks."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"


_PATHS = {Dialect.OPENAI: "/chat/completions", Dialect.ANTHROPIC: "/messages"}


class HttpEndpoint:
    """A model at a URL such as `http://127.0.0.1:8080/v1`. A key goes into the header that the dialect uses."""

    def __init__(
        self,
        url: str,
        model: str,
        *,
        key: str | None = None,
        dialect: Dialect | str | None = None,  # chosen by the URL if not given
        timeout_seconds: float = 60.0,
    ) -> None:
        require_text("url", url)
        require_text("model", model)
        require_finite("timeout_seconds", timeout_seconds, at_least=0.001)
        parts = _split(url)
        if parts is None or parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
            raise InvalidInput(
                "url", expected="http://host/path or https://host/path, without a password", got="a URL of another form"
            )
        if key is not None:
            require_text("key", key)
            if not key.isascii() or not key.isprintable():
                raise InvalidInput("key", expected="printable ASCII, as a header takes it", got="other letters")
        if dialect is None:
            speaks_anthropic = "anthropic" in parts.hostname or parts.path.endswith(_PATHS[Dialect.ANTHROPIC])
            dialect = Dialect.ANTHROPIC if speaks_anthropic else Dialect.OPENAI
        if dialect not in list(Dialect):
            raise InvalidInput("dialect", expected="openai or anthropic", got=show(dialect))
        self.dialect = Dialect(dialect)
        self._host = parts.hostname
        path = parts.path.rstrip("/").removesuffix(_PATHS[self.dialect]) + _PATHS[self.dialect]
        self.url = urlunsplit((parts.scheme, parts.netloc, path, "", ""))
        self._key = key
        self._timeout = timeout_seconds
        self._post = _client()
        self.model = model

    def complete(self, instructions: str, text: str, *, most_tokens: int, stop: Stop) -> str:
        """Send one request. An error says what failed, and never quotes the server."""
        if stop.is_set:
            raise SummaryFailed("stopped")
        body = msgspec.json.encode(self._body(instructions, text, most_tokens))
        return self._said(self._post(self.url, body, self.headers, timeout_seconds=self._timeout, stop=stop))

    @property
    def headers(self) -> dict[str, str]:
        """The headers of a request."""
        if self.dialect is Dialect.ANTHROPIC:
            return {"anthropic-version": "2023-06-01"} | ({"x-api-key": self._key} if self._key else {})
        return {"authorization": f"Bearer {self._key}"} if self._key else {}

    @property
    def limit_name(self) -> str:
        """The field that limits the length of an answer. OpenAI itself has a name for it that others do not know."""
        return "max_completion_tokens" if self._host == "api.openai.com" else "max_tokens"

    def _body(self, instructions: str, text: str, most_tokens: int) -> dict[str, Any]:
        asked = {"role": "user", "content": text}
        if self.dialect is Dialect.ANTHROPIC:
            return {"model": self.model, "max_tokens": most_tokens, "system": instructions, "messages": [asked]}
        return {
            "model": self.model,
            self.limit_name: most_tokens,
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
    """The parts of a URL; None if it is not valid."""
    try:
        parts = urlsplit(url)
        return parts if parts.port != 0 and url.isprintable() and " " not in url else None
    except ValueError:
        return None


def _client() -> Callable[..., bytes]:
    try:
        from pageturn.writeback.summaries.http_post import post  # noqa: PLC0415  an extra
    except ImportError as error:
        raise MissingExtra("a model behind HTTP", extra="summaries") from error
    return post
