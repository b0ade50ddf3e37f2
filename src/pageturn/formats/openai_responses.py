"""Reads and writes OpenAI's Responses API: a list of items. Consecutive items of the model are one message here.

`dump` normalises: content is a list of parts except for the model's own, adjacent messages of one role are merged, a message always
has its type, nulls are left out. Reasoning is sent back only to the vendor that it came from, and only before the item that followed
it. A result has no error flag.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from pageturn.formats.blocks.openai_responses import CALLS, ITEM, VENDOR, Dump, items_of, text_block
from pageturn.formats.cache_marks import CacheMarks
from pageturn.formats.calls import CallIds
from pageturn.formats.fields import (
    AS,
    Fields,
    each_of,
    inside_result,
    own,
    plain,
    refusing_depth,
    spelled,
)
from pageturn.formats.prompts import (
    listed,
    loaded_prompt,
    own_reply,
    prompt_of,
    request_fields,
    several_in,
)
from pageturn.formats.settings import settings_for
from pageturn.formats.shape import shaped
from pageturn.formats.streams.openai_responses import ResponsesEvents
from pageturn.formats.tools import tools_for
from pageturn.formats.usage import usage_of
from pageturn.formats.user_messages import is_synthetic, marked
from pageturn.values.errors import InvalidInput, show
from pageturn.values.messages import File, Image, Message, Native, Part, Role, Text, Thinking, ToolCall, ToolResult
from pageturn.values.prompt import Prompt
from pageturn.values.vendors import profile_of

_RESULTS = ("function_call_output", "custom_tool_call_output")
_BY_THE_HOST = ("_output", "_response", "additional_tools", "configuration_update", "compaction_trigger")
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
_IDS = r"[a-zA-Z0-9_-]{1,64}"
_MARKS = CacheMarks(VENDOR, "prompt_cache_breakpoint")


@refusing_depth
def load_reply(reply: object) -> Message:
    """A response as a message with its usage; its `output` alone, or one item of it, is accepted too."""
    match own_reply(reply, VENDOR):
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
    return loaded_prompt(fields, messages, _MARKS.of(messages), VENDOR)


@refusing_depth
def load_messages(messages: Sequence[object]) -> list[Message]:
    """The items of a request as messages: consecutive items of the model are one."""
    return list(_messages(_placed(listed(messages), "$")))


@refusing_depth
def dump(prompt: Prompt | Sequence[Message]) -> dict[str, Any]:
    """The arguments of the client's `responses.create`: for a context all but the model, for a loaded request the model too.

    OpenAI's own models accept instructions anywhere; a prompt without a model is written for one of these.
    """
    given = prompt_of(prompt)
    kept = _MARKS.kept(given)
    instructions = [message.text for message in kept if _is_instructions(message) and message.text.strip()]
    dumped = Dump(CallIds(_IDS))
    shape = shaped(
        [message for message in kept if not _is_instructions(message)],
        dumped.heard,
        dumped.answer,
        text_block,
        keeps_instruction=lambda *_: given.model is None or profile_of(given.model).is_openai,
        user_ends=False,
    )
    tools = tools_for(given, VENDOR)
    request = settings_for(given, VENDOR, has_tools=bool(tools))
    if instructions:
        request["instructions"] = instructions[-1]
    request["input"] = [*items_of(shape)]
    return request | ({"tools": tools} if tools else {})


class Stream(ResponsesEvents):
    """The message of a streamed answer: `feed` takes each event, and `message` is the result so far."""

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
    kept = {name: response[name] for name in _TOLD if name in response}
    return Message(role=Role.ASSISTANT, content=tuple(parts), usage=usage, metadata={"response": kept})


def _instructions(fields: Fields) -> list[Message]:
    text = fields.take("instructions", str)
    if text is None:
        return []
    return [Message(role=Role.SYSTEM, content=(Text(text=text),), extra={VENDOR: {AS: "instructions"}})]


def _answer(items: Iterable[tuple[Any, str]]) -> Message:
    """The model's items, as one message."""
    parts: list[Part] = []
    for raw, where in items:
        if isinstance(raw, dict) and not is_answer(raw):
            raise InvalidInput(where, expected="an item that the model wrote", got=show(raw))
        parts += _answer_parts(raw, where)
    return Message(role=Role.ASSISTANT, content=tuple(parts))


def _placed(items: Sequence[Any], path: str) -> Iterable[tuple[Any, str]]:
    """The items, each with its path."""
    return ((plain(raw), f"{path}[{index}]") for index, raw in enumerate(items))


def _messages(items: Iterable[tuple[Any, str]]) -> Iterator[Message]:
    for by_model, run in groupby(items, key=lambda each: is_answer(each[0])):
        if by_model:
            parts = [part for raw, where in run for part in _answer_parts(raw, where)]
            yield Message(role=Role.ASSISTANT, content=tuple(parts))
        else:
            yield from (_message(raw, where) for raw, where in run)


def is_answer(raw: Any) -> bool:
    """Whether an item is the model's."""
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
            id_, name, written = fields.text("call_id"), fields.text("name"), fields.text(CALLS[kind])
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
                yield Text(text=part.text("refusal"), extra=part.kept(VENDOR, **{AS: "refusal", ITEM: item}))
            case _:
                yield Text(text=part.text("text"), extra=part.kept(VENDOR, **{ITEM: item}))
        item = None


def _reasoning(fields: Fields) -> Thinking:
    kept = fields.rest.copy()
    pieces = [piece for name in ("summary", "content") for piece in fields.take(name, list) or []]
    text = "\n".join(Fields(piece, f"{fields.path}.summary").text("text") for piece in pieces)
    hidden = fields.take("encrypted_content", str)
    kept.pop("encrypted_content", None)
    return Thinking(text=text, redacted=hidden, extra={VENDOR: kept})


def _words(raw: dict[str, Any]) -> str:
    """An item of the vendor's own tools as text, for searching and for other vendors."""
    action = raw.get("action")
    query = action.get("query") or action.get("command") if isinstance(action, dict) else None
    said = query or raw.get("code") or raw.get("output") or raw.get("name") or ""
    return " ".join(map(spelled, said)) if isinstance(said, list) else said if isinstance(said, str) else ""


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
