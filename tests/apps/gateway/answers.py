"""Answers of the three formats, whole and as streams, and requests that lead to them."""

import json
from typing import Any

from tests.apps.gateway.upstream import Asked, Reply

ANTHROPIC, CHAT, RESPONSES = "/v1/messages", "/v1/chat/completions", "/v1/responses"
TOOL = {"name": "read_file", "description": "Read.", "parameters": {"type": "object", "properties": {}}}
TOOLS = {
    ANTHROPIC: [{"name": TOOL["name"], "description": "Read.", "input_schema": TOOL["parameters"]}],
    CHAT: [{"type": "function", "function": TOOL}],
    RESPONSES: [{"type": "function", **TOOL}],
}
Call = tuple[str, str, str]  # id, name, arguments


def request(path: str, messages: list[Any], *, system: str | None = "Be brief.", **more: Any) -> dict[str, Any]:
    """A request of that format: `messages` are of its own form, but a text is what a person says."""
    said = [{"role": "user", "content": each} if isinstance(each, str) else each for each in messages]
    body: dict[str, Any] = {"model": "model-1", "tools": TOOLS[path], **more}
    if path == ANTHROPIC:
        return body | {"max_tokens": 9, "messages": said} | ({"system": system} if system else {})
    if path == CHAT:
        return body | {"messages": [*([{"role": "system", "content": system}] if system else []), *said]}
    return body | {"input": said} | ({"instructions": system} if system else {})


def said(path: str, text: str, call: Call | None = None) -> list[dict[str, Any]]:
    """What a client sends back of an answer."""
    if path == ANTHROPIC:
        calls = [{"type": "tool_use", "id": call[0], "name": call[1], "input": json.loads(call[2])}] if call else []
        return [{"role": "assistant", "content": [{"type": "text", "text": text}, *calls]}]
    if path == CHAT:
        function = {"name": call[1], "arguments": call[2]} if call else {}
        calls = {"tool_calls": [{"id": call[0], "type": "function", "function": function}]} if call else {}
        return [{"role": "assistant", "content": text, **calls}]
    made = [{"type": "function_call", "call_id": call[0], "name": call[1], "arguments": call[2]}] if call else []
    return [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}, *made]


def result(path: str, call: Call, text: str) -> dict[str, Any]:
    """What a client sends of a tool."""
    if path == ANTHROPIC:
        return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call[0], "content": text}]}
    if path == CHAT:
        return {"role": "tool", "tool_call_id": call[0], "content": text}
    return {"type": "function_call_output", "call_id": call[0], "output": text}


def answer(path: str, text: str, call: Call | None = None, *, id_: str = "r1") -> dict[str, Any]:
    """A whole response."""
    if path == ANTHROPIC:
        return {
            "id": id_, "type": "message", "role": "assistant", "model": "model-1",
            "content": said(path, text, call)[0]["content"],
            "stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None,
            "usage": {"input_tokens": 100, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 0, "output_tokens": 7},
        }  # fmt: skip
    if path == CHAT:
        return {
            "id": id_, "object": "chat.completion", "created": 1, "model": "model-1",
            "choices": [{"index": 0, "message": said(path, text, call)[0], "finish_reason": "tool_calls" if call else "stop"}],
            "usage": {"prompt_tokens": 1000, "completion_tokens": 7, "total_tokens": 1007, "prompt_tokens_details": {"cached_tokens": 900}},
        }  # fmt: skip
    items = [{"id": f"i{index}", "status": "completed", **item} for index, item in enumerate(said(path, text, call))]
    items[0]["content"][0].setdefault("annotations", [])
    return {
        "id": id_, "object": "response", "created_at": 1, "model": "model-1", "status": "completed", "output": items,
        "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
        "usage": {"input_tokens": 1000, "output_tokens": 7, "total_tokens": 1007,
                  "input_tokens_details": {"cached_tokens": 900}, "output_tokens_details": {"reasoning_tokens": 0}},
    }  # fmt: skip


def events(path: str, text: str, call: Call | None = None, *, id_: str = "r1") -> list[bytes]:
    """The same as a stream, an event each."""
    whole = answer(path, text, call, id_=id_)
    made: list[dict[str, Any]]
    if path == ANTHROPIC:
        usage = whole.pop("usage")
        begin = {**whole, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
        made = [{"type": "message_start", "message": begin}, {"type": "ping"}]
        for index, block in enumerate(whole["content"]):
            is_text = block["type"] == "text"
            start = {**block, "text": ""} if is_text else {**block, "input": {}}
            told = block["text"] if is_text else json.dumps(block["input"])
            name, kind = ("text", "text_delta") if is_text else ("partial_json", "input_json_delta")
            made.append({"type": "content_block_start", "index": index, "content_block": start})
            for piece in (told[:3], told[3:]):
                made.append({"type": "content_block_delta", "index": index, "delta": {"type": kind, name: piece}})
            made.append({"type": "content_block_stop", "index": index})
        delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
        made.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 7}})
        made.append({"type": "message_stop"})
        return [_event(each, each["type"]) for each in made]
    if path == CHAT:
        base = {"id": id_, "object": "chat.completion.chunk", "created": 1, "model": "model-1"}
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": text[:3]}, {"content": text[3:]}]
        if call:
            deltas.append(
                {
                    "tool_calls": [
                        {"index": 0, "id": call[0], "type": "function", "function": {"name": call[1], "arguments": ""}}
                    ]
                }
            )
            deltas.append({"tool_calls": [{"index": 0, "function": {"arguments": call[2]}}]})
        made = [base | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
        reason = whole["choices"][0]["finish_reason"]
        made.append(base | {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
        made.append(base | {"choices": [], "usage": whole["usage"]})
        return [*map(_event, made), b"data: [DONE]\n\n"]
    begin = {**whole, "status": "in_progress", "output": [], "usage": None}
    made = [{"type": "response.created", "response": begin}]
    for index, item in enumerate(whole["output"]):
        made.append({"type": "response.output_item.added", "output_index": index, "item": _empty(item)})
        if item["type"] == "message":
            part = item["content"][0]
            place = {"item_id": item["id"], "output_index": index, "content_index": 0}
            made.append({"type": "response.content_part.added", **place, "part": {**part, "text": ""}})
            made += [
                {"type": "response.output_text.delta", **place, "delta": each, "logprobs": []}
                for each in (part["text"][:3], part["text"][3:])
            ]
            made.append({"type": "response.output_text.done", **place, "text": part["text"], "logprobs": []})
        made.append({"type": "response.output_item.done", "output_index": index, "item": item})
    made.append({"type": "response.completed", "response": whole})
    return [_event({**each, "sequence_number": number}, each["type"]) for number, each in enumerate(made)]


def reply(asked: Asked, text: str, call: Call | None = None, *, id_: str = "r1") -> Reply:
    """What an upstream answers to a request: a stream where it asks for one."""
    path = asked.target.partition("?")[0]
    if json.loads(asked.body).get("stream"):
        return Reply(events(path, text, call, id_=id_), headers=[("content-type", "text/event-stream")])
    body = json.dumps(answer(path, text, call, id_=id_)).encode()
    return Reply([body], headers=[("content-type", "application/json")], is_chunked=False)


def _empty(item: dict[str, Any]) -> dict[str, Any]:
    return {**item, "status": "in_progress", **({"content": []} if item["type"] == "message" else {"arguments": ""})}


def _event(data: dict[str, Any], name: str | None = None) -> bytes:
    return (f"event: {name}\n" if name else "").encode() + b"data: " + json.dumps(data).encode() + b"\n\n"
