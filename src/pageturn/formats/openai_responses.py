"""OpenAI's responses: a list of items, of which those that the model wrote in one go are one message here.

Normalised: a content of one plain text is a string, a message always says its type, null is absence. Reasoning goes back
only to where it came from. A result has no error mark here.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from pageturn.derivation.context import Context
from pageturn.errors import InvalidInput
from pageturn.formats.calls import CallIds, fitting_name
from pageturn.formats.contexts import messages_of, tools_of
from pageturn.formats.fields import WHOLE, Fields, each_of, inside_result, only_text, own, plain
from pageturn.formats.openings import is_synthetic
from pageturn.formats.placeholders import is_inline, is_web, placeholder
from pageturn.messages import File, Image, Message, Native, Part, Role, Text, Thinking, ToolCall, ToolResult
from pageturn.recall_tool import RecallTool
from pageturn.usage import Usage

VENDOR = "openai_responses"

_AS = "as"  # in what `load` keeps: the form that a part had, where it was not the usual one
_ITEM = "item"  # ... and the fields of the message item around a text
_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}  # where each kind has its arguments
_RESULTS = ("function_call_output", "custom_tool_call_output")
_BY_THE_HOST = ("_output", "_response", "additional_tools", "configuration_update", "compaction_trigger")
_SAID = {"text": "output_text", "refusal": "refusal"}
_TOLD = (  # of a response; the rest repeats the request
    *(
        "id",
        "model",
        "created_at",
        "completed_at",
        "status",
        "incomplete_details",
        "error",
        "service_tier",
        "conversation",
    ),
)
_IDS = r".{1,64}"
_LONGEST_NAME = 64


def load(given: Any) -> Message | list[Message]:
    """An item, or a list or a request as messages; a response, or the events of its stream, as a message with usage."""
    match plain(given):
        case {"type": _} as item:
            return next(_messages([(item, "$")]))
        case {"output": list()} as response:
            return _response(Fields(response, "$"))
        case [*_, {"type": str(), "response": dict() as response}]:
            return _response(Fields(response, "$[-1].response"))
        case [{"type": str() as kind}, *_] if kind.startswith("response."):
            raise InvalidInput("$[-1]", expected="an event with the whole response", got="a stream that was cut off")
        case {"input": str() | list() as items} as request:
            return _request(Fields(request, "$"), items)
        case list() as items:
            return list(_messages(_placed(items, "$")))
        case item:
            return next(_messages([(item, "$")]))


def dump(context: Context | Sequence[Message]) -> dict[str, Any]:
    """What the client's `responses.create` takes beside the model."""
    ids = CallIds(_IDS)
    request: dict[str, Any] = {}
    items: list[dict[str, Any]] = []
    for message in messages_of(context):
        if (text := only_text(message)) is not None:
            role = "user" if message.role is Role.TOOL else str(message.role)  # a tool that answers no call
            items.append({"type": "message", "role": role, "content": text})
        elif own(message, VENDOR).get(_AS) == "instructions":
            request["instructions"] = message.text
        elif message.role is Role.ASSISTANT:
            items += _dump_answer(message, ids)
        else:
            items += [_dump_result(result, ids) for result in message.tool_results]
            items += _dump_message(message)
    return request | {"input": items} | tools_of(context, _declare)


# -- in


def _response(fields: Fields) -> Message:
    response = fields.rest.copy()
    output = fields.need("output", list)
    parts = [part for index, raw in enumerate(output) for part in _answer_parts(raw, f"{fields.path}.output[{index}]")]
    usage = _usage(fields)
    told = {name: response[name] for name in _TOLD if name in response}
    return Message(role=Role.ASSISTANT, content=tuple(parts), usage=usage, metadata={"response": told})


def _usage(fields: Fields) -> Usage | None:
    if "usage" not in fields.rest:
        return None
    usage = fields.inner("usage")
    details = usage.inner("input_tokens_details")
    return Usage(
        input_tokens=usage.count("input_tokens"),
        output_tokens=usage.count("output_tokens"),
        cache_read_tokens=details.count("cached_tokens"),
        cache_write_tokens=details.count("cache_write_tokens"),
        model=fields.take("model", str),
        extra=usage.kept(VENDOR, **({"input_tokens_details": details.rest} if details.rest else {})),
    )


