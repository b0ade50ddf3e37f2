"""Who speaks when, and what fields a message of each role has."""

from itertools import pairwise
from typing import Any

from tests.strict.findings import Finds, Found
from tests.strict.openai_chat.reading import Reading
from tests.strict.shapes import ANY, LIST, OBJECT, TEXT, Shape, fits, listed

_SHAPES = {
    "system": Shape(must={"role": TEXT, "content": ANY}, may={"name": TEXT}),
    "developer": Shape(must={"role": TEXT, "content": ANY}, may={"name": TEXT}),
    "user": Shape(must={"role": TEXT, "content": ANY}, may={"name": TEXT}),
    "assistant": Shape(
        must={"role": TEXT},
        may={
            "content": ANY,
            "name": TEXT,
            "refusal": TEXT,
            "audio": OBJECT,
            "tool_calls": LIST,
            "function_call": OBJECT,
        },
    ),
    "tool": Shape(must={"role": TEXT, "content": ANY, "tool_call_id": TEXT}),
}
_REQUEST = Shape(
    must={"messages": ANY},
    may=dict.fromkeys(
        "model tools tool_choice parallel_tool_calls stream stream_options temperature top_p n stop max_tokens "
        "max_completion_tokens presence_penalty frequency_penalty logit_bias logprobs top_logprobs user seed store metadata "
        "response_format reasoning_effort modalities audio prediction service_tier web_search_options verbosity moderation "
        "prompt_cache_key prompt_cache_options prompt_cache_retention safety_identifier functions function_call".split(),
        ANY,
    ),
)
_WHOLE = Shape(must={"model": TEXT}, may=_REQUEST.must | _REQUEST.may)


def request(reading: Reading) -> Finds:
    yield from (_WHOLE if reading.is_whole else _REQUEST).faults(reading.raw, "$", "request_")
    messages = reading.raw.get("messages")
    if not isinstance(messages, list):
        yield Found("messages_missing", "$.messages")
    elif not messages:
        yield Found("messages_empty", "$.messages")
    for index, message in enumerate(listed(messages)):
        if not isinstance(message, dict):
            yield Found("message_not_object", f"$.messages[{index}]")


def fields(reading: Reading) -> Finds:
    for message in reading.messages:
        if message.role == "function":
            yield Found("role_deprecated", f"{message.path}.role")
        elif message.role not in _SHAPES:
            yield Found("role_unknown", f"{message.path}.role")
        else:
            known = {name: value for name, value in message.raw.items() if name != "tool_calls"}
            raw = message.raw if message.role == "assistant" else known
            yield from _SHAPES[message.role].faults(raw, message.path, "message_")
        if "tool_calls" in message.raw and message.role != "assistant":
            yield Found("tool_calls_role", f"{message.path}.tool_calls")
        if (name := message.raw.get("name")) is not None:
            yield from _speaker(name, f"{message.path}.name")


def _speaker(name: Any, path: str) -> Finds:
    if isinstance(name, str) and not 1 <= len(name) <= 64:
        yield Found("name_length", path)
    elif not fits(r"[^\s<|\\/>]+", name):
        yield Found("name_pattern", path)


def alternation(reading: Reading) -> Finds:
    """Instructions may stand anywhere, tool messages follow each other; what the others say is one message a turn."""
    for before, message in pairwise(reading.messages):
        if message.role == before.role and message.role in ("user", "assistant"):
            yield Found("roles_repeat", f"{message.path}.role")


def template(reading: Reading) -> Finds:
    """What strict chat templates of open models demand beyond the vendor's own API."""
    if not reading.has_strict_template:
        return
    instructed = 0
    spoken: list[str] = []
    for at, message in enumerate(reading.messages):
        if message.role not in ("system", "user", "assistant", "tool"):
            yield Found("template_role", f"{message.path}.role")
        if message.role == "system":
            instructed += 1
            if instructed > 1:
                yield Found("template_system_repeated", f"{message.path}.role")
            if at:
                yield Found("template_system_late", f"{message.path}.role")
            continue
        if not spoken and message.role != "user":
            yield Found("template_first_not_user", f"{message.path}.role")
        elif spoken and not _may_follow(spoken[-1], message.role):
            yield Found("template_alternation", f"{message.path}.role")
        spoken.append(message.role)
    if spoken and spoken[-1] == "assistant":
        yield Found("template_last_assistant", reading.messages[-1].path)


def _may_follow(before: str, role: str) -> bool:
    if before == "user":
        return role == "assistant"
    return role in ("user", "tool") if before == "assistant" else role in ("assistant", "tool")


RULES = (request, fields, alternation, template)
