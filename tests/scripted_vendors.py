"""A server in place of every vendor: its model calls a tool, calls recall, and then is done, in the form of the vendor that is asked."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

from tests.formats.upstream import Upstream, upstream

CALLS = (("bash", {"command": "echo ok"}), ("recall", {"query": "login"}), None)


@contextmanager
def scripted_vendors(monkeypatch) -> Iterator[Upstream]:
    """The server, to which the official clients are led by their variables."""
    with upstream() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
        for vendor in ("OPENAI", "ANTHROPIC", "GEMINI"):
            monkeypatch.setenv(f"{vendor}_API_KEY", "none")
        turns = count()
        server.by_path = lambda path: reply(path, CALLS[min(next(turns), len(CALLS) - 1)])
        yield server


def reply(path, call):
    """The answer of the vendor that has this path."""
    if "chat/completions" in path:
        return chat_completion(call)
    if "responses" in path:
        return response(call)
    return message(call) if "messages" in path else generated(call)


def chat_completion(call):
    said = {"role": "assistant", "content": None if call else "Done."}
    if call:
        function = {"name": call[0], "arguments": json.dumps(call[1])}
        said["tool_calls"] = [{"id": f"call_{call[0]}", "type": "function", "function": function}]
    choice = {"index": 0, "message": said, "finish_reason": "tool_calls" if call else "stop"}
    usage = {"prompt_tokens": 900, "completion_tokens": 9, "total_tokens": 909}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "gpt-5", "choices": [choice], "usage": usage}


def response(call):
    if call:
        arguments = json.dumps(call[1])
        item = {"type": "function_call", "id": f"fc_{call[0]}", "call_id": f"call_{call[0]}", "name": call[0]}
        item |= {"arguments": arguments, "status": "completed"}
    else:
        text = {"type": "output_text", "text": "Done.", "annotations": []}
        item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]}
    usage = {"input_tokens": 900, "output_tokens": 9, "total_tokens": 909}
    usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    made = {"id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-5", "status": "completed"}
    return {**made, "output": [item], "usage": usage, "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}


def message(call):
    text = {"type": "text", "text": "Done."}
    block = {"type": "tool_use", "id": f"toolu_{call[0]}", "name": call[0], "input": call[1]} if call else text
    made = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5", "content": [block]}
    usage = {"input_tokens": 900, "output_tokens": 9}
    return {**made, "stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None, "usage": usage}


def generated(call):
    part = {"functionCall": {"name": call[0], "args": call[1]}} if call else {"text": "Done."}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    return {"candidates": [candidate], "usageMetadata": {"promptTokenCount": 900, "candidatesTokenCount": 9}}
