"""Assembles the events of OpenAI's Responses API, from the wire or from the client's helper, which use the same names.

The last event has the whole response, so the assembled one is used only if that event did not come, or came without items.
"""

from typing import Any

from pageturn.formats.fields import Fields
from pageturn.formats.streams.growing import Items, Pieces, as_json_object, grow, growing, joined
from pageturn.formats.streams.stream import EventStream, SoFar, error_object
from pageturn.values.errors import InvalidInput, show

# The lists of an item, and the field that gives the index in each.
_INDEXES = {"content": "content_index", "summary": "summary_index"}
_OF_PARTS = {  # the events of a part of an item: the list, the type of the part, and its field
    "response.output_text": ("content", "output_text", "text"),
    "response.refusal": ("content", "refusal", "refusal"),
    "response.reasoning_text": ("content", "reasoning_text", "text"),
    "response.reasoning_summary_text": ("summary", "summary_text", "text"),
}
_OF_ITEMS = {  # the events of an item: its field
    "response.function_call_arguments": "arguments",
    "response.custom_tool_call_input": "input",
    "response.mcp_call_arguments": "arguments",
    "response.code_interpreter_call_code": "code",
}
_PARTS = {"response.content_part": "content", "response.reasoning_summary_part": "summary"}
_ADDED_OR_DONE, _DELTA_OR_DONE = ("added", "done"), ("delta", "done")
_LAST = ("completed", "incomplete", "failed")
_ARGUMENTS = {"function_call": "arguments", "custom_tool_call": "input"}


class ResponsesEvents(EventStream):
    """The events of one answer of OpenAI's responses."""

    def __init__(self) -> None:
        super().__init__()
        self._response: dict[str, Any] = {}
        self._items: dict[int, _Item] = {}

    def _take(self, event: Fields) -> None:
        kind = event.take("type", str) or ""
        name, _, step = kind.rpartition(".")
        if kind == "error":
            self._fail(error_object(event) or event.rest)
        elif name == "response" and "response" in event.rest:
            self._take_response(event.inner("response"), step)
        elif kind == "response.output_text.annotation.added":
            place, annotation = event.need("content_index", int), event.need("annotation", dict)
            self._item(event).annotate(place, annotation)
        elif name == "response.output_item" and step in _ADDED_OR_DONE:
            given = event.inner("item")
            self._item(event).become({"type": given.text("type"), **given.rest}, is_done=step == "done")
        elif name in _PARTS and step in _ADDED_OR_DONE:
            place, part = event.need(_INDEXES[_PARTS[name]], int), event.inner("part").rest
            self._item(event).parts[_PARTS[name]][place] = growing(part)
        elif name in _OF_PARTS and step in _DELTA_OR_DONE:
            list_, type_, field = _OF_PARTS[name]
            place, text = event.need(_INDEXES[list_], int), event.text("delta" if step == "delta" else field)
            _add(self._item(event).part(list_, place, type_), field, text, is_all=step == "done")
        elif name in _OF_ITEMS and step in _DELTA_OR_DONE:
            text = event.text("delta" if step == "delta" else _OF_ITEMS[name])
            _add(self._item(event).fields, _OF_ITEMS[name], text, is_all=step == "done")

    def _take_response(self, response: Fields, step: str) -> None:
        id_, known = response.rest.get("id"), self._response.get("id")
        if id_ is not None and known is not None and id_ != known:
            raise InvalidInput(
                f"{response.path}.id", expected=f"the events of one response, {show(known)}", got=show(id_)
            )
        output = response.rest.get("output")
        if output is not None and not isinstance(output, list):
            raise InvalidInput(f"{response.path}.output", expected="a list", got=show(output))
        error, details = response.rest.get("error"), response.rest.get("incomplete_details")
        self._response |= response.rest
        self._has_ended |= step in _LAST
        if step == "failed":
            self._fail(error if isinstance(error, dict) else {"code": "failed", "message": "the response failed"})
        elif step == "incomplete":
            reasons = details if isinstance(details, dict) else {}
            self._note_error({"code": reasons.get("reason", step), "message": "the response is incomplete", **reasons})

    def _item(self, event: Fields) -> "_Item":
        """The item that an event is about. Events after its completion are ignored."""
        item = self._items.setdefault(event.need("output_index", int), _Item())
        return _Item() if item.is_done else item

    def _put_together(self) -> SoFar:
        last = self._response.get("output") if self._has_ended else None
        if last and self.is_finished and self._error is None:
            return SoFar(self._response, [])
        if last:
            items = [(raw, self._items.get(index, _Item())) for index, raw in enumerate(last)]
        else:
            items = [(self._items[index].joined(), self._items[index]) for index in sorted(self._items)]
        kept = [raw for raw, item in items if self._is_whole(raw, item)]
        incomplete = [raw for raw, item in items if not self._is_whole(raw, item)]
        return SoFar(self._response | {"output": kept}, incomplete)

    def _is_whole(self, raw: Any, item: "_Item") -> bool:
        """Whether an item may be in the message although no completed response repeats it.

        The end of its arguments proves nothing: they also end where a limit cuts them.
        """
        status = raw.get("status") if isinstance(raw, dict) else None
        is_done = status == "completed" or (item.is_done and status not in ("incomplete", "in_progress"))
        match raw:
            case {"type": "message"}:
                return True
            case {"type": "reasoning"}:  # without its text, the vendor would have to look it up, and may not have it
                return self.is_finished or (item.is_done and bool(raw.get("encrypted_content") or raw.get("content")))
            case {"type": "function_call" | "custom_tool_call" as kind}:
                texts = [raw.get(name) for name in ("call_id", "name", _ARGUMENTS[kind])]
                is_there = all(isinstance(text, str) for text in texts)
                is_object = kind == "function_call" and is_there and as_json_object(raw["arguments"]) is not None
                return is_there and (is_done or is_object)
            case _:
                return is_done


