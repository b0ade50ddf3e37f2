"""An agent that works for many turns through a gateway, and the strict provider behind it."""

import json
import time
from typing import Any

from tests.apps.gateway.answers import ANTHROPIC, CHAT, RESPONSES, TOOLS, events, result, said
from tests.apps.gateway.answers import answer as whole_answer
from tests.apps.gateway.upstream import WAIT, Asked, Reply
from tests.strict import anthropic, openai_chat, openai_responses

STRICT = {ANTHROPIC: anthropic, CHAT: openai_chat, RESPONSES: openai_responses}
MODELS = {ANTHROPIC: "claude-opus-5-5", CHAT: "gpt-5", RESPONSES: "gpt-5"}
ITEMS = {ANTHROPIC: "messages", CHAT: "messages", RESPONSES: "input"}


def large(number: int, size: int = 1_500) -> str:
    """A large result of a tool, unlike any other."""
    lines = (f"src/module_{number}/file_{at}.py:{at}: value_{number}_{at} = {number * at}" for at in range(size // 50))
    return "\n".join(lines)


class Provider:
    """Answers every call with another call of a tool, refuses what a strict provider would, and remembers what came."""

    def __init__(self, path: str, *, streams: bool = False, thinks: bool = False) -> None:
        self.path, self.streams, self.thinks = path, streams, thinks
        self.bodies: list[dict[str, Any]] = []
        self.problems: list[str] = []
        self.calls = 0

    def __call__(self, asked: Asked) -> Reply:
        body = json.loads(asked.body)
        found = STRICT[self.path].problems(body, model=MODELS[self.path], previous=self.bodies, whole=True)
        self.problems += map(str, found)
        self.bodies.append(body)
        return self.reply(asked, body)

    def reply(self, asked: Asked, body: dict[str, Any]) -> Reply:
        self.calls += 1
        call = (f"toolu_{self.calls:016}", "read_file", json.dumps({"path": f"src/file_{self.calls}.py"}))
        return self.answered(f"Step {self.calls}.", call, self.calls)

    def answered(self, text: str, call: tuple[str, str, str] | None, number: int) -> Reply:
        tokens = len(json.dumps(self.bodies[-1])) // 4
        if self.streams:
            pieces = events(self.path, text, call, id_=f"r{number}")
            return Reply(pieces, headers=[("content-type", "text/event-stream")])
        answer = whole_answer(self.path, text, call, id_=f"r{number}")
        if self.path == ANTHROPIC:
            answer["usage"] = {"input_tokens": tokens, "output_tokens": 7}
            if self.thinks:
                thought = {
                    "type": "thinking",
                    "thinking": f"Thought {number}.",
                    "signature": f"sig-{number}-{'x' * 40}",
                }
                answer["content"].insert(0, thought)
        elif self.path == CHAT:
            answer["usage"] = {"prompt_tokens": tokens, "completion_tokens": 7, "total_tokens": tokens + 7}
        else:
            for item in answer["output"]:
                item["id"] = f"{'fc' if item['type'] == 'function_call' else 'msg'}_{number}"
            answer["usage"] |= {"input_tokens": tokens, "output_tokens": 7, "total_tokens": tokens + 7}
            if self.thinks:
                thought = {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": f"enc-{number}-{'x' * 40}"}  # fmt: skip
                answer["output"].insert(0, thought)
        return Reply([json.dumps(answer).encode()], headers=[("content-type", "application/json")])


class Agent:
    """A client with a history in its vendor's form."""

    def __init__(self, path: str, headers: dict[str, str] | None = None, **fields: Any) -> None:
        self.path = path
        self.headers = headers or {}
        self.history: list[dict[str, Any]] = []
        self.fields: dict[str, Any] = {"model": MODELS[path], "tools": TOOLS[path], **fields}
        if path == ANTHROPIC:
            self.fields = {"max_tokens": 99, "system": [{"type": "text", "text": "You are an agent."}], **self.fields}
        elif path == RESPONSES:
            self.fields = {"instructions": "You are an agent.", "store": False, "include": ["reasoning.encrypted_content"], **self.fields}  # fmt: skip
        self.answers: list[Any] = []

    def says(self, text: str) -> None:
        content = [{"type": "input_text", "text": text}] if self.path == RESPONSES else text
        kind = {"type": "message"} if self.path == RESPONSES else {}
        self.history.append({**kind, "role": "user", "content": content})

    def body(self) -> bytes:
        items = self.history
        if self.path == CHAT:
            items = [{"role": "system", "content": "You are an agent."}, *items]
        return json.dumps({**self.fields, ITEMS[self.path]: items}).encode()

    def turn(self, ask: Any, gateway: Any, **headers: str) -> dict[str, Any]:
        """One request; the answer goes into the history."""
        answered = ask(gateway, "POST", self.path, self.body(), {**self.headers, **headers})
        body = answered.read()
        self.answers.append(answered)
        assert answered.status == 200, body
        reply: dict[str, Any] = json.loads(body)
        self.take(reply)
        return reply

    def take(self, reply: dict[str, Any]) -> None:
        if self.path == ANTHROPIC:
            self.history.append({"role": "assistant", "content": reply["content"]})
        elif self.path == CHAT:
            self.history.append(reply["choices"][0]["message"])
        else:
            self.history += reply["output"]

    def calls(self, reply: dict[str, Any]) -> list[str]:
        if self.path == ANTHROPIC:
            return [block["id"] for block in reply["content"] if block["type"] == "tool_use"]
        if self.path == CHAT:
            return [call["id"] for call in reply["choices"][0]["message"].get("tool_calls", [])]
        return [item["call_id"] for item in reply["output"] if item["type"] == "function_call"]

    def brings(self, call: str, text: str) -> None:
        self.history.append(result(self.path, (call, "", ""), text))

    def works(self, ask: Any, gateway: Any, turns: int, size: int = 1_500) -> None:
        """Go on for so many turns, with large results."""
        for _ in range(turns):
            reply = self.turn(ask, gateway)
            for call in self.calls(reply):
                self.brings(call, large(len(self.history), size))


def wait_for_turns(turns: int, *gateways: Any) -> None:
    """Wait until so many are written: a client has its answer a moment before."""
    late = time.monotonic() + WAIT
    while sum(gateway.mode.tally().turns for gateway in gateways) < turns:
        assert time.monotonic() < late
        time.sleep(0.005)


__all__ = ["ANTHROPIC", "CHAT", "RESPONSES", "Agent", "Provider", "large", "said", "wait_for_turns"]