def _request(fields: Fields, items: str | list[Any]) -> list[Message]:
    given = [({"role": "user", "content": items}, "$.input")] if isinstance(items, str) else _placed(items, "$.input")
    messages = list(_messages(given))
    instructions = fields.take("instructions", str)
    if instructions is not None:
        kept = {VENDOR: {_AS: "instructions"}}
        messages.insert(0, Message(role=Role.SYSTEM, content=(Text(text=instructions),), extra=kept))
    return messages


def _placed(items: Sequence[Any], path: str) -> Iterable[tuple[Any, str]]:
    """The items, each with where it stands."""
    return ((plain(raw), f"{path}[{index}]") for index, raw in enumerate(items))


def _messages(items: Iterable[tuple[Any, str]]) -> Iterator[Message]:
    for by_model, run in groupby(items, key=lambda each: is_answer(each[0])):
        if by_model:
            parts = [part for raw, where in run for part in _answer_parts(raw, where)]
            yield Message(role=Role.ASSISTANT, content=tuple(parts))
        else:
            yield from (_message(raw, where) for raw, where in run)


def is_answer(raw: Any) -> bool:
    """Whether the model wrote an item, and not somebody else."""
    match raw:
        case {"role": role}:
            return bool(role == "assistant")
        case {"execution": "server"} | {"type": "program_output"}:
            return True
        case {"type": str() as kind}:
            return not kind.endswith(_BY_THE_HOST)
        case _:
            return False


def _answer_parts(raw: Any, path: str) -> Iterator[Part]:
    fields = Fields(raw, path)
    kind = fields.take("type", str) or "message"
    match kind:
        case "message":
            yield from _said(fields)
        case "reasoning":
            yield _reasoning(fields)
        case "function_call" | "custom_tool_call":
            id_, name, written = fields.text("call_id"), fields.text("name"), fields.text(_CALLS[kind])
            form = {} if kind == "function_call" else {_AS: kind}
            yield ToolCall(id=id_, name=name, arguments=written, extra=fields.kept(VENDOR, **form))
        case _:
            yield Native(vendor=VENDOR, item=raw, text=_words(raw))


def _said(fields: Fields) -> Iterator[Part]:
    """The texts of a message of the model. The first keeps the fields of the item, the others say that they belong to it."""
    fields.take("role", str)
    content = fields.rest.pop("content", "")
    if isinstance(content, str):
        yield Text(text=content, extra=fields.kept(VENDOR))
        return
    if not isinstance(content, list):
        raise InvalidInput(f"{fields.path}.content", expected="text or a list of parts", got=f"{content!r:.40}")
    item: Any = fields.rest
    for index, raw in enumerate(content):
        part = Fields(raw, f"{fields.path}.content[{index}]")
        match part.text("type"):
            case "refusal":
                yield Text(text=part.text("refusal"), extra=part.kept(VENDOR, **{_AS: "refusal", _ITEM: item}))
            case _:
                yield Text(text=part.text("text"), extra=part.kept(VENDOR, **{_ITEM: item}))
        item = None


def _reasoning(fields: Fields) -> Thinking:
    kept = fields.rest.copy()
    pieces = [piece for name in ("summary", "content") for piece in fields.take(name, list) or []]
    text = "\n".join(Fields(piece, f"{fields.path}.summary").text("text") for piece in pieces)
    hidden = fields.take("encrypted_content", str)
    kept.pop("encrypted_content", None)
    return Thinking(text=text, redacted=hidden, extra={VENDOR: kept})


def _words(raw: dict[str, Any]) -> str:
    """What an item of the vendor's own tools says in words, for searching and for other vendors."""
    action = raw.get("action")
    query = action.get("query") or action.get("command") if isinstance(action, dict) else None
    said = query or raw.get("code") or raw.get("output") or raw.get("name") or ""
    return " ".join(map(str, said)) if isinstance(said, list) else str(said) if isinstance(said, str) else ""


def _message(raw: Any, path: str) -> Message:
    fields = Fields(raw, path)
    kind = fields.take("type", str) or "message"
    if kind == "message":
        role = fields.text("role")
        if role not in ("user", "system", "developer"):
            raise InvalidInput(f"{path}.role", expected="user, system, developer or assistant", got=repr(role))
        content = fields.rest.pop("content", "")
        parts = (Text(text=content),) if isinstance(content, str) else each_of(content, f"{path}.content", _input)
        synthetic = role == "user" and is_synthetic(parts)
        return Message(role=Role(role), content=parts, synthetic=synthetic, extra=fields.kept(VENDOR))
    if kind in _RESULTS:
        call, output = fields.text("call_id"), fields.rest.pop("output", "")
        content = output if isinstance(output, str) else inside_result(each_of(output, f"{path}.output", _input))
        form = {} if kind == "function_call_output" else {_AS: kind}
        result = ToolResult(tool_call_id=call, content=content, extra=fields.kept(VENDOR, **form))
        return Message(role=Role.TOOL, content=(result,))
    native = Native(vendor=VENDOR, item=raw, text=_words(raw))
    return Message(role=Role.USER, content=(native,), synthetic=True)


