"""Measures the compactions in recorded sessions: how much of what later calls name each summary kept.

A name counts as asked if a call after the compaction uses it, and it occurred before the compaction but not since. For comparison the
same tokens are spent on the newest messages, and on what a policy of ours keeps within them.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pageturn.lab.baselines import newest_within
from pageturn.lab.our_policies import CharacterCounter, session_of
from pageturn.lab.traces import Trace, text_of
from pageturn.policies import Paged
from pageturn.values.errors import BudgetTooSmall
from pageturn.values.identifiers import names_in
from pageturn.values.messages import Message
from pageturn.values.recall_tool import RecallTool

_CHARS_PER_TOKEN = 4


class Kept(NamedTuple):
    """What one compaction kept of the names that later calls asked for, and what the same tokens could have kept."""

    before_tokens: int
    tokens: int  # of the summary, in tokens of four characters
    asked: int
    by_summary: int
    by_newest: int
    by_paged: int | None  # None if not even the floors fit


def compactions(trace: Trace) -> Iterator[Kept]:
    """Every compaction of a recording."""
    for at, (before, summary) in enumerate(trace.compactions):
        until = trace.compactions[at + 1].before if at + 1 < len(trace.compactions) else len(trace.messages)
        past = trace.messages[:before]
        asked = _asked(past, trace.messages[before:until])
        tokens = len(summary) // _CHARS_PER_TOKEN
        ours = _paged(past, tokens)
        yield Kept(
            before_tokens=sum(len(text_of(message)) for message in past) // _CHARS_PER_TOKEN,
            tokens=tokens,
            asked=len(asked),
            by_summary=_held(asked, summary),
            by_newest=_held(asked, _text(newest_within(past, tokens))),
            by_paged=_held(asked, _text(ours)) if ours is not None else None,
        )


def _asked(past: Sequence[Message], after: Sequence[Message]) -> set[str]:
    """The names that calls after a compaction use, mentioned before it and not since."""
    before = _text(past)
    asked: set[str] = set()
    since = ""
    for message in after:
        named = {name for call in message.tool_calls for name in names_in(call.arguments)}
        asked |= {name for name in named if name not in since and name in before}
        since = f"{since}\n{text_of(message)}"
    return asked


def _paged(past: Sequence[Message], tokens: int) -> Sequence[Message] | None:
    """What Paged shows of the past in this many tokens, without the recall tool: a summary has none either."""
    tool = RecallTool()
    session = session_of(Paged.faithful(), recall=tool)
    for message in past:
        session.append(message)
    fixed = CharacterCounter().tools([tool.definition])
    try:
        return session.derive(budget_tokens=tokens + fixed).messages
    except BudgetTooSmall:
        return None


def _held(names: set[str], text: str) -> int:
    return sum(name in text for name in names)


def _text(messages: Sequence[Message]) -> str:
    return "\n".join(map(text_of, messages))
