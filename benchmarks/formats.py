"""Formats and imports: reading logs beside json.loads of the same lines, importing into a store, dumping a context."""

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

import pageturn as pt
from benchmarks.stopwatch import best_ms
from benchmarks.values import sample_messages
from pageturn.apps.importing import Report, import_file
from pageturn.apps.importing.files import FileSource
from pageturn.formats import anthropic, gemini, openai_chat, openai_responses
from pageturn.formats.transcripts import claude_code, codex
from pageturn.formats.transcripts.steps import Reader
from pageturn.stores import SqliteStore

CONTEXT = 500
MESSAGES = 4_000


def show(console: Console) -> None:
    with tempfile.TemporaryDirectory() as folder:
        logs = {
            "Claude Code": (claude_code, Path(folder) / "claude.jsonl"),
            "Codex": (codex, Path(folder) / "codex.jsonl"),
        }
        logs["Claude Code"][1].write_bytes(b"\n".join(claude_code_lines()))
        logs["Codex"][1].write_bytes(b"\n".join(codex_lines()))
        imports(console, logs, Path(folder))
    dumps(console)


def imports(console: Console, logs: Mapping[str, tuple[Reader, Path]], folder: Path) -> None:
    table = Table(title="Synthetic sessions in the format of each tool", title_justify="left")
    for column in ("", "MB", "read, MB/s", "json.loads, MB/s", "read takes", "goal", "import, MB/s", "goal"):
        table.add_column(column, justify="left" if not column else "right")
    for name, (reader, path) in logs.items():
        size = path.stat().st_size / 1e6
        with path.open("rb") as lines:
            plain = best_ms(lambda: [json.loads(line) for line in lines] + [lines.seek(0)])
        read = best_ms(lambda: list(reader.read(FileSource(path))))  # noqa: B023
        start = perf_counter()
        store = SqliteStore(str(folder / f"{reader.NAME}.db"))
        import_file(store, path, Report())
        store.close()
        took = perf_counter() - start
        rates = (f"{size * 1e3 / read:.0f}", f"{size * 1e3 / plain:.0f}", f"{read / plain:.1f}x as long", "3x")
        table.add_row(name, f"{size:.1f}", *rates, f"{size / took:.1f}", "5")
    console.print(table)


def dumps(console: Console) -> None:
    messages = sample_messages()[:CONTEXT]
    table = Table(title=f"A context of {CONTEXT} messages for each vendor", title_justify="left")
    for column in ("", "dump, ms", "goal", "load, ms"):
        table.add_column(column, justify="left" if not column else "right")
    for vendor in (openai_chat, openai_responses, anthropic, gemini):
        request = vendor.dump(messages)
        dumped, loaded = best_ms(lambda: vendor.dump(messages)), best_ms(lambda: vendor.load_request(request))  # noqa: B023
        table.add_row(vendor.VENDOR, f"{dumped:.1f}", "2", f"{loaded:.1f}")
    console.print(table)


def claude_code_lines() -> list[bytes]:
    """A log as Claude Code writes it: one block a line, the envelope on each, results told twice."""
    lines = []
    for number, message in enumerate(sample_messages()[:MESSAGES]):
        envelope: dict[str, Any] = {
            "parentUuid": f"u{number - 1}",
            "sessionId": "s",
            "version": "2.1.37",
            "cwd": "/home/ada/login",
        }
        envelope |= {"uuid": f"u{number}", "timestamp": "2026-01-01T00:00:00.000Z", "isSidechain": False}
        request = anthropic.dump([message])["messages"][-1]
        blocks = request["content"] if isinstance(request["content"], list) else [request["content"]]
        if message.role is pt.Role.ASSISTANT:
            usage = {"input_tokens": 10, "cache_read_input_tokens": 9_000, "output_tokens": 100}
            for at, block in enumerate(blocks):
                content = [{"type": "text", "text": block} if isinstance(block, str) else block]
                told = {
                    "id": f"m{number}",
                    "model": "claude-opus-4-6",
                    "role": "assistant",
                    "content": content,
                    "usage": usage,
                }
                lines.append({**envelope, "uuid": f"u{number}.{at}", "type": "assistant", "message": told})
        else:
            told = {"role": "user", "content": request["content"]}
            twice = [result.content for result in message.tool_results]
            lines.append(
                {**envelope, "type": "user", "message": told, "toolUseResult": {"stdout": twice, "file": twice}}
            )
    return [msgspec.json.encode(line) for line in lines]


def codex_lines() -> list[bytes]:
    """A rollout as Codex writes it: items, and events that tell them again."""
    meta = {"id": "s", "cwd": "/home/ada/login", "base_instructions": {"text": "You are a coding agent."}}
    lines = [{"timestamp": "2026-01-01T00:00:00.000Z", "type": "session_meta", "payload": meta}]
    for item in openai_responses.dump(sample_messages()[:MESSAGES])["input"]:
        stamp = {"timestamp": "2026-01-01T00:00:00.000Z"}
        lines.append({**stamp, "type": "response_item", "payload": item})
        lines.append({**stamp, "type": "event_msg", "payload": {"type": "agent_message", "message": str(item)}})
    return [msgspec.json.encode(line) for line in lines]
