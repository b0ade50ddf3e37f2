"""Assembles the stream events of Anthropic's Messages API, including those that its client's helper adds.

A block is complete when its end event has come. From an incomplete block, text and thinking are kept, and a call only if its
arguments are already a whole object.
"""

from typing import Any

from pageturn.formats.calls import unparsed
from pageturn.formats.fields import Fields, plain, spelled
from pageturn.formats.streams.growing import as_json_object, grow, growing, joined
from pageturn.formats.streams.stream import EventStream, SoFar, error_object
from pageturn.values.errors import InvalidInput, show

# Events of the SDK's streaming helper, which repeat those of the wire.
_OF_THE_HELPER = (
    "text",
    "thinking",
    "citation",
    "signature",
    "input_json",
    "compaction",
)
_COPIES = {"content_block_stop": ("content_block",), "message_stop": ("message",)}  # added by the helper
_CUT_BY = ("max_tokens", "model_context_window_exceeded", "refusal")  # stop reasons that may occur inside a call
_TEXTS = {"text_delta": "text", "thinking_delta": "thinking"}
_OF_BLOCKS = {**_TEXTS, "signature_delta": "thinking", "citations_delta": "text"}  # the type of the block of each delta


class AnthropicEvents(EventStream):
    """The events of one answer of Anthropic's."""

    def __init__(self) -> None:
        super().__init__()
        self._message: dict[str, Any] | None = None
        self._usage: dict[str, Any] = {}
        self._blocks: dict[int, _Block] = {}

    def _read(self, event: Any) -> Any:
        kind = event.get("type") if isinstance(event, dict) else getattr(event, "type", None)
        if kind in _OF_THE_HELPER:
            return None
        return plain(event, without=_COPIES.get(spelled(kind), ()))

    def _take(self, event: Fields) -> None:
        match event.take("type", str):
            case "message_start":
                self._start(event)
            case "content_block_start":
                self._start_block(event)
            case "content_block_delta":
                self._block(event).grow(event.inner("delta"))
            case "content_block_stop":
                self._block(event).has_ended = True
            case "message_delta":
                delta, usage = event.inner("delta"), event.inner("usage")
                self._usage |= usage.rest
                self._message = (self._message or {}) | event.rest | delta.rest
                self._has_ended |= "stop_reason" in delta.rest
            case "message_stop":
                self._has_ended = True
            case "error":
                self._fail(error_object(event) or event.rest)

    def _start(self, event: Fields) -> None:
        if self._message is not None:
            raise InvalidInput(event.path, expected="the events of one message", got="a second message_start")
        message = event.inner("message")
        self._usage = message.inner("usage").rest
        content = message.take("content", list) or []  # empty, except for servers that know all of it at once
        blocks = {index: _Block(Fields(raw, f"{message.path}.content[{index}]")) for index, raw in enumerate(content)}
        for block in blocks.values():
            block.has_ended = True
        self._message, self._blocks = message.rest, blocks

    def _start_block(self, event: Fields) -> None:
        index = event.need("index", int)
        if index in self._blocks:
            raise InvalidInput(f"{event.path}.index", expected="a block that has not started", got=show(index))
        self._blocks[index] = _Block(event.inner("content_block"))

    def _block(self, event: Fields) -> "_Block":
        index = event.need("index", int)
        if index not in self._blocks:
            raise InvalidInput(f"{event.path}.index", expected="a block that has started", got=show(index))
        return self._blocks[index]

    def _put_together(self) -> SoFar:
        message = self._message or {}
        is_sure = self.is_finished and message.get("stop_reason") not in (*_CUT_BY, None)
        blocks = [self._blocks[index] for index in sorted(self._blocks)]
        content: list[dict[str, Any]] = []
        incomplete: list[dict[str, Any]] = []
        for place, block in enumerate(blocks):
            was_sure = is_sure or (block.has_ended and place + 1 < len(blocks))
            raw = block.whole(is_sure=was_sure, has_ended=block.has_ended or self.is_finished)
            (content if raw is not None else incomplete).append(raw or block.partial())
        if not self.is_finished:
            content, unanswered = _with_answers(content)
            incomplete += unanswered
        response = {"type": "message", "role": "assistant", **message, "content": content}
        return SoFar(response | ({"usage": self._usage} if self._usage else {}), incomplete)


class _Block:
    """One block of the content, as far as it has arrived."""

    def __init__(self, start: Fields) -> None:
        self.type = start.text("type")
        self._fields = growing({**start.rest, "type": self.type})
        self._input: list[str] = []  # the JSON of the arguments of a call, in pieces
        self._citations: list[dict[str, Any]] = []
        self.has_ended = False

    def grow(self, delta: Fields) -> None:
        kind = delta.text("type")
        if _OF_BLOCKS.get(kind, self.type) != self.type:
            raise InvalidInput(f"{delta.path}.type", expected=f"a delta of a block of the type {self.type}", got=kind)
        if kind in _TEXTS:
            grow(self._fields, {_TEXTS[kind]: delta.text(_TEXTS[kind])})
        elif kind == "input_json_delta":
            self._input.append(delta.text("partial_json"))
        elif kind == "signature_delta":
            self._fields["signature"] = delta.text("signature")
        elif kind == "citations_delta":
            self._citations.append(delta.need("citation", dict))
        else:
            grow(self._fields, delta.rest)

    def whole(self, *, is_sure: bool, has_ended: bool) -> dict[str, Any] | None:
        """The block in the vendor's form; None if it is an incomplete call or another incomplete block that only its vendor reads.

        `is_sure` says that the vendor considers it complete: then invalid JSON in arguments is the model's mistake, not a cut.
        """
        fields = self._joined()
        if self.type in ("text", "thinking"):
            return {self.type: "", **fields}
        if not self.is_call:
            return fields if has_ended else None
        if not isinstance(fields.get("id"), str) or not isinstance(fields.get("name"), str):
            return None
        text = "".join(self._input)
        if text.strip():
            given = as_json_object(text)
            arguments = given if given is not None else unparsed(text) if is_sure else None
        else:
            arguments = fields.get("input") or ({} if is_sure else None)
        return fields | {"input": arguments} if isinstance(arguments, dict) else None

    def partial(self) -> dict[str, Any]:
        """The received part of an incomplete block; for a call, the text of its arguments so far."""
        text = "".join(self._input)
        return self._joined() | ({"partial_json": text} if text else {})

    def _joined(self) -> dict[str, Any]:
        fields: dict[str, Any] = joined(self._fields)
        if self._citations:
            fields["citations"] = [*(fields.get("citations") or []), *self._citations]
        return fields

    @property
    def is_call(self) -> bool:
        """Whether this is a call of a tool, the host's or one of the vendor's own."""
        return self.type.endswith("tool_use")


def _with_answers(content: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The blocks without calls of the vendor's own tools that have no result, which it would reject; and those calls."""
    answered = [block.get("tool_use_id") for block in content]
    kept: list[dict[str, Any]] = []
    unanswered: list[dict[str, Any]] = []
    for block in content:
        is_own = block["type"].endswith("_tool_use")
        (unanswered if is_own and block.get("id") not in answered else kept).append(block)
    return kept, unanswered
