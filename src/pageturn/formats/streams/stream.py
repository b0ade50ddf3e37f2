"""Defines what the streams of all vendors have in common: events go in one by one, and the message is available at any time."""

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from pageturn.formats.fields import Fields, plain, refusing_depth, spelled, too_deep
from pageturn.values.errors import InvalidInput, show
from pageturn.values.messages import Message

_DONE = ("[DONE]", b"[DONE]")  # the payload that ends a stream of OpenAI's chat; not JSON


@dataclass(frozen=True, slots=True)
class StreamError:
    """The error that a vendor reported during a stream; `raw` is its original form."""

    code: str
    message: str
    raw: dict[str, Any]


class SoFar(NamedTuple):
    """What has arrived: a response in the vendor's form, and the incomplete parts, which are not in it."""

    response: dict[str, Any]
    incomplete: list[dict[str, Any]]


class EventStream(ABC):
    """The events of one answer. An incomplete call is not in the message, so that it is not run."""

    _ends_with_done = False  # whether that payload marks the end of the answer

    def __init__(self) -> None:
        self._fed = 0
        self._error: StreamError | None = None
        self._has_ended = False
        self._has_failed = False
        self._made: SoFar | None = None

    def feed(self, event: Any) -> None:
        """Take the next event: an object of the official client, its JSON as a dict, or the text after `data:`.

        Events of unknown types are ignored. A malformed event of a known type raises `InvalidInput`, and so does one that is
        nested too deeply.
        """
        path = f"$[{self._fed}]"
        self._fed += 1
        try:
            self._feed(event, path)
        except RecursionError:
            raise too_deep(path) from None

    def _feed(self, event: Any, path: str) -> None:
        self._made = None
        if isinstance(event, str | bytes) and event.strip() in _DONE:
            self._has_ended |= self._ends_with_done
            return
        decoded = _decoded(event, path)
        read = self._read(decoded)
        if read is not None or decoded is None:
            self._take(Fields(read, path))

    @property
    @refusing_depth
    def message(self) -> Message:
        """The answer with its usage; before the end, or if the stream was cut, what has arrived of it.

        Then `metadata["stream"]` says that it is incomplete, and lists the incomplete parts that were left out.
        """
        so_far = self._so_far()
        message = self._load(so_far.response)
        if self.is_finished and not so_far.incomplete:
            return message
        state: dict[str, Any] = {"finished": self.is_finished}
        if so_far.incomplete:
            state["incomplete"] = so_far.incomplete
        if self._error is not None:
            state["error"] = self._error.raw
        return msgspec.structs.replace(message, metadata={**(message.metadata or {}), "stream": state})

    @property
    def is_finished(self) -> bool:
        """Whether the vendor marked the end of the answer. False if the stream was cut or failed."""
        return self._has_ended and not self._has_failed

    @property
    def error(self) -> StreamError | None:
        """The error that the vendor reported, if any."""
        return self._error

    @property
    @refusing_depth
    def incomplete(self) -> tuple[dict[str, Any], ...]:
        """The incomplete parts that are not in the message, in the vendor's form: calls above all."""
        return tuple(self._so_far().incomplete)

    def _so_far(self) -> SoFar:
        if self._made is None:
            self._made = self._put_together()
        return self._made

    def _fail(self, raw: dict[str, Any]) -> None:
        """Record an error that ended the stream."""
        self._has_failed = True
        self._note_error(raw)

    def _note_error(self, raw: dict[str, Any]) -> None:
        code = next((raw[name] for name in ("code", "status", "type") if isinstance(raw.get(name), str)), None)
        message = raw.get("message")
        self._error = StreamError(
            code=code if code is not None else spelled(raw.get("code", "error")),
            message=message if isinstance(message, str) else show(raw),
            raw=raw,
        )

    def _read(self, event: Any) -> Any:
        """The JSON of an event; None for one that only repeats others."""
        return plain(event, without=("snapshot",))

    @abstractmethod
    def _take(self, event: Fields) -> None: ...

    @abstractmethod
    def _put_together(self) -> SoFar: ...

    @abstractmethod
    def _load(self, response: dict[str, Any]) -> Message:
        """The vendor's response as a message; each format implements it."""


def error_object(event: Fields) -> dict[str, Any] | None:
    """The error in an event, removed from it, as an object even if it is a plain text."""
    error = event.rest.pop("error", None)
    return {"message": error} if isinstance(error, str) else error if isinstance(error, dict) else None


def _decoded(event: Any, path: str) -> Any:
    if not isinstance(event, str | bytes):
        return event
    try:
        return json.loads(event)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(path, expected="the JSON of an event", got=show(event)) from error
