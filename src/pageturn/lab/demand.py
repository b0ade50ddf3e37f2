"""Measures coverage: which earlier names later calls use, and how many of them a context still shows."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from pageturn.context.renditions.edits import REPLACED
from pageturn.lab.traces import Trace, text_of
from pageturn.values.identifiers import names_in
from pageturn.values.messages import Message, ToolCall

_SHORTEST_LINE = 12
_PIECE = 5  # characters; no identifier has fewer
_LONGEST_RUN = 400  # letters
_RUN = re.compile(r"[\w.@~/#-]{5,}+")
_LINE_NUMBER = re.compile(r"^\s*\d+[→:\t|]")
_OLD_TEXTS = (*REPLACED, "search")


class Wanted(NamedTuple):
    """What one turn names that was said before: identifiers, and the lines that its edits must match."""

    turn: int  # the place of the assistant's message
    identifiers: frozenset[str]
    lines: frozenset[str]


def demand(trace: Trace) -> list[Wanted]:
    """What each turn with calls needs of everything before it."""
    wanted = []
    said = _Said()
    lines: set[str] = set()
    for index, message in enumerate(trace.messages):
        calls = message.tool_calls
        if calls:
            named = {name for call in calls for name in names_in(call.arguments)}
            edited = {line for call in calls for line in old_lines(call)}
            wanted.append(Wanted(index, frozenset(filter(said.has, named)), frozenset(edited & lines)))
        said.add(text_of(message))
        lines |= lines_of(message)
    return wanted


class _Said:
    """Everything said so far, to look up whether an identifier occurs in it, also as a part of another.

    An identifier lies within a run of its characters, and runs repeat, so only distinct runs are searched; and only for identifiers of
    which every few characters were seen, which is rarely true of one that was never said.
    """

    def __init__(self) -> None:
        self._known: set[str] = set()  # identifiers that were found once
        self._runs: set[str] = set()
        self._pieces: set[str] = set()  # all substrings of that length in the runs
        self._texts: list[str] = []  # the runs of each text that were new, one per line
        self._long: list[str] = []  # runs that are probably encoded data, with too many substrings

    def add(self, text: str) -> None:
        new = dict.fromkeys(_RUN.findall(text)).keys() - self._runs
        self._runs |= new
        self._long += [run for run in new if len(run) > _LONGEST_RUN]
        short = [run for run in new if len(run) <= _LONGEST_RUN]
        for run in short:
            self._pieces.update(run[at : at + _PIECE] for at in range(len(run) - _PIECE + 1))
        self._texts.append("\n".join(short))

    def has(self, name: str) -> bool:
        if name not in self._known and self._holds(name):
            self._known.add(name)
        return name in self._known

    def _holds(self, name: str) -> bool:
        pieces = (name[at : at + _PIECE] for at in range(len(name) - _PIECE + 1))
        texts = [*self._texts, *self._long] if all(map(self._pieces.__contains__, pieces)) else self._long
        return any(name in text for text in texts)


def covered(names: Iterable[str], context: str) -> int:
    """How many of these identifiers occur in the text of a context."""
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
    """The lines that an edit expects: what it replaces, and the context of a patch."""
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
