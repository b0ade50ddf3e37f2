"""Summaries beside the turns: in a thread of their own, written by the session's, and never for what no longer holds."""

import threading

import pytest

import pageturn as pt
from pageturn.stores import MemoryStore
from pageturn.tokens.counters import counter_for
from pageturn.values.context import Wish
from pageturn.values.entries import Committed, Rejected, RenditionAdmitted, Staged
from pageturn.values.errors import SummaryFailed
from pageturn.writeback.summaries import Extractive
from tests.sessions import facts, open_session, reopened
from tests.writeback.summaries.scripted import GOOD, work


class Held:
    """A summarizer that waits until it is let go, and remembers what it was asked."""

    name = "held"

    def __init__(self, *answers, is_held=True):
        self.answers = list(answers)
        self.requests = []
        self.threads = set()
        self.began = threading.Event()
        self.released = threading.Event()
        if not is_held:
            self.released.set()

    def summarize(self, request):
        self.requests.append(request)
        self.threads.add(threading.get_ident())
        self.began.set()
        assert self.released.wait(60)
        answer = self.answers.pop(0) if self.answers else GOOD
        if isinstance(answer, BaseException):
            raise answer
        return answer


def at_once(*answers):
    return Held(*answers, is_held=False)


@pytest.fixture
def held():
    summarizer = Held()
    yield summarizer
    summarizer.released.set()


def opened(summarizer, turns=8, store=":memory:", **options):
    session = open_session(store, summarizer=summarizer, **options)
    session.summaries.sizes = ()  # until the test wants some
    session.append(pt.system("You are an agent."))
    work(session, 0, turns)
    return session


def begin(session, held, sizes=(4,)):
    """Let the session hand over its first run, and wait until the summarizer has it."""
    session.summaries.sizes = sizes
    session.checkpoint()
    assert held.began.wait(60)


def end(session, held):
    held.released.set()
    assert session.summaries.wait(60)


def admitted(session):
    return [session.reader.text(each.digest) for each in session.reader.renditions]


def entries(session, *kinds):
    return [entry for entry in facts(session) if isinstance(entry, kinds)]


def test_what_is_finished_is_written_with_the_next_message(held):
    session = opened(held)
    begin(session, held)
    end(session, held)
    assert admitted(session) == []
    session.append(pt.user("go on"))
    assert admitted(session) == [GOOD]


@pytest.mark.parametrize(
    "boundary", [pt.Session.checkpoint, pt.Session.close, lambda session: session.summaries.collect()]
)
def test_what_is_finished_is_written_at_a_boundary_or_when_asked(held, boundary):
    store = MemoryStore()
    session = opened(held, store=store)
    begin(session, held)
    end(session, held)
    boundary(session)
    assert admitted(open_session(store)) == [GOOD]


def test_the_summarizer_runs_in_another_thread_and_derive_never_asks_it():
    summarizer = at_once()
    session = opened(summarizer)
    for budget in (1_000, 100_000):
        session.derive(budget_tokens=budget)
    assert summarizer.requests == []
    session.summaries.sizes = (4,)
    session.summaries.finish()
    assert summarizer.requests
    assert threading.get_ident() not in summarizer.threads


