"""The laws, checked from outside: by what a context holds, and not by how it was made."""

import re

import pageturn as pt
from pageturn.context.pairing import PENDING
from pageturn.journal.journal import lineage
from pageturn.testing import check_context
from pageturn.testing.contexts import said, unpaired
from pageturn.values.messages import Role
from pageturn.values.notes import NoteDecision
from tests.sessions import counter_of, journal_of, store_of


def check_pairs(messages):
    """Each call has exactly one result, directly after the message that made it; each result an earlier call."""
    for broken in unpaired(messages):
        raise broken


def counted(session, context):
    tools = [tool.definition if isinstance(tool, pt.RecallTool) else tool for tool in context.tools]
    return counter_of(session).tools(tools) + sum(map(counter_of(session).message, context.messages))


def check_budget(session, context, budget):
    speakers = (
        page.role for page in session.reader.pages() if page.counts and page.role not in ("system", "developer")
    )
    begins = counter_of(session).opening(Role.ASSISTANT) if next(speakers, "assistant") == "assistant" else 0
    assert context.tokens == counted(session, context) + (begins if context.messages else 0)
    assert context.tokens <= context.budget_tokens <= budget


def check_floors(session, context):
    """A page that was made a rule after it came stands in no index line, and not below structured."""
    for page in session.reader.pages():
        if page.seq <= context.upto and session.reader.kind(page).is_rule:
            placement = context.placement(page.handle)
            assert placement.line is None
            assert placement.level >= pt.ResidencyLevel.STRUCTURED


def check_rules(session, context):
    """Every rule is shown in full, or in the words that its author gave for it."""
    state = session.reader.state()
    standing = {said(message) for message in context.messages}
    for page in session.reader.pages():
        if state.kind(page).is_rule and not page.results and not page.calls:
            form = state.pins.get(page.seq)
            words = said(session.reader.message(page))
            short = said(pt.system(session.reader.text(form.digest))) if form else None
            assert words in standing or short in standing, f"the rule {page.handle} is missing"


def people_of(session):
    return [
        (page, session.reader.message(page))
        for page in session.reader.pages()
        if page.role == "user" and not page.synthetic and not page.results
    ]


def tasks_of(session):
    """The last that a person said; and where that is surely only talk, the last that is surely more."""
    people = people_of(session)
    if not people:
        return []
    more = [pair for pair in people if not re.fullmatch(r"[a-z !]{0,60}", pair[1].text)]
    is_long = bool(more) and (len(more[-1][1].text.strip()) >= 80 or len(more[-1][1].content) > 1)
    return [people[-1], *(more[-1:] if is_long else [])]


def check_task(session, context):
    """The task is shown verbatim where it takes a third of the budget at most and fits beside the floors; else the context says so."""
    for page, message in tasks_of(session):
        check_one_task(session, context, page, message)


def check_one_task(session, context, page, message):
    if session.reader.kind(page).is_rule:
        return
    is_whole = any(said(message) == said(each) for each in context.messages)
    assert is_whole or any("task" in notice for notice in context.notices) or context.fold is None
    if not is_whole:
        level = context.explain(page.handle).level
        floors = context.layout.needed_tokens
        can_recall = any(isinstance(tool, pt.RecallTool) for tool in context.tools)
        assert context.explain(page.handle).line is None or not can_recall
        fits = page.tokens * 3 <= context.budget_tokens and floors + page.tokens <= context.budget_tokens
        assert level < pt.ResidencyLevel.FULL
        assert context.fold is None or not fits, (
            f"{page.tokens} tokens would fit beside {floors} of {context.budget_tokens}"
        )


def check_pending(session, context):
    """After a fold no call is pending whose result came soon after it."""
    results = [(page, result.call) for page in session.reader.pages() for result in page.results]
    calls = [(page, call.id) for page in session.reader.pages() for call in page.calls]
    shown = [result for message in context.messages for result in message.tool_results if result.content == PENDING]
    for pending in shown:
        asked, *again = [page.seq for page, call in calls if call == pending.tool_call_id]
        if again:  # nobody can say from outside which of them is pending
            continue
        came = [page.seq for page, call in results if call == pending.tool_call_id and page.seq > asked]
        assert not came or min(came) - asked > 64, f"{pending.tool_call_id} was answered"


def check_all(session, context, budget):
    check_context(session, context, budget_tokens=budget, counter=counter_of(session))
    check_floors(session, context)
    check_rules(session, context)
    check_task(session, context)
    if context.fold is not None:
        check_pending(session, context)


def check_notes(session, context):
    """Every note has one outcome, stands where that says and nowhere else, in the order of the bands, and is charged."""
    base, notes, history = context.bands
    assert 0 <= base <= notes <= history <= len(context.messages)
    durable = {note.key: note for note in session.reader.notes}
    standing = [outcome for outcome in context.notes if outcome.band is not None]
    current = [outcome for outcome in context.notes if outcome.decision in STANDING + WAITING]
    assert sorted(outcome.key for outcome in current) == sorted(durable)
    for outcome in context.notes:
        assert (outcome.tokens > 0) is (outcome.band is not None)
    messages = [message for message in context.messages if is_note(message)]
    assert sum(outcome.tokens for outcome in standing) == sum(map(counter_of(session).message, messages))
    assert len(standing) == len(messages)
    bands = [pt.ContextMessageTarget.SYSTEM, pt.ContextMessageTarget.SESSION]
    assert len([outcome for outcome in standing if outcome.band in bands]) == notes - base
    suffix = [outcome for outcome in standing if outcome.band is pt.ContextMessageTarget.SUFFIX_SYSTEM]
    assert len(suffix) == len(context.messages) - history
    assert all(outcome.decision is not NoteDecision.STICKY for outcome in suffix)
    front = [outcome.band for outcome in standing if outcome.band in bands]
    assert front == sorted(front, key=bands.index)
    assert all(map(is_note, context.messages[base:notes] + context.messages[history:]))
    for outcome in current:
        if outcome.decision in STANDING:
            said = durable[outcome.key].content
            assert sum(message.text == said for message in messages if is_of(session, outcome.key, message)) >= 1
    for place in context.breakpoints:
        assert place < history
    assert len(context.breakpoints) <= 4
    assert {end - 1 for end in (base, notes, history) if end} <= set(context.breakpoints)


STANDING = (
    NoteDecision.FIRST_EMIT,
    NoteDecision.CONTENT_CHANGED,
    NoteDecision.COOLDOWN_ELAPSED,
    NoteDecision.ALWAYS,
    NoteDecision.STICKY,
    NoteDecision.PROMOTED,
)
WAITING = (NoteDecision.COOLDOWN, NoteDecision.OVER_BUDGET, NoteDecision.EMPTY)


def is_note(message):
    """Whether a message is a note: pages that notes became have an id of another form."""
    return message.synthetic and message.visibility is pt.Visibility.INTERNAL and "-" not in (message.id or "-")


def is_of(session, key, message):
    root = lineage(store_of(session), journal_of(session).row)[0].session
    return pt.ContextMessage.system(key, message.text).to_message(root).id == message.id
