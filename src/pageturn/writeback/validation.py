"""Validates proposals, the only way in for text that a model wrote: each is committed, rejected, or waits for a person.

Validation is deterministic and reads nothing but the state, so a proposal that a crash left staged is settled in the same way when the
session is opened again. A rejection stays in the journal forever, so it never quotes a value.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from pageturn.journal.memory_fields import field_type
from pageturn.journal.state import SessionState
from pageturn.values import proposals as p
from pageturn.values.errors import InvalidInput
from pageturn.values.json import from_json, to_json
from pageturn.values.messages import Message
from pageturn.values.pages import Page, ResidencyLevel
from pageturn.values.plans import Plan
from pageturn.values.proposals import Op, Proposal
from pageturn.writeback.quality import commands, evidence_of, misbehaviour_of, objection_to

_LEVELS = {
    "summary": ResidencyLevel.COMPRESSED,
    "compressed": ResidencyLevel.COMPRESSED,
    "structured": ResidencyLevel.STRUCTURED,
}
_OPS = {
    "summary": (Op.APPEND,),
    "compressed": (Op.APPEND, Op.SET_WITH_VERSION),
    "structured": (Op.APPEND, Op.SET_WITH_VERSION),
    "preference": (Op.APPEND,),
    "plan": (Op.SET_WITH_VERSION,),
    "pin": (Op.APPEND,),
}
_MAX_VALUE_BYTES = 1_000_000
# Tokens of a preference or a rule by a model, which stay in every context.
_MOST_STATED = {"preference": 300, "pin": 300}
_MOST_PLANNED = 2_000  # of its plan
_MOST_IN_FORCE = 300  # and of the goal with any one step, which are in every context


class Ground(NamedTuple):
    """What a proposal is validated against: the session, and how to resolve handles, read values and messages, and count tokens."""

    state: SessionState
    scope: str | None
    page: Callable[[str], Page | None]
    value: Callable[[str], Any]
    count: Callable[[str], int]
    messages: Callable[[Sequence[Page]], Sequence[Message] | None]  # of pages; None if the store cannot return them


def validate(proposal: Proposal, ground: Ground) -> p.AnyRejection | None:
    """Why a proposal must be rejected, or None if it may be committed."""
    for check in (_schema, _provenance, _scope, _non_destructive, _invariants, _quality):
        if (rejection := check(proposal, ground)) is not None:
            return rejection
    return None


def needs_person(proposal: Proposal, ground: Ground) -> bool:
    """Whether a person must approve a proposal: it asks for that, would make a rule, or would replace the host's text."""
    return proposal.needs_approval or proposal.field == "pin" or replaced_by(proposal, ground) is not None


def replaced_by(proposal: Proposal, ground: Ground) -> Page | None:
    """The host's text that a proposal would rephrase or put out of force, which needs a person's approval; None if there is none."""
    if proposal.field == "plan":
        plan = ground.state.plan
        page = ground.state.page(plan.page) if plan is not None else None
    else:
        page = _form_of(proposal, ground)
    return page if page is not None and page.counts and ground.state.is_authoritative(page) else None


def _form_of(proposal: Proposal, ground: Ground) -> Page | None:
    """The page that a proposal gives a form for; None if it gives none, or a summary of several."""
    pages = {page.seq: page for page in map(ground.page, proposal.evidence) if page is not None}
    return next(iter(pages.values())) if level_of(proposal) is not None and len(pages) == 1 else None


def flaw_of_reset(summary: str, ground: Ground) -> str | None:
    """What is wrong with a host's summary of everything since the last reset; None if it is fine."""
    state = ground.state
    since = state.between(state.last_reset, state.head)
    pages = [page for page in since if not state.kind(page).is_rule]  # rules are shown besides it
    tokens = sum(page.tokens for page in pages)
    if (loss := _loss(ground.count(summary), tokens)) is not None:
        return loss
    messages = ground.messages(pages)
    if messages is None:
        return "what it covers cannot be read"
    return objection_to(summary, messages) if pages else misbehaviour_of(summary, "")


def level_of(proposal: Proposal) -> ResidencyLevel | None:
    """The level of the rendition in a proposal, if it has one."""
    return _LEVELS.get(proposal.field)


