"""Reads and writes OpenAI's chat completions, a format that many other servers use too.

`dump` normalises: content of one plain text is a string, text comes before calls, adjacent messages of one role are merged (tool
messages stay single), nulls are left out. A result has no error flag and no images in this format; images follow the results of their
batch in a user message. OpenAI's own models accept more than others do (`pageturn.values.vendors`).
"""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from pageturn.formats.blocks.openai_chat import (
    FUNCTION,
    MARKS,
    REASONING,
    VENDOR,
    WRITTEN,
    Contents,
    Dump,
    messages_of,
    text_block,
)
from pageturn.formats.calls import CallIds
from pageturn.formats.fields import (
    AS,
    Fields,
    each_of,
    inside_result,
    refusing_depth,
)
from pageturn.formats.prompts import (
    expects_answer,
    listed,
    loaded_prompt,
    prompt_of,
    reply_of,
    request_fields,
    several_in,
)
from pageturn.formats.settings import settings_for
from pageturn.formats.shape import shaped
from pageturn.formats.streams.openai_chat import ChatChunks
from pageturn.formats.tools import tools_for
from pageturn.formats.usage import usage_of
from pageturn.formats.user_messages import is_synthetic, marked
from pageturn.values.errors import InvalidInput, show
from pageturn.values.messages import File, Image, Message, Native, Part, Role, Text, Thinking, ToolCall, ToolResult
from pageturn.values.prompt import Prompt
from pageturn.values.vendors import profile_of

_BESIDE_CONTENT = (*REASONING, "refusal")


@refusing_depth
def load_reply(reply: object) -> Message:
    """A response as a message with its usage; the assistant message alone is accepted too."""
    match reply_of(reply, VENDOR):
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
    return loaded_prompt(fields, messages, MARKS.of(messages), VENDOR)


@refusing_depth
def load_messages(messages: Sequence[object]) -> list[Message]:
    """The messages of a request."""
    return _loaded(listed(messages), "$")


@refusing_depth
def dump(prompt: Prompt | Sequence[Message]) -> dict[str, Any]:
    """The arguments of the client's `chat.completions.create`: for a context all but the model, for a loaded request the model too.

    The model's name decides what it accepts; without one, the strictest rules apply.
    """
    given = prompt_of(prompt)
    profile = profile_of(given.model)
    prefix, digits = profile.made_ids
    contents = Contents(are_texts=not profile.is_openai, keep_marks=given.marks is not None)
    dumped = Dump(CallIds(profile.ids, prefix=prefix, digits=digits), profile, contents)
    messages = MARKS.kept(given)
    shape = shaped(
        messages,
        dumped.heard,
        dumped.answer,
        text_block,
        keeps_instruction=lambda *_: profile.is_openai,
        user_ends=not profile.is_openai,
        is_request=expects_answer(prompt, VENDOR),
    )
    tools = tools_for(given, VENDOR)
    request = settings_for(given, VENDOR, has_tools=bool(tools))
    request["messages"] = [*messages_of(shape, messages, profile, contents)]
    return request | ({"tools": tools} if tools else {})


class Stream(ChatChunks):
    """The message of a streamed answer: `feed` takes each chunk, and `message` is the result so far."""

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
    """Audio of the model: its id is sent back, its transcript is for other vendors."""
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
        kind = call.take("type", str) or FUNCTION
        body = call.inner(kind)
        id_, name, written = call.text("id"), body.text("name"), body.text(WRITTEN.get(kind, "arguments"))
        form = {} if kind == FUNCTION else {AS: kind}
        yield ToolCall(id=id_, name=name, arguments=written, extra=call.kept(VENDOR, **form, **_inside(kind, body)))
    if "function_call" in fields.rest:  # before there were several
        body = fields.inner("function_call")
        name, written = body.text("name"), body.text("arguments")
        yield ToolCall(id=name, name=name, arguments=written, extra={VENDOR: {AS: "function_call"}})


def _inside(name: str, fields: Fields) -> dict[str, Any]:
    return {name: fields.rest} if fields.rest else {}
