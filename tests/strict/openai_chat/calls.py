"""Calls and their results: every call is answered by one tool message, directly after the message that calls."""

from typing import Any

from tests.strict.findings import Finds, Found
from tests.strict.openai_chat.reading import Reading
from tests.strict.shapes import OBJECT, TEXT, Shape, fits, is_json_object, listed

_LONGEST_ID = 40
_SHAPES = {
    "function": Shape(must={"id": TEXT, "type": TEXT, "function": OBJECT}),
    "custom": Shape(must={"id": TEXT, "type": TEXT, "custom": OBJECT}),
}
_BODIES = {
    "function": Shape(must={"name": TEXT, "arguments": TEXT}),
    "custom": Shape(must={"name": TEXT, "input": TEXT}),
}


def calls(reading: Reading) -> Finds:
    seen: set[str] = set()
    for message in reading.messages:
        if message.raw.get("tool_calls") == []:
            yield Found("tool_calls_empty", f"{message.path}.tool_calls")
        for index, call in enumerate(listed(message.raw.get("tool_calls"))):
            if not isinstance(call, dict):
                yield Found("call_not_object", f"{message.path}.tool_calls[{index}]")
        for path, call in message.calls:
            type_ = call.get("type")
            if type_ not in ("function", "custom"):
                yield Found("call_type_unknown", f"{path}.type")
                continue
            yield from _SHAPES[type_].faults(call, path, "call_")
            yield from _id(call.get("id"), f"{path}.id", seen)
            if isinstance(body := call.get(type_), dict):
                yield from _BODIES[type_].faults(body, f"{path}.{type_}", "call_")
                yield from _body(body, f"{path}.{type_}")


def _id(id_: Any, path: str, seen: set[str]) -> Finds:
    if not isinstance(id_, str):
        return
    if not id_:
        yield Found("call_id_empty", path)
    if len(id_) > _LONGEST_ID:
        yield Found("call_id_length", path)
    if id_ in seen:
        yield Found("call_id_repeated", path)
    seen.add(id_)


def _body(body: dict[str, Any], path: str) -> Finds:
    name = body.get("name")
    if isinstance(name, str) and not 1 <= len(name) <= 64:
        yield Found("call_name_length", f"{path}.name")
    elif isinstance(name, str) and not fits(r"[a-zA-Z0-9_-]+", name):
        yield Found("call_name_pattern", f"{path}.name")
    if isinstance(body.get("arguments"), str) and not is_json_object(body["arguments"]):
        yield Found("call_arguments_json", f"{path}.arguments")


def pairs(reading: Reading) -> Finds:
    open_: dict[str, str] = {}  # where each call that has no result yet stands
    answered: set[str] = set()
    for message in reading.messages:
        if message.role == "tool":
            id_, path = str(message.raw.get("tool_call_id")), f"{message.path}.tool_call_id"
            if len(id_) > _LONGEST_ID:
                yield Found("result_id_length", path)
            if id_ in open_:
                del open_[id_]
                answered.add(id_)
            else:
                yield Found("result_repeated" if id_ in answered else "result_orphan", path)
            continue
        yield from (Found("call_unanswered", path) for path in open_.values())
        open_ = {str(call.get("id")): path for path, call in message.calls}
        answered = set()
    yield from (Found("call_unanswered", path) for path in open_.values())


RULES = (calls, pairs)
