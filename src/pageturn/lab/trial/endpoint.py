"""Calls a live model behind an OpenAI- or Anthropic-compatible API. Needs the extra `summaries`."""

import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec

from pageturn.formats import anthropic, openai_chat
from pageturn.values.errors import InvalidInput, MissingExtra, PageturnError, show
from pageturn.values.messages import Message
from pageturn.values.prompt import Prompt
from pageturn.writeback.summaries.endpoints import Dialect, HttpEndpoint

_AGAIN = (408, 409, 425, 429, 500, 502, 503, 504, 529)  # statuses after which another try may succeed
_ATTEMPTS = 5
_LONGEST_WAIT = 30.0  # seconds
_FORMATS = {Dialect.OPENAI: openai_chat, Dialect.ANTHROPIC: anthropic}


class EndpointFailed(PageturnError):
    """The model gave no usable answer. Says what failed, with the first words of the server's own reason."""


class Model(Protocol):
    """Answers requests."""

    def ask(self, prompt: Prompt) -> Message:
        """The model's reply, with its usage."""
        ...


class LiveModel:
    """A model at a URL. After `too many requests` or a server error it tries again, a few times, later."""

    def __init__(
        self,
        url: str,
        model: str,
        *,
        key: str | None = None,
        dialect: Dialect | str | None = None,
        most_tokens: int = 1_024,  # of an answer
        timeout_seconds: float = 300.0,
        settings: Mapping[str, Any] | None = None,  # added to every request
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._endpoint = HttpEndpoint(url, model, key=key, dialect=dialect, timeout_seconds=timeout_seconds)
        self.model = model
        self._most_tokens = most_tokens
        self._settings = dict(settings or {})
        self._sleep = sleep
        try:
            import httpx2  # noqa: PLC0415  an extra

            from pageturn.writeback.summaries.http_post import client  # noqa: PLC0415
        except ImportError as error:
            raise MissingExtra("a trial with a live model", extra="summaries") from error
        self._client = client(timeout_seconds)
        self._errors = httpx2.HTTPError

    def ask(self, prompt: Prompt) -> Message:
        """The model's reply, with its usage."""
        dumped = _FORMATS[self._endpoint.dialect].dump(prompt)
        limit = self._endpoint.limit_name
        body = {"model": self.model, **dumped, limit: self._most_tokens, **self._settings}
        return self._reply(self.post(body))

    def post(self, body: Mapping[str, Any]) -> Any:
        """The answer to one request, as JSON."""
        data = msgspec.json.encode(body)
        reason, wait = "", 0.0
        for attempt in range(_ATTEMPTS):
            if attempt:
                self._sleep(wait)
            wait = min(2.0**attempt, _LONGEST_WAIT)
            try:
                answer = self._client.post(
                    self._endpoint.url,
                    content=data,
                    headers={**self._endpoint.headers, "content-type": "application/json"},
                )
            except (self._errors, OSError) as error:
                reason = f"no connection: {type(error).__name__}"
                continue
            if answer.status_code == 200:
                return self._json(answer.content)
            reason = f"HTTP {answer.status_code}: {show(answer.text)}"
            if answer.status_code not in _AGAIN:
                break
            wait = _seconds(answer.headers.get("retry-after"), wait)
        raise EndpointFailed(reason)

    def _json(self, data: bytes) -> Any:
        try:
            return msgspec.json.decode(data)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise EndpointFailed("the answer is not JSON") from error

    def _reply(self, answer: Any) -> Message:
        try:
            reply: Message = _FORMATS[self._endpoint.dialect].load_reply(answer)
        except InvalidInput as error:
            raise EndpointFailed(f"the answer is no reply: {error}") from error
        return reply


def _seconds(header: str | None, otherwise: float) -> float:
    """The wait that a server asks for, if it is a number of seconds."""
    try:
        return min(max(float(header or ""), 0.0), _LONGEST_WAIT)
    except ValueError:
        return otherwise
