"""OpenAI's chat completions."""

from collections.abc import Iterator, Mapping
from typing import Any

from tests.clients.views import Entry, Said, Tool, Used, View
from tests.clients.wires.parts import Unit, arguments_of, canonical, event, pieces, text_of
from tests.strict import openai_chat as strict

problems = strict.problems


def view(body: Mapping[str, Any]) -> View:
    functions = [tool["function"] for tool in body.get("tools") or [] if "function" in tool]
    tools = {
        each["name"]: Tool(each["name"], each.get("description", ""), each.get("parameters")) for each in functions
    }
    return View(tools, list(_entries(body)))


def _entries(body: Mapping[str, Any]) -> Iterator[Entry]:
    names: dict[str, str] = {}
    for message in body["messages"]:
        role = message["role"]
        if role == "tool":
            id_ = message["tool_call_id"]
            yield Entry("result", text_of(message.get("content")), names.get(id_, ""), id_)
            continue
        if text := text_of(message.get("content")):
            yield Entry("system" if role == "developer" else role, text)
        for call in message.get("tool_calls") or []:
            names[call["id"]] = call["function"]["name"]
            yield Entry("call", call["function"]["arguments"], call["function"]["name"], call["id"])


def units(body: Mapping[str, Any]) -> list[Unit]:
    tools = [Unit(canonical(tool)) for tool in body.get("tools") or []]
    return [*tools, *(Unit(canonical(_plain(message))) for message in body["messages"])]


def _plain(message: dict[str, Any]) -> dict[str, Any]:
    parts = message.get("content")
    if not isinstance(parts, list):
        return message
    kept = [{n: v for n, v in part.items() if n != "cache_control"} for part in parts]
    is_text = len(kept) == 1 and kept[0].get("type") == "text"
    return {**message, "content": kept[0]["text"] if is_text else kept}


def made(body: Mapping[str, Any]) -> Iterator[str]:
    for message in body["messages"]:
        for call in message.get("tool_calls") or []:
            yield call["id"]


def marks(number: int, said: Said) -> list[str]:
    return [f"call_{number:06d}_{at}" for at in range(len(said.calls))]


def answer(number: int, said: Said, used: Used, body: Mapping[str, Any]) -> dict[str, Any]:
    calls = [
        {
            "id": f"call_{number:06d}_{at}",
            "type": "function",
            "function": {"name": call.tool.name, "arguments": arguments_of(call.arguments)},
        }
        for at, call in enumerate(said.calls)
    ]
    message: dict[str, Any] = {"role": "assistant", "content": said.text, **({"tool_calls": calls} if calls else {})}
    return {
        "id": f"chatcmpl-{number:06d}",
        "object": "chat.completion",
        "created": 1,
        "model": body.get("model"),
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}],
        "usage": {
            "prompt_tokens": used.input,
            "completion_tokens": used.output,
            "total_tokens": used.input + used.output,
            "prompt_tokens_details": {"cached_tokens": used.read},
        },
    }


def events(number: int, said: Said, used: Used, body: Mapping[str, Any]) -> list[bytes]:
    whole = answer(number, said, used, body)
    (choice,) = whole["choices"]
    base = {name: whole[name] for name in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": each} for each in pieces(said.text)]
    for index, call in enumerate(choice["message"].get("tool_calls", ())):
        begun = {**call, "function": {**call["function"], "arguments": ""}}
        deltas.append({"tool_calls": [{"index": index, **begun}]})
        deltas += [
            {"tool_calls": [{"index": index, "function": {"arguments": each}}]}
            for each in pieces(call["function"]["arguments"])
        ]
    told = [{**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    told.append({**base, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]})
    told.append({**base, "choices": [], "usage": whole["usage"]})
    return [*map(event, told), b"data: [DONE]\n\n"]


def refusal(status: int, message: str) -> dict[str, Any]:
    kinds = {400: "invalid_request_error", 429: "rate_limit_exceeded"}
    code = "context_length_exceeded" if "context length" in message or "context window" in message else None
    return {"error": {"message": message, "type": kinds.get(status, "server_error"), "param": None, "code": code}}


TOO_LONG = "This model's maximum context length is {1} tokens. However, your messages resulted in {0} tokens."