CHANGES = {
    "undone": lambda session: session.undo(8),
    "erased": lambda session: session.erase(session.reader.pages()[3]),
    "erased by a fork": lambda session: session.fork("f").erase(session.reader.pages()[3]),
    "reset": lambda session: session.reset("All that came before.", force=True),
    "pinned": lambda session: session.pin(session.reader.pages()[4]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_run_that_changed_meanwhile_is_dropped(held, change):
    session = opened(held)
    begin(session, held)
    CHANGES[change](session)
    end(session, held)
    assert session.summaries.collect() == ()
    assert entries(session, Staged, RenditionAdmitted) == []
    assert session.reader.faults() == ()


@pytest.mark.parametrize("change", ["undone", "erased"])
def test_an_admitted_summary_goes_with_its_pages(change):
    session = opened(at_once())
    session.summaries.sizes = (4,)
    session.summaries.finish()
    assert len(admitted(session)) == 2
    CHANGES[change](session)
    assert len(admitted(session)) == (0 if change == "undone" else 1)


def test_after_an_erasure_the_rest_of_the_run_is_summarized_anew():
    summarizer = at_once()
    session = opened(summarizer)
    wish = wish_of(session, 1, 9)
    session.summaries.wish([wish])
    session.summaries.finish()
    session.erase(session.reader.pages()[3])
    assert admitted(session) == []
    session.summaries.wish([wish])
    assert [each.handles for each in session.summaries.finish()] == [wish.handle]
    assert len(admitted(session)) == 1
    assert len(summarizer.requests[1].pages) == len(summarizer.requests[0].pages) - 1


def test_a_summarizer_that_hangs_is_given_up_and_what_it_says_later_is_thrown_away(held):
    session = opened(held)
    begin(session, held)
    session.summaries.timeout_seconds = 0
    prepared = session.summaries.collect()
    assert [each.outcome for each in prepared] == [pt.BackendError("summarizer: no summary in 0 s")]
    assert held.requests[0].stop.is_set
    work(session, 8, 20)  # while it hangs, nothing more is handed over
    assert len(held.requests) == 1
    end(session, held)
    assert session.summaries.collect() == ()
    assert admitted(session) == []
    assert session.reader.fault_counts() == {"backend_error": 1}


def test_a_session_closes_although_a_summarizer_hangs(held):
    store = MemoryStore()
    session = opened(held, store=store)
    begin(session, held)
    assert session.close() is None
    faults = [record.entry.fault for record in open_session(store).reader.faults()]
    assert faults == [pt.BackendError("a summarizer did not stop in time")]
    assert len(held.requests) == 1


@pytest.mark.parametrize("error", [ValueError("secret"), SystemExit(1), SummaryFailed("no model is loaded")])
def test_finished_siblings_survive_whatever_a_summarizer_raises(error):
    session = opened(at_once(GOOD, error), turns=12)
    session.summaries.sizes = (4,)
    prepared = session.summaries.finish()
    assert [type(each.outcome) for each in prepared] == [Committed, pt.BackendError, *[Committed] * 3]
    reason = "no model is loaded" if isinstance(error, SummaryFailed) else type(error).__name__
    assert prepared[1].outcome == pt.BackendError(f"summarizer: {reason}")


@pytest.mark.parametrize("answer", [None, 5, b"bytes", "lone \ud800 surrogate " * 20])
def test_what_is_no_text_is_a_failure(answer):
    session = opened(at_once(answer))
    session.summaries.sizes = (4,)
    assert isinstance(session.summaries.finish()[0].outcome, pt.BackendError)
    assert len(admitted(session)) == 1


def test_a_summary_is_cut_to_what_was_asked_for():
    session = opened(at_once("\n".join(f"Line {at} is about {word}." for at, word in enumerate((GOOD * 20).split()))))
    session.summaries.sizes = (4,)
    prepared = session.summaries.finish()
    assert isinstance(prepared[0].outcome, Rejected | Committed)
    assert counter_for("gpt-5").text(prepared[0].text) <= 192


def test_a_run_is_summarized_once():
    summarizer = at_once()
    session = opened(summarizer)
    session.summaries.sizes = (4,)
    session.summaries.finish()
    assert len(summarizer.requests) == 2
    assert session.summaries.finish() == ()
    again = reopened(session, summarizer=summarizer)
    assert again.summaries.finish() == ()
    other = at_once()
    other.name = "another"
    assert reopened(session, summarizer=other).summaries.finish() == ()
    assert other.requests == []


def test_what_the_gate_refused_is_not_asked_again_of_the_same_summarizer():
    summarizer = at_once("tiny", "tiny")
    session = opened(summarizer)
    session.summaries.sizes = (4,)
    assert all(isinstance(each.outcome, Rejected) for each in session.summaries.finish())
    assert reopened(session, summarizer=summarizer).summaries.finish() == ()
    other = at_once()
    other.name = "better"
    assert len(reopened(session, summarizer=other).summaries.finish()) > 0


def test_two_sessions_that_write_the_same_summary_write_it_once():
    store = MemoryStore()
    first = opened(at_once(), store=store)
    second = open_session(store, summarizer=at_once())
    first.summaries.sizes = second.summaries.sizes = (4,)
    first.summaries.finish()
    with pytest.raises(pt.Conflict):
        second.summaries.finish()
    second.refresh()
    second.summaries.collect()
    assert len(admitted(open_session(store))) == 2


def test_what_was_not_written_before_a_crash_is_only_done_again(held):
    store = MemoryStore()
    session = opened(held, store=store)
    begin(session, held)
    end(session, held)
    again = open_session(store, summarizer=at_once())  # the first process is gone
    again.summaries.sizes = (4,)
    again.summaries.finish()
    assert admitted(again) == [GOOD, GOOD]


class StoreThatFails(MemoryStore):
    """Takes so many appends and then fails."""

    appends_left = 10**9

    def append(self, session, after, batch):
        if self.appends_left == 0:
            raise pt.StoreError("the disk is full")
        self.appends_left -= 1
        super().append(session, after, batch)


def test_a_message_that_was_written_is_not_said_to_have_failed(held):
    store = StoreThatFails()
    session = opened(held, store=store)
    begin(session, held)
    end(session, held)
    store.appends_left = 1
    page = session.append(pt.user("this one is written"))
    assert session.reader.pages()[-1] == page
    assert admitted(session) == []
    store.appends_left = 10**9
    session.append(pt.user("and now the summary too"))
    assert admitted(session) == [GOOD]


def wish_of(session, first, last):
    pages = session.reader.pages()
    return Wish(f"{pages[first].handle}..{pages[last].handle}", pt.ResidencyLevel.STRUCTURED, "it would have been used")


def test_wishes_are_answered_first_and_without_sizes_alone():
    summarizer = at_once()
    session = opened(summarizer)
    session.summaries.wish([wish_of(session, 1, 9)])
    prepared = session.summaries.finish()
    assert [each.handles for each in prepared] == [wish_of(session, 1, 9).handle]
    assert len(summarizer.requests) == 1
    session.summaries.sizes = (4,)
    session.summaries.wish([wish_of(session, 4, 9)])
    assert session.summaries.finish()[0].handles == wish_of(session, 4, 9).handle


def test_wishes_that_cannot_be_answered_are_left():
    summarizer = at_once()
    session = opened(summarizer)
    rule = session.reader.pages()[0].handle
    session.summaries.wish(
        [
            Wish(rule, pt.ResidencyLevel.STRUCTURED, "a large rule"),
            wish_of(session, 0, 9),  # covers a rule
            wish_of(session, 1, 1),  # saves nothing
            Wish("p1-aaaa..p2-bbbb", pt.ResidencyLevel.STRUCTURED, "of pages that are not there"),
        ]
    )
    assert session.summaries.finish() == ()
    assert summarizer.requests == []


def test_a_session_that_is_opened_again_is_the_one_that_was_live():
    session = opened(Extractive(), turns=30)
    session.summaries.sizes = (4, 16)
    session.summaries.finish()
    assert len(admitted(session)) > 10
    again = reopened(session)
    assert again.reader.state() == session.reader.state()
    for budget in (1_500, 4_000, 100_000):
        assert again.derive(budget_tokens=budget).messages == session.derive(budget_tokens=budget).messages


def test_between_folds_a_new_summary_moves_nothing():
    session = opened(Extractive(), turns=12)
    session.derive(budget_tokens=3_000)
    session.append(pt.assistant("seen"))
    before = session.derive(budget_tokens=100_000).messages
    session.summaries.sizes = (4,)
    assert session.summaries.finish()
    assert session.derive(budget_tokens=100_000).messages == before


def test_a_fork_prepares_its_own():
    summarizer = at_once()
    session = opened(summarizer)
    child = session.fork("child")
    child.summaries.sizes = (4,)
    assert len(child.summaries.finish()) == 2
    assert admitted(session) == []


def test_without_a_summarizer_there_are_none():
    assert open_session().summaries is None
    with pytest.raises(pt.InvalidInput, match="summarizer"):
        open_session(summarizer="gpt-5")


def test_who_waits_for_all_does_not_wait_for_a_summarizer_that_hangs(held):
    session = opened(held)
    session.summaries.sizes = (4,)
    session.summaries.timeout_seconds = 0.01
    (prepared,) = session.summaries.finish()
    assert "no summary in" in str(prepared.outcome)
    assert session.reader.fault_counts()["backend_error"] == 1


def test_one_that_took_too_long_does_not_keep_the_others_from_being_written():
    summarizer = OnceSlow()
    session = opened(summarizer, turns=12)
    session.summaries.sizes = (4,)
    session.summaries.timeout_seconds = 0.05
    outcomes = [type(each.outcome) for each in session.summaries.finish()]
    assert outcomes.count(pt.BackendError) == 1
    assert outcomes.count(Committed) >= 1


class OnceSlow:
    """A summarizer whose first answer comes only when nobody waits for it any more."""

    name = "once slow"

    def __init__(self):
        self.is_first = True

    def summarize(self, request):
        if self.is_first:
            self.is_first = False
            stopped = threading.Event()
            with request.stop.calling(stopped.set):
                assert stopped.wait(60)
        return GOOD


@pytest.mark.parametrize("name", [None, "", 3, "\ud800"])
def test_a_summarizer_without_a_name_is_refused(name):
    summarizer = at_once()
    summarizer.name = name
    with pytest.raises(pt.InvalidInput, match="name"):
        open_session(summarizer=summarizer)


@pytest.mark.parametrize("summarizer", [Extractive, "extractive", object()])
def test_what_is_no_summarizer_is_refused(summarizer):
    with pytest.raises(pt.InvalidInput, match="expected a Summarizer"):
        open_session(summarizer=summarizer)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("sizes", None),
        ("sizes", (0,)),
        ("sizes", ("4",)),
        ("sizes", 4),
        ("timeout_seconds", "1"),
        ("timeout_seconds", -1),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused_at_once(setting, value):
    session = opened(at_once())
    with pytest.raises(pt.InvalidInput, match=setting):
        setattr(session.summaries, setting, value)


def test_waiting_says_whether_the_summarizer_is_done(held):
    session = opened(held)
    begin(session, held)
    assert not session.summaries.wait(0)
    held.released.set()
    assert session.summaries.wait()
    with pytest.raises(pt.InvalidInput, match="timeout_seconds"):
        session.summaries.wait(-1)
