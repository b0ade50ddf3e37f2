"""OpenAI's chat completions, spoken by many others too.

Normalised: a content of one plain text is a string, text comes before calls, neighbours of one role are one message but for
results, null is absence. A result has no error mark here and no pictures; these follow the results of their batch in the user's
message. OpenAI's own models take more than others do (`pageturn.values.vendors`).
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from pageturn.formats.cache_marks import CacheMarks
from pageturn.formats.calls import CallIds, as_object, fitting_name
from pageturn.formats.fields import (
    AS,
    Fields,
    as_json,
    each_of,
    form_of,
    inside,
    inside_result,
    only_text,
    own,
    refusing_depth,
    whole,
)
from pageturn.formats.media import PDF, PICTURES, inline, is_inline, is_web, placeholder, words_in
from pageturn.formats.openai_usage import usage_of
from pageturn.formats.prompts import (
    expects_answer,
    listed,
    model_in,
    prompt_of,
    reply_of,
    request_fields,
    settings_in,
    several_in,
    tools_in,
)
from pageturn.formats.settings import settings_for
from pageturn.formats.shape import Block, Piece, Shape, Turn, shaped
from pageturn.formats.streams.openai_chat import ChatChunks
from pageturn.formats.tools import tools_for
from pageturn.formats.user_messages import is_synthetic, marked
from pageturn.values.errors import InvalidInput, show
from pageturn.values.fillers import HEARD, NO_OUTPUT
from pageturn.values.messages import File, Image, Message, Native, Part, Role, Text, Thinking, ToolCall, ToolResult
from pageturn.values.prompt import Prompt
from pageturn.values.vendors import ModelProfile, profile_of

VENDOR = "openai_chat"

_REASONING = ("reasoning_content", "reasoning")  # texts in fields of their own
_BESIDE_CONTENT = (*_REASONING, "refusal")
_REFUSALS = ("refusal", "refusal part")
_MEDIA = ("image_url", "file", "input_audio")
_FUNCTION = "function"
_MARKS = CacheMarks(
    VENDOR, "prompt_cache_breakpoint", "cache_control"
)  # OpenAI's, and that of others for Anthropic's models
_WRITTEN = {"custom": "input"}  # where a kind of call has its arguments; the others have "arguments"


@refusing_depth
def load_reply(reply: object) -> Message:
    """A response as a message with its usage; the assistant message alone is taken too."""
    match reply_of(reply):
        case {"choices": _} as response:
            return _response(response)
        case message:
            role = Fields(message, "$").text("role")
            if role != "assistant":
                raise InvalidInput("$.role", expected="assistant, as a reply has it", got=show(role))
            return _message(message, "$")


@refusing_depth
def load_request(body: object) -> Prompt:
    """A whole request: its messages, tools, cache marks, model, and the rest in `settings`."""
    fields = request_fields(body)
    messages = _loaded(several_in(fields, "messages"), "$.messages")
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
    """The messages of a request."""
    return _loaded(listed(messages), "$")


@refusing_depth
def dump(prompt: Prompt | Sequence[Message]) -> dict[str, Any]:
    """What the client's `chat.completions.create` takes: of a context everything but the model, of a request that was loaded that too.

    What the model takes goes by its name, and the strictest is meant where a prompt does not say it.
    """
    given = prompt_of(prompt)
    profile = profile_of(given.model)
    prefix, digits = profile.made_ids
    contents = _Contents(are_texts=not profile.is_openai, keep_marks=given.marks is not None)
    dumped = _Dump(CallIds(profile.ids, prefix=prefix, digits=digits), profile, contents)
    messages = _MARKS.kept(given)
    shape = shaped(
        messages,
        dumped.heard,
        dumped.answer,
        _text,
        keeps_instruction=lambda *_: profile.is_openai,
        user_ends=not profile.is_openai,
        is_request=expects_answer(prompt, VENDOR),
    )
    tools = tools_for(given, VENDOR)
    request = settings_for(given, VENDOR, has_tools=bool(tools))
    request["messages"] = [*_messages(shape, messages, profile, contents)]
    return request | ({"tools": tools} if tools else {})


class Stream(ChatChunks):
    """The message of a streamed answer: `feed` takes each chunk, `message` is what they come to."""

    def _load(self, response: dict[str, Any]) -> Message:
        return _response(response)


# -- in


def _response(response: dict[str, Any]) -> Message:
    fields = Fields(response, "$")
    choices = fields.need("choices", list)
    if len(choices) != 1:
        raise InvalidInput("$.choices", expected="one choice", got=f"{len(choices)}")
    choice = Fields(choices[0], "$.choices[0]")
    message = _message(choice.need("message", dict), "$.choices[0].message")
    usage = usage_of(fields, VENDOR, asked="prompt_tokens", answered="completion_tokens")
    return msgspec.structs.replace(message, usage=usage, metadata={"response": fields.rest | choice.rest})


def _loaded(messages: Sequence[Any], path: str) -> list[Message]:
    return [_message(raw, f"{path}[{index}]") for index, raw in enumerate(messages)]


def _message(raw: Any, path: str) -> Message:
    fields = Fields(raw, path)
    match fields.text("role"):
        case "tool":
            return _result(fields, fields.text("tool_call_id"))
        case "function":
            return _result(fields, fields.text("name"), form="function")
        case "system" | "developer" | "user" | "assistant" as role:
            parts = (*_beside_content(fields), *_content(fields), *_audio(fields), *_calls(fields))
            synthetic = role == "user" and is_synthetic(parts)
            extra = fields.kept(VENDOR)
            content = marked(parts) if role == "user" else parts
            return Message(role=Role(role), content=content, synthetic=synthetic, extra=extra)
        case role:
            raise InvalidInput(f"{path}.role", expected="system, developer, user, assistant or tool", got=show(role))


def _result(fields: Fields, call: str, form: str | None = None) -> Message:
    content = fields.rest.pop("content", "")
    if not isinstance(content, str):
        content = inside_result(each_of(content, f"{fields.path}.content", _part))
    result = ToolResult(tool_call_id=call, content=content)
    return Message(role=Role.TOOL, content=(result,), extra=fields.kept(VENDOR, **{AS: form} if form else {}))


def _beside_content(fields: Fields) -> Iterator[Part]:
    for name in _BESIDE_CONTENT:
        if isinstance(fields.rest.get(name), str):
            kind = Text if name == "refusal" else Thinking
            yield kind(text=fields.text(name), extra={VENDOR: {AS: name}})


def _audio(fields: Fields) -> Iterator[Part]:
    """What the model said aloud: its id goes back, its transcript is for everybody else."""
    if isinstance(fields.rest.get("audio"), dict):
        audio = fields.inner("audio")
        yield Native(vendor=VENDOR, item={"audio": {"id": audio.text("id")}}, text=audio.take("transcript", str) or "")


def _content(fields: Fields) -> tuple[Part, ...]:
    content = fields.rest.pop("content", None)
    if isinstance(content, str):
        return (Text(text=content),)
    return each_of(content, f"{fields.path}.content", _part) if content is not None else ()


def _part(raw: Any, path: str) -> Part:
    fields = Fields(raw, path)
    match fields.text("type"):
        case "text":
            return Text(text=fields.text("text"), extra=fields.kept(VENDOR))
        case "refusal":
            return Text(text=fields.text("refusal"), extra=fields.kept(VENDOR, **{AS: "refusal part"}))
        case "image_url":
            image = fields.inner("image_url")
            return Image(url=image.text("url"), extra=fields.kept(VENDOR, **_inside("image_url", image)))
        case "file":
            file = fields.inner("file")
            form = "file_id" if "file_id" in file.rest else "file_data"
            path = file.text(form)
            return File(path=path, extra=fields.kept(VENDOR, **{AS: form}, **_inside("file", file)))
        case _:
            return Native(vendor=VENDOR, item=raw)


def _calls(fields: Fields) -> Iterator[Part]:
    for index, raw in enumerate(fields.take("tool_calls", list) or []):
        call = Fields(raw, f"{fields.path}.tool_calls[{index}]")
        kind = call.take("type", str) or _FUNCTION
        body = call.inner(kind)
        id_, name, written = call.text("id"), body.text("name"), body.text(_WRITTEN.get(kind, "arguments"))
        form = {} if kind == _FUNCTION else {AS: kind}
        yield ToolCall(id=id_, name=name, arguments=written, extra=call.kept(VENDOR, **form, **_inside(kind, body)))
    if "function_call" in fields.rest:  # before there were several
        body = fields.inner("function_call")
        name, written = body.text("name"), body.text("arguments")
        yield ToolCall(id=name, name=name, arguments=written, extra={VENDOR: {AS: "function_call"}})


def _inside(name: str, fields: Fields) -> dict[str, Any]:
    return {name: fields.rest} if fields.rest else {}


# -- out


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


class _Dump:
    """What the parts of one request come to in blocks: parts of a content, whole tool messages, and in an answer also its other fields."""

    def __init__(self, ids: CallIds, profile: ModelProfile, contents: "_Contents") -> None:
        self._ids = ids
        self._contents = contents
        self._is_openai = profile.is_openai

    def answer(self, message: Message) -> list[Block]:
        """The blocks of the model; none where it says nothing, since reasoning alone is refused."""
        text = only_text(message)
        if text is not None:
            return [_text(text)] if text.strip() else []
        blocks = [block for part in message.content for block in self._said(part)]
        return blocks if any(block.keys().isdisjoint(_REASONING) for block in blocks) else []

    def heard(self, part: Part, message: Message) -> Iterable[Block]:
        """The blocks of anybody else: of a result the tool message, and behind it the pictures that it may not hold."""
        if not isinstance(part, ToolResult):
            return _shown(part)
        shown = [block for inner in part.parts for block in _shown(inner)]
        media = [block for block in shown if block["type"] in _MEDIA]
        words = [block for block in shown if block["type"] not in _MEDIA]
        return [self._result(part, words, own(message, VENDOR), has_media=bool(media)), *media]

    def _said(self, part: Part) -> list[Block]:
        kept = own(part, VENDOR)
        form = form_of(kept)
        match part:
            case ToolCall():
                return [self._call(part)]
            case Thinking(text=text):
                is_taken = form in _REASONING and not self._is_openai  # which knows no such field
                return [{str(form): text}] if is_taken and text.strip() else []
            case Text(text=text) if form in _REFUSALS:
                is_part = self._is_openai and text.strip()
                return [{"type": "refusal", "refusal": text, **kept}] if is_part else _shown(Text(text=text))
            case Native(vendor=vendor, item={"audio": dict() as audio}) if vendor == VENDOR and self._is_openai:
                return [{"audio": audio}]
            case Image() | File():
                return [_text(placeholder(part))]
            case Native() | ToolResult():
                said = placeholder(part)
                return [_text(said)] if said else []
            case _:
                return _shown(part)

    def _call(self, call: ToolCall) -> Block:
        kept = own(call, VENDOR)
        kind = form_of(kept) or _FUNCTION
        written = call.arguments
        if kind == _FUNCTION and not isinstance(call.parsed, dict):  # which chat templates parse
            written = as_json(as_object(call), "$.arguments")
        body = {"name": fitting_name(call.name, VENDOR), _WRITTEN.get(kind, "arguments"): written}
        if kind == "function_call":
            return {kind: body}
        body |= inside(kept, kind)
        return {"tool_call": {"id": self._ids.of_call(call.id), "type": kind, kind: body, **kept}}

    def _result(self, result: ToolResult, words: list[Block], kept: dict[str, Any], *, has_media: bool) -> Block:
        empty = "[image below]" if has_media else NO_OUTPUT
        content = self._contents.of(words) if words else empty
        if form_of(kept) == _FUNCTION:
            return {"role": _FUNCTION, "name": result.tool_call_id, "content": content, **kept}
        return {"role": "tool", "tool_call_id": self._ids.of_result(result.tool_call_id), "content": content, **kept}


class _Contents(NamedTuple):
    """How the contents of all but the user are written."""

    are_texts: bool  # where they are nothing but texts, as one, since the model may take nothing else
    keep_marks: bool  # ... unless its host marked them for a cache: then it takes parts

    def of(self, blocks: list[Block]) -> Any:
        is_text = self.are_texts and all(block["type"] == "text" for block in blocks)
        if is_text and not (self.keep_marks and any(map(_MARKS.is_on, blocks))):
            return "\n\n".join(block["text"] for block in blocks)
        return _as_content(blocks)


def _messages(
    shape: Shape, given: Sequence[Message], profile: ModelProfile, contents: _Contents
) -> Iterator[dict[str, Any]]:
    """The messages of the turns: the results of a turn stand each for itself, before what the user says."""
    instructing = "system"
    if shape.opening.first is not None:
        if profile.is_openai:  # which has two names for it, and wants one of them in a request
            instructing = str(shape.opening.first.role)
        content = contents.of(shape.opening.blocks)
        yield {"role": instructing, "content": content, **own(shape.opening.first, VENDOR)}
    for turn in shape.turns:
        if turn.role is Role.ASSISTANT:
            yield {"role": "assistant", **_answer(turn, contents), **_kept(turn.pieces[0], given)}
            continue
        results = [piece.block for piece in turn.pieces if piece.rank is not None]
        yield from results
        rest = turn.pieces[len(results) :]
        if rest and results and not profile.is_openai:
            yield {"role": "assistant", "content": HEARD}
        if rest:
            role = "user" if turn.role is Role.USER else instructing
            yield {"role": role, "content": _as_content([piece.block for piece in rest]), **_kept(rest[0], given)}


def _kept(piece: Piece, given: Sequence[Message]) -> dict[str, Any]:
    """The fields of the message that a piece came from; a result's own stand on the result."""
    message = given[piece.source] if piece.source >= 0 else None
    return own(message, VENDOR) if message is not None and message.role is not Role.TOOL else {}


