"""Anthropic's messages: one `message_start`, blocks numbered through all rounds, one `message_delta` with the usage of all."""

from types import ModuleType
from typing import Any

import msgspec

from pageturn.apps.gateway.projections.projection import SILENT, Event, Projection, Said, event_bytes
from pageturn.values.messages import Message

_REASONING = ("thinking", "redacted_thinking")
_INPUT = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "cache_creation")


class AnthropicProjection(Projection):
    """An answer of Anthropic's."""

    def __init__(self, format_: ModuleType, tool: str) -> None:
        super().__init__(format_, tool)
        self._types: dict[int, str] = {}  # of the blocks of this round; "" is one of ours
        self._places: dict[tuple[int, int], int] = {}  # of blocks that the client has, by round and number
        self._usage: dict[str, Any] = {}  # of this round
        self._delta: Event = {}
        self._output = 0  # of the rounds that are over
        self._content: list[Any] = []
        self._response: Event = {}

    def _taken(self, event: Event) -> list[bytes]:
        kind = event.get("type")
        index = event.get("index")
        match kind:
            case "message_start":
                self._types = {}
                self._usage = dict((event.get("message") or {}).get("usage") or {})
                return self._offer(event, SILENT) if self.rounds == 0 else []
            case "content_block_start" if isinstance(index, int):
                return self._started(event, index, event.get("content_block") or {})
            case "content_block_delta" | "content_block_stop" if isinstance(index, int):
                return self._more(event, index)
            case "message_delta":
                self._usage |= event.get("usage") or {}
                self._delta = event
                return []
            case "message_stop":
                return []
            case "error":
                return self._failed(event)
            case _:
                return self._offer(event, SILENT if kind == "ping" else Said())

    def _started(self, event: Event, index: int, block: Event) -> list[bytes]:
        type_ = str(block.get("type"))
        if type_ == "tool_use" and block.get("name") == self.tool:
            self._types[index] = ""
            self.has_ours = True
            return self._let_go(with_reasoning=False) if not self._is_let_go else []
        self._types[index] = type_
        event = {**event, "round": self.rounds}
        if type_ in _REASONING:
            return self._offer(event, Said(is_reasoning=True))
        if type_ == "text":
            return self._offer(event, Said(is_words=False))
        self.has_others = self.has_others or type_ == "tool_use"
        return [*self._let_go(with_reasoning=not self.has_ours), *self._offer_now(event)]

    def _more(self, event: Event, index: int) -> list[bytes]:
        type_ = self._types.get(index)
        if not type_:
            return []
        event = {**event, "round": self.rounds}
        if type_ in _REASONING:
            return self._offer(event, Said(is_reasoning=True))
        text = (event.get("delta") or {}).get("text")
        if type_ == "text" and isinstance(text, str):
            return self._offer(event, Said(is_words=True, size=len(text)))
        return self._offer(event, Said())

    def _offer_now(self, event: Event) -> list[bytes]:
        self._is_let_go = True
        return [*self._let_go(with_reasoning=False), self._emitted(event)]

    def _numbered(self, event: Event) -> Event | None:
        index, round_ = event.get("index"), event.pop("round", None)
        if round_ is None or not isinstance(index, int):
            return event
        place = self._places.get((round_, index))
        if place is None:
            if event["type"] != "content_block_start":
                return None  # of a block that the client does not have
            place = self._places[round_, index] = len(self._places)
        return {**event, "index": place}

    def _written(self, event: Event) -> bytes:
        return event_bytes(event)

    def next_round(self) -> None:
        self._output += int(self._usage.get("output_tokens") or 0)
        super().next_round()

    def _ended(self) -> list[bytes]:
        if self.has_failed:
            return []
        delta = self._delta or {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}}
        if self.has_ours and not self.has_others:  # it would go on for ever
            delta = {**delta, "delta": {**(delta.get("delta") or {}), "stop_reason": "end_turn"}}
        usage = {
            **(delta.get("usage") or {}),
            "output_tokens": self._output + int(self._usage.get("output_tokens") or 0),
        }
        if self.rounds:
            usage = {name: self._usage[name] for name in _INPUT if name in self._usage} | usage
        return [self._emitted({**delta, "usage": usage}), self._emitted({"type": "message_stop"})]

    # -- whole answers

    def _take_response(self, response: Event) -> None:
        usage = response.get("usage") or {}
        given = response.get("content") or []
        blocks = [{"type": "text", "text": given}] if isinstance(given, str) else given
        content = [block for block in blocks if not self._is_ours(block)]
        if self.has_ours and not self.has_others:
            content = [block for block in content if isinstance(block, dict) and block.get("type") not in _REASONING]
        self._content += content
        first = self._response or response
        total = self._output + int(usage.get("output_tokens") or 0)
        self._output = total
        self._response = {
            **response,
            "id": first.get("id"),
            "content": self._content,
            "usage": {**usage, "output_tokens": total},
        }

    def _is_ours(self, block: Any) -> bool:
        return isinstance(block, dict) and block.get("type") == "tool_use" and block.get("name") == self.tool

    def _final(self) -> Event:
        if self.has_ours and not self.has_others:
            return {**self._response, "stop_reason": "end_turn"}
        return self._response

    def whole(self) -> bytes:
        return msgspec.json.encode(self._final())

    def whole_message(self) -> Message:
        message: Message = self._format.load_reply(self._final())
        return message