def _input(raw: Any, path: str) -> Part:
    fields = Fields(raw, path)
    match fields.text("type"):
        case "input_text":
            return Text(text=fields.text("text"), extra=fields.kept(VENDOR))
        case "input_image":
            form = "file_id" if "file_id" in fields.rest else "image_url"
            return Image(url=fields.text(form), extra=fields.kept(VENDOR, **{_AS: form}))
        case "input_file":
            form = next((name for name in ("file_id", "file_url") if name in fields.rest), "file_data")
            return File(path=fields.text(form), extra=fields.kept(VENDOR, **{_AS: form}))
        case _:
            return Native(vendor=VENDOR, item=raw)


# -- out


def _declare(tool: RecallTool) -> dict[str, Any]:
    return {"type": "function", **tool.definition, "strict": False}  # which would make every argument required


def _dump_answer(message: Message, ids: CallIds) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    for part in message.content:
        kept = own(part, VENDOR)
        form = kept.pop(_AS, None)
        match part:
            case Text(text=text) if _ITEM in kept:
                item = kept.pop(_ITEM)
                name = "refusal" if form == "refusal" else "text"
                if item is not None or not items or items[-1]["type"] != "message":
                    items.append({"type": "message", "role": "assistant", "content": [], **(item or {})})
                items[-1]["content"].append({"type": _SAID[name], name: text, **kept})
            case Thinking(redacted=hidden) if VENDOR in (part.extra or {}):
                items.append({"type": "reasoning", **kept} | ({"encrypted_content": hidden} if hidden else {}))
            case ToolCall():
                kind = form or "function_call"
                name = fitting_name(part.name, _LONGEST_NAME)
                call = {"type": kind, "call_id": ids.of_call(part.id), "name": name, _CALLS[kind]: part.arguments}
                items.append(call | kept)
            case Native(vendor=vendor, item=item) if vendor == VENDOR:
                items.append(dict(item))
            case _:
                said = part.text if isinstance(part, Text) else placeholder(part)
                if said:
                    items.append({"type": "message", "role": "assistant", "content": said, **kept})
    return items


def _dump_result(result: ToolResult, ids: CallIds) -> dict[str, Any]:
    kept = own(result, VENDOR)
    kind = kept.pop(_AS, "function_call_output")
    content: Any = result.content
    if not isinstance(content, str):
        content = [shown for part in content for shown in _dump_input(part)]
    return {"type": kind, "call_id": ids.of_result(result.tool_call_id), "output": content, **kept}


def _dump_message(message: Message) -> Iterator[dict[str, Any]]:
    content: list[dict[str, Any]] = []
    for part in message.content:
        if isinstance(part, Native) and part.vendor == VENDOR and not str(part.item.get("type")).startswith("input_"):
            yield dict(part.item)
        else:
            content += _dump_input(part)
    fields = {"type": "message", "role": str(message.role)}
    match content:
        case [{"type": "input_text", "text": text, **rest}] if not rest:
            yield {**fields, "content": text, **own(message, VENDOR)}
        case [_, *_]:
            yield {**fields, "content": content, **own(message, VENDOR)}


def _dump_input(part: Part) -> list[dict[str, Any]]:
    kept = own(part, VENDOR)
    form = kept.pop(_AS, None)
    match part:
        case Text() if WHOLE in kept:
            return [dict(kept[WHOLE])]
        case Text(text=text):
            return [{"type": "input_text", "text": text, **kept}]
        case Image(url=url) if form or is_inline(url) or is_web(url):
            return [{"type": "input_image", form or "image_url": url, "detail": "auto"} | kept]
        case File(path=path) if form or is_inline(path) or is_web(path):
            return [{"type": "input_file", form or ("file_url" if is_web(path) else "file_data"): path, **kept}]
        case Native(vendor=vendor, item=item) if vendor == VENDOR:
            return [dict(item)]
        case ToolCall() | ToolResult() | Thinking():
            return []
        case _:
            said = placeholder(part)
            return [{"type": "input_text", "text": said}] if said else []