def _answer(turn: Turn, contents: _Contents) -> dict[str, Any]:
    """The fields of an assistant message: content, calls, and texts beside them."""
    fields: dict[str, Any] = {}
    content: list[Block] = []
    source = None
    for piece in turn.pieces:
        block = piece.block
        if "type" not in block:
            for name, value in block.items():
                if name == "tool_call":
                    fields.setdefault("tool_calls", []).append(value)
                else:
                    fields[name] = f"{fields[name]}\n\n{value}" if name in _REASONING and name in fields else value
            continue
        if source not in (None, piece.source) and _is_bare(block) and content and _is_bare(content[-1]):
            content[-1] = _text(f"{content[-1]['text']}\n\n{block['text']}")
        else:
            content.append(block)
        source = piece.source
    return ({"content": contents.of(content)} if content else {}) | fields


def _as_content(blocks: list[Block]) -> Any:
    """A content as a text where it is nothing but one, otherwise as parts."""
    return blocks[0]["text"] if len(blocks) == 1 and _is_bare(blocks[0]) else blocks


def _is_bare(block: Block) -> bool:
    return block["type"] == "text" and len(block) == 2


def _shown(part: Part) -> list[Block]:
    """The parts of a content that the user may send, or that stand in a result."""
    kept = own(part, VENDOR)
    form = form_of(kept)
    match part:
        case Text() if (item := whole(kept)) is not None:
            return [item]
        case Text(text=text):
            return [{"type": "text", "text": text, **kept}] if text.strip() else []
        case Image(url=url) if (
            is_web(url) or inline(url, PICTURES) or (VENDOR in (part.extra or {}) and not is_inline(url))
        ):
            return [{"type": "image_url", "image_url": {"url": url, **inside(kept, "image_url")}, **kept}]
        case File(path=path) if form == "file_id" or inline(path, (PDF,)) is not None:
            file = inside(kept, "file")
            if form != "file_id":
                file = {"filename": "document.pdf"} | file
            return [{"type": "file", "file": {"file_id" if form == "file_id" else "file_data": path, **file}, **kept}]
        case File(path=path) if (words := words_in(path)) is not None:
            return [_text(words)]
        case Native(vendor=vendor, item=item) if vendor == VENDOR and isinstance(item.get("type"), str):
            return [dict(item)]
        case _:
            said = placeholder(part)
            return [_text(said)] if said else []
