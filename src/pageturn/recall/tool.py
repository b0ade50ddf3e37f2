"""Answers calls of the recall tool, with which a model gets back content that its context only names.

Every quoted page is in its own fence, under a heading that we write. Nothing in a page can end its fence, open another or pass for a
heading, because text that looks like a handle or a tag gets a backslash (`pageturn.values.fencing`).
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from pageturn.journal.journal import Journal
from pageturn.recall.filters import Where
from pageturn.recall.hits import Hit, Recalled
from pageturn.recall.resolving import Resolved
from pageturn.values.faults import AnyFault, Fault, NoMatch
from pageturn.values.fencing import fenced, quoted
from pageturn.values.handles import parse_range
from pageturn.values.json import Closed
from pageturn.values.messages import Role, ToolCall
from pageturn.values.pages import Page
from pageturn.values.recall_tool import LEAST_BYTES, RecallTool
from pageturn.values.units import unanswered

_LISTED = 120  # bytes of each page in a list of pages
_DIGITS = re.compile(r"[0-9]{1,15}")
_MOST_HITS = 5
_NO_BRACKETS = str.maketrans("[]<>", "()()")


class RecallRequest(Closed):
    """The arguments of a call of the tool."""

    handle: str = ""
    query: str = ""
    start: int | None = 0  # None if the given value is not a position
    where: Where = Where()  # the filter of a query, with the fields of `Where`

    @classmethod
    def of(cls, call: ToolCall) -> "RecallRequest":
        """Read the arguments of a call; a handle or a query that is not text counts as absent."""
        value = call.parsed
        given = value if isinstance(value, dict) else {}
        texts = {name: str(given[name]).strip() for name in ("handle", "query") if isinstance(given.get(name), str)}
        return cls(start=_start(given.get("start")), where=_where(given), **texts)


def _where(given: Mapping[str, object]) -> Where:
    """The filter in a call; an invalid one counts as absent, so that a mistake finds too much rather than nothing."""
    tool, path = (
        said.strip() or None if isinstance(said := given.get(name), str) else None for name in ("tool", "path")
    )
    role = next((each for each in Role if each == given.get("role")), None)
    turns = given.get("turns")
    ends = [_start(each) for each in turns] if isinstance(turns, list) and len(turns) in (1, 2) else [None]
    return Where(role=role, tool=tool, path=path, turns=None if None in ends else (ends[0], ends[-1]))


def _start(given: object) -> int | None:
    """A position as models write it: a whole number, also as text or with a zero after the point."""
    if isinstance(given, str) and _DIGITS.fullmatch(given.strip()):
        return int(given)
    if isinstance(given, float) and given.is_integer():
        given = int(given)
    if given is None:
        return 0
    return given if type(given) is int and given >= 0 else None


class Answer(Closed):
    """What the tool answers, and whether it is an error."""

    text: str
    is_error: bool = False
    given: tuple[str, ...] = ()  # the handles of the pages that it quoted


class Source(Protocol):
    """What the tool reads from: a session, or a substitute in tests."""

    def resolve(self, handle: str, *, start: int = 0, length: int | None = None) -> Resolved | AnyFault: ...

    def recall(self, query: str, limit: int = 5, *, where: Where | None = None) -> Recalled | AnyFault: ...

    def pages_between(self, handles: str, start: int = 0) -> Sequence[Page] | AnyFault: ...


def answer(tool: RecallTool, asked: RecallRequest, source: Source, most_bytes: int | None = None) -> Answer:
    """The answer to a call of the tool: about as much as the tool returns at a time, and where to continue."""
    if most_bytes is not None and most_bytes < tool.most_bytes:
        tool = RecallTool(name=tool.name, most_bytes=max(most_bytes, LEAST_BYTES))
    if not asked.handle and not asked.query:
        return Answer("give a handle such as p12-abcd, a range of two handles, or a query", is_error=True)
    if asked.start is None:
        return Answer("start: expected a whole number, 0 or more", is_error=True)
    if not asked.handle:
        return _found(tool, source.recall(asked.query, limit=_MOST_HITS, where=asked.where))
    if parse_range(asked.handle) is not None:
        return _range(tool, asked.handle, asked.start, source)
    return _page(asked.handle, source.resolve(asked.handle, start=asked.start, length=tool.most_bytes))


class LastCalls(NamedTuple):
    """The calls of the last answer without a result: those of the recall tool, and the number of others."""

    ours: tuple[ToolCall, ...] = ()
    others: int = 0


def last_calls(journal: Journal, tool: RecallTool) -> LastCalls:
    """The unanswered calls of the model's last message."""
    state = journal.state
    page = state.page(state.turns[-1]) if state.turns else None
    if page is None or page.undone:
        return LastCalls()
    left = unanswered(tuple(each for each in state.pages[state.after(page.seq - 1) :] if not each.undone))
    message = journal.message(page)
    calls = [call for call in (message.tool_calls if message else ()) if call.id in left]
    ours = tuple(call for call in calls if call.name == tool.name)
    return LastCalls(ours, len(calls) - len(ours))


