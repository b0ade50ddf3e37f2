"""What the projections of all formats share: rounds, and when the client may see what."""

from abc import ABC, abstractmethod
from types import ModuleType
from typing import Any, NamedTuple

import msgspec

from pageturn.apps.gateway.decoding import EventReader
from pageturn.values.errors import InvalidInput
from pageturn.values.messages import Message

# Reasoning of a round that turns out to be hidden is not for the client. That is unknown until the round calls the tool, and models
# often write a few words before they do: so this many characters are held with the reasoning, and then both are released.
_WAITING = 400
Event = dict[str, Any]


class Said(NamedTuple):
    """What a piece of an answer is: reasoning, words, or anything else, and how many characters."""

    is_reasoning: bool = False
    is_words: bool = False
    size: int = 0
    is_silent: bool = False  # it opens the answer, or only shows that the provider is still there


SILENT = Said(is_silent=True)


class Projection(ABC):
    """One answer as its client sees it. Events arrive round by round; `feed` returns what the client gets for them."""

    def __init__(self, format_: ModuleType, tool: str) -> None:
        self._format = format_
        self.tool = tool
        self._reader = EventReader()
        self._stream = format_.Stream()  # of this round, as it came
        self._shown = format_.Stream()  # of all rounds, as the client has them
        self._waiting: list[tuple[Event, Said]] = []  # of this round
        self._waiting_size = 0
        self._has_reasoning = False  # among what waits
        self._has_said = False  # reasoning or words are
        self._carried: list[bytes] = []  # of rounds that are over, for the next chunk
        self._is_let_go = False
        self.rounds = 0  # that are over
        self.has_ours = False  # this round calls the tool
        self.has_others = False  # this round calls tools of the client
        self.failure = b""  # the event by which this round failed
        self.has_events = False
        self.has_begun = False  # something was released
        self.is_sent = False  # and the client has it; set by the sender
        self._is_open = False  # the client sees that there is an answer, so that nothing which says nothing need wait

    # -- a round

    def feed(self, chunk: bytes) -> bytes:
        """What the client gets for a chunk of a stream."""
        carried, self._carried = self._carried, []
        return b"".join((*carried, *(self._event(data) for data in self._reader.feed(chunk))))

    @property
    def has_failed(self) -> bool:
        """Whether the provider said in this round that it failed."""
        return bool(self.failure)

    def opened(self) -> bytes:
        """The beginning of the answer, without anything that it says; from here on also what shows that the provider is still there."""
        self._is_open = True
        silent = [event for event, said in self._waiting if said.is_silent]
        self._waiting = [(event, said) for event, said in self._waiting if not said.is_silent]
        return b"".join(self._emitted(event) for event in silent)

    def _event(self, data: bytes) -> bytes:
        self.has_events = True
        if data.strip() == b"[DONE]":
            self._stream.feed(data)
            return b""
        self._stream.feed(data)
        event = msgspec.json.decode(data)
        return b"".join(self._taken(event)) if isinstance(event, dict) else b""

    @abstractmethod
    def _taken(self, event: Event) -> list[bytes]:
        """What the client gets for an event."""

    @property
    def reply(self) -> Message | None:
        """The answer of this round, None where it is not whole."""
        message: Message = self._stream.message
        return message if self._stream.is_finished and message.content and not self.has_failed else None

    @property
    def is_whole(self) -> bool:
        """Whether this round is complete, even if it says nothing."""
        return bool(self._stream.is_finished) and not self.has_failed

    def next_round(self) -> None:
        """Begin another round; of the one that is over the client gets the words, without the reasoning."""
        self._carried += self._let_go(with_reasoning=False)
        self.rounds += 1
        self._reader, self._stream = EventReader(), self._format.Stream()
        self._is_let_go = self.has_ours = self.has_others = False
        self.failure = b""

    def finish(self) -> bytes:
        """What the client gets at the end: everything that waited, and the end of the answer."""
        carried, self._carried = self._carried, []
        shown = self._let_go(with_reasoning=not self.has_ours)
        waiting, self._waiting = self._waiting, []
        return b"".join((*carried, *shown, *(self._emitted(event) for event, _ in waiting), *self._ended()))

    def rest(self) -> bytes:
        """What waited, of an answer that has no end."""
        carried, self._carried = self._carried, []
        shown = self._let_go(with_reasoning=not self.has_ours)
        waiting, self._waiting = self._waiting, []
        return b"".join((*carried, *shown, *(self._emitted(event) for event, _ in waiting)))

    @property
    def seen(self) -> Message:
        """What the client has."""
        message: Message = self._shown.message
        return message

    # -- waiting

    def _failed(self, event: Event) -> list[bytes]:
        """An event with which the provider fails; it is held if the client has seen nothing, since another request may succeed."""
        self.failure = msgspec.json.encode(event)
        if self.is_sent:
            return [*self._let_go(with_reasoning=True), self._emitted(event)]
        self._waiting.append((event, Said()))
        return []

    def _offer(self, event: Event, said: Said) -> list[bytes]:
        """An event for the client, now or when it is known what the round is."""
        if said.is_silent and self._is_open:
            return [self._emitted(event)]
        is_held = not self._is_let_go and (self._waiting or said.is_reasoning or not self.has_begun)
        if not is_held:
            return [self._emitted(event)]
        self._waiting.append((event, said))
        self._waiting_size += said.size if said.is_words else 0
        self._has_reasoning |= said.is_reasoning
        self._has_said |= said.is_reasoning or said.is_words
        if said.is_words and (not self._has_reasoning or self._waiting_size > _WAITING):
            return self._let_go(with_reasoning=True)
        return []

    def _let_go(self, *, with_reasoning: bool) -> list[bytes]:
        """Release what was held; from here on the round is shown as it arrives, if its reasoning was."""
        if not (
            with_reasoning or self._has_said
        ):  # the opening of the answer waits on, and is not read again for each event
            return []
        self._has_reasoning = self._has_said = False
        waiting, self._waiting, self._waiting_size = self._waiting, [], 0
        kept = [event for event, said in waiting if with_reasoning or not said.is_reasoning]
        if with_reasoning:
            self._is_let_go = True
        elif not any(said.is_words for _, said in waiting):
            # Nothing was said yet: the beginning of the answer is still held, so that an error can be passed on as one.
            self._waiting = [(event, said) for event, said in waiting if not said.is_reasoning]
            return []
        return [self._emitted(event) for event in kept]

    def _emitted(self, event: Event) -> bytes:
        """An event as the client gets it, with the numbers that it has there."""
        self.has_begun = True
        numbered = self._numbered(event)
        if numbered is None:
            return b""
        self._shown.feed(numbered)
        return self._written(numbered)

    def _numbered(self, event: Event) -> Event | None:
        """An event with the numbers of the client's answer; None for one that it does not get."""
        return event

    @abstractmethod
    def _written(self, event: Event) -> bytes:
        """An event on the wire."""

    @abstractmethod
    def _ended(self) -> list[bytes]:
        """The end of the answer, with the usage of all rounds."""

    # -- answers that are no streams

    def take_whole(self, body: bytes) -> Message | None:
        """A round that came as one object; its answer, or None if it cannot be read."""
        try:
            response = msgspec.json.decode(body)
            message: Message = self._format.load_reply(response)
        except (msgspec.DecodeError, UnicodeError, RecursionError, InvalidInput):
            return None
        if not isinstance(response, dict):
            return None
        self.failure = b""
        self.has_ours = any(call.name == self.tool for call in message.tool_calls)
        self.has_others = any(call.name != self.tool for call in message.tool_calls)
        self._take_response(response)
        return message

    @abstractmethod
    def _take_response(self, response: Event) -> None:
        """Keep what the client gets of a whole round."""

    @abstractmethod
    def whole(self) -> bytes:
        """The one answer that is made of all complete rounds."""

    @abstractmethod
    def whole_message(self) -> Message:
        """The same as a message."""


def event_bytes(event: Event) -> bytes:
    """An event of a stream whose events have names."""
    return b"event: " + str(event.get("type", "message")).encode() + b"\ndata: " + msgspec.json.encode(event) + b"\n\n"
