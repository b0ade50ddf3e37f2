"""Deriving: what a policy of ours shows of a recorded session, through a session like any other."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from pageturn.errors import BudgetTooSmall
from pageturn.journal import Journal
from pageturn.lab.replay import Seen, Shows
from pageturn.lab.traces import Trace, study_tokens
from pageturn.messages import Message
from pageturn.policies import AnyPolicy
from pageturn.recall_tool import RecallTool
from pageturn.session import Session
from pageturn.stores import MemoryStore, SessionRow
from pageturn.tokens import TokenCounter
from pageturn.wire import to_json

_NOW = datetime(2026, 1, 1, tzinfo=UTC)


class StudyCounter:
    """Counts a quarter of the characters, as policies are compared."""

    name = "study"
    exact = False

    def text(self, text: str) -> int:
        return len(text) // 4

    def message(self, message: Message) -> int:
        return study_tokens(message)

    def tools(self, tools: Sequence[Mapping[str, Any]]) -> int:
        return len(to_json(list(tools))) // 4 if tools else 0


def derived(policy: AnyPolicy, counter: TokenCounter | None = None, recall: RecallTool | None = RecallTool()) -> Shows:  # noqa: B008
    """What the model sees under a policy; in the study's tokens, unless another counter is given."""

    def shows(trace: Trace) -> Iterator[Seen]:
        session = _session(policy, counter or StudyCounter(), recall)
        for message in trace.messages:
            if message.role == "assistant":
                try:
                    yield session.derive().messages
                except BudgetTooSmall:
                    yield None
            session.append(message)

    return shows


def _session(policy: AnyPolicy, counter: TokenCounter, recall: RecallTool | None) -> Session:
    """A session in memory with a key and a clock that stand still, so that every replay gives the same bytes."""
    store, row = MemoryStore(), SessionRow("replay", bytes(16), 0)
    store.create(row)
    return Session(
        Journal(store, row),
        policy=policy,
        counter=counter,
        recall=recall,
        clock=lambda: _NOW,
        entropy=bytes,
    )
