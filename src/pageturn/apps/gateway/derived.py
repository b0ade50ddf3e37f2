"""Writes derived bodies: a request with another history, in which everything but the messages is as the client wrote it."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from pageturn.apps.gateway.body_fields import joined
from pageturn.apps.gateway.fingerprints import BILLING
from pageturn.apps.gateway.model_request import ModelRequest
from pageturn.apps.gateway.stored_messages import restored_role
from pageturn.formats import anthropic, openai_responses
from pageturn.formats.cache_marks import CacheMarks
from pageturn.formats.tools import ANTHROPIC, recall_definition
from pageturn.values.context import Context
from pageturn.values.messages import Message, Role
from pageturn.values.prompt import Prompt
from pageturn.values.recall_tool import RecallTool
from pageturn.values.vendors import MOST_BREAKPOINTS

# A body of ours is not compressed, whatever the client's was.
PLAIN: tuple[tuple[bytes, bytes | None], ...] = ((b"content-encoding", None),)
_MARK = "cache_control"
_MARKS = CacheMarks(ANTHROPIC, _MARK)
# Edits that a provider would make to a history that we have shortened already.
_OWN_EDITS = ("clear_tool_uses", "compact")
_NAMES = ("recall", "recall_page", "pageturn_recall")


class Written:
    """A rewritten body, and what it leaves out of the client's request."""

    __slots__ = ("body", "edits_off")

    def __init__(self, body: bytes, *, edits_off: bool = False) -> None:
        self.body = body
        self.edits_off = edits_off


def with_history(
    request: ModelRequest, messages: Sequence[Message], *, frozen: int, tool: RecallTool | None
) -> Written:
    """The request with these messages as its conversation; `frozen` of them stay until the next fold."""
    shown = tuple(map(restored_role, messages))
    # A request without a model is written for the least strict one: the client knows what its upstream accepts.
    model = None if request.format is openai_responses else request.model
    prompt = Prompt(messages=shown, model=model, vendor=request.format.VENDOR, marks=_ends(request, shown, frozen))
    items = request.format.dump(prompt)[request.key]
    if request.format is anthropic and (mark := _mark_of(request)) is not None:
        _mark_as(items, mark)
    fields = dict(request.fields)
    fields.pop("previous_response_id", None)  # the history has everything that it refers to
    edits_off = _switch_edits_off(fields)
    opening = request.opening
    if tool is not None:
        opening = _with_tool(request, fields, tool)
    fields[request.key] = msgspec.Raw(b"[" + b",".join((*opening, *map(msgspec.json.encode, items))) + b"]")
    return Written(joined(fields), edits_off=edits_off)


def with_context(request: ModelRequest, context: Context, tool: RecallTool | None) -> Written:
    """The request with a derived context."""
    base = context.bands.base if context.bands is not None else 0
    return with_history(request, context.messages[base:], frozen=max(0, context.frozen - base), tool=tool)


def with_tool(request: ModelRequest, tool: RecallTool) -> bytes:
    """The request unchanged, with the recall tool after the client's own."""
    fields = dict(request.fields)
    opening = _with_tool(request, fields, tool)
    if opening is not request.opening:
        fields[request.key] = msgspec.Raw(b"[" + b",".join((*opening, *request.raws)) + b"]")
    return joined(fields)


def without_billing_line(request: ModelRequest) -> bytes | None:
    """The request without the line that Claude Code puts before its instructions; None where there is none."""
    system = request.field("system")
    if request.format is not anthropic or not isinstance(system, list):
        return None
    kept = [block for block in system if not _is_billing_line(block)]
    if len(kept) == len(system):
        return None
    return joined(request.fields | {"system": msgspec.Raw(msgspec.json.encode(kept))})


def _is_billing_line(block: Any) -> bool:
    return isinstance(block, dict) and isinstance(text := block.get("text"), str) and text.startswith(BILLING)


def name_for_tool(request: ModelRequest) -> str:
    """A name for the recall tool that no tool of the client has."""
    taken = bytes(request.fields.get("tools", b"")) + b"".join(request.opening)
    names = (*_NAMES, *(f"{_NAMES[-1]}_{number}" for number in range(2, 100)))
    return next(name for name in names if f'"{name}"'.encode() not in taken)