def _page(handle: str, outcome: Resolved | AnyFault) -> Answer:
    if isinstance(outcome, Fault):
        return _failed(handle, outcome, "no page has this handle")
    what = f"{outcome.size:,} bytes"
    if (outcome.start, outcome.end) != (0, outcome.size):
        what = f"bytes {outcome.start:,} to {outcome.end:,} of {outcome.size:,}"
    more = f"; go on with start {outcome.end}" if outcome.end < outcome.size else ""
    return Answer(_quotation(f"{handle} {outcome.role}, {what}{more}", outcome.text), given=(handle,))


def _range(tool: RecallTool, handles: str, start: int, source: Source) -> Answer:
    """The pages of a range in full if they fit, or else as a list."""
    pages = source.pages_between(handles, start)
    if isinstance(pages, Fault):
        return _failed(handles, pages, "there is no such range of pages")
    is_whole = sum(page.size for page in pages) <= tool.most_bytes
    told: list[str] = []
    given: list[str] = []
    room = tool.most_bytes
    for at, page in enumerate(pages):
        outcome = source.resolve(page.handle, length=None if is_whole else _LISTED)
        quotation = _listed(page, outcome, is_whole=is_whole)
        room -= len(quotation.encode()) + 1
        if room < 0 and told:
            told.append(f"[{len(pages) - at:,} more pages; go on with start {start + at}]")
            break
        told.append(quotation)
        if is_whole and not isinstance(outcome, Fault):
            given.append(page.handle)
    return Answer("\n".join(told), given=tuple(given))


def _listed(page: Page, outcome: Resolved | AnyFault, *, is_whole: bool) -> str:
    if isinstance(outcome, Fault):
        return fenced(f"{page.handle} {page.role}, cannot be read: {quoted(str(outcome))}")
    heading = f"{page.handle} {page.role}, {outcome.size:,} bytes"
    if is_whole or outcome.end == outcome.size:
        return _quotation(heading, outcome.text)
    return _quotation(f"{heading}, begins with", outcome.text)


def _found(tool: RecallTool, outcome: Recalled | AnyFault) -> Answer:
    """The best matches, and why the search was limited."""
    if isinstance(outcome, Fault):
        return Answer(quoted(str(outcome)), is_error=True)
    told = [_excerpt(hit) for hit in outcome.hits]
    while len(told) > 1 and sum(len(each.encode()) + 1 for each in told) > tool.most_bytes:
        told.pop()
    if outcome.damaged:
        told.append(f"[these match too and cannot be read: {', '.join(outcome.damaged[:_MOST_HITS])}]")
    told += [f"[{_one_line(notice)}]" for notice in outcome.notices]
    return Answer("\n".join(told))


def _one_line(text: str) -> str:
    """Quoted words in a line of ours, without anything that could end the line."""
    return " ".join(quoted(text).translate(_NO_BRACKETS).split())


def _excerpt(hit: Hit) -> str:
    there = f"; start {hit.start} opens it there" if hit.start else ""
    times = f", said {hit.count} times" if hit.count > 1 else ""
    return _quotation(
        f"{hit.handle} {hit.role}, turn {hit.turn}, {hit.size:,} bytes{times}, an excerpt{there}", hit.excerpt
    )


def _failed(handle: str, fault: AnyFault, unknown: str) -> Answer:
    """A fault as the model sees it. An unknown handle is not repeated."""
    if fault == NoMatch():
        return Answer(f"{fault}: {unknown}", is_error=True)
    return Answer(f"{handle}: {quoted(str(fault))}", is_error=True)


def _quotation(heading: str, text: str) -> str:
    return fenced(f"{heading}\n{quoted(text)}")
