"""Reads and writes Google's Gemini API: contents made of parts, and the system instruction in the config.

Field names are those of the official Python client (`function_call`); the wire's names (`functionCall`) are read as well, and bytes
are `bytes`. `dump` normalises: developer messages become system text, the results of one batch are in one content, adjacent contents
of one role are merged, nulls are left out. A call without an id gets its name as id, numbered if a content has several.
"""

import base64
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pageturn.formats.blocks.gemini import NO_ID, VENDOR, Dump, content_of, sign_first_call, text_block
from pageturn.formats.calls import CallIds, from_object
from pageturn.formats.fields import (
    AS,
    Fields,
    as_json,
    plain,
    refusing_depth,
    snake,
    snake_name,
)
from pageturn.formats.media import is_inline
from pageturn.formats.prompts import (
    expects_answer,
    listed,
    model_in,
    prompt_of,
    reply_of,
    request_fields,
    settings_in,
    tools_in,
)
from pageturn.formats.settings import settings_for
from pageturn.formats.shape import shaped
from pageturn.formats.streams.gemini import GeminiChunks
from pageturn.formats.tools import tools_for
from pageturn.formats.user_messages import split
from pageturn.values.errors import InvalidInput, show
from pageturn.values.messages import File, Image, Message, Native, Part, Role, Text, Thinking, ToolCall, ToolResult
from pageturn.values.prompt import Prompt
from pageturn.values.usage import Usage

_OF_A_RESPONSE = ("candidates", "prompt_feedback", "usage_metadata", "model_version")
_BESIDE_CONFIG = (  # fields of a request on the wire that the client puts into the config
    *("system_instruction", "tools", "tool_config", "safety_settings", "cached_content", "labels"),
    *("model_armor_config", "service_tier", "store"),
)
_IDS = r"[a-zA-Z0-9_.:#/-]{1,128}"


@refusing_depth
def load_reply(reply: object) -> Message:
    """A response as a message with its usage; the model's content alone is accepted too."""
    match reply_of(reply, VENDOR):
        case dict() as response if _is_response(response):
            return _response(response)
        case content:
            fields = Fields(snake(content), "$")
            role = fields.take("role", str)
            if role not in ("model", None):
                raise InvalidInput("$.role", expected="model, as a reply has it", got=show(role))
            parts = _parts(fields.need("parts", list), "$.parts")
            return Message(role=Role.ASSISTANT, content=tuple(parts), extra=fields.kept(VENDOR))


@refusing_depth
def load_request(body: object) -> Prompt:
    """A whole request: its contents with the system instruction before them, tools, model, and the rest in `settings`.

    The request is the arguments of the client's `generate_content`, or a body of the wire, whose settings are moved into a config as
    the client has it.
    """
    fields = request_fields(body)
    fields.rest = {snake_name(name): value for name, value in fields.rest.items()}
    given = _listed(fields.rest.pop("contents", None))
    messages = [one for index, raw in enumerate(given) for one in _messages(raw, f"$.contents[{index}]")]
    config = _config(fields)
    system = _system(config)
    tools = tools_in(config)
    return Prompt(
        messages=(*system, *messages),
        host_tools=tools,
        model=model_in(fields),
        settings=settings_in(fields) | ({"config": rest} if (rest := settings_in(config)) else {}),
        vendor=VENDOR,
    )


@refusing_depth
def load_messages(messages: Sequence[object]) -> list[Message]:
    """The contents of a request as messages. One may become several: each result is a message of its own."""
    return [one for index, raw in enumerate(listed(messages)) for one in _messages(raw, f"$[{index}]")]


@refusing_depth
def dump(prompt: Prompt | Sequence[Message]) -> dict[str, Any]:
    """The arguments of the client's `models.generate_content`: for a context all but the model, for a loaded request the model too.

    The prompt's model decides which signatures are sent.
    """
    given = prompt_of(prompt)
    dumped = Dump(CallIds(_IDS), given.model)
    shape = shaped(given.messages, dumped.heard, dumped.answer, text_block, is_request=expects_answer(prompt, VENDOR))
    contents = [content_of(turn) for turn in shape.turns]
    if dumped.checks_signatures:
        for content in contents:
            sign_first_call(content["parts"])
    tools = tools_for(given, VENDOR)
    request = settings_for(given, VENDOR, has_tools=bool(tools))
    settings = request.pop("config", {})
    config: dict[str, Any] = {**settings} if isinstance(settings, Mapping) else {}
    if shape.opening.pieces:
        config["system_instruction"] = {"parts": shape.opening.blocks}
    if tools:
        config["tools"] = tools
    return request | {"contents": contents} | ({"config": config} if config else {})