class _Item:
    """One item of the output, as far as it has arrived."""

    def __init__(self) -> None:
        self.fields: dict[str, Any] = {}
        self.parts: dict[str, dict[int, Any]] = {name: {} for name in _INDEXES}
        self.is_done = False

    def become(self, raw: dict[str, Any], *, is_done: bool) -> None:
        """Take this state of the item; more may arrive unless it is done."""
        self.is_done = is_done
        if is_done:
            self.fields = raw
            return
        lists = {name: raw[name] for name in _INDEXES if isinstance(raw.get(name), list)}
        self.fields = growing({name: value for name, value in raw.items() if name not in lists})
        self.parts = {name: dict(enumerate(growing(part) for part in lists.get(name, []))) for name in _INDEXES}

    def part(self, list_: str, place: int, type_: str) -> dict[str, Any]:
        """The part at an index, which is created if it was not announced."""
        self.fields.setdefault("type", Pieces("message" if type_ in ("output_text", "refusal") else "reasoning"))
        part = self.parts[list_].setdefault(place, {"type": Pieces(type_)})
        return part if isinstance(part, dict) else {}

    def annotate(self, place: int, annotation: dict[str, Any]) -> None:
        """Add an annotation to a text."""
        part = self.part("content", place, "output_text")
        if not isinstance(part.get("annotations"), Items):
            part["annotations"] = Items([])
        part["annotations"].items.append(annotation)

    def joined(self) -> dict[str, Any]:
        """The item in the vendor's form."""
        if self.is_done:
            return self.fields
        fields: dict[str, Any] = joined(self.fields)
        lists = {name: [joined(parts[place]) for place in sorted(parts)] for name, parts in self.parts.items()}
        match fields.get("type"):
            case "message":
                return fields | {"content": [*filter(_is_said, lists["content"])], "status": "incomplete"}
            case "reasoning":
                return {**fields, "summary": lists["summary"]} | ({"content": c} if (c := lists["content"]) else {})
            case _:
                return fields | {name: each for name, each in lists.items() if each}


def _is_said(part: Any) -> bool:
    """Whether a part of an unfinished message has text."""
    match part:
        case {"type": "refusal", "refusal": str()} | {"type": "output_text", "text": str()}:
            return True
        case _:
            return False


def _add(holder: dict[str, Any], field: str, text: str, *, is_all: bool) -> None:
    if is_all:
        holder[field] = Pieces(text)
    else:
        grow(holder, {field: text})
