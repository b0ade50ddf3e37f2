"""A small agent of our own, on each wire: it sends its whole history every time, as real clients do, and runs what the model calls.

It stands in where no real client can: in tests that must be small, and in the comparison of costs.
"""

import http.client
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.clients.wires.parts import arguments_of

MODELS = {
    "/v1/messages": "claude-opus-5-5",
    "/v1/chat/completions": "gpt-5.1",
    "/v1/responses": "gpt-6.1-sol",
}
_PARAMETERS = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
_MARK = {"type": "ephemeral"}
_MOST_STEPS = 1_000


class Refused(Exception):
    """The provider did not answer."""


class Agent:
    """One conversation."""

    def __init__(self, url: str, path: str, work: Path, *, system: str = "You walk.", **headers: str) -> None:
        self._place = urlsplit(url)
        self._path = path
        self._work = work
        self._system = system
        self._headers = {"content-type": "application/json", "x-api-key": "canary", "authorization": "Bearer canary"}
        self._headers |= {name.replace("_", "-"): value for name, value in headers.items()}
        self.history: list[dict[str, Any]] = []
        self.notes: list[str] = []  # what the gateway said of each call
        self._connection: http.client.HTTPConnection | None = None

    def go_to(self, url: str) -> None:
        """Ask there from now on."""
        self.close()
        self._place = urlsplit(url)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def run(self, prompt: str) -> str:
        """Work until the model calls nothing more; its last words."""
        try:
            return self._work_on(prompt)
        finally:
            self.close()

    def _work_on(self, prompt: str) -> str:
        self.history.append({"role": "user", "content": prompt})
        for _ in range(_MOST_STEPS):
            text, calls = self._turn()
            if not calls:
                return text
            self._answer([(id_, self._do(arguments)) for id_, arguments in calls])
        raise Refused("it never ends")

    def _do(self, arguments: str) -> str:
        command = json.loads(arguments)["command"]
        done = subprocess.run(["sh", "-c", command], cwd=self._work, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr or "(nothing)"

    def _turn(self) -> tuple[str, list[tuple[str, str]]]:
        body = json.dumps(self._body()).encode()
        if self._connection is None:
            self._connection = http.client.HTTPConnection(str(self._place.hostname), self._place.port, timeout=120)
        self._connection.request("POST", self._path, body, self._headers)
        response = self._connection.getresponse()
        told = response.read()
        self.notes.append(response.getheader("x-pageturn") or "")
        if response.status != 200:
            raise Refused(f"{response.status}: {told.decode()}")
        return self._take([json.loads(each) for each in _data(told)])

    def _body(self) -> dict[str, Any]:
        model, stream = MODELS[self._path], True
        match self._path:
            case "/v1/messages":
                tool = {"name": "bash", "description": "Run a command.", "input_schema": _PARAMETERS}
                system = [{"type": "text", "text": self._system, "cache_control": _MARK}]
                given: dict[str, Any] = {"system": system, "messages": _marked(self.history), "max_tokens": 8_000}
                given["thinking"] = {"type": "adaptive"}
            case "/v1/chat/completions":
                tool = {"type": "function", "function": {"name": "bash", "parameters": _PARAMETERS}}
                given = {"messages": [{"role": "system", "content": self._system}, *self.history]}
            case _:
                tool = {"type": "function", "name": "bash", "parameters": _PARAMETERS, "strict": False}
                given = {"instructions": self._system, "input": self.history, "store": False}
                given |= {"include": ["reasoning.encrypted_content"], "reasoning": {"effort": "low"}}
        return {"model": model, "stream": stream, "tools": [tool], **given}

    def _answer(self, results: list[tuple[str, str]]) -> None:
        match self._path:
            case "/v1/messages":
                told = [{"type": "tool_result", "tool_use_id": id_, "content": text} for id_, text in results]
                self.history.append({"role": "user", "content": told})
            case "/v1/chat/completions":
                self.history += [{"role": "tool", "tool_call_id": id_, "content": text} for id_, text in results]
            case _:
                self.history += [
                    {"type": "function_call_output", "call_id": id_, "output": text} for id_, text in results
                ]

    def _take(self, events: list[dict[str, Any]]) -> tuple[str, list[tuple[str, str]]]:
        """Take what the model said into the history, and give its text and its calls."""
        match self._path:
            case "/v1/messages":
                return self._take_blocks(events)
            case "/v1/chat/completions":
                return self._take_deltas(events)
            case _:
                done = next(each for each in events if each["type"] == "response.completed")
                items = done["response"]["output"]
                self.history += items
                texts = [part["text"] for item in items if item["type"] == "message" for part in item["content"]]
                calls = [item for item in items if item["type"] == "function_call"]
                return "".join(texts), [(call["call_id"], call["arguments"]) for call in calls]

    def _take_blocks(self, events: list[dict[str, Any]]) -> tuple[str, list[tuple[str, str]]]:
        blocks: list[dict[str, Any]] = []
        inputs: dict[int, str] = {}
        for event in events:
            if event["type"] == "content_block_start":
                blocks.append(dict(event["content_block"]))
            elif event["type"] == "content_block_delta":
                delta = event["delta"]
                for name in ("text", "thinking", "signature"):
                    if name in delta:
                        blocks[event["index"]][name] = blocks[event["index"]].get(name, "") + delta[name]
                if "partial_json" in delta:
                    inputs[event["index"]] = inputs.get(event["index"], "") + delta["partial_json"]
        assert any(event["type"] == "message_stop" for event in events)
        for index, told in inputs.items():
            blocks[index]["input"] = json.loads(told)
        self.history.append({"role": "assistant", "content": blocks})
        calls = [(each["id"], arguments_of(each["input"])) for each in blocks if each["type"] == "tool_use"]
        return "".join(each["text"] for each in blocks if each["type"] == "text"), calls

    def _take_deltas(self, events: list[dict[str, Any]]) -> tuple[str, list[tuple[str, str]]]:
        text, calls = "", {}
        for event in events:
            for choice in event["choices"]:
                text += choice["delta"].get("content") or ""
                for call in choice["delta"].get("tool_calls") or ():
                    known = calls.setdefault(call["index"], {"id": "", "name": "", "arguments": ""})
                    known["id"] += call.get("id") or ""
                    known["name"] += call["function"].get("name") or ""
                    known["arguments"] += call["function"].get("arguments") or ""
        made = [
            {"id": each["id"], "type": "function", "function": {"name": each["name"], "arguments": each["arguments"]}}
            for each in calls.values()
        ]
        self.history.append({"role": "assistant", "content": text, **({"tool_calls": made} if made else {})})
        return text, [(each["id"], each["arguments"]) for each in calls.values()]


def _data(told: bytes) -> Iterator[bytes]:
    for line in told.split(b"\n"):
        if line.startswith(b"data: ") and line != b"data: [DONE]":
            yield line.removeprefix(b"data: ")


def _marked(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """With a breakpoint at the end, as clients have it."""
    last = history[-1]
    content = last["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return [*history[:-1], {**last, "content": [*blocks[:-1], {**blocks[-1], "cache_control": _MARK}]}]
