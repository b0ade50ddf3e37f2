"""OpenAI's responses, as Codex and the SDKs use them: `store` may be on or off."""

from collections.abc import Iterator, Mapping
from typing import Any

from tests.clients.views import Entry, Said, Tool, Used, View
from tests.clients.wires import chat
from tests.clients.wires.parts import Unit, arguments_of, canonical, event, pieces, text_of
from tests.strict import openai_responses as strict

problems = strict.problems
refusal = chat.refusal
TOO_LONG = (
    "Your input exceeds the context window of this model ({} tokens > {}). Please adjust your input and try again."
)
_RESULTS = ("function_call_output", "custom_tool_call_output")
_CALLS = ("function_call", "custom_tool_call")


def view(body: Mapping[str, Any]) -> View:
    tools: dict[str, Tool] = {}
    added = [item.get("tools", ()) for item in _items(body) if item.get("type") == "additional_tools"]
    for given in (body.get("tools") or [], *added):
        tools |= {tool.name: tool for tool in _tools(given, None)}
    return View(tools, list(_entries(body)), bool(body.get("reasoning")))


def _tools(given: Any, namespace: str | None) -> Iterator[Tool]:
    for tool in given:
        match tool.get("type"):
            case "function":
                yield Tool(tool["name"], tool.get("description", ""), tool.get("parameters") or {}, namespace)
            case "custom":
                yield Tool(tool["name"], tool.get("description", ""), None, namespace)
            case "namespace":
                yield from _tools(tool.get("tools", ()), tool["name"])


def _items(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    given = body.get("input") or []
    return [{"role": "user", "content": given}] if isinstance(given, str) else given


def _entries(body: Mapping[str, Any]) -> Iterator[Entry]:
    names: dict[str, str] = {}
    for item in _items(body):
        kind = item.get("type", "message")
        if kind == "message":
            role = item["role"]
            yield Entry("system" if role in ("developer", "system") else role, text_of(item.get("content")))
        elif kind in _CALLS:
            names[item["call_id"]] = item["name"]
            yield Entry("call", item.get("arguments") or item.get("input") or "", item["name"], item["call_id"])
        elif kind in _RESULTS:
            yield Entry("result", text_of(item.get("output")), names.get(item["call_id"], ""), item["call_id"])
        elif kind == "agent_message":
            sealed = [part.get("encrypted_content") or part.get("text", "") for part in item.get("content", ())]
            yield Entry("user", "\n".join(sealed))
        elif kind == "compaction_trigger":
            yield Entry("user", kind)
        elif kind == "compaction":
            yield Entry("user", str(item.get("encrypted_content", "")))


def units(body: Mapping[str, Any]) -> list[Unit]:
    found = [Unit(canonical(tool)) for tool in body.get("tools") or []]
    found += [Unit(canonical(body["instructions"]))] if body.get("instructions") else []
    return [*found, *(Unit(canonical({n: v for n, v in item.items() if n != "id"})) for item in _items(body))]


def made(body: Mapping[str, Any]) -> Iterator[str]:
    for item in _items(body):
        if item.get("type") in _CALLS:
            yield item["call_id"]
        yield from filter(None, (item.get("id"), item.get("encrypted_content")))


def marks(number: int, said: Said) -> list[str]:
    ids = [f"call_{number:06d}_{at}" for at in range(len(said.calls))]
    return [*ids, f"rs_{number:06d}", f"sealed-{number}", f"msg_{number:06d}"]


def answer(number: int, said: Said, used: Used, body: Mapping[str, Any]) -> dict[str, Any]:
    output: list[dict[str, Any]] = []
    if _items(body) and _items(body)[-1].get("type") == "compaction_trigger":
        output.append({"id": f"cmp_{number:06d}", "type": "compaction", "encrypted_content": said.text})
        return _response(number, output, used, body)
    if said.thinking:
        summary = [{"type": "summary_text", "text": said.thinking}]
        reasoning = {"id": f"rs_{number:06d}", "type": "reasoning", "summary": summary}
        output.append({**reasoning, "encrypted_content": f"sealed-{number}"})
    part = {"type": "output_text", "text": said.text, "annotations": [], "logprobs": []}
    message = {"id": f"msg_{number:06d}", "type": "message", "role": "assistant", "status": "completed"}
    output.append({**message, "content": [part]})
    for at, call in enumerate(said.calls):
        call_id = f"call_{number:06d}_{at}"
        id_ = f"{'fc' if call.tool.parameters is not None else 'ctc'}_{call_id}"
        base = {"id": id_, "call_id": call_id, "name": call.tool.name, "status": "completed"}
        base |= {"namespace": call.tool.namespace} if call.tool.namespace else {}
        if call.tool.parameters is None:
            output.append({"type": "custom_tool_call", **base, "input": arguments_of(call.arguments)})
        else:
            output.append({"type": "function_call", **base, "arguments": arguments_of(call.arguments)})
    return _response(number, output, used, body)


def _response(number: int, output: list[dict[str, Any]], used: Used, body: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": f"resp_{number:06d}",
        "object": "response",
        "created_at": 1,
        "model": body.get("model"),
        "status": "completed",
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": used.input,
            "input_tokens_details": {"cached_tokens": used.read},
            "output_tokens": used.output,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": used.input + used.output,
        },
    }


def events(number: int, said: Said, used: Used, body: Mapping[str, Any]) -> list[bytes]:
    whole = answer(number, said, used, body)
    told: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**whole, "status": "in_progress", "output": [], "usage": None}}
    ]
    for index, item in enumerate(whole["output"]):
        told.append({"type": "response.output_item.added", "output_index": index, "item": _begun(item)})
        told += [{**each, "item_id": item["id"], "output_index": index} for each in _deltas(item)]
        told.append({"type": "response.output_item.done", "output_index": index, "item": item})
    told.append({"type": "response.completed", "response": whole})
    return [event({**each, "sequence_number": at}, each["type"]) for at, each in enumerate(told)]


def _begun(item: dict[str, Any]) -> dict[str, Any]:
    empty = {"message": {"content": []}, "function_call": {"arguments": ""}, "custom_tool_call": {"input": ""}}
    state = {"status": "in_progress"} if "status" in item else {}
    return {**item, **state, **empty.get(item["type"], {})}


def _deltas(item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    match item["type"]:
        case "message":
            (part,) = item["content"]
            at = {"content_index": 0}
            yield {"type": "response.content_part.added", **at, "part": {**part, "text": ""}}
            for each in pieces(part["text"]):
                yield {"type": "response.output_text.delta", **at, "delta": each, "logprobs": []}
            yield {"type": "response.output_text.done", **at, "text": part["text"], "logprobs": []}
            yield {"type": "response.content_part.done", **at, "part": part}
        case "function_call":
            for each in pieces(item["arguments"]):
                yield {"type": "response.function_call_arguments.delta", "delta": each}
            done = {"name": item["name"], "arguments": item["arguments"]}
            yield {"type": "response.function_call_arguments.done", **done}
        case "custom_tool_call":
            for each in pieces(item["input"]):
                yield {"type": "response.custom_tool_call_input.delta", "delta": each}
            yield {"type": "response.custom_tool_call_input.done", "input": item["input"]}
