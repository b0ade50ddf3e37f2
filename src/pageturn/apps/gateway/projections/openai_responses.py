"""OpenAI's responses: one response, items and events numbered through all rounds, and its whole output at the end."""

from types import ModuleType
from typing import Any

import msgspec

from pageturn.apps.gateway.projections.projection import SILENT, Event, Projection, Said, event_bytes
from pageturn.values.messages import Message

_LAST = ("response.completed", "response.incomplete", "response.failed")
_FIRST = ("response.created", "response.in_progress", "response.queued")


class ResponsesProjection(Projection):
    """An answer of OpenAI's responses."""

    def __init__(self, format_: ModuleType, tool: str) -> None:
        super().__init__(format_, tool)
        self._types: dict[int, str] = {}  # of the items of this round; "" is one of ours
        self._places: dict[tuple[int, int], int] = {}
        self._number = 0  # of the next event
        self._id: str | None = None
        self._last: Event = {}
        self._output: list[Any] = []  # items that the client has
        self._tokens = 0  # that the rounds before wrote

    def _taken(self, event: Event) -> list[bytes]:
        kind = str(event.get("type"))
        index = event.get("output_index")
        if kind in _FIRST:
            if self.rounds:
                return []
            response = event.get("response") or {}
            self._id = self._id or response.get("id")
            return self._offer({**event, "response": self._without_tool(response)}, SILENT)
        if kind in _LAST:
            self._last = event
            if kind == "response.failed":
                self.failure = msgspec.json.encode(event)
            return []
        if kind == "error":
            return self._failed(event)
        if not isinstance(index, int):
            return self._offer(event, Said())
        if kind == "response.output_item.added":
            return self._added(event, index, event.get("item") or {})
        return self._more({**event, "round": self.rounds}, index)

    def _added(self, event: Event, index: int, item: Event) -> list[bytes]:
        type_ = str(item.get("type"))
        if type_ == "function_call" and item.get("name") == self.tool:
            self._types[index] = ""
            self.has_ours = True
            return self._let_go(with_reasoning=False) if not self._is_let_go else []
        self._types[index] = type_
        event = {**event, "round": self.rounds}
        if type_ in ("reasoning", "message"):
            return self._offer(event, Said(is_reasoning=type_ == "reasoning"))
        self.has_others = self.has_others or type_.endswith("_call")
        shown = self._let_go(with_reasoning=not self.has_ours)
        self._is_let_go = True
        return [*shown, *self._let_go(with_reasoning=False), self._emitted(event)]

    def _more(self, event: Event, index: int) -> list[bytes]:
        type_ = self._types.get(index)
        if not type_:
            return []
        delta = event.get("delta")
        is_words = type_ == "message" and isinstance(delta, str)
        return self._offer(event, Said(type_ == "reasoning", is_words, len(delta) if isinstance(delta, str) else 0))

    def _numbered(self, event: Event) -> Event | None:
        index, round_ = event.get("output_index"), event.pop("round", None)
        if round_ is not None and isinstance(index, int):
            place = self._places.get((round_, index))
            if place is None:
                if event["type"] != "response.output_item.added":
                    return None
                place = self._places[round_, index] = len(self._places)
            event = {**event, "output_index": place}
            if event["type"] == "response.output_item.done":
                self._output.append(event.get("item"))
        if "sequence_number" in event:
            event = {**event, "sequence_number": self._number}
            self._number += 1
        return event

    def _written(self, event: Event) -> bytes:
        return event_bytes(event)

    def next_round(self) -> None:
        self._tokens += _output_tokens(self._last.get("response"))
        self._types, self._last = {}, {}
        super().next_round()

    def _ended(self) -> list[bytes]:
        if not self._last:
            return []
        response = self._without_tool(self._last.get("response") or {})
        if self.rounds or self.has_ours:
            response["output"] = self._output
            response["id"] = self._id or response.get("id")
            response = _with_usage(response, self._tokens)
        return [self._emitted({**self._last, "response": response})]

    def rest(self) -> bytes:
        return b"".join((super().rest(), *self._ended()))

    # -- whole answers

    def _take_response(self, response: Event) -> None:
        made = [item for item in response.get("output") or [] if not self._is_ours(item)]
        if self.has_ours and not self.has_others:
            made = [item for item in made if isinstance(item, dict) and item.get("type") != "reasoning"]
        self._output += made
        self._id = self._id or response.get("id")
        answer = {**self._without_tool(response), "id": self._id, "output": self._output}
        self._last = _with_usage(answer, self._tokens)
        self._tokens += _output_tokens(response)

    def _without_tool(self, response: Event) -> Event:
        """A response, which repeats the tools of its request, without ours."""
        tools = response.get("tools")
        if not isinstance(tools, list):
            return dict(response)
        return {**response, "tools": [tool for tool in tools if not self._is_named(tool)]}

    def _is_named(self, tool: Any) -> bool:
        return isinstance(tool, dict) and tool.get("name") == self.tool

    def _is_ours(self, item: Any) -> bool:
        return isinstance(item, dict) and item.get("type") == "function_call" and item.get("name") == self.tool

    def whole(self) -> bytes:
        return msgspec.json.encode(self._last)

    def whole_message(self) -> Message:
        message: Message = self._format.load_reply(self._last)
        return message


def _output_tokens(response: Any) -> int:
    usage = response.get("usage") if isinstance(response, dict) else None
    return int(usage.get("output_tokens") or 0) if isinstance(usage, dict) else 0


def _with_usage(response: Event, before: int) -> Event:
    """The response with what all rounds wrote; what the last one read is what the client will be measured by."""
    usage = response.get("usage")
    if not isinstance(usage, dict) or not before:
        return response
    output = int(usage.get("output_tokens") or 0) + before
    total = {"total_tokens": int(usage.get("input_tokens") or 0) + output} if "total_tokens" in usage else {}
    return {**response, "usage": {**usage, "output_tokens": output, **total}}
