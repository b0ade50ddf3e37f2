"""Demand: what later calls name that was said before, and how much of it a context still shows."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from pageturn.identifiers import names_in
from pageturn.lab.traces import Trace, text_of
from pageturn.messages import Message, ToolCall

_SHORTEST_LINE = 12
_LINE_NUMBER = re.compile(r"^\s*\d+[→:\t|]")
_OLD_TEXTS = ("old_string", "old_str", "oldText", "search")


class Wanted(NamedTuple):
    """What one turn names that was said before: identifiers, and the lines that its edits must match."""

    turn: int  # the place of the assistant's message
    identifiers: frozenset[str]
    lines: frozenset[str]


def demand(trace: Trace) -> list[Wanted]:
    """What each turn with calls demands of everything before it."""
    wanted = []
    said: list[str] = []
    known: set[str] = set()  # names that were found once, and so need not be looked for again
    lines: set[str] = set()
    for index, message in enumerate(trace.messages):
        calls = message.tool_calls
        if calls:
            named = {name for call in calls for name in names_in(call.arguments)}
            edited = {line for call in calls for line in old_lines(call)}
            if new := named - known:
                before = "\n".join(said)
                known.update(name for name in new if name in before)
            wanted.append(Wanted(index, frozenset(named & known), frozenset(edited & lines)))
        said.append(text_of(message))
        lines |= lines_of(message)
    return wanted


def covered(names: Iterable[str], context: str) -> int:
    """How many of these identifiers stand in the text of a context."""
    return sum(1 for name in names if name in context)


def lines_of(message: Message) -> set[str]:
    """The lines of a message as an edit would have to match them: without the numbers that a tool put before them."""
    texts = [text_of(message), *(call.texts for call in message.tool_calls)]
    return {stripped for text in texts for line in text.splitlines() for stripped in _readings(line)}


def _readings(line: str) -> Iterator[str]:
    stripped = line.strip()
    if len(stripped) >= _SHORTEST_LINE:
        yield stripped
    bare = _LINE_NUMBER.sub("", line).strip()
    if bare != stripped and len(bare) >= _SHORTEST_LINE:
        yield bare


def old_lines(call: ToolCall) -> Iterator[str]:
    """The lines that an edit says stand there: what it replaces, and the context of a patch."""
    arguments = call.parsed
    for text in _old_texts(arguments):
        yield from (line.strip() for line in text.splitlines() if len(line.strip()) >= _SHORTEST_LINE)
    if "*** Begin Patch" in call.texts:
        kept = (line[1:].strip() for line in call.texts.splitlines() if line[:1] in (" ", "-"))
        yield from (line for line in kept if len(line) >= _SHORTEST_LINE)


def _old_texts(value: Any) -> Iterator[str]:
    match value:
        case dict():
            for name, inner in value.items():
                if name in _OLD_TEXTS and isinstance(inner, str):
                    yield inner
                else:
                    yield from _old_texts(inner)
        case list():
            for inner in value:
                yield from _old_texts(inner)
