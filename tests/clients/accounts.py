"""Whether the journal has what passed: each call and each result once in its session, none missing, none in another's words."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pageturn.journal.reader import SessionReader, sessions
from pageturn.values.messages import Message, Text, ToolResult
from tests.clients.provider import Provider


class Accounts(NamedTuple):
    """What differs between a journal and what the provider saw."""

    lost: list[str]
    duplicated: list[str]
    changed: list[str]
    sessions: int
    pages: int


def accounts(store: Path, provider: Provider, own: str = "recall") -> Accounts:
    """Compare them. Calls of the gateway's `own` tool are its own business; a reply that was cut need not be there."""
    called = {
        mark: call.tool.name
        for turn in provider.turns
        if turn.is_whole
        for mark, call in zip(_call_marks(turn.marks), turn.said.calls, strict=True)
        if call.tool.name != own
    }
    answered: dict[str, str] = {}
    for turn in provider.turns:
        results = [each for each in turn.view.entries if each.kind == "result" and each.id in called]
        for entry in results:
            answered.setdefault(entry.id, entry.text)  # as it came first
    journal = {info.id: list(_facts(store, info.id)) for info in sessions(store)}
    there = {fact: text for facts in journal.values() for fact, text in facts}
    wanted = [("call", mark) for mark in called] + [("result", mark) for mark in answered]
    duplicated = [
        f"{id_}: {fact} x {count}"
        for id_, facts in journal.items()
        for fact, count in Counter(fact for fact, _ in facts).items()
        if count > 1
    ]
    changed = [mark for mark, text in answered.items() if _words(there.get(("result", mark), text)) != _words(text)]
    lost = [" ".join(fact) for fact in wanted if fact not in there]
    return Accounts(lost, duplicated, changed, len(journal), sum(map(len, journal.values())))


def _call_marks(marks: list[str]) -> list[str]:
    return [mark for mark in marks if mark.startswith(("toolu_", "call_"))]


def _facts(store: Path, session: str) -> Iterator[tuple[tuple[str, str], str]]:
    for message in SessionReader.open(store, session).messages():
        yield from ((("call", call.id), call.arguments) for call in message.tool_calls)
        yield from _results(message)


def _results(message: Message) -> Iterator[tuple[tuple[str, str], str]]:
    for part in message.content:
        if isinstance(part, ToolResult):
            text = "\n".join(inner.text for inner in part.parts if isinstance(inner, Text))
            yield ("result", part.tool_call_id), text


def _words(text: str) -> list[str]:
    return text.split()
