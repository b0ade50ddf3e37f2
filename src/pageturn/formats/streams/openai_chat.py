"""Assembles the chunks of OpenAI's chat completions: the client's, its helper's events, and the variants of other servers.

Pieces of a call belong together by their index; if a server gives every call the same index, they are told apart by id.
"""

from itertools import groupby
from typing import Any

from pageturn.formats.fields import Fields, spelled
from pageturn.formats.streams.growing import as_json_object, grow, growing, joined
from pageturn.formats.streams.stream import EventStream, SoFar, error_object
from pageturn.values.errors import InvalidInput, show

_CUT_BY = ("length", "content_filter", "error")  # finish reasons that may occur inside a call


class ChatChunks(EventStream):
    """The chunks of one answer of OpenAI's chat."""

    _ends_with_done = True

    def __init__(self) -> None:
        super().__init__()
        self._response: dict[str, Any] = {}
        self._choice: dict[str, Any] = {}
        self._fields: dict[str, Any] = {}  # of the message, besides its content and its calls
        self._content: list[Any] = []  # texts, and parts if a server sends these
        self._calls: list[dict[str, Any]] = []
        self._by_index: dict[int, dict[str, Any]] = {}

    def _read(self, event: Any) -> Any:
        if isinstance(event, dict):
            is_of_helper = "type" in event and not event.keys() & {"choices", "error"}
            return event.get("chunk") if is_of_helper else event
        is_of_helper = hasattr(event, "type") and not hasattr(event, "choices")
        return super()._read(getattr(event, "chunk", None) if is_of_helper else event)

    def _take(self, event: Fields) -> None:
        choices = event.take("choices", list) or []
        read = [_Delta(raw, f"{event.path}.choices[{place}]") for place, raw in enumerate(choices)]
        error = error_object(event)
        event.rest.pop("obfuscation", None)  # padding
        if event.rest.get("object") == "chat.completion.chunk":
            event.rest["object"] = "chat.completion"
        self._response |= event.rest
        for delta in read:
            self._grow(delta)
        if error is not None:
            self._fail(error)

    def _grow(self, delta: "_Delta") -> None:
        grow(self._choice, {"logprobs": delta.beside.pop("logprobs", None)})
        self._choice |= delta.beside
        self._content += delta.content
        for piece in delta.calls:
            grow(self._call_of(piece), {name: piece[name] for name in piece if name != "index"})
        grow(self._fields, delta.fields)
        self._has_ended |= "finish_reason" in delta.beside

    def _call_of(self, piece: dict[str, Any]) -> dict[str, Any]:
        """The call that a piece belongs to, which may be a new one."""
        index, id_ = piece.get("index"), piece.get("id")
        call = self._by_index.get(index) if index is not None else self._last(piece)
        if call is None or (id_ and call.get("id") and joined(call["id"]) != id_):
            call = {}
            self._calls.append(call)
            if index is not None:
                self._by_index[index] = call
        return call

    def _last(self, piece: dict[str, Any]) -> dict[str, Any] | None:
        """The call that a piece without an index continues: the last, unless it begins one."""
        begins = not piece.get("id") and any(isinstance(body, dict) and body.get("name") for body in piece.values())
        return self._calls[-1] if self._calls and not begins else None

    def _put_together(self) -> SoFar:
        fields, calls = joined(self._fields), [_with_arguments(joined(call)) for call in self._in_order()]
        is_sure = self.is_finished and self._choice.get("finish_reason") not in _CUT_BY
        whole = [call for call in calls if _is_whole(call, is_sure=is_sure)]
        incomplete = [call for call in calls if not _is_whole(call, is_sure=is_sure)]
        if "function_call" in fields and not _is_whole_body(fields["function_call"], "arguments", is_sure=is_sure):
            incomplete.append({"function_call": fields.pop("function_call")})
        if isinstance(audio := fields.get("audio"), dict) and not isinstance(audio.get("id"), str):
            incomplete.append({"audio": fields.pop("audio")})
        message = {"role": "assistant", **({"content": _joined_content(self._content)} if self._content else {})}
        message |= fields | ({"tool_calls": whole} if whole else {})
        return SoFar(self._response | {"choices": [{**joined(self._choice), "message": message}]}, incomplete)

    def _in_order(self) -> list[dict[str, Any]]:
        """The calls, by their indexes if each has one of its own."""
        if len(self._by_index) < len(self._calls):
            return self._calls
        return [self._by_index[index] for index in sorted(self._by_index)]


class _Delta:
    """The content of the one choice of a chunk."""

    def __init__(self, raw: Any, path: str) -> None:
        choice = Fields(raw, path)
        if choice.rest.get("index"):
            raise InvalidInput(f"{path}.index", expected="one choice", got="several")
        delta = choice.inner("delta")
        self.content = _content(delta.rest.pop("content", None), f"{delta.path}.content")
        self.calls = [
            _call_piece(piece, f"{delta.path}.tool_calls[{place}]")
            for place, piece in enumerate(delta.take("tool_calls", list) or [])
        ]
        delta.rest.pop("role", None)
        finish_reason = choice.take("finish_reason", str)
        self.fields = delta.rest
        self.beside = choice.rest | ({"finish_reason": finish_reason} if finish_reason is not None else {})


def _content(content: Any, path: str) -> list[Any]:
    match content:
        case None:
            return []
        case str():
            return [content]
        case list() if all(isinstance(part, dict) for part in content):
            return [growing(part) for part in content]
        case _:
            raise InvalidInput(path, expected="text or a list of parts", got=show(content))


def _call_piece(raw: Any, path: str) -> dict[str, Any]:
    piece = Fields(raw, path)
    index = piece.take("index", int)
    for name in ("id", "type"):
        piece.rest |= {name: text} if (text := piece.take(name, str)) is not None else {}
    for name in ("function", "custom"):
        if name in piece.rest:
            body = piece.inner(name)
            texts = {inner: body.take(inner, str) for inner in ("name", "arguments", "input")}
            piece.rest[name] = body.rest | {inner: text for inner, text in texts.items() if text is not None}
    return piece.rest | ({"index": index} if index is not None else {})


def _joined_content(content: list[Any]) -> Any:
    """A content as one text; as parts if there are parts among the texts."""
    if all(isinstance(piece, str) for piece in content):
        return "".join(content)
    parts: list[Any] = []
    for is_text, run in groupby(content, key=lambda piece: isinstance(piece, str)):
        pieces = list(run)
        parts += [{"type": "text", "text": "".join(pieces)}] if is_text else joined(pieces)
    return parts


def _with_arguments(call: dict[str, Any]) -> dict[str, Any]:
    """A call that received no arguments, as some servers send one without arguments, with an empty text for them."""
    body = call.get(_kind(call))
    if isinstance(body, dict):
        body.setdefault(_written(call), "")
    return call


def _kind(call: dict[str, Any]) -> str:
    return spelled(call.get("type") or "function")


def _written(call: dict[str, Any]) -> str:
    return "input" if _kind(call) == "custom" else "arguments"


def _is_whole(call: dict[str, Any], *, is_sure: bool) -> bool:
    body = call.get(_kind(call))
    return isinstance(call.get("id"), str) and _is_whole_body(body, _written(call), is_sure=is_sure)


def _is_whole_body(body: Any, written: str, *, is_sure: bool) -> bool:
    """Whether a call is complete: the vendor said that nothing is missing, or its arguments are an object."""
    match body:
        case {"name": str(), **rest} if isinstance(text := rest.get(written), str):
            return is_sure or (written == "arguments" and as_json_object(text) is not None)
        case _:
            return False
