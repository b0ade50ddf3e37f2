"""Deriving: what a policy of ours shows of a recorded session, through a session like any other."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pageturn.errors import BudgetTooSmall
from pageturn.lab.replay import Seen, Shows
from pageturn.lab.traces import Trace, study_tokens
from pageturn.messages import Message
from pageturn.policies import AnyPolicy
from pageturn.session import Session
from pageturn.tokens import TokenCounter
from pageturn.wire import to_json


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


def derived(policy: AnyPolicy, counter: TokenCounter | None = None) -> Shows:
    """What the model sees under a policy; in the study's tokens, unless another counter is given."""

    def shows(trace: Trace) -> Iterator[Seen]:
        with Session.open(id="replay", policy=policy, counter=counter or StudyCounter()) as session:
            for message in trace.messages:
                if message.role == "assistant":
                    try:
                        yield session.derive().messages
                    except BudgetTooSmall:
                        yield None
                session.append(message)

    return shows
