"""Deriving: what a policy of ours shows of a recorded session, through a session like any other."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from pageturn.derivation.context import Wish
from pageturn.entries import Committed
from pageturn.errors import BudgetTooSmall
from pageturn.faults import Fault
from pageturn.identifiers import names_in
from pageturn.journal import Journal
from pageturn.lab.replay import Seen
from pageturn.lab.traces import Trace, study_tokens, text_of
from pageturn.messages import Message
from pageturn.policies import AnyPolicy
from pageturn.proposals import Proposal
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


class Deriving:
    """What the model sees under a policy; in the study's tokens, unless another counter is given.

    With `summarise`, every summary that the policy wishes for is written from the pages that it is to stand for.
    """

    def __init__(
        self,
        policy: AnyPolicy,
        counter: TokenCounter | None = None,
        *,
        budget_tokens: int | None = None,
        recall: RecallTool | None = RecallTool(),  # noqa: B008
        summarise: Callable[[Sequence[Message]], str] | None = None,
    ) -> None:
        self.summaries = 0  # that were admitted so far
        self._policy = policy
        self._counter = counter or StudyCounter()
        self._budget_tokens = budget_tokens
        self._recall_tool = recall
        self._summarise = summarise

    def __call__(self, trace: Trace) -> Iterator[Seen]:
        """What it shows of a recorded session, turn by turn."""
        session = standing_still(self._policy, self._counter, self._recall_tool)
        for message in trace.messages:
            wanted: Sequence[Wish] = ()
            if message.role == "assistant":
                try:
                    context = session.derive(budget_tokens=self._budget_tokens)
                except BudgetTooSmall:
                    yield None
                else:
                    wanted = context.wanted
                    yield context.messages
            session.append(message)
            for wish in wanted:
                self._answer(session, wish)

    def _answer(self, session: Session, wish: Wish) -> None:
        """Write the summary of a run, as somebody would who reads it."""
        pages = session.resolve_range(wish.handle) if ".." in wish.handle else ()
        if self._summarise is None or isinstance(pages, Fault) or not pages:
            return
        text = self._summarise([page.message for page in pages])
        evidence = tuple(wish.handle.split(".."))
        outcome = session.write_back(Proposal(field="summary", value=text, evidence=evidence))
        self.summaries += isinstance(outcome, Committed)


def standing_still(
    policy: AnyPolicy,
    counter: TokenCounter,
    recall: RecallTool | None = RecallTool(),  # noqa: B008
) -> Session:
    """A session in memory with a key and a clock that stand still, so that every replay gives the same bytes."""
    store, row = MemoryStore(), SessionRow("replay", bytes(16), 0)
    store.create(row)
    return Session(
        Journal(store, row), policy=policy, counter=counter, recall=recall, clock=lambda: _NOW, entropy=bytes
    )


def first_lines(messages: Sequence[Message], most_chars: int = 4_000) -> str:
    """A stand-in for somebody who sums up: what people and the model said first, and the names that came most often, in that much text."""
    names = Counter(name for message in messages for name in names_in(text_of(message)))
    said = [
        f"{message.role}: {message.text.split(chr(10), 1)[0][:160]}" for message in messages if message.text.strip()
    ]
    told = "\n".join(said)[: most_chars // 2]
    return f"{told}\n{' '.join(name for name, _ in names.most_common())}"[:most_chars].rstrip()
