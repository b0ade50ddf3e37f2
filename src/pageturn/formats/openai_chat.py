"""OpenAI's chat completions, spoken by many others too.

Normalised: a content of one plain text is a string, text comes before calls, null is absence. A result has no error mark
here and no pictures; pictures follow the results of their batch in a user message.
"""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any

import msgspec

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

VENDOR = "openai_chat"

_AS = "as"  # in what `load` keeps: the form that a part had, where it was not the usual one
_BESIDE_CONTENT = ("reasoning_content", "reasoning", "refusal")  # texts in fields of their own
_FUNCTION = "function"
_WRITTEN = {"custom": "input"}  # where a kind of call has its arguments; the others have "arguments"
_IDS = r".{1,40}"
_LONGEST_NAME = 64


def load(given: Any) -> Message | list[Message]:
    """A message, or a list or a request as messages; a response, or the chunks of its stream, as a message with usage."""
    match plain(given):
        case [{"choices": [{"delta": _}, *_] | []}, *_] as chunks:
            return _response(_accumulated(chunks))
        case list() as messages:
            return [_message(raw, f"$[{index}]") for index, raw in enumerate(messages)]
        case {"choices": _} as response:
            return _response(response)
        case {"messages": list() as messages}:
            return [_message(raw, f"$.messages[{index}]") for index, raw in enumerate(messages)]
        case message:
            return _message(message, "$")


def dump(context: Context | Sequence[Message]) -> dict[str, Any]:
    """What the client's `chat.completions.create` takes beside the model."""
    ids = CallIds(_IDS)
    messages: list[dict[str, Any]] = []
    pictures: list[dict[str, Any]] = []  # of results: between the results of one batch they would be refused
    for message in messages_of(context):
        text = only_text(message)
        results = message.tool_results if text is None else ()
        if pictures and not results:
            messages.append({"role": "user", "content": pictures})
            pictures = []
        for result in results:
            messages.append(_dump_result(message, result, ids))
            pictures += [shown for part in result.parts if isinstance(part, Image) for shown in _dump_part(part)]
        role = "user" if message.role is Role.TOOL else str(message.role)  # a tool that answers no call
        if text is not None:
            messages.append({"role": role, "content": text})
        elif message.role is not Role.TOOL:
            messages += _dump_message(message, ids)
    if pictures:
        messages.append({"role": "user", "content": pictures})
    return {"messages": messages} | tools_of(context, _declare)


# -- in


def _response(response: dict[str, Any]) -> Message:
    fields = Fields(response, "$")
    choices = fields.need("choices", list)
    if len(choices) != 1:
        raise InvalidInput("$.choices", expected="one choice", got=f"{len(choices)}")
    choice = Fields(choices[0], "$.choices[0]")
    message = _message(choice.need("message", dict), "$.choices[0].message")
    usage = _usage(fields)
    return msgspec.structs.replace(message, usage=usage, metadata={"response": fields.rest | choice.rest})


def _usage(fields: Fields) -> Usage | None:
    if "usage" not in fields.rest:
        return None
    usage = fields.inner("usage")
    details = usage.inner("prompt_tokens_details")
    return Usage(
        input_tokens=usage.count("prompt_tokens"),
        output_tokens=usage.count("completion_tokens"),
        cache_read_tokens=details.count("cached_tokens"),
        cache_write_tokens=details.count("cache_write_tokens"),
        model=fields.take("model", str),
        extra=usage.kept(VENDOR, **_inside("prompt_tokens_details", details)),
    )


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
            return Message(role=Role(role), content=parts, synthetic=synthetic, extra=extra)
        case role:
            raise InvalidInput(f"{path}.role", expected="system, developer, user, assistant or tool", got=repr(role))


def _result(fields: Fields, call: str, form: str | None = None) -> Message:
    content = fields.rest.pop("content", "")
    if not isinstance(content, str):
        content = inside_result(each_of(content, f"{fields.path}.content", _part))
    result = ToolResult(tool_call_id=call, content=content)
    return Message(role=Role.TOOL, content=(result,), extra=fields.kept(VENDOR, **{_AS: form} if form else {}))


def _beside_content(fields: Fields) -> Iterator[Part]:
    for name in _BESIDE_CONTENT:
        if isinstance(fields.rest.get(name), str):
            kind = Text if name == "refusal" else Thinking
            yield kind(text=fields.text(name), extra={VENDOR: {_AS: name}})


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
            return Text(text=fields.text("refusal"), extra=fields.kept(VENDOR, **{_AS: "refusal part"}))
        case "image_url":
            image = fields.inner("image_url")
            return Image(url=image.text("url"), extra=fields.kept(VENDOR, **_inside("image_url", image)))
        case "file":
            file = fields.inner("file")
            form = "file_id" if "file_id" in file.rest else "file_data"
            path = file.text(form)
            return File(path=path, extra=fields.kept(VENDOR, **{_AS: form}, **_inside("file", file)))
        case _:
            return Native(vendor=VENDOR, item=raw)


def _calls(fields: Fields) -> Iterator[Part]:
    for index, raw in enumerate(fields.take("tool_calls", list) or []):
        call = Fields(raw, f"{fields.path}.tool_calls[{index}]")
        kind = call.take("type", str) or _FUNCTION
        body = call.inner(kind)
        id_, name, written = call.text("id"), body.text("name"), body.text(_WRITTEN.get(kind, "arguments"))
        form = {} if kind == _FUNCTION else {_AS: kind}
        yield ToolCall(id=id_, name=name, arguments=written, extra=call.kept(VENDOR, **form, **_inside(kind, body)))
    if "function_call" in fields.rest:  # before there were several
        body = fields.inner("function_call")
        name, written = body.text("name"), body.text("arguments")
        yield ToolCall(id=name, name=name, arguments=written, extra={VENDOR: {_AS: "function_call"}})


