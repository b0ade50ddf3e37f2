"""What was sent does not move, whatever is called between a context and its answer."""

from contextlib import suppress
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pageturn as pt
from pageturn.values.entries import FoldReason
from tests.context.checks import check_notes
from tests.context.notes import Note, answered, begun, grow, said
from tests.long import examples
from tests.sessions import clock_of, reopened

POLICIES = (pt.Legacy(), pt.Reset(3_000), pt.Incremental(3_000), pt.Paged(3_000), pt.Paged.thrifty(3_000))


def pin_a_page(session):
    session.pin(session.reader.pages()[-1])


def pin_an_old_page(session):
    session.pin(session.reader.pages()[len(session.reader.pages()) // 2])


def unpin(session):
    pins = [page for page in session.reader.pages() if page.seq in session.reader.state().pins]
    if pins:
        session.unpin(pins[-1])


def fork(session):
    """The fork is answered too, and goes its own way."""
    other = session.fork()
    sent = other.derive()
    other.pin("Never in the fork.")
    other.append(pt.assistant("in the fork"))
    check_prefix(sent, other.derive())


def reopen(session):
    """Somebody else looks at it, and writes something."""
    other = reopened(session)
    other.derive()
    other.checkpoint()
    session.refresh()


def derive_in_vain(session):
    with suppress(pt.BudgetTooSmall):
        session.derive(budget_tokens=20)


def conversation(session):
    session.inject(Note.conversation_internal_system("Mere talk."))


def retract(session, key="now", **options):
    with suppress(pt.InvalidInput):
        session.retract(key, **options)


def write_back(session):
    evidence = (session.reader.pages()[-1].handle,)
    session.write_back(pt.Proposal(field="memory.found", value="src/auth.py", evidence=evidence))


BETWEEN = {
    "pin": lambda session: session.pin("Never push."),
    "pin with a short form": lambda session: session.pin("Never push, please.", structured="never push"),
    "pin a page": pin_a_page,
    "pin an old page": pin_an_old_page,
    "unpin": unpin,
    "plan": lambda session: session.plan("Fix it", ["look", "mend"]),
    "prefer": lambda session: session.prefer("Short answers."),
    "user": lambda session: session.append(pt.user("And the logout.")),
    "harness": lambda session: session.append(pt.user("A hook ran.", synthetic=True)),
    "system": lambda session: session.append(pt.system("Mind the tests.")),
    "result": lambda session: session.append(pt.tool_result("open", "at last")),
    "inject again": lambda session: session.inject(Note.system("now", "the text that was sent")),
    "inject the same key": lambda session: session.inject(Note.system("now", "another text")),
    "inject the same key at the end": lambda session: session.inject(Note.suffix_system("now", "another text")),
    "inject the same text with a cooldown": lambda session: session.inject(
        Note.system("now", "the text that was sent", cooldown_turns=2)
    ),
    "inject the same text once": lambda session: session.inject(
        Note.system("now", "the text that was sent", consume_after_emit=True)
    ),
    "inject another key": lambda session: session.inject(Note.session("other", "some other text")),
    "inject once": lambda session: session.inject(Note.system("later", "once, but later", consume_after_emit=True)),
    "inject talk": conversation,
    "retract": retract,
    "retract now": lambda session: retract(session, now=True),
    "retract the first": lambda session: retract(session, "first"),
    "retract the first now": lambda session: retract(session, "first", now=True),
    "undo": lambda session: session.undo() if session.reader.answers else None,
    "erase": lambda session: session.erase(session.reader.pages()[-1]),
    "erase an old page": lambda session: session.erase(session.reader.pages()[len(session.reader.pages()) // 2]),
    "reset": lambda session: session.reset("We looked into it, and half of it is done.", force=True),
    "policy": lambda session: session.choose(pt.Paged.thrifty(2_800)),
    "fork": fork,
    "reopen": reopen,
    "derive in vain": derive_in_vain,
    "checkpoint": lambda session: session.checkpoint(),
    "write back": write_back,
    "usage": lambda session: session.append(pt.user("and"), pt.Usage(input_tokens=10)),
    "recall": lambda session: session.recall("nothing of that name"),
}


def first_context(policy):
    return begun(policy=policy)


def second_context(policy):
    session = begun(policy=policy)
    session.inject(Note.session("first", "the first note"))
    answered(session)
    return session


def with_an_open_call(policy):
    session = second_context(policy)
    session.derive()
    session.append(pt.assistant("I wait.", pt.ToolCall(id="open", name="bash", arguments="{}")))
    return session


def after_folds(policy):
    session = second_context(policy)
    for number in range(12):
        session.derive()
        grow(session, number, lines=40)
    return session


def after_a_silence(policy):
    """The cache is gone, so the context is folded if that pays."""
    session = after_folds(policy)
    clock_of(session).now += timedelta(hours=1)
    session.append(pt.user("Where were we?"))
    return session


SETTINGS = (first_context, second_context, with_an_open_call, after_folds, after_a_silence)


def check_prefix(sent, after):
    if after.fold is None:
        kept = sent.bands.history
        assert after.messages[:kept] == sent.messages[:kept]


def test_a_pin_between_a_context_and_its_answer_moves_no_note():
    session = begun()
    answered(session, "one")
    session.inject(Note.system("now", "NOTE"))
    sent = session.derive()
    session.pin("Never push.")
    session.append(pt.assistant("two"))
    after = session.derive()
    assert (said(sent)[-1], after.fold) == ("NOTE", None)
    assert said(after) == [*said(sent), "Never push.", "two"]


@pytest.mark.parametrize("name", ["pin", "pin a page", "pin an old page"])
def test_a_pin_between_a_fold_for_a_cold_cache_and_its_answer_moves_nothing_without_a_fold(name):
    session = second_context(pt.Paged.thrifty(9_000))
    for number in range(60):
        session.derive()
        grow(session, number, lines=40)
    clock_of(session).now += timedelta(hours=1)
    session.append(pt.user("Where were we?"))
    sent = session.derive()
    assert sent.fold.reason is FoldReason.COLD
    BETWEEN[name](session)
    session.append(pt.assistant("two"))
    after = session.derive()
    check_prefix(sent, after)
    assert reopened(session).derive().messages == after.messages


def play(begin, policy, names):
    """A context with new notes is sent, other things are done, and then the answer comes, and two more turns."""
    session = begin(policy)
    session.inject(Note.system("now", "the text that was sent"))
    session.inject(Note.session("once", "what is shown once", consume_after_emit=True))
    session.inject(Note.suffix_system("end", "at the end"))
    sent = session.derive()
    check_notes(session, sent)
    assert said(sent).count("what is shown once") == 1
    for name in names:
        with suppress(pt.BudgetTooSmall, IndexError):  # a rule that does not fit is refused; there may be no page left
            BETWEEN[name](session)
    session.append(pt.assistant("two"))
    for number in range(3):
        after = session.derive()
        check_notes(session, after)
        check_prefix(sent, after)
        assert "what is shown once" not in said(after)
        again = reopened(session).derive()
        assert (again.messages, again.notes, again.fold) == (after.messages, after.notes, after.fold)
        grow(session, f"after {number}", lines=5)
        yield sent, after
        sent = after


@pytest.mark.parametrize("begin", SETTINGS, ids=lambda begin: begin.__name__)
@pytest.mark.parametrize("name", BETWEEN)
def test_nothing_that_was_sent_moves_whatever_is_called_before_the_answer(begin, name):
    at = list(BETWEEN).index(name) + SETTINGS.index(begin)
    for number in range(at, at + examples(1, whole=len(POLICIES))):
        assert len(list(play(begin, POLICIES[number % len(POLICIES)], [name]))) == 3


@settings(max_examples=examples(40, whole=3_000), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from(SETTINGS),
    st.sampled_from(POLICIES),
    st.lists(st.sampled_from(sorted(BETWEEN)), min_size=2, max_size=5),
)
def test_nothing_that_was_sent_moves_in_whatever_order_things_are_called(begin, policy, names):
    assert len(list(play(begin, policy, names))) == 3
