"""Runs our policies on the conformance cases: what each sends, and what the recall tool returns."""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import ClassVar

from pageturn.lab.conformance.cases import Case, text_of_all
from pageturn.lab.our_policies import CharacterCounter, session_of
from pageturn.lab.peers import Request
from pageturn.lab.traces import text_of
from pageturn.policies import AnyPolicy
from pageturn.session import Session
from pageturn.values.context import Context
from pageturn.values.errors import BudgetTooSmall
from pageturn.values.faults import Fault
from pageturn.values.handles import HANDLE
from pageturn.values.notes import ContextMessage
from pageturn.values.recall_tool import RecallTool

_HANDLES = re.compile(rf"{HANDLE}(?:\.\.{HANDLE})?")


class Ours:
    """One of our policies as a method to be examined: called with a budget."""

    takes_notes: ClassVar[bool] = True

    def __init__(self, policy: Callable[[int], AnyPolicy]) -> None:
        self._policy = policy

    def __call__(self, case: Case) -> list[Request]:
        """The request at each turn of a case, with its rule pinned and its notes in it."""
        session = session_of(self._policy(case.budget_tokens), CharacterCounter(), recall=RecallTool())
        places: dict[str, int] = {}
        requests = []
        for place, message in enumerate(case.trace.messages):
            if place in case.notes:
                session.inject(ContextMessage.session(f"note {place}", case.notes[place], consume_after_emit=True))
            if message.role == "assistant":
                try:
                    context = session.derive(budget_tokens=case.budget_tokens)
                except BudgetTooSmall:
                    requests.append(Request(None))
                else:
                    requests.append(Request(context.messages, _recalled(session, context, places)))
            page = session.append(message)
            places[page.handle] = place
            if place in case.pinned:
                with suppress(BudgetTooSmall):  # a rule that does not fit is refused at once, as every request then is
                    session.pin(page)
        return requests


def _recalled(session: Session, context: Context, places: Mapping[str, int]) -> dict[int, str]:
    """What the handles of a context resolve to, if the model has the recall tool."""
    if not any(isinstance(tool, RecallTool) for tool in context.tools):
        return {}
    shown = text_of_all(context.messages)
    recalled = {}
    for handle in _HANDLES.findall(shown):
        pages = session.reader.pages_between(handle) if ".." in handle else (handle,)
        for page in () if isinstance(pages, Fault) else pages:
            found = session.resolve(page)
            if not isinstance(found, Fault) and found.handle in places:
                recalled[places[found.handle]] = text_of(found.message)
    return recalled
