"""Calls and their results: each call is answered once, directly after it, before anything else."""

from tests.strict.anthropic.reading import Block, Reading, Turn
from tests.strict.findings import Finds, Found
from tests.strict.shapes import fits

NAME = r"[a-zA-Z0-9_-]{1,128}"
_LONGEST_ID = 64


def calls(reading: Reading) -> Finds:
    seen: set[str] = set()
    for block in reading.blocks:
        if block.type not in ("tool_use", "server_tool_use"):
            continue
        id_, name = block.raw.get("id"), block.raw.get("name")
        if isinstance(id_, str):
            if not fits(r"[a-zA-Z0-9_-]+", id_):
                yield Found("call_id_pattern", f"{block.path}.id")
            if len(id_) > _LONGEST_ID:
                yield Found("call_id_length", f"{block.path}.id")
            if id_ in seen:
                yield Found("call_id_repeated", f"{block.path}.id")
            seen.add(id_)
        if isinstance(name, str) and not 1 <= len(name) <= 128:
            yield Found("call_name_length", f"{block.path}.name")
        elif isinstance(name, str) and not fits(NAME, name):
            yield Found("call_name_pattern", f"{block.path}.name")
        if "input" in block.raw and not isinstance(block.raw["input"], dict):
            yield Found("call_input_type", f"{block.path}.input")


def pairs(reading: Reading) -> Finds:
    turns = reading.turns
    for before, turn, after in zip((None, *turns), turns, (*turns[1:], None), strict=False):
        if turn.role == "assistant":
            answered = _ids(after, "tool_result", "tool_use_id") if after is not None and after.role == "user" else []
            for block in _of(turn, "tool_use"):
                if block.raw.get("id") not in answered:
                    yield Found("call_unanswered", block.path)
        elif turn.role == "user":
            asked = _ids(before, "tool_use", "id") if before is not None and before.role == "assistant" else []
            seen: set[str] = set()
            for block in _of(turn, "tool_result"):
                id_ = str(block.raw.get("tool_use_id"))
                if id_ not in asked:
                    yield Found("result_orphan", f"{block.path}.tool_use_id")
                if id_ in seen:
                    yield Found("result_repeated", f"{block.path}.tool_use_id")
                seen.add(id_)


def order(reading: Reading) -> Finds:
    for turn in reading.turns:
        is_behind = False
        for block in turn.blocks:
            if block.type == "tool_result" and is_behind:
                yield Found("result_not_first", block.path)
            is_behind = is_behind or block.type != "tool_result"


def server_tools(reading: Reading) -> Finds:
    """Calls of server tools are answered within the message; only the newest reply may have paused before its result."""
    newest = next((turn for turn in reversed(reading.turns) if turn.role == "assistant"), None)
    for turn in reading.turns:
        asked: set[str] = set()
        results = {str(block.raw.get("tool_use_id")) for block in turn.blocks if _is_server_result(block)}
        for block in turn.blocks:
            if block.type == "server_tool_use":
                id_ = str(block.raw.get("id"))
                asked.add(id_)
                if turn is not newest and id_ not in results:
                    yield Found("server_call_unanswered", block.path)
            elif _is_server_result(block) and str(block.raw.get("tool_use_id")) not in asked:
                yield Found("server_result_orphan", block.path)


def _is_server_result(block: Block) -> bool:
    return (block.type or "").endswith("_tool_result") and block.type != "mcp_tool_result"


def _of(turn: Turn, type_: str) -> list[Block]:
    return [block for block in turn.blocks if block.type == type_]


def _ids(turn: Turn, type_: str, name: str) -> list[str]:
    return [str(block.raw.get(name)) for block in _of(turn, type_)]


RULES = (calls, pairs, order, server_tools)
