"""Sessions as Claude Code and Codex record them, generated into a home folder."""

import json
from pathlib import Path

from pageturn.formats import anthropic, openai_responses
from pageturn.lab.synthetic_coding import coding_session
from pageturn.values.messages import ToolCall, assistant, tool_result
from pageturn.values.prompt import Prompt

FOUND = "migrations/0042_sessions.py:17: the migration drops the index ix_sessions_token; it was dropped on 2 March"

_LETTERS = 4  # of a token, about


def record(home: Path) -> None:
    """One session of each tool, and a log of requests of a program of one's own."""
    _claude_code(home / ".claude" / "projects" / "shop" / "bee00000-0000-7000-8000-000000000001.jsonl")
    _codex(home / ".codex" / "sessions" / "2026" / "03" / "02" / "rollout-2026-03-02T09-00-00.jsonl")
    messages = [{"role": "user", "content": "Fix the login."}, {"role": "assistant", "content": "It works again."}]
    _write(home / "logs" / "session.jsonl", [{"model": "gpt-5", "messages": messages}])


def _claude_code(path: Path) -> None:
    messages = list(coding_session(5, 120).messages[1:])
    look = ToolCall(id="call_look", name="grep", arguments='{"pattern":"drop_index"}')
    messages[1:1] = [assistant("I look for dropped indexes.", look), tool_result(look, FOUND)]
    said = anthropic.dump(Prompt(messages=tuple(messages), model="claude-sonnet-5"))["messages"]
    common = {"isSidechain": False, "sessionId": path.stem, "cwd": "/home/ada/shop", "parentUuid": None}
    lines = []
    read, size = 0, 0
    for at, message in enumerate(said):
        size += len(json.dumps(message)) // _LETTERS
        if message["role"] == "assistant":
            usage = {"input_tokens": 1, "cache_read_input_tokens": read, "cache_creation_input_tokens": size - read}
            message |= {"id": f"msg_{at}", "type": "message", "model": "claude-sonnet-5"}
            message["usage"] = usage | {"output_tokens": len(json.dumps(message["content"])) // _LETTERS}
            read = size
        when = f"2026-03-01T10:{at // 60:02}:{at % 60:02}.000Z"
        lines.append(common | {"type": message["role"], "uuid": f"u-{at}", "timestamp": when, "message": message})
    _write(path, lines)


def _codex(path: Path) -> None:
    items = openai_responses.dump(Prompt(messages=coding_session(8, 30).messages[1:], model="gpt-5"))["input"]
    about = {"id": "c10c0000-0000-7000-8000-000000000002", "cwd": "/home/ada/clock", "cli_version": "0.99.0"}
    lines = [{"type": "session_meta", "payload": about}, {"type": "turn_context", "payload": {"model": "gpt-5"}}]
    for item in items:
        lines.append({"type": "response_item", "payload": {"type": "message", **item}})
        if item.get("type") == "function_call":
            sent = len(json.dumps(lines)) // _LETTERS
            counts = {"last_token_usage": {"input_tokens": sent, "cached_input_tokens": 0, "output_tokens": 30}}
            lines.append({"type": "event_msg", "payload": {"type": "token_count", "info": counts}})
    _write(
        path, [{"timestamp": f"2026-03-02T09:{at // 60:02}:{at % 60:02}.000Z", **line} for at, line in enumerate(lines)]
    )


def _write(path: Path, lines: list[dict]) -> None:
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
