"""Calls and their outputs."""

from tests.strict.findings import Finds, Found
from tests.strict.openai_responses.messages import part_faults
from tests.strict.openai_responses.reading import Item, Reading
from tests.strict.shapes import fits, is_json_object, listed, objects, word

_LONGEST_ID = 64
_CALLS = {"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output"}
_IN_OUTPUTS = ("input_text", "input_image", "input_file")


def calls(reading: Reading) -> Finds:
    seen: set[str] = set()
    for item in reading.items:
        if item.type not in _CALLS and item.type not in _CALLS.values():
            continue
        id_, path = word(item.raw.get("call_id")), f"{item.path}.call_id"
        if id_ == "":
            yield Found("call_id_empty", path)
        if id_ and len(id_) > _LONGEST_ID:
            yield Found("call_id_length", path)
        if item.type not in _CALLS:
            continue
        if id_ is not None and id_ in seen:
            yield Found("call_id_repeated", path)
        seen.add(id_ or "")
        yield from _called(item)


def _called(item: Item) -> Finds:
    name = item.raw.get("name")
    if isinstance(name, str) and not 1 <= len(name) <= 64:
        yield Found("call_name_length", f"{item.path}.name")
    elif isinstance(name, str) and not fits(r"[a-zA-Z0-9_-]+", name):
        yield Found("call_name_pattern", f"{item.path}.name")
    if isinstance(item.raw.get("arguments"), str) and not is_json_object(item.raw["arguments"]):
        yield Found("call_arguments_json", f"{item.path}.arguments")


def pairs(reading: Reading) -> Finds:
    open_: dict[str, Item] = {}
    answered: set[str] = set()
    for item in reading.items:
        id_ = str(item.raw.get("call_id"))
        if item.type in _CALLS:
            open_[id_] = item
        elif item.type in _CALLS.values():
            call = open_.pop(id_, None)
            if call is not None and _CALLS[call.type] != item.type:
                yield Found("output_kind", f"{item.path}.type")
            elif call is None and id_ in answered:
                yield Found("output_repeated", f"{item.path}.call_id")
            elif call is None and not reading.is_continued:
                yield Found("output_orphan", f"{item.path}.call_id")
            answered.add(id_)
        elif item.type == "message" and item.role == "user" and open_:
            yield Found("outputs_interrupted", item.path)
    yield from (Found("call_unanswered", call.path) for call in open_.values())


def outputs(reading: Reading) -> Finds:
    for item in reading.items:
        if item.type not in _CALLS.values() or "output" not in item.raw:
            continue
        output, path = item.raw["output"], f"{item.path}.output"
        if not isinstance(output, str | list):
            yield Found("output_type", path)
        elif output == []:
            yield Found("output_empty", path)
        for index, part in enumerate(listed(output)):
            if not isinstance(part, dict):
                yield Found("part_not_object", f"{path}[{index}]")
        for place, part in objects(output, path):
            if part.get("type") in _IN_OUTPUTS:
                yield from part_faults(part, place)
            else:
                yield Found("output_part_type", f"{place}.type")


RULES = (calls, pairs, outputs)
