"""A random client: what it does with its history from request to request, and how it writes the same thing differently each time.

It is the model of what was meant: its history is a list of items in the vendor's own form, and whatever it does, the session that a
request goes to must say just that history.
"""

import copy
import json
import random
from typing import Any

from tests.apps.gateway.answers import ANTHROPIC, CHAT, RESPONSES, TOOLS

MARK = {"cache_control": {"type": "ephemeral"}}
REMINDER = "<system-reminder>Today is {}.</system-reminder>"
Items = list[dict[str, Any]]


class Client:
    """One client with one history."""

    def __init__(self, rng: random.Random, path: str, headers: dict[str, str], number: int) -> None:
        self.rng = rng
        self.path = path
        self.headers = headers
        self.number = number
        self.system = rng.choice(["Be brief.", "You are an agent."])
        self.history: Items = []
        self.calls = 0
        self.follows = False  # it sends what is new since an answer, where the provider keeps that
        self.answered: tuple[str, Items] | None = (
            None  # the last answer that it may follow, and its history up to there
        )

    def subagent(self, number: int) -> "Client":
        """A subagent of Codex, which begins with the history of its parent."""
        other = self.twin()
        other.headers = {"thread-id": f"t{number}", "x-codex-parent-thread-id": self.headers["thread-id"]}
        other.number = number
        return other

    def twin(self) -> "Client":
        """The same again, as when a conversation is continued in two windows."""
        other = copy.copy(self)
        other.history = copy.deepcopy(self.history)
        other.calls += 1000
        return other

    # -- what it says

    def ask(self, text: str) -> None:
        if self.path == RESPONSES:
            self.history.append({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
        else:
            self.history.append({"role": "user", "content": text})

    def show(self, picture: str) -> None:
        """A picture, which is in the history from now on."""
        url = f"https://pictures.invalid/{picture}.png"
        if self.path == ANTHROPIC:
            part: dict[str, Any] = {"type": "image", "source": {"type": "url", "url": url}}
        elif self.path == CHAT:
            part = {"type": "image_url", "image_url": {"url": url}}
        else:
            part = {"type": "input_image", "image_url": url}
        kind = {"type": "message"} if self.path == RESPONSES else {}
        words = {"type": "input_text" if self.path == RESPONSES else "text", "text": "Look."}
        self.history.append({**kind, "role": "user", "content": [words, part]})

    def bring_results(self, calls: list[tuple[str, str]], texts: list[str]) -> None:
        made = []
        for (id_, _), text in zip(calls, texts, strict=True):
            if self.path == ANTHROPIC:
                made.append({"type": "tool_result", "tool_use_id": id_, "content": text})
            elif self.path == CHAT:
                made.append({"role": "tool", "tool_call_id": id_, "content": text})
            else:
                made.append({"type": "function_call_output", "call_id": id_, "output": text})
        if self.path == ANTHROPIC:
            self.history.append({"role": "user", "content": made})
        else:
            self.history += made

    def say_in_the_middle(self, text: str) -> None:
        """Instructions in the middle of a conversation, as some clients count tokens with."""
        if self.path == RESPONSES:
            self.history.append(
                {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": text}]}
            )
        else:
            self.history.append({"role": "system", "content": text})

    def reply(self, text: str, calls: list[tuple[str, str]], thought: str | None) -> dict[str, Any]:
        """What a model answers, as a whole response."""
        if self.path == ANTHROPIC:
            content: Items = [{"type": "thinking", "thinking": thought, "signature": f"s{thought}"}] if thought else []
            content += [{"type": "text", "text": text}] if text else []
            content += [{"type": "tool_use", "id": i, "name": "read", "input": {"path": p, "n": 1.0}} for i, p in calls]
            return {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": content, "usage": {"input_tokens": 1, "output_tokens": 1}, "stop_reason": "end_turn"}  # fmt: skip
        if self.path == CHAT:
            message: dict[str, Any] = {"role": "assistant", "content": text}
            if calls:
                message["tool_calls"] = [
                    {"id": i, "type": "function", "function": {"name": "read", "arguments": json.dumps({"path": p, "n": 1.0})}}
                    for i, p in calls
                ]  # fmt: skip
            return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
        items: Items = (
            [
                {
                    "type": "reasoning",
                    "id": f"rs_{self.rng.randint(1, 10**12)}",
                    "summary": [],
                    "encrypted_content": thought,
                }
            ]
            if thought
            else []
        )
        if text:
            items.append({"type": "message", "role": "assistant", "id": f"msg_{self.rng.randint(1, 10**12)}", "status": "completed", "content": [{"type": "output_text", "text": text, "annotations": []}]})  # fmt: skip
        items += [{"type": "function_call", "call_id": i, "name": "read", "arguments": json.dumps({"path": p, "n": 1.0})} for i, p in calls]  # fmt: skip
        return {"id": f"resp_{self.rng.random()}", "object": "response", "status": "completed", "output": items}

    def keep(self, response: dict[str, Any]) -> None:
        """Take a response into the history."""
        if self.path == ANTHROPIC:
            self.history.append({"role": "assistant", "content": copy.deepcopy(response["content"])})
        elif self.path == CHAT:
            self.history.append(copy.deepcopy(response["choices"][0]["message"]))
        else:
            self.history += copy.deepcopy(response["output"])
            self.answered = (response["id"], copy.deepcopy(self.history)) if self.follows else None

    # -- how it writes it

    def body(self) -> dict[str, Any]:
        """A request with the history, written as it likes today."""
        known, follows = self._followed()
        items = [self._written(item) for item in copy.deepcopy(self.history[known:])]
        if self.path == ANTHROPIC and items and items[-1]["role"] == "user":
            content = items[-1]["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            items[-1] = {**items[-1], "content": [*blocks[:-1], {**blocks[-1], **MARK}]} if blocks else items[-1]
        body: dict[str, Any] = {"model": "model-1", "tools": TOOLS[self.path]}
        if self.path == ANTHROPIC:
            body["max_tokens"] = 9
            line = {"type": "text", "text": f"x-anthropic-billing-header: cch={self.rng.random()};"}
            return body | {"system": [line, {"type": "text", "text": self.system}], "messages": items}
        if self.path == CHAT:
            return body | {"messages": [{"role": "system", "content": self.system}, *items]}
        return body | {"instructions": self.system, "input": items, "store": self.follows, **follows}

    def _followed(self) -> tuple[int, dict[str, str]]:
        """How much of the history the provider has, and how the request says so."""
        if self.answered is None or self.history[: len(self.answered[1])] != self.answered[1]:
            return 0, {}
        return len(self.answered[1]), {"previous_response_id": self.answered[0]}

    def _written(self, item: dict[str, Any]) -> dict[str, Any]:
        if self.path == ANTHROPIC:
            content = self._content(item)
            return {**item, "content": content} if content else item
        if self.path == CHAT and item.get("tool_calls"):
            for call in item["tool_calls"]:
                call["function"]["arguments"] = _respelt(call["function"]["arguments"], self.rng)
        elif item.get("type") == "function_call":
            item["arguments"] = _respelt(item["arguments"], self.rng)
        if item.get("id") and self.rng.random() < 0.3:
            item.pop("id")
        return item

    def _content(self, item: dict[str, Any]) -> Any:
        rng, content = self.rng, item["content"]
        if isinstance(content, str):
            return [{"type": "text", "text": content}] if rng.random() < 0.3 else content
        content = [self._with_input(each) for each in content if each["type"] != "thinking" or rng.random() < 0.8]
        if len(content) > 1 and all(block["type"] == "tool_result" for block in content):
            rng.shuffle(content)
        if item["role"] == "user" and rng.random() < 0.2:
            content.append({"type": "text", "text": REMINDER.format(rng.random())})
        if [block["type"] for block in content[:2]] == ["text", "tool_use"] and rng.random() < 0.1:
            return content[1:]
        return content

    def _with_input(self, block: dict[str, Any]) -> dict[str, Any]:
        if block["type"] == "tool_use" and self.rng.random() < 0.5:
            return {**block, "input": json.loads(_respelt(json.dumps(block["input"]), self.rng))}
        return block


def _respelt(text: str, rng: random.Random) -> str:
    value = {name: 1 if each == 1.0 else each for name, each in json.loads(text).items()}
    return json.dumps(value, separators=(",", ":"), sort_keys=rng.random() < 0.5)
