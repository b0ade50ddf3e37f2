"""OpenAI's responses: a list of items, of which those that the model wrote in one go are one message here.

Normalised: contents are lists of parts but for those of the model, neighbours of one role are one message, a message always says its
type, null is absence. Reasoning goes back only to where it came from, and only before what it led to. A result has no error mark.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from pageturn.formats.cache_marks import CacheMarks
from pageturn.formats.calls import CallIds, as_object, fitting_name
from pageturn.formats.fields import (
    AS,
    Fields,
    as_json,
    each_of,
    form_of,
    inside_result,
    only_text,
    own,
    plain,
    refusing_depth,
    whole,
)
from pageturn.formats.media import PDF, PICTURES, inline, is_web, placeholder, words_in
from pageturn.formats.openai_usage import usage_of
from pageturn.formats.prompts import listed, model_in, prompt_of, request_fields, settings_in, several_in, tools_in
from pageturn.formats.settings import settings_for
from pageturn.formats.shape import Block, Shape, shaped
from pageturn.formats.streams.openai_responses import ResponsesEvents
from pageturn.formats.tools import tools_for
from pageturn.formats.user_messages import is_synthetic, marked
from pageturn.values.errors import InvalidInput, show
from pageturn.values.fillers import NO_OUTPUT
from pageturn.values.messages import File, Image, Message, Native, Part, Role, Text, Thinking, ToolCall, ToolResult
from pageturn.values.prompt import Prompt
from pageturn.values.vendors import profile_of

VENDOR = "openai_responses"

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
_FILES = ("file_id", "file_url", "file_data")
_IDS = r"[a-zA-Z0-9_-]{1,64}"
_MARKS = CacheMarks(VENDOR, "prompt_cache_breakpoint")


@refusing_depth
def load_reply(reply: object) -> Message:
    """A response as a message with its usage; its `output` alone, or one item of it, is taken too."""
    match plain(reply):
        case {"output": list()} as response if "type" not in response:
            return _response(Fields(response, "$"))
        case list() as items:
            return _answer(_placed(items, "$"))
        case item:
            return _answer([(item, "$")])


@refusing_depth
def load_request(body: object) -> Prompt:
    """A whole request: its items with the instructions before them, tools, cache marks, model, and the rest in `settings`."""
    fields = request_fields(body)
    if isinstance(fields.rest.get("input"), str):
        given: Iterable[tuple[Any, str]] = [({"role": "user", "content": fields.text("input")}, "$.input")]
    else:
        given = _placed(several_in(fields, "input", "text or a list of items"), "$.input")
    messages = [*_instructions(fields), *_messages(given)]
    return Prompt(
        messages=tuple(messages),
        host_tools=tools_in(fields),
        model=model_in(fields),
        marks=_MARKS.of(messages),
        settings=settings_in(fields),
        vendor=VENDOR,
    )


@refusing_depth
def load_messages(messages: Sequence[object]) -> list[Message]:
    """The items of a request as messages: those that the model wrote in one go are one."""
    return list(_messages(_placed(listed(messages), "$")))


@refusing_depth
def dump(prompt: Prompt | Sequence[Message]) -> dict[str, Any]:
    """What the client's `responses.create` takes: of a context everything but the model, of a request that was loaded that too.

    Instructions may stand anywhere with OpenAI's own models, and one of these is meant where a prompt does not say its model.
    """
    given = prompt_of(prompt)
    kept = _MARKS.kept(given)
    told = [message.text for message in kept if _is_instructions(message) and message.text.strip()]
    dumped = _Dump(CallIds(_IDS))
    shape = shaped(
        [message for message in kept if not _is_instructions(message)],
        dumped.heard,
        dumped.answer,
        _text,
        keeps_instruction=lambda *_: given.model is None or profile_of(given.model).is_openai,
        user_ends=False,
    )
    tools = tools_for(given, VENDOR)
    request = settings_for(given, VENDOR, has_tools=bool(tools))
    if told:
        request["instructions"] = told[-1]
    request["input"] = [*_items(shape)]
    return request | ({"tools": tools} if tools else {})


class Stream(ResponsesEvents):
    """The message of a streamed answer: `feed` takes each event, `message` is what they come to."""

    def _load(self, response: dict[str, Any]) -> Message:
        return _response(Fields(response, "$"))


def _is_instructions(message: Message) -> bool:
    return own(message, VENDOR).get(AS) == "instructions"


# -- in


def _response(fields: Fields) -> Message:
    response = fields.rest.copy()
    output = fields.need("output", list)
    parts = [part for index, raw in enumerate(output) for part in _answer_parts(raw, f"{fields.path}.output[{index}]")]
    usage = usage_of(fields, VENDOR, asked="input_tokens", answered="output_tokens")
    told = {name: response[name] for name in _TOLD if name in response}
    return Message(role=Role.ASSISTANT, content=tuple(parts), usage=usage, metadata={"response": told})


def _instructions(fields: Fields) -> list[Message]:
    text = fields.take("instructions", str)
    if text is None:
        return []
    return [Message(role=Role.SYSTEM, content=(Text(text=text),), extra={VENDOR: {AS: "instructions"}})]


def _answer(items: Iterable[tuple[Any, str]]) -> Message:
    """What the model wrote, as one message."""
    parts: list[Part] = []
    for raw, where in items:
        if isinstance(raw, dict) and not is_answer(raw):
            raise InvalidInput(where, expected="an item that the model wrote", got=show(raw))
        parts += _answer_parts(raw, where)
    return Message(role=Role.ASSISTANT, content=tuple(parts))


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
            form = {} if kind == "function_call" else {AS: kind}
            yield ToolCall(id=id_, name=name, arguments=written, extra=fields.kept(VENDOR, **form))
        case _ if kind.startswith("response."):
            raise InvalidInput(path, expected="an item (the events of a stream are for Stream)", got=show(kind))
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
        raise InvalidInput(f"{fields.path}.content", expected="text or a list of parts", got=show(content))
    item: Any = fields.rest
    for index, raw in enumerate(content):
        part = Fields(raw, f"{fields.path}.content[{index}]")
        match part.text("type"):
            case "refusal":
                yield Text(text=part.text("refusal"), extra=part.kept(VENDOR, **{AS: "refusal", _ITEM: item}))
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
            raise InvalidInput(f"{path}.role", expected="user, system, developer or assistant", got=show(role))
        content = fields.rest.pop("content", "")
        parts = (Text(text=content),) if isinstance(content, str) else each_of(content, f"{path}.content", _input)
        synthetic = role == "user" and is_synthetic(parts)
        content = marked(parts) if role == "user" else parts
        return Message(role=Role(role), content=content, synthetic=synthetic, extra=fields.kept(VENDOR))
    if kind in _RESULTS:
        call, output = fields.text("call_id"), fields.rest.pop("output", "")
        content = output if isinstance(output, str) else inside_result(each_of(output, f"{path}.output", _input))
        form = {} if kind == "function_call_output" else {AS: kind}
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
            return Image(url=fields.text(form), extra=fields.kept(VENDOR, **{AS: form}))
        case "input_file":
            form = next((name for name in ("file_id", "file_url") if name in fields.rest), "file_data")
            return File(path=fields.text(form), extra=fields.kept(VENDOR, **{AS: form}))
        case _:
            return Native(vendor=VENDOR, item=raw)


# -- out


def _text(text: str) -> Block:
    return {"type": "input_text", "text": text}


def _items(shape: Shape) -> Iterator[dict[str, Any]]:
    """The items of the turns: those of the model, and results, as they are; what else one role says is one message."""
    instructing = str(shape.opening.first.role) if shape.opening.first is not None else "system"
    for turn in (shape.opening, *shape.turns):
        if turn.role is Role.ASSISTANT:
            yield from turn.blocks
            continue
        role = "user" if turn.role is Role.USER else instructing
        for is_content, run in groupby(turn.blocks, key=_is_content):
            if is_content:
                kept = own(turn.first, VENDOR) if turn.first is not None and turn.first.role is not Role.TOOL else {}
                yield {"type": "message", "role": role, "content": [*run], **kept}
            else:
                yield from run


def _is_content(block: Block) -> bool:
    return str(block["type"]).startswith("input_")


class _Dump:
    """What the parts of one request come to: items, and the contents of messages that are not the model's."""

    def __init__(self, ids: CallIds) -> None:
        self._ids = ids
        self._kinds: dict[str, str] = {}  # of the calls, by the ids that are sent
        self._sent: set[str] = set()  # the ids of items, which stand in a request once

    def answer(self, message: Message) -> list[Block]:
        """The items of the model. Those that reasoning led to have their ids beside it and lose them without; reasoning that led to nothing is left out."""
        text = only_text(message)
        if text is not None:
            return [{"type": "message", "role": "assistant", "content": text}] if text.strip() else []
        items: list[Block] = []
        for part in message.content:
            items += self._said(part, items)
        fresh = [_id_of(item) not in self._sent for item in items]
        items = [item for item, is_new in zip(items, fresh, strict=True) if is_new or item["type"] != "reasoning"]
        while items and items[-1]["type"] == "reasoning":
            items.pop()
        reasoned = next((at for at, item in enumerate(items) if item["type"] == "reasoning"), len(items))
        for at, item in enumerate(items):
            id_ = _id_of(item)
            if at < reasoned or id_ is None or id_ in self._sent:
                items[at] = _without_id(item)
        self._sent |= {id_ for item in items if (id_ := _id_of(item)) is not None}
        return items

    def heard(self, part: Part, _message: Message) -> Iterable[Block]:
        """The items and contents of anybody else."""
        return [self._result(part)] if isinstance(part, ToolResult) else _shown(part)

    def _said(self, part: Part, items: list[Block]) -> list[Block]:
        """The items of a part, unless it goes into the last of those that there are."""
        kept = own(part, VENDOR)
        form = form_of(kept)
        match part:
            case Text(text=text) if _ITEM in kept:
                item = kept.pop(_ITEM)
                name = "refusal" if form == "refusal" else "text"
                content = {"type": _SAID[name], name: text, **kept}
                if not text.strip():
                    return []
                if not isinstance(item, dict) and items and isinstance(items[-1].get("content"), list):
                    items[-1]["content"].append(content)
                    return []
                return [
                    {
                        "type": "message",
                        "role": "assistant",
                        "content": [content],
                        **(item if isinstance(item, dict) else {}),
                    }
                ]
            case Thinking(redacted=hidden) if VENDOR in (part.extra or {}):
                return [{"type": "reasoning", **kept} | ({"encrypted_content": hidden} if hidden else {})]
            case ToolCall():
                kind = form if form in _CALLS else "function_call"
                name = fitting_name(part.name, VENDOR)
                id_ = self._ids.of_call(part.id)
                self._kinds[id_] = kind
                written = part.arguments
                if kind == "function_call" and not isinstance(part.parsed, dict):
                    written = as_json(as_object(part), "$.arguments")
                return [{"type": kind, "call_id": id_, "name": name, _CALLS[kind]: written, **kept}]
            case Native(vendor=vendor, item=item) if vendor == VENDOR and isinstance(item.get("type"), str):
                return [dict(item)]
            case _:
                said = part.text if isinstance(part, Text) else placeholder(part)
                return [{"type": "message", "role": "assistant", "content": said, **kept}] if said.strip() else []

    def _result(self, result: ToolResult) -> Block:
        kept = own(result, VENDOR)
        id_ = self._ids.of_result(result.tool_call_id)
        form = form_of(kept)
        kind = f"{self._kinds[id_]}_output" if id_ in self._kinds else form or "function_call_output"
        content: Any = result.content
        if not isinstance(content, str):
            content = [shown for part in content for shown in _shown(part)]
        if not content or (isinstance(content, str) and not content.strip()):
            content = NO_OUTPUT
        return {"type": kind, "call_id": id_, "output": content, **kept}


