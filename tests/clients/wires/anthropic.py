"""Anthropic's messages."""

from collections.abc import Iterator, Mapping
from typing import Any

from tests.clients.views import Entry, Said, Tool, Used, View
from tests.clients.wires.parts import Unit, arguments_of, canonical, event, pieces, text_of
from tests.strict import anthropic as strict

problems = strict.problems


def view(body: Mapping[str, Any]) -> View:
    tools = {
        tool["name"]: Tool(tool["name"], tool.get("description", ""), tool.get("input_schema"))
        for tool in body.get("tools") or []
        if "name" in tool
    }
    thinking = body.get("thinking") or {}
    return View(tools, list(_entries(body)), thinking.get("type") in ("adaptive", "enabled"))


def _entries(body: Mapping[str, Any]) -> Iterator[Entry]:
    names: dict[str, str] = {}
    for message in body["messages"]:
        for block in _blocks(message):
            match block.get("type"):
                case "text":
                    yield Entry(message["role"], block["text"])
                case "tool_use":
                    names[block["id"]] = block["name"]
                    yield Entry("call", arguments_of(block["input"]), block["name"], block["id"])
                case "tool_result":
                    id_ = block["tool_use_id"]
                    yield Entry("result", text_of(block.get("content")), names.get(id_, ""), id_)


def _blocks(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def units(body: Mapping[str, Any]) -> list[Unit]:
    """Tools, then system, then the blocks of the messages: a breakpoint inside a result is one of its block."""
    found = [_unit("tool", tool) for tool in body.get("tools") or []]
    system = body.get("system") or []
    system = [{"type": "text", "text": system}] if isinstance(system, str) else system
    found += [_unit("system", block) for block in system]
    found += [_unit(message["role"], block) for message in body["messages"] for block in _blocks(message)]
    if (whole := body.get("cache_control")) and found:
        found[-1] = found[-1]._replace(mark=whole.get("ttl") or "5m")
    return found


def _unit(speaker: str, block: dict[str, Any]) -> Unit:
    inner = block.get("content")
    marked = [block, *(each for each in (inner if isinstance(inner, list) else ()) if isinstance(each, dict))]
    marks = [each["cache_control"].get("ttl") or "5m" for each in marked if each.get("cache_control")]
    plain = {name: value for name, value in block.items() if name != "cache_control"}
    if block.get("type") == "tool_result" and isinstance(inner, str):
        plain["content"] = [{"type": "text", "text": inner}]
    elif isinstance(inner, list):
        plain["content"] = [{n: v for n, v in each.items() if n != "cache_control"} for each in inner]
    return Unit(speaker + canonical(plain), marks[-1] if marks else None)


def made(body: Mapping[str, Any]) -> Iterator[str]:
    for message in body["messages"]:
        for block in _blocks(message):
            yield from filter(None, (block.get("id"), block.get("signature")))


def marks(number: int, said: Said) -> list[str]:
    """The ids and signatures of the answer to a request."""
    return [f"sig-{number}", *(f"toolu_{number:06d}_{at}" for at in range(len(said.calls)))]


def answer(number: int, said: Said, used: Used, body: Mapping[str, Any]) -> dict[str, Any]:
    thinking = [{"type": "thinking", "thinking": said.thinking, "signature": f"sig-{number}"}] if said.thinking else []
    calls = [
        {"type": "tool_use", "id": f"toolu_{number:06d}_{at}", "name": call.tool.name, "input": call.arguments}
        for at, call in enumerate(said.calls)
    ]
    return {
        "id": f"msg_{number:06d}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": [*thinking, {"type": "text", "text": said.text}, *calls],
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": _usage(used),
    }


def _usage(used: Used) -> dict[str, Any]:
    return {
        "input_tokens": used.plain,
        "cache_read_input_tokens": used.read,
        "cache_creation_input_tokens": used.written + used.written_for_long,
        "cache_creation": {
            "ephemeral_5m_input_tokens": used.written,
            "ephemeral_1h_input_tokens": used.written_for_long,
        },
        "output_tokens": used.output,
    }


def events(number: int, said: Said, used: Used, body: Mapping[str, Any]) -> list[bytes]:
    whole = answer(number, said, used, body)
    usage = whole.pop("usage")
    begin = {**whole, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    told: list[dict[str, Any]] = [{"type": "message_start", "message": begin}, {"type": "ping"}]
    for index, block in enumerate(whole["content"]):
        empty, deltas = _streamed(block)
        told.append({"type": "content_block_start", "index": index, "content_block": empty})
        told += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        told.append({"type": "content_block_stop", "index": index})
    ended = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    told.append({"type": "message_delta", "delta": ended, "usage": usage})
    told.append({"type": "message_stop"})
    return [event(each, each["type"]) for each in told]


def _streamed(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    match block["type"]:
        case "text":
            deltas = [{"type": "text_delta", "text": each} for each in pieces(block["text"])]
            return {**block, "text": ""}, deltas
        case "thinking":
            deltas = [{"type": "thinking_delta", "thinking": each} for each in pieces(block["thinking"])]
            signature = {"type": "signature_delta", "signature": block["signature"]}
            return {**block, "thinking": "", "signature": ""}, [*deltas, signature]
        case _:
            parts = pieces(arguments_of(block["input"]))
            return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": each} for each in parts]


def refusal(status: int, message: str) -> dict[str, Any]:
    kinds = {400: "invalid_request_error", 429: "rate_limit_error", 529: "overloaded_error"}
    return {"type": "error", "error": {"type": kinds.get(status, "api_error"), "message": message}}


TOO_LONG = "prompt is too long: {} tokens > {} maximum"