class Stream(GeminiChunks):
    """The message of a streamed answer: `feed` takes each chunk of `generate_content_stream`, and `message` is the result so far."""

    def _load(self, response: dict[str, Any]) -> Message:
        return _response(response)


# -- in


def _listed(contents: object) -> list[Any]:
    """Contents in any form that the vendor accepts: a list, one content, or only its text."""
    match plain(contents):
        case str() as text:
            return [{"role": "user", "parts": [{"text": text}]}]
        case dict() as content:
            return [content]
        case list() as several:
            return several
        case None:
            raise InvalidInput("$.contents", expected="a list of contents", got="nothing")
        case other:
            raise InvalidInput("$.contents", expected="a list of contents", got=show(other))


def _config(fields: Fields) -> Fields:
    """The config of a request; wire fields outside of it, and its `generationConfig`, are moved into it."""
    fields.rest["config"] = plain(fields.rest.get("config"))
    config = fields.inner("config")
    fields.rest["generation_config"] = plain(fields.rest.get("generation_config"))
    inner = fields.inner("generation_config")
    beside = {name: fields.rest.pop(name) for name in _BESIDE_CONFIG if name in fields.rest}
    named = {snake_name(name): value for name, value in (inner.rest | config.rest).items()}
    config.rest = beside | named
    return config


def _is_response(value: dict[str, Any]) -> bool:
    return any(snake_name(name) in _OF_A_RESPONSE for name in value)


def _response(response: dict[str, Any]) -> Message:
    fields = Fields(snake(response), "$")
    candidates = fields.take("candidates", list) or []
    if len(candidates) > 1 or not (candidates or "prompt_feedback" in fields.rest):
        raise InvalidInput("$.candidates", expected="one candidate", got=f"{len(candidates)}")
    candidate = Fields(candidates[0] if candidates else {}, "$.candidates[0]")  # a blocked prompt has none
    content = candidate.inner("content")
    parts = _parts(content.take("parts", list) or [], "$.candidates[0].content.parts")
    usage = _usage(fields)
    metadata = {"response": fields.rest | candidate.rest}
    return Message(role=Role.ASSISTANT, content=tuple(parts), usage=usage, metadata=metadata)


def _usage(fields: Fields) -> Usage | None:
    if "usage_metadata" not in fields.rest:
        return None
    usage = fields.inner("usage_metadata")
    model = fields.take("model_version", str)
    if model is not None:  # it stays with the message too: signatures are this model's alone
        fields.rest["model_version"] = model
    return Usage(
        input_tokens=usage.count("prompt_token_count") + usage.count("tool_use_prompt_token_count"),
        output_tokens=usage.count("candidates_token_count") + usage.count("thoughts_token_count"),
        cache_read_tokens=usage.count("cached_content_token_count"),
        model=model,
        extra=usage.kept(VENDOR),
    )


def _system(config: Fields) -> list[Message]:
    match plain(config.rest.pop("system_instruction", None)):
        case None:
            return []
        case str() as text:
            parts: list[Part] = [Text(text=text)]
        case given:
            instruction = Fields(snake(given), "$.system_instruction")
            parts = _parts(instruction.need("parts", list), "$.system_instruction.parts")
    return [Message(role=Role.SYSTEM, content=tuple(parts))]


def _messages(raw: Any, path: str) -> Iterator[Message]:
    fields = Fields(snake(raw), path)
    role = fields.take("role", str) or "user"
    if role not in ("user", "model", "function"):
        raise InvalidInput(f"{path}.role", expected="user or model", got=show(role))
    parts = _parts(fields.take("parts", list) or [], f"{path}.parts")
    extra = fields.kept(VENDOR)
    if role == "model":
        yield Message(role=Role.ASSISTANT, content=tuple(parts), extra=extra)
        return
    yield from split(parts, extra)


def _parts(raw_parts: Sequence[Any], path: str) -> list[Part]:
    seen: Counter[str] = Counter()
    return [_part(raw, f"{path}[{index}]", seen) for index, raw in enumerate(raw_parts)]


