"""Checks the guarantees of a context from outside: by what the context contains, not by how it was made."""

import re
from collections.abc import Iterator, Sequence

from pageturn.session import Session
from pageturn.testing.cases import Mismatch
from pageturn.tokens.counters import TokenCounter, counter_for
from pageturn.values.context import Context
from pageturn.values.faults import Fault
from pageturn.values.handles import CHECK, NUMBER
from pageturn.values.json import to_json
from pageturn.values.layout import Placement, Why
from pageturn.values.messages import Message, Thinking
from pageturn.values.pages import Page, PageKind, ResidencyLevel
from pageturn.values.recall_tool import RecallTool

_OPENING = 20  # tokens of the words before a conversation that the model began
_LINE = re.compile(r"<page>\np(\d+)-\w{4}\.\.p(\d+)-\w{4} [\d,]+ pages")
_NAMED = re.compile(rf"^p({NUMBER})-{CHECK}\b", re.MULTILINE)


def check_context(
    session: Session, context: Context, *, budget_tokens: int | None = None, counter: TokenCounter | None = None
) -> None:
    """Raise an `AssertionError` if a context breaks a guarantee: pairs, budget, rules, places, pointers, index lines.

    For a test of your own that drives a session: call it with every context that the session derives.
    """
    for broken in broken_promises(session, context, budget_tokens=budget_tokens, counter=counter):
        raise broken


def broken_promises(
    session: Session, context: Context, *, budget_tokens: int | None = None, counter: TokenCounter | None = None
) -> Iterator[Mismatch]:
    """What is wrong with a context, one problem after the other."""
    budget = context.budget_tokens if budget_tokens is None else budget_tokens
    yield from unpaired(context.messages)
    yield from _overdrawn(context, budget, counter or counter_for(context.model))
    yield from _misplaced(session, context)
    yield from _missing_rules(session, context)
    yield from _dead_pointers(session, context)
    yield from _misleading_lines(context)


def unpaired(messages: Sequence[Message]) -> Iterator[Mismatch]:
    """What a strict provider rejects: a call without its result directly after it, or a result without its call before it."""
    waiting: list[str] = []
    for at, message in enumerate(messages):
        results = [result.tool_call_id for result in message.tool_results]
        if results and len(results) != len(message.content):
            yield Mismatch(expected="results alone in their message", got=f"other parts beside them in message {at}")
        for call in results:
            if call not in waiting:
                yield Mismatch(expected="a call before every result", got=f"a result for {call!r} in message {at}")
            else:
                waiting.remove(call)
        if not results:
            if waiting:
                yield Mismatch(
                    expected="a result directly after every call", got=f"none for {waiting} before message {at}"
                )
            waiting = [call.id for call in message.tool_calls]
    if waiting:
        yield Mismatch(expected="a result directly after every call", got=f"none for {waiting}")


def said(message: Message) -> bytes:
    """The text of a message, without reasoning, which is removed when the messages before it have changed."""
    return to_json([part for part in message.content if not isinstance(part, Thinking)])


def _overdrawn(context: Context, budget: int, counter: TokenCounter) -> Iterator[Mismatch]:
    tools = [tool.definition if isinstance(tool, RecallTool) else tool for tool in context.tools]
    counted = counter.tools(tools) + sum(map(counter.message, context.messages))
    if not 0 <= context.tokens - counted <= _OPENING:
        yield Mismatch(expected=f"{counted:,} tokens, as {counter.name} counts them", got=f"{context.tokens:,}")
    if not context.tokens <= context.budget_tokens <= budget:
        got = f"{context.tokens:,} tokens, where the context says that it has {context.budget_tokens:,}"
        yield Mismatch(expected=f"at most {budget:,} tokens", got=got)


def _misplaced(session: Session, context: Context) -> Iterator[Mismatch]:
    """Every page that counts is in exactly one place, in the journal's order."""
    placements = context.layout.placements
    firsts = [placement.first for placement in placements]
    if firsts != sorted(firsts):
        yield Mismatch(expected="pages in the order in which they came", got=firsts)
    for page in _pages(session, context):
        lines = [p for p in placements if p.line and p.first <= page.seq <= p.last]
        placement = context.placement(page.handle)
        if len(lines) != (placement.line is not None):
            yield Mismatch(expected=f"{page.handle} in one place", got=f"{len(lines)} index lines with it")
        if _is_rule(page, placement) and (placement.line is not None or placement.level < ResidencyLevel.STRUCTURED):
            yield Mismatch(expected=f"the rule {page.handle} at structured or above", got=str(placement.level))


def _missing_rules(session: Session, context: Context) -> Iterator[Mismatch]:
    """A rule shown at full has its text in the prompt. Calls and results are checked as pairs."""
    standing = {said(message) for message in context.messages}
    for page in _pages(session, context):
        placement = context.placement(page.handle)
        is_spoken = not page.calls and not page.results
        if is_spoken and _is_rule(page, placement) and placement.level is ResidencyLevel.FULL:
            resolved = session.resolve(page)
            if isinstance(resolved, Fault) or said(resolved.message) not in standing:
                yield Mismatch(
                    expected=f"the words of the rule {page.handle} in the prompt", got="none of the messages"
                )


def _dead_pointers(session: Session, context: Context) -> Iterator[Mismatch]:
    """Whatever is not shown in full can be fetched, all of it."""
    pages = session.reader.pages()
    for placement in context.layout.placements:
        if placement.level is ResidencyLevel.FULL:
            continue
        handles = [page.handle for page in pages if placement.first <= page.seq <= placement.last]
        found = session.reader.pages_between(f"{handles[0]}..{handles[-1]}")
        pages_found = () if isinstance(found, Fault) else found
        got = [page.handle for page in pages_found if not isinstance(session.resolve(page), Fault)]
        if got != handles:
            yield Mismatch(expected=f"{handles} behind {handles[0]}..{handles[-1]}", got=got)


def _misleading_lines(context: Context) -> Iterator[Mismatch]:
    """An index line names no page outside of its run."""
    for message in context.messages:
        opening = _LINE.match(message.text)
        if opening is not None and message.synthetic:
            first, last = map(int, opening.groups())
            outside = [seq for seq in map(int, _NAMED.findall(message.text)) if not first <= seq <= last]
            if outside:
                yield Mismatch(expected=f"pages {first} to {last} in their index line", got=f"pages {outside}")


def _is_rule(page: Page, placement: Placement) -> bool:
    """Whether a page is a rule now: the opening prompt always is, and any other until it is unpinned."""
    return page.kind is PageKind.BOOTSTRAP or placement.why is Why.RULE


def _pages(session: Session, context: Context) -> list[Page]:
    return [page for page in session.reader.pages() if page.seq <= context.upto]
