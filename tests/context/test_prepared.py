"""What is done after an append, so that the next derivation need not, changes nothing of what is derived."""

import pytest

import pageturn as pt
from pageturn.context import fold, working_set
from pageturn.context.renditions import ContentType, Renderers
from pageturn.context.sealed_runs import outside, units_within
from pageturn.journal.journal import Journal
from pageturn.stores import MemoryStore
from pageturn.testing.sessions import Script, open_session
from tests.laws.acts import plot
from tests.laws.driver import Driver
from tests.long import examples


def test_kept_units_are_those_that_are_found_anew(monkeypatch):
    found = fold.FoldMaker._units_outside
    behind_lines = []

    def compared(self, sealed):
        units = found(self, sealed)
        state = self._journal.state
        assert units == units_within(state, outside(state, sealed))
        behind_lines.append(bool(sealed))
        return units

    monkeypatch.setattr(fold.FoldMaker, "_units_outside", compared)
    for seed in range(examples(40, whole=2_000)):
        Driver(plot(seed)).play()
    assert behind_lines.count(False) > 60
    Script(open_session(policy=pt.Paged.thrifty(3_000))).begin().work(200, lines=20)
    assert behind_lines.count(True) > 10


def contexts_of(seed, monkeypatch, *, prepares):
    """All that a random session derives, with or without what is done after its appends."""
    told = []
    derive = pt.Session.derive
    with monkeypatch.context() as patch:
        if not prepares:
            patch.setattr(working_set.WorkingSet, "prepare", lambda self: None)

        def watched(self, *given, **options):
            context = derive(self, *given, **options)
            told.append((context.messages, context.folded, context.recent, context.fold, context.faults, context.notes))
            return context

        patch.setattr(pt.Session, "derive", watched)
        Driver(plot(seed)).play()
    return told


def test_what_is_prepared_changes_nothing(monkeypatch):
    for seed in range(examples(15, whole=1_000)):
        assert contexts_of(seed, monkeypatch, prepares=True) == contexts_of(seed, monkeypatch, prepares=False)


def test_a_fold_finds_the_forms_of_finished_units_made(monkeypatch):
    made = []
    make = fold.FormMaker._make
    monkeypatch.setattr(
        fold.FormMaker, "_make", lambda self, *given: made.append(given[0][0].seq) or make(self, *given)
    )
    script = Script(open_session(policy=pt.Paged.thrifty(12_000))).begin()
    in_folds = []
    for _ in range(60):
        before = len(made)
        context = script.derive()
        if context.fold is not None:
            in_folds.append(len(made) - before)
        script.turn("value_{n} = compute_{n}()\n" * 60)
    assert len(in_folds) > 3
    assert in_folds[2:] == [0] * len(in_folds[2:])


def test_a_result_that_comes_before_the_answer_is_late_for_whoever_opens_the_session_again_too():
    store = MemoryStore()
    session = open_session(store)
    script = Script(session).begin()
    call = pt.ToolCall(id="c1", name="read", arguments='{"path": "a.py"}')
    script.derive()
    session.append(pt.assistant("reading", call))
    script.derive()  # the model is asked while the call waits
    session.append(pt.tool_result(call, "the result"))
    session.append(pt.assistant("while it waits, something else"))
    here, again = session.derive(), pt.Session.open(store, id=session.id).derive()
    assert here.messages == again.messages
    assert any("came late" in message.text for message in here.messages)


class Broken(Exception):
    """A renderer that fails."""


def test_a_renderer_that_fails_fails_the_derivation_and_not_the_append():
    def failing(_):
        raise Broken

    renderers = Renderers(dict.fromkeys(ContentType, failing))
    session = open_session(policy=pt.Paged.thrifty(12_000), renderers=renderers)
    script = Script(session).begin()
    with pytest.raises(Broken):  # noqa: PT012 (only a derivation may raise it, and only when it folds)
        for _ in range(200):
            appended = len(session.reader.pages())
            context = script.derive()
            call = pt.ToolCall(id=f"c{appended}", name="read", arguments="{}")
            session.append(pt.assistant("reading", call))
            session.append(pt.tool_result(call, "value = compute()\n" * 200))
            assert context.fold is None


def imported(pages):
    session = open_session(policy=pt.Paged.thrifty(4_000))
    session.extend([pt.system("Be careful."), pt.user("Mend src/auth.py.")])
    session.extend(
        [pt.user(f"page {number} of the import, in src/file_{number}.py", synthetic=True) for number in range(pages)]
    )
    return session


def test_what_is_imported_at_once_is_read_as_far_as_a_fold_needs_it(monkeypatch):
    reads = []
    message = Journal.message
    monkeypatch.setattr(
        Journal, "message", lambda self, page, **how: reads.append(page.seq) or message(self, page, **how)
    )
    session = imported(8_000)
    assert session.derive().fold is not None
    assert len(reads) < 6_000


def test_of_what_is_far_over_the_budget_the_same_is_derived_as_if_all_were_read(monkeypatch):
    far_over = imported(3_000).derive()
    monkeypatch.setattr(working_set, "_FAR_OVER", 10**9)
    assert far_over == imported(3_000).derive()