def _part(raw: Any, path: str, seen: Counter[str]) -> Part:
    fields = Fields(raw, path)
    if "function_call" in fields.rest:
        return _call(fields, seen)
    if "function_response" in fields.rest:
        return _result(fields, seen)
    if "inline_data" in fields.rest or "file_data" in fields.rest:
        return _media(fields) or Native(vendor=VENDOR, item=raw)
    if "text" not in fields.rest:
        return Native(vendor=VENDOR, item=raw, text=_words(raw))
    text = fields.text("text")
    if fields.take("thought", bool):
        signature = _as_text(fields.rest.pop("thought_signature", None))
        return Thinking(text=text, signature=signature, extra={VENDOR: fields.rest})
    if "thought_signature" in fields.rest:
        fields.rest["thought_signature"] = _as_text(fields.rest["thought_signature"])
    return Text(text=text, extra=fields.kept(VENDOR))


def _call(fields: Fields, seen: Counter[str]) -> ToolCall:
    call = fields.inner("function_call")
    name, written = call.text("name"), from_object(call.take("args", dict) or {}, f"{call.path}.args")
    id_, mark = _id_of(call, name, seen)
    signature = _as_text(fields.rest.pop("thought_signature", None))
    extra = {VENDOR: fields.rest | mark | ({"function_call": call.rest} if call.rest else {})}
    return ToolCall(id=id_, name=name, arguments=written, thought_signature=signature, extra=extra)


def _result(fields: Fields, seen: Counter[str]) -> ToolResult:
    answer = fields.inner("function_response")
    name, response = answer.take("name", str) or "", answer.take("response", dict) or {}
    id_, mark = _id_of(answer, name, seen)
    media = answer.take("parts", list) or []
    is_error = list(response) == ["error"]
    text = response.get("error" if is_error else "output") if len(response) == 1 else None
    if not isinstance(text, str):
        text, is_error, mark = as_json(response, f"{answer.path}.response"), False, mark | {AS: "object"}
    content: Any = text
    pictures = [_media(Fields(part, f"{answer.path}.parts")) for part in media]
    if None in pictures:  # an unknown part, sent back unchanged
        answer.rest["parts"] = media
    elif pictures:
        content = (Text(text=text), *(picture for picture in pictures if picture is not None))
    extra = {VENDOR: fields.rest | mark | {"name": name} | ({"function_response": answer.rest} if answer.rest else {})}
    return ToolResult(tool_call_id=id_, content=content, is_error=is_error, extra=extra)


def _id_of(fields: Fields, name: str, seen: Counter[str]) -> tuple[str, dict[str, Any]]:
    id_ = fields.take("id", str)
    if id_ is not None:
        return id_, {}
    seen[name] += 1
    return name if seen[name] == 1 else f"{name}#{seen[name]}", {NO_ID: True}


def _media(fields: Fields) -> Image | File | None:
    """An image or a document, inline or by its address."""
    if "inline_data" in fields.rest:
        blob = fields.inner("inline_data")
        mime_type = blob.text("mime_type")
        url = f"data:{mime_type};base64,{_as_text(blob.rest.pop('data', ''))}"
        kept: dict[str, Any] = {"inline_data": blob.rest} if blob.rest else {}
    elif "file_data" in fields.rest:
        file = fields.inner("file_data")
        mime_type, url = file.take("mime_type", str) or "", file.text("file_uri")
        kept = {AS: "file_data", **({"file_data": file.rest} if file.rest else {})}
    else:
        return None
    extra = fields.kept(VENDOR, **kept)
    if mime_type.startswith("image/"):
        return Image(url=url, mime_type=None if is_inline(url) else mime_type, extra=extra)
    return File(path=url, mime_type=mime_type or None, extra=extra)


def _words(raw: dict[str, Any]) -> str:
    """A part of the vendor's own tools as text, for searching and for other vendors."""
    code, result = raw.get("executable_code"), raw.get("code_execution_result")
    said = code.get("code") if isinstance(code, dict) else result.get("output") if isinstance(result, dict) else ""
    return said if isinstance(said, str) else ""


def _as_text(data: Any) -> str | None:
    """Bytes as base64; text is base64 already, in either alphabet."""
    if isinstance(data, bytes):
        return base64.b64encode(data).decode()
    return data.replace("-", "+").replace("_", "/") if isinstance(data, str) else None
