"""OpenAI's chat: one id, one finish, the calls of the client numbered through all rounds, one usage."""

from types import ModuleType
from typing import Any

import msgspec

from pageturn.apps.gateway.projections.projection import Event, Projection, Said
from pageturn.values.messages import Message

_REASONING = ("reasoning_content", "reasoning", "reasoning_details")
_BETWEEN = "\n\n"  # the words of two rounds


class ChatProjection(Projection):
    """An answer of OpenAI's chat, or of one of the many servers that speak it."""

    def __init__(self, format_: ModuleType, tool: str) -> None:
        super().__init__(format_, tool)
        self._ours: set[int] = set()  # the numbers of our calls in this round
        self._places: dict[tuple[int, int], int] = {}
        self._first: Event = {}  # what every chunk has: the id of the first round
        self._finish: str | None = None
        self._usage: Event | None = None  # the chunk with the usage of this round
        self._output = 0
        self._words: int | None = None  # the last round of which the client has words
        self._response: Event = {}
        self._texts: list[str] = []
        self._calls: list[Any] = []

    def _taken(self, event: Event) -> list[bytes]:
        if not self._first:
            self._first = {name: event[name] for name in ("id", "created", "model", "object") if name in event}
        if event.get("error"):
            return self._failed(event)
        if event.get("usage"):
            self._usage = event
        choices = event.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            return []
        choice = dict(choices[0])
        self._finish = choice.get("finish_reason") or self._finish
        delta = dict(choice.get("delta") or {})
        calls = [call for call in map(self._call, delta.pop("tool_calls", None) or []) if call is not None]
        if self.rounds:
            delta.pop("role", None)
        made = {name: value for name, value in event.items() if name != "usage"} | self._first
        made["choices"] = [{**choice, "finish_reason": None, "delta": delta}]
        shown: list[bytes] = []
        said = self._said(delta)
        if delta and (said.is_words or said.is_reasoning or delta.keys() - {"content", *_REASONING}):
            shown += self._offer({**made, "round": self.rounds}, said)
        if calls:
            shown += self._let_go(with_reasoning=not self.has_ours)
            self._is_let_go = True
            shown += self._let_go(with_reasoning=False)
            called = {**made, "choices": [{**choice, "finish_reason": None, "delta": {"tool_calls": calls}}]}
            shown.append(self._emitted(called))
        elif self.has_ours and not self._is_let_go:
            shown += self._let_go(with_reasoning=False)
        return shown

    def _said(self, delta: Event) -> Said:
        content = delta.get("content")
        if isinstance(content, str) and content:
            return Said(is_words=True, size=len(content))
        is_reasoning = any(delta.get(name) for name in _REASONING)
        return Said(is_reasoning=is_reasoning, is_silent=not is_reasoning and delta.keys() <= {"role", "content"})

    def _call(self, piece: Any) -> Any:
        """A piece of a call with the number that it has for the client; None for one of ours."""
        if not isinstance(piece, dict):
            return piece
        given = piece.get("index")
        index = given if isinstance(given, int) else 0
        name = (piece.get("function") or {}).get("name")
        if name == self.tool:
            self._ours.add(index)
            self.has_ours = True
        if index in self._ours:
            return None
        self.has_others = True
        place = self._places.setdefault((self.rounds, index), len(self._places))
        return {**piece, "index": place}

    def _numbered(self, event: Event) -> Event | None:
        round_ = event.pop("round", None)
        if round_ is None:
            return event
        choice = event["choices"][0]
        content = choice["delta"].get("content")
        if isinstance(content, str) and content:
            if self._words is not None and self._words != round_:
                delta = {**choice["delta"], "content": _BETWEEN + content}
                event = {**event, "choices": [{**choice, "delta": delta}]}
            self._words = round_
        return event

    def _written(self, event: Event) -> bytes:
        return b"data: " + msgspec.json.encode(event) + b"\n\n"

    def next_round(self) -> None:
        self._output += self._completion()
        self._ours, self._usage, self._finish = set(), None, None
        super().next_round()

    def _completion(self) -> int:
        usage = (self._usage or {}).get("usage") or {}
        return int(usage.get("completion_tokens") or 0)

    def _ended(self) -> list[bytes]:
        if self.has_failed:
            return []
        finish = self._finish or "stop"
        if self.has_ours and not self.has_others:
            finish = "stop"
        last = {**self._first, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}
        shown = [self._emitted(last)]
        if self._usage is not None:
            usage = dict(self._usage["usage"])
            output = self._output + self._completion()
            total = {"total_tokens": int(usage.get("prompt_tokens") or 0) + output} if "total_tokens" in usage else {}
            shown.append(
                self._emitted(
                    {
                        **self._usage,
                        **self._first,
                        "choices": [],
                        "usage": {**usage, "completion_tokens": output, **total},
                    }
                )
            )
        return [*shown, b"data: [DONE]\n\n"]

    # -- whole answers

    def _take_response(self, response: Event) -> None:
        choice = (response.get("choices") or [{}])[0]
        message = dict(choice.get("message") or {})
        if isinstance(message.get("content"), str) and message["content"].strip():
            self._texts.append(message["content"])
        made = message.pop("tool_calls", None) or []
        self._calls += [call for call in made if (call.get("function") or {}).get("name") != self.tool]
        usage = dict(response.get("usage") or {})
        self._output += int(usage.get("completion_tokens") or 0)
        if usage:
            usage |= {"completion_tokens": self._output}
            if "total_tokens" in usage:
                usage["total_tokens"] = int(usage.get("prompt_tokens") or 0) + self._output
        first = self._response or response
        message["content"] = _BETWEEN.join(self._texts) if self._texts else message.get("content")
        if self._calls:
            message["tool_calls"] = self._calls
        finish = choice.get("finish_reason")
        if self.has_ours and not self.has_others:
            finish = "stop"
        self._response = {
            **response,
            "id": first.get("id"),
            "choices": [{**choice, "message": message, "finish_reason": finish}],
        }
        if usage:
            self._response["usage"] = usage

    def whole(self) -> bytes:
        return msgspec.json.encode(self._response)

    def whole_message(self) -> Message:
        message: Message = self._format.load_reply(self._response)
        return message
