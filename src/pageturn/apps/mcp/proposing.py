"""The tools that propose a rule or a plan, which changes nothing until a person has approved it.

Something that a model read may have talked it into a proposal. So the model names the pages that support the proposal, and the person
who decides sees them.
"""

from typing import Annotated

from msgspec import Meta

from pageturn.apps.mcp.answers import Answer, failed
from pageturn.apps.mcp.sessions import Sessions, shown_page
from pageturn.apps.mcp.tools import Session, Tool
from pageturn.session import Session as OpenSession
from pageturn.values.digests import digest_of
from pageturn.values.entries import Committed, Rejected, Waiting
from pageturn.values.errors import Conflict, InvalidInput, show
from pageturn.values.json import Closed, to_json
from pageturn.values.plans import Plan
from pageturn.values.proposals import Declined, Op, Proposal

_MOST_WAITING = 20  # in one session; more would not be read, and suggest that the model was talked into it
_TRIES = 50  # to write while another process writes, too

Evidence = Annotated[
    tuple[Annotated[str, Meta(max_length=40)], ...],
    Meta(description="Handles of the pages that support this; recall finds them.", min_length=1, max_length=20),
]


class Pin(Closed):
    """Arguments of `pin`."""

    text: Annotated[str, Meta(description="The rule, in one or two sentences.", min_length=1, max_length=4_000)]
    evidence: Evidence
    session: Session = None


class PlanProposed(Closed):
    """Arguments of `plan`."""

    goal: Annotated[str, Meta(description="What is to be achieved.", min_length=1, max_length=4_000)]
    evidence: Evidence
    steps: Annotated[tuple[Annotated[str, Meta(max_length=4_000)], ...], Meta(max_length=100)] = ()
    current: Annotated[int, Meta(description="The step at hand, counted from 0.", ge=0, le=100)] = 0
    session: Session = None


def pin(sessions: Sessions, asked: Pin) -> Answer:
    """Propose a rule."""
    return _propose(sessions, asked.session, Proposal(field="pin", value=asked.text, evidence=asked.evidence))


def plan(sessions: Sessions, asked: PlanProposed) -> Answer:
    """Propose a plan in place of the one in force."""
    made = Plan(goal=asked.goal, steps=asked.steps, current=asked.current)
    value = {"goal": made.goal, "steps": [*made.steps], "current": made.current}
    now = sessions.journal(asked.session).state.plan
    version = now.version if now is not None else 0
    return _propose(
        sessions,
        asked.session,
        Proposal(field="plan", value=value, op=Op.SET_WITH_VERSION, version=version, evidence=asked.evidence),
    )


def _propose(sessions: Sessions, id_: str | None, proposal: Proposal) -> Answer:
    journal = sessions.journal(id_)
    for handle in proposal.evidence:
        if shown_page(journal, handle) is None:
            expected = f"handles of pages of session {journal.row.id}; recall and browse list them"
            raise InvalidInput("evidence", expected=expected, got=show(handle))
    # The same proposal again is the one that was decided or that waits.
    key = f"mcp:{digest_of(to_json([proposal.field, proposal.value, proposal.version]))}"
    waiting = journal.state.waiting
    if len(waiting) >= _MOST_WAITING and all(each.proposal.key != key for each in waiting.values()):
        return failed(
            f"{len(waiting)} proposals of session {journal.row.id} wait already; a person has to decide first"
        )
    # Not closed again: that would write a boundary into a session that another process may be using.
    session = OpenSession.open(sessions.store, id=journal.row.id, scope=journal.row.scope)
    kept = Proposal(
        field=proposal.field,
        value=proposal.value,
        op=proposal.op,
        evidence=proposal.evidence,
        version=proposal.version,
        key=key,
        needs_approval=True,
    )
    match _written(session, kept):
        case Waiting(txn=txn):
            how = "a person lists it with `pageturn proposals`, and approves or rejects it"
            return Answer(f"Proposal {journal.row.id}:{txn} waits, and changes nothing until then: {how}.")
        case Committed():
            return Answer("A person has approved this before.")
        case Rejected(reason=Declined(detail=detail)):
            return failed(f"A person has rejected this: {detail}")
        case Rejected(reason=reason):
            detail = getattr(reason, "detail", "")
            return failed(f"Refused, and nobody is asked: {reason.code}{f': {detail}' if detail else ''}")


def _written(session: OpenSession, proposal: Proposal) -> Committed | Waiting | Rejected:
    """The outcome of a proposal whose key makes it safe to write again, while another process works in the session."""
    for _ in range(_TRIES - 1):
        try:
            return session.write_back(proposal)
        except Conflict:
            session.refresh()
    return session.write_back(proposal)


PROPOSING = (
    Tool(
        "pin",
        "Propose a rule that every later context of a session shows. It changes nothing until a person has approved it.",
        Pin,
        pin,
        proposes=True,
    ),
    Tool(
        "plan",
        "Propose the plan of a session: a goal and steps. It changes nothing until a person has approved it.",
        PlanProposed,
        plan,
        proposes=True,
    ),
)
