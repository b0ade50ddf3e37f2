"""Thinking: who does it, where it stands, and what it is bound to.

Newer models check that nothing before a block has changed since it was made. Older ones only want the thinking of the
assistant turn whose tool loop is still open, as it was.
"""

from typing import Any

from tests.strict.anthropic.models import checks_prefixes
from tests.strict.anthropic.reading import Block, Reading, Turn
from tests.strict.findings import Finds, Found
from tests.strict.history import Unit, reasoning_faults
from tests.strict.shapes import canonical

_THINKING = ("thinking", "redacted_thinking")
_SMALLEST_BUDGET = 1024


def marks(reading: Reading) -> Finds:
    for block in reading.blocks:
        if block.type == "thinking" and block.raw.get("signature") == "":
            yield Found("thinking_signature_empty", f"{block.path}.signature")
        if block.type == "redacted_thinking" and block.raw.get("data") == "":
            yield Found("redacted_data_empty", f"{block.path}.data")


def places(reading: Reading) -> Finds:
    for turn in reading.turns:
        if turn.role != "assistant":
            continue
        if turn.blocks and turn.blocks[-1].type in _THINKING:
            yield Found("thinking_last", turn.blocks[-1].path)
        has_called = False
        for block in turn.blocks:
            if block.type in _THINKING and has_called:
                yield Found("thinking_after_call", block.path)
            has_called = has_called or block.type == "tool_use"


def configuration(reading: Reading) -> Finds:
    config = reading.thinking
    if not config:
        return
    if config.get("type") not in ("adaptive", "enabled", "between_tools", "disabled"):
        yield Found("thinking_config_type", "$.thinking.type")
    if config.get("type") == "disabled" and reading.turns and reading.turns[-1].role == "assistant":
        for block in reading.turns[-1].blocks:
            if block.type in _THINKING:
                yield Found("thinking_disabled", block.path)
    if config.get("type") != "enabled":
        return
    budget, most = config.get("budget_tokens"), reading.raw.get("max_tokens")
    if not isinstance(budget, int) or budget < _SMALLEST_BUDGET:
        yield Found("thinking_budget_small", "$.thinking.budget_tokens")
    elif isinstance(most, int) and budget >= most:
        yield Found("thinking_budget_large", "$.thinking.budget_tokens")
    choice = reading.raw.get("tool_choice")
    if isinstance(choice, dict) and choice.get("type") in ("any", "tool"):
        yield Found("thinking_forced_tool", "$.tool_choice")


def open_loop(reading: Reading) -> Finds:
    """With manual extended thinking the turn whose calls were just answered starts with its thinking, unchanged."""
    turn = _looping(reading)
    if turn is None or checks_prefixes(reading.model) or reading.thinking.get("type") != "enabled":
        return
    if turn.blocks[0].type not in _THINKING:
        yield Found("thinking_loop_start", turn.blocks[0].path)
    for earlier in map(_other(reading), reading.previous):
        for before in earlier.turns:
            is_same = before.role == "assistant" and _called(before) == _called(turn)
            if is_same and _thought(before) != _thought(turn):
                yield Found("reasoning_loop_changed", turn.path)


def prefixes(reading: Reading) -> Finds:
    has_thinking = any(block.type in _THINKING for block in reading.blocks)
    if has_thinking and checks_prefixes(reading.model):
        yield from reasoning_faults(_units(reading), [_units(each) for each in map(_other(reading), reading.previous)])


def _other(reading: Reading):
    return lambda raw: Reading(raw, reading.model)


def _looping(reading: Reading) -> Turn | None:
    """The first assistant message behind the person's last words, if tools have been called since."""
    first = None
    for turn in reversed(reading.turns):
        if turn.role == "user" and not any(block.type == "tool_result" for block in turn.blocks):
            break
        if turn.role == "assistant" and _called(turn):
            first = turn
    return first if first is not None and reading.turns[-1].role != "assistant" else None


def _called(turn: Turn) -> list[Any]:
    return [block.raw.get("id") for block in turn.blocks if block.type == "tool_use"]


def _thought(turn: Turn) -> list[str]:
    return [canonical(_plain(block.raw)) for block in turn.blocks if block.type in _THINKING]


def _units(reading: Reading) -> list[Unit]:
    tools = [Unit("a tool", raw, _plain, path) for path, raw in reading.tools]
    system = [Unit("instructions", raw, _plain, path) for path, raw in reading.system]
    return [*tools, *system, *map(_unit, reading.blocks)]


def _unit(block: Block) -> Unit:
    mark = block.raw.get("signature") if block.type == "thinking" else block.raw.get("data")
    reasoning = str(mark) if block.type in _THINKING else None
    return Unit(str(block.role), block.raw, _plain, block.path, reasoning)


def _plain(value: Any) -> Any:
    """Without cache breakpoints, and a string as content written out as one text."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if not isinstance(value, dict):
        return value
    plain = {name: _plain(each) for name, each in value.items() if name != "cache_control" and each is not None}
    if plain.get("type") == "tool_result" and isinstance(plain.get("content"), str):
        plain["content"] = [{"type": "text", "text": plain["content"]}]
    return plain


RULES = (marks, places, configuration, open_loop, prefixes)