def has_tool(request: ModelRequest, name: str) -> bool:
    """Whether the client has a tool of that name."""
    if f'"{name}"'.encode() not in bytes(request.fields.get("tools", b"")) + b"".join(request.opening):
        return False
    items = [item for raw in request.opening if isinstance(item := msgspec.json.decode(raw), dict)]
    among = [tool for item in items for tool in _blocks(item.get("tools"))]
    functions = [tool["function"] for tool in request.tools if isinstance(tool.get("function"), dict)]
    return any(tool.get("name") == name for tool in (*request.tools, *functions, *among))


# -- tools


def _with_tool(request: ModelRequest, fields: dict[str, Any], tool: RecallTool) -> list[bytes]:
    """Put the recall tool last among the tools, in their field or among the items that open the request; those items."""
    definition = msgspec.json.encode(recall_definition(tool, request.format.VENDOR))
    if "tools" in fields and request.tools:
        listed = bytes(fields["tools"]).rstrip()
        fields["tools"] = msgspec.Raw(listed[:-1] + b"," + definition + b"]")
        return request.opening
    for at, raw in enumerate(request.opening):
        item = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
        if bytes(item.get("type", b"")) == b'"additional_tools"' and "tools" in item:
            listed = bytes(item["tools"]).rstrip()
            item["tools"] = msgspec.Raw(listed[:-1] + (b"," if listed[1:-1].strip() else b"") + definition + b"]")
            return [*request.opening[:at], joined(item), *request.opening[at + 1 :]]
    fields["tools"] = msgspec.Raw(b"[" + definition + b"]")  # without the tool, no page may be named
    return request.opening


# -- marks


def _ends(request: ModelRequest, messages: Sequence[Message], frozen: int) -> tuple[int, ...]:
    """The messages up to which the prompt is to be cached: the folded part, the end of the last request, and all of it."""
    if request.format is not anthropic or not messages or not _marks_at_all(request):
        return ()
    elsewhere = sum(_MARKS.is_on(block) for name in ("tools", "system") for block in _blocks(request.field(name)))
    left = MOST_BREAKPOINTS - elsewhere - (_MARK in request.fields)
    answers = [at for at, message in enumerate(messages) if message.role is Role.ASSISTANT]
    ends = [frozen - 1, answers[-1] - 1 if answers else -1, len(messages) - 1]
    wanted = sorted({end for end in ends if end >= 0})
    return tuple(wanted[-left:]) if left > 0 else ()


def _marks_at_all(request: ModelRequest) -> bool:
    """Whether the client sets any cache marks: its upstream may not support them."""
    if _MARK in request.fields or any(item.has_mark for item in request.items):
        return True
    return any(f'"{_MARK}"'.encode() in bytes(request.fields.get(name, b"")) for name in ("tools", "system"))


def _mark_of(request: ModelRequest) -> dict[str, Any] | None:
    """The client's form of a cache mark, above all its time to live."""
    for raw, item in zip(reversed(request.raws), reversed(request.items), strict=True):
        if item.has_mark and (found := _found_mark(msgspec.json.decode(raw))) is not None:
            return found
    return None


def _found_mark(value: Any) -> dict[str, Any] | None:
    if isinstance(value, list):
        return next((found for each in reversed(value) if (found := _found_mark(each)) is not None), None)
    if not isinstance(value, Mapping):
        return None
    if isinstance(mark := value.get(_MARK), dict):
        return mark
    return _found_mark(value.get("content"))


def _mark_as(items: Sequence[Mapping[str, Any]], mark: dict[str, Any]) -> None:
    for item in items:
        for block in _blocks(item.get("content")):
            if _MARK in block:
                block[_MARK] = dict(mark)


def _blocks(given: Any) -> list[Any]:
    return [each for each in given if isinstance(each, dict)] if isinstance(given, list) else []


# -- fields


def _switch_edits_off(fields: dict[str, Any]) -> bool:
    """Remove edits that the provider would make to a derived history; those of reasoning stay."""
    raw = fields.get("context_management")
    given = msgspec.json.decode(raw) if raw is not None else None
    edits = given.get("edits") if isinstance(given, dict) else given
    if not isinstance(edits, list):
        return False
    kept = [edit for edit in edits if not (isinstance(edit, dict) and str(edit.get("type")).startswith(_OWN_EDITS))]
    if len(kept) == len(edits):
        return False
    left: Any = {**given, "edits": kept} if isinstance(given, dict) else kept
    if kept:
        fields["context_management"] = msgspec.Raw(msgspec.json.encode(left))
    else:
        del fields["context_management"]
    return True