def summary_floor(input_tokens: int) -> int:
    """The fewest tokens of a summary of that much text; a shorter one loses too much."""
    return 1 if input_tokens < 256 else max(50, input_tokens // 1_000)


def plan_of(proposal: Proposal) -> Plan:
    """The plan in a proposal, given as an object or as its goal alone."""
    value = {"goal": proposal.value} if isinstance(proposal.value, str) else proposal.value
    return from_json(Plan, to_json(value))


def _schema(proposal: Proposal, _: Ground) -> p.SchemaMismatch | None:
    field, value = proposal.field, proposal.value
    if proposal.is_memory:
        if proposal.op is Op.MERGE and not isinstance(value, dict):
            return p.SchemaMismatch(f"merge needs an object, got {type(value).__name__}")
    elif field not in _OPS:
        return p.SchemaMismatch(f"no field {field!r}")
    elif proposal.op not in _OPS[field]:
        return p.SchemaMismatch(f"{field} cannot be changed by {proposal.op}")
    elif field == "plan":
        if not _is_plan(proposal):
            return p.SchemaMismatch("plan needs a goal, or an object with goal, steps and current")
    elif not isinstance(value, str) or not value.strip():
        return p.SchemaMismatch(f"{field} needs some text, got {type(value).__name__}")
    size = len(to_json(value))
    if size > _MAX_VALUE_BYTES:
        return p.SchemaMismatch(f"{size:,} bytes are more than {_MAX_VALUE_BYTES:,}")
    return None


def _is_plan(proposal: Proposal) -> bool:
    try:
        plan_of(proposal)
    except InvalidInput:
        return False
    return True


def _provenance(proposal: Proposal, ground: Ground) -> p.ProvenanceFail | None:
    if not proposal.evidence:
        return p.ProvenanceFail("no evidence is given")
    for handle in proposal.evidence:
        page = ground.page(handle)
        if page is None or not page.counts:
            return p.ProvenanceFail(f"{handle!r} resolves to no page that counts")
    if proposal.field in _LEVELS and proposal.field != "summary" and len(proposal.evidence) != 1:
        return p.ProvenanceFail(f"{proposal.field} is the form of one page, got {len(proposal.evidence)} handles")
    return None


def _scope(proposal: Proposal, ground: Ground) -> p.ScopeDenied | None:
    if proposal.scope in (None, ground.scope) or proposal.scope in ground.state.grants:
        return None
    return p.ScopeDenied(f"scope {proposal.scope!r} is not granted")


def _non_destructive(proposal: Proposal, ground: Ground) -> p.DestructiveOp | None:
    if proposal.op is not Op.SET_WITH_VERSION:
        return None
    return None if proposal.version == _version(proposal, ground) else p.DestructiveOp()


def _version(proposal: Proposal, ground: Ground) -> int:
    """How often the target of a proposal has been set; 0 if never."""
    state = ground.state
    if proposal.field == "plan":
        return state.plan.version if state.plan else 0
    level = level_of(proposal)
    if level is None:
        return state.fields[proposal.field].version if proposal.field in state.fields else 0
    page = ground.page(proposal.evidence[0])
    assert page is not None, "the provenance was checked before"
    return sum(1 for each in state.renditions if each.first == each.last == page.seq and each.level is level)


def _invariants(proposal: Proposal, ground: Ground) -> p.InvariantViolation | None:
    level = level_of(proposal)
    if level is None:
        if (excess := _excess(proposal, ground.count)) is not None:
            return p.InvariantViolation(excess)
        field = ground.state.fields.get(proposal.field)
        return _mergeable(proposal, field_type(field, ground.value)) if field else None
    pages = [page for page in map(ground.page, proposal.evidence) if page is not None]
    covered = _covered(pages, ground)
    tokens, written = sum(page.tokens for page in covered), ground.count(proposal.value)
    if proposal.field == "summary":
        rules = [page.handle for page in covered if ground.state.kind(page).is_rule]
        if rules:
            return p.InvariantViolation(f"a summary may not cover rules: {', '.join(rules[:5])}")
        if (loss := _loss(written, tokens)) is not None:
            return p.InvariantViolation(loss)
        if (parted := _parted(covered, ground.state)) is not None:
            return p.InvariantViolation(parted)
    elif level not in (kind := ground.state.kind(pages[0])).degradation_path:
        return p.InvariantViolation(f"a {kind} page has no {level} form")
    elif level is ResidencyLevel.STRUCTURED and ground.state.pins.get(pages[0].seq) is not None:
        return p.InvariantViolation("whoever pinned it gave its structured form")
    if written >= tokens:
        return p.InvariantViolation(f"{written} tokens are not fewer than the {tokens} that they would replace")
    return None


def _loss(written: int, tokens: int) -> str | None:
    floor = summary_floor(tokens)
    return (
        None if written >= floor else f"{written} tokens for {tokens:,} are fewer than {floor}: a loss, not a summary"
    )


def _excess(proposal: Proposal, count: Callable[[str], int]) -> str | None:
    """Whether a preference, a rule or a plan by a model takes too many tokens: all of them stay in the context for long."""
    most = _MOST_STATED.get(proposal.field)
    if most is not None and (tokens := count(proposal.value)) > most:
        return f"{tokens:,} tokens are more than a {proposal.field} may have, {most}"
    if proposal.field == "plan":
        plan = plan_of(proposal)
        if (tokens := count(plan.text)) > _MOST_PLANNED:
            return f"{tokens:,} tokens are more than a plan may have, {_MOST_PLANNED:,}"
        if (tokens := max(count(f"{plan.goal}\n{step}") for step in (*plan.steps, ""))) > _MOST_IN_FORCE:
            return f"its goal with one step has {tokens:,} tokens, more than {_MOST_IN_FORCE}"
    return None


def _parted(covered: Sequence[Page], state: SessionState) -> str | None:
    """Why a summary of these pages would never be shown: a call and its results are shown together, or replaced together."""
    first, last = covered[0].seq, covered[-1].seq
    for page in covered:
        caller = state.caller(page) if page.results else None
        if caller is not None and caller.seq < first:
            return f"it has the result {page.handle} without its call: begin with {caller.handle}"
    for page in state.between(last + 1, state.head):
        caller = state.caller(page) if page.results else None
        if caller is not None and first <= caller.seq <= last:
            return f"it has the call {caller.handle} without its result: end with {page.handle}"
    return None


def _covered(pages: Sequence[Page], ground: Ground) -> list[Page]:
    return ground.state.between(min(page.seq for page in pages), max(page.seq for page in pages))


def _quality(proposal: Proposal, ground: Ground) -> p.ProvenanceFail | p.InvariantViolation | None:
    """Whether a model's text may be stored, in any field; a text that cannot be checked may not."""
    pages = [page for page in map(ground.page, proposal.evidence) if page is not None]
    stands_for_pages = level_of(proposal) is not None
    messages = ground.messages(_covered(pages, ground) if stands_for_pages else pages)
    if messages is None:
        return p.ProvenanceFail("its evidence cannot be read")
    if stands_for_pages:
        objection = objection_to(proposal.value, messages, ground.messages(_callers(pages, ground.state)) or ())
    else:
        objection = _misbehaviour(proposal.value, messages)
    return p.InvariantViolation(objection) if objection is not None else None


def _callers(pages: Sequence[Page], state: SessionState) -> list[Page]:
    """The pages with the calls that these results answer: a form of a file that was read may name the file."""
    return [caller for page in pages if page.results and (caller := state.caller(page)) is not None]


def _misbehaviour(value: Any, messages: Sequence[Message]) -> str | None:
    """What is wrong with any text inside a value, or with all of them joined."""
    texts = [*_texts_in(value)]
    evidence = evidence_of(messages)
    flaw = next(filter(None, (misbehaviour_of(text, evidence) for text in texts)), None)
    return flaw or ("it gives instructions to its reader" if commands(" ".join(texts)) else None)


def _texts_in(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for name, item in value.items():
                yield name
                yield from _texts_in(item)
        case list():
            for item in value:
                yield from _texts_in(item)


def _mergeable(proposal: Proposal, present: type | None) -> p.InvariantViolation | None:
    expected = {Op.APPEND: list, Op.MERGE: dict}.get(proposal.op)
    if expected is not None and present not in (None, expected):
        return p.InvariantViolation(f"{proposal.op} does not fit the present value, a {present.__name__}")
    return None