def _id_of(item: Block) -> str | None:
    id_ = item.get("id")
    return id_ if isinstance(id_, str) else None


def _without_id(item: Block) -> Block:
    """An item that the vendor need not look up: under its id it would miss the reasoning that led to it."""
    match item:
        case {"type": "function_call" | "custom_tool_call"}:
            return {name: value for name, value in item.items() if name not in ("id", "status")}
        case {"type": "message", "content": list() as content}:
            fields = {name: value for name, value in item.items() if name not in ("id", "status")}
            return fields | {"content": "\n\n".join(piece.get("text") or piece["refusal"] for piece in content)}
        case _:
            return item


def _shown(part: Part) -> list[Block]:
    """The contents that the user may send, or that stand in a result; items of the vendor as they came."""
    kept = own(part, VENDOR)
    form = form_of(kept)
    match part:
        case Text() if (item := whole(kept)) is not None:
            return [item]
        case Text(text=text):
            return [{"type": "input_text", "text": text, **kept}] if text.strip() else []
        case Image(url=url) if form == "file_id" or is_web(url) or inline(url, PICTURES) is not None:
            named = "file_id" if form == "file_id" else "image_url"
            return [{"type": "input_image", named: url, "detail": "auto"} | kept]
        case File(path=path) if form in _FILES or is_web(path) or inline(path, (PDF,)) is not None:
            if form not in _FILES:
                form = "file_url" if is_web(path) else "file_data"
            named_file = {"filename": "document.pdf"} if form == "file_data" else {}
            return [{"type": "input_file", form: path, **named_file, **kept}]
        case File(path=path) if (words := words_in(path)) is not None:
            return [_text(words)]
        case Native(vendor=vendor, item=item) if vendor == VENDOR and isinstance(item.get("type"), str):
            return [dict(item)]
        case ToolCall() | ToolResult() | Thinking():
            return []
        case _:
            said = placeholder(part)
            return [_text(said)] if said else []
