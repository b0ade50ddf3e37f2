"""Reasoning goes and stays together with the item that it led to, behind the history that it was made on."""

import re
from collections.abc import Iterator
from itertools import pairwise

from tests.strict.findings import Finds, Found
from tests.strict.history import Unit, reasoning_faults
from tests.strict.openai_responses.reading import Item, Reading
from tests.strict.shapes import objects, word

NEWEST = "gpt-6.1-sol"
_BY_THE_HOST = ("function_call_output", "custom_tool_call_output", "computer_call_output", "local_shell_call_output")
_BY_THE_HOST_TOO = ("shell_call_output", "apply_patch_call_output", "mcp_approval_response", "compaction_trigger")


def checks_prefixes(model: str) -> bool:
    """Whether the API drops reasoning whose history has changed: GPT-5.6 and later, and whatever is not known here."""
    if re.match(r"(o\d|gpt-4|codex)", model):
        return False
    version = re.match(r"gpt-(\d+)(?:\.(\d+))?", model)
    return version is None or (int(version[1]), int(version[2] or 0)) >= (5, 6)


def contents(reading: Reading) -> Finds:
    for item in reading.items:
        if item.type != "reasoning":
            continue
        for name, part_type, code in (
            ("summary", "summary_text", "reasoning_summary_part"),
            ("content", "reasoning_text", "reasoning_content_part"),
        ):
            for path, part in objects(item.raw.get(name), f"{item.path}.{name}"):
                if part.get("type") != part_type or not isinstance(part.get("text"), str):
                    yield Found(code, path)
        if reading.raw.get("store") is False and not item.raw.get("encrypted_content"):
            yield Found("reasoning_unstored", f"{item.path}.encrypted_content")


def followers(reading: Reading) -> Finds:
    for item, after in zip(reading.items, (*reading.items[1:], None), strict=False):
        if item.type == "reasoning" and not _is_by_the_model(after):
            yield Found("reasoning_follower", item.path)


def _is_by_the_model(item: Item | None) -> bool:
    if item is None:
        return False
    if item.type == "message":
        return item.role == "assistant"
    return item.type not in _BY_THE_HOST + _BY_THE_HOST_TOO


def leaders(reading: Reading) -> Finds:
    """An item that is known by its id to have come with reasoning still stands behind it."""
    led = {id_: mark for raw in reading.previous for id_, mark in _led(Reading(raw, reading.model))}
    now = dict(_led(reading))
    for item in reading.items:
        id_ = word(item.raw.get("id"))
        if id_ in led and item.type != "reasoning" and now.get(id_) != led[id_]:
            yield Found("reasoning_missing", item.path)


def _led(reading: Reading) -> Iterator[tuple[str, str]]:
    """The ids of items that stand directly behind reasoning, with that reasoning's mark."""
    for before, item in pairwise(reading.items):
        if before.type == "reasoning" and isinstance(item.raw.get("id"), str):
            yield item.raw["id"], _mark(before)


def prefixes(reading: Reading) -> Finds:
    if any(item.type == "reasoning" for item in reading.items) and checks_prefixes(reading.model):
        earlier = [_units(Reading(raw, reading.model)) for raw in reading.previous]
        yield from reasoning_faults(_units(reading), earlier)


def _mark(item: Item) -> str:
    return str(item.raw.get("id") or item.raw.get("encrypted_content"))


def _units(reading: Reading) -> list[Unit]:
    units = [Unit("a tool", raw, _plain, path) for path, raw in objects(reading.raw.get("tools"), "$.tools")]
    if told := reading.raw.get("instructions"):
        units.append(Unit("instructions", told, _plain, "$.instructions"))
    if isinstance(given := reading.raw.get("input"), str):
        units.append(Unit("user", {"type": "input_text", "text": given}, _plain, "$.input"))
    return [*units, *(unit for item in reading.items for unit in _of(item))]


def _of(item: Item) -> Iterator[Unit]:
    """A message by its parts, a string being one of them; any other item whole."""
    if item.type != "message":
        yield Unit("an item", item.raw, _plain, item.path, _mark(item) if item.type == "reasoning" else None)
        return
    if isinstance(content := item.raw.get("content"), str):
        type_ = "output_text" if item.role == "assistant" else "input_text"
        yield Unit(str(item.role), {"type": type_, "text": content}, _plain, item.path)
    for path, part in item.parts:
        yield Unit(str(item.role), part, _plain, path)


def _plain(raw: object) -> object:
    """Without what only names an item. Of reasoning the encrypted content counts; some clients leave the summary out."""
    if not isinstance(raw, dict):
        return raw
    if raw.get("type") == "reasoning":
        return raw.get("encrypted_content")
    unread = ("id", "status", "annotations", "logprobs", "prompt_cache_breakpoint")
    return {name: each for name, each in raw.items() if name not in unread and each is not None}


RULES = (contents, followers, leaders, prefixes)
