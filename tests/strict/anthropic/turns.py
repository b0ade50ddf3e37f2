"""Who speaks when, and that every message says something."""

from itertools import pairwise

from tests.strict.anthropic.models import takes_prefill, takes_system_messages
from tests.strict.anthropic.reading import Reading
from tests.strict.findings import Finds, Found
from tests.strict.shapes import ANY, TEXT, Shape, listed

_MESSAGE = Shape(must={"role": TEXT, "content": (str, list)})
_SYSTEM_MESSAGE = Shape(must={"role": TEXT, "content": (str, list)}, may={"output_config": dict})
_IN_SYSTEM_MESSAGES = ("text", "tool_addition", "tool_removal")
_REQUEST = Shape(
    must={"messages": ANY},
    may=dict.fromkeys(
        "model max_tokens system tools tool_choice thinking metadata stop_sequences stream temperature top_k top_p "
        "service_tier container context_management output_config output_format cache_control mcp_servers betas "
        "inference_geo speed diagnostics compaction user_profile_id fallback_credit_token fallbacks".split(),
        ANY,
    ),
)
_WHOLE = Shape(must={"model": TEXT, "max_tokens": int}, may=_REQUEST.must | _REQUEST.may)


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
    for turn in reading.turns:
        shape = _SYSTEM_MESSAGE if turn.role == "system" else _MESSAGE
        yield from shape.faults(turn.raw, turn.path, "message_")
        if "content" in turn.raw and not isinstance(turn.raw["content"], str | list):
            yield Found("content_type", f"{turn.path}.content")


def roles(reading: Reading) -> Finds:
    turns = reading.turns
    for turn in turns:
        if turn.role not in ("user", "assistant", "system"):
            yield Found("role_unknown", f"{turn.path}.role")
    if turns and turns[0].role != "user":
        yield Found("first_not_user", f"{turns[0].path}.role")
    for before, turn in pairwise(turns):
        if turn.role == before.role:
            yield Found("roles_repeat", f"{turn.path}.role")


def system_messages(reading: Reading) -> Finds:
    """A system message is an interjection: behind what the user said or the tools answered, before what the model says."""
    turns = reading.turns
    for at, turn in enumerate(turns):
        if turn.role != "system":
            continue
        if not takes_system_messages(reading.model):
            yield Found("system_role_unsupported", f"{turn.path}.role")
        before = turns[at - 1] if at else None
        ends_in_server_tool = before is not None and before.role == "assistant" and _ends_in_server_tool(before.blocks)
        if before is None or not (before.role == "user" or ends_in_server_tool):
            yield Found("system_role_after", f"{turn.path}.role")
        if at + 1 < len(turns) and turns[at + 1].role != "assistant":
            yield Found("system_role_before", f"{turn.path}.role")
        for block in turn.blocks:
            if block.type not in _IN_SYSTEM_MESSAGES:
                yield Found("system_role_block", block.path)


def _ends_in_server_tool(blocks) -> bool:
    return bool(blocks) and str(blocks[-1].type).endswith(("server_tool_use", "_tool_result"))


def contents(reading: Reading) -> Finds:
    for turn in reading.turns:
        is_last = turn is reading.turns[-1]
        if turn.raw.get("content") in ("", []) and turn.role != "system" and not (is_last and turn.role == "assistant"):
            yield Found("content_empty", f"{turn.path}.content")
        for index, block in enumerate(listed(turn.raw.get("content"))):
            if not isinstance(block, dict):
                yield Found("block_not_object", f"{turn.path}.content[{index}]")


def instructions(reading: Reading) -> Finds:
    system = reading.raw.get("system")
    if system is not None and not isinstance(system, str | list):
        yield Found("system_type", "$.system")
    for index, block in enumerate(listed(system)):
        if not isinstance(block, dict) or block.get("type") != "text":
            yield Found("system_block_type", f"$.system[{index}]")


def last(reading: Reading) -> Finds:
    if not reading.turns or reading.turns[-1].role != "assistant":
        return
    turn = reading.turns[-1]
    if not takes_prefill(reading.model):
        yield Found("prefill_unsupported", turn.path)
    texts = [block for block in turn.blocks[-1:] if block.type == "text"]
    for block in texts:
        text = block.raw.get("text")
        if isinstance(text, str) and text != text.rstrip():
            yield Found("final_text_whitespace", block.path)


RULES = (request, fields, roles, system_messages, contents, instructions, last)