def _inside(name: str, fields: Fields) -> dict[str, Any]:
    return {name: fields.rest} if fields.rest else {}


def _accumulated(chunks: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The response that the chunks of a stream come to."""
    message: dict[str, Any] = {"role": "assistant"}
    response: dict[str, Any] = {"choices": [{"message": message}]}
    calls: dict[int, dict[str, Any]] = {}
    for number, chunk in enumerate(chunks):
        fields = Fields(chunk, f"$[{number}]")
        choices = fields.take("choices", list) or []
        response |= fields.rest
        for choice in choices:
            told = Fields(choice, f"{fields.path}.choices[0]")
            if told.take("index", int):
                raise InvalidInput(f"{told.path}.index", expected="one choice", got="several")
            delta = told.inner("delta")
            for index, raw in enumerate(delta.take("tool_calls", list) or []):
                call = Fields(raw, f"{delta.path}.tool_calls[{index}]")
                place = call.take("index", int)
                _grow(calls.setdefault(place if place is not None else len(calls), {}), call.rest)
            _grow(message, delta.rest)
            response["choices"][0] |= told.rest
    if calls:
        message["tool_calls"] = [calls[index] for index in sorted(calls)]
    return response


def _grow(whole: dict[str, Any], piece: dict[str, Any]) -> None:
    """Add a piece of a streamed object: texts and lists grow, objects grow inside, names are repeated."""
    for name, value in piece.items():
        match whole.get(name), value:
            case dict() as inner, dict():
                _grow(inner, value)
            case (str() as so_far, str()) if name not in ("role", "type", "id", "name"):
                whole[name] = so_far + value
            case list() as so_far, list():
                whole[name] = so_far + value
            case _:
                whole[name] = deepcopy(value)


# -- out


def _declare(tool: RecallTool) -> dict[str, Any]:
    return {"type": _FUNCTION, _FUNCTION: tool.definition}


def _dump_message(message: Message, ids: CallIds) -> Iterator[dict[str, Any]]:
    """A message without its results, unless nothing is left of it."""
    fields: dict[str, Any] = {}
    content: list[dict[str, Any]] = []
    for part in message.content:
        match part:
            case ToolResult():
                continue
            case Image() if message.role is not Role.USER:
                content.append({"type": "text", "text": placeholder(part)})
            case Native(vendor=vendor, item={"audio": audio}) if vendor == VENDOR:
                fields["audio"] = audio
            case ToolCall():
                _dump_call(part, fields, ids)
            case Text() | Thinking() if (name := own(part, VENDOR).get(_AS)) in _BESIDE_CONTENT:
                fields[name] = part.text
            case _:
                content += _dump_part(part)
    match content:
        case [{"type": "text", "text": text, **rest}] if not rest:
            fields["content"] = text
        case [_, *_]:
            fields["content"] = content
    fields |= own(message, VENDOR)
    if fields:
        yield {"role": str(message.role), **fields}


def _dump_call(call: ToolCall, fields: dict[str, Any], ids: CallIds) -> None:
    kept = own(call, VENDOR)
    kind = kept.pop(_AS, _FUNCTION)
    body = {"name": fitting_name(call.name, _LONGEST_NAME), _WRITTEN.get(kind, "arguments"): call.arguments}
    if kind == "function_call":
        fields[kind] = body
    else:
        body |= kept.pop(kind, {})
        fields.setdefault("tool_calls", []).append({"id": ids.of_call(call.id), "type": kind, kind: body, **kept})


def _dump_result(message: Message, result: ToolResult, ids: CallIds) -> dict[str, Any]:
    kept = own(message, VENDOR)
    content: Any = result.content
    if not isinstance(content, str):
        words = [shown for part in content if not isinstance(part, Image) for shown in _dump_part(part)]
        content = words or ("[image below]" if content else "")
    if kept.pop(_AS, None) == "function":
        return {"role": "function", "name": result.tool_call_id, "content": content, **kept}
    return {"role": "tool", "tool_call_id": ids.of_result(result.tool_call_id), "content": content, **kept}


def _dump_part(part: Part) -> list[dict[str, Any]]:
    kept = own(part, VENDOR)
    form = kept.pop(_AS, None)
    match part:
        case Text() if WHOLE in kept:
            return [dict(kept[WHOLE])]
        case Text(text=text) if form == "refusal part":
            return [{"type": "refusal", "refusal": text, **kept}]
        case Text(text=text):
            return [{"type": "text", "text": text, **kept}]
        case Image(url=url) if is_inline(url) or is_web(url) or part.extra:
            return [{"type": "image_url", "image_url": {"url": url, **kept.pop("image_url", {})}, **kept}]
        case File(path=path) if form or is_inline(path):
            return [{"type": "file", "file": {form or "file_data": path, **kept.pop("file", {})}, **kept}]
        case Native(vendor=vendor, item=item) if vendor == VENDOR:
            return [dict(item)]
        case _:
            said = placeholder(part)
            return [{"type": "text", "text": said}] if said else []
