"""A router chooses who writes: in the worker's thread, by what the gate takes, and with the next one at hand where one fails."""

import threading
from contextlib import suppress

import pytest

import pageturn as pt
from pageturn.values.entries import Committed, Rejected
from pageturn.writeback.summaries import HttpEndpoint, ModelSummarizer, RoutedSummarizer
from tests.sessions import open_session
from tests.writeback.summaries.scripted import BAD, GOOD, scripted, work


class Writer:
    """A summarizer that always does the same."""

    def __init__(self, name, answer=GOOD):
        self.name = name
        self.answer = answer
        self.requests = 0
        self.began = threading.Event()

    def summarize(self, request):
        self.requests += 1
        self.began.set()
        if isinstance(self.answer, BaseException):
            raise self.answer
        if self.answer is None:  # it waits until nobody waits for it
            stopped = threading.Event()
            with request.stop.calling(stopped.set):
                assert stopped.wait(60)
            return GOOD
        return self.answer


def summarized(*writers, turns=40, rng=1, store=":memory:"):
    """A session with all its summaries, what came of each, and the router's log."""
    router = pt.Router(rng=rng)
    session = open_session(store, summarizer=RoutedSummarizer(writers, router))
    session.append(pt.system("You are an agent."))
    session.summaries.sizes = ()
    work(session, 0, turns)
    session.summaries.sizes = (4, 16)
    return session, session.summaries.finish(), log(router)


def log(router):
    return [(logged.decision.choice, logged.verdict) for _, logged in router.beliefs.log()]


BROKEN = {
    "fails": lambda endpoint: setattr(endpoint, "answer", lambda _: 500),
    "hangs up": lambda endpoint: setattr(endpoint, "answer", lambda _: None),
    "loops": lambda endpoint: setattr(endpoint, "answer", lambda _: BAD["looping"]),
    "invents": lambda endpoint: setattr(endpoint, "answer", lambda _: BAD["inventing"]),
    "says nothing": lambda endpoint: setattr(endpoint, "answer", lambda _: ""),
}


@pytest.mark.parametrize("how", BROKEN)
def test_the_good_one_writes_most_of_the_later_summaries(endpoint, how):
    BROKEN[how](endpoint)
    with scripted() as other:
        writers = [ModelSummarizer(HttpEndpoint(at.url, name)) for at, name in ((endpoint, "bad"), (other, "good"))]
        session, prepared, chosen = summarized(*writers)
    assert len(prepared) > 15
    assert all(isinstance(each.outcome, Committed) for each in prepared)  # the other one tries where one fails
    assert {choice for choice in chosen if choice[0] == "model bad"} == {("model bad", 0.0)}
    assert {choice for choice in chosen if choice[0] == "model good"} == {("model good", 1.0)}
    later = [name for name, _ in chosen[10:]]
    assert later.count("model good") >= 0.8 * len(later)
    assert len(chosen) == len(endpoint.requests) + len(other.requests)
    assert session.reader.faults() == ()


@pytest.mark.parametrize("kind", BAD)
def test_the_router_is_told_what_writeback_says(kind):
    _, prepared, chosen = summarized(Writer("only", BAD[kind]), turns=8)
    assert all(isinstance(each.outcome, Rejected | pt.BackendError) for each in prepared)
    assert {verdict for _, verdict in chosen} == {0.0}
    assert prepared
    _, prepared, chosen = summarized(Writer("only", GOOD), turns=8)
    assert all(isinstance(each.outcome, Committed) for each in prepared)
    assert {verdict for _, verdict in chosen} == {1.0}


def test_where_all_fail_the_session_hears_of_the_last():
    _, prepared, chosen = summarized(Writer("a", ValueError("secret")), Writer("b", BAD["looping"]), turns=8)
    assert set(chosen) == {("a", 0.0), ("b", 0.0)}
    assert prepared
    for each in prepared:
        told = str(each.outcome)
        assert "repeats itself" in told or "ValueError" in told
        assert "secret" not in told


def test_what_is_nobodys_fault_is_not_held_against_anybody():
    class Busy(Exception):
        status_code = 429
        retry_after = 60

    _, prepared, chosen = summarized(Writer("busy", Busy()), Writer("good"))
    assert all(isinstance(each.outcome, Committed) for each in prepared)
    assert chosen.count(("busy", None)) == 1  # it asked to retry later, and got it
    assert chosen.count(("good", 1.0)) == len(chosen) - 1


def test_one_that_comes_too_late_has_failed_and_one_that_was_stopped_has_not():
    for is_late in (True, False):
        slow = Writer("slow", None)
        router = pt.Router(rng=1)
        session = open_session(summarizer=RoutedSummarizer([slow], router))
        session.summaries.sizes = ()
        session.append(pt.system("You are an agent."))
        work(session, 0, 8)
        session.summaries.sizes = (4,)
        session.checkpoint()
        assert slow.began.wait(60)
        if is_late:
            session.summaries.timeout_seconds = 0
            (prepared,) = session.summaries.collect()
            assert "no summary in" in str(prepared.outcome)
            session.summaries.wait(60)
        session.close()
        assert log(router) == ([("slow", 0.0)] if is_late else [])


class Watched(pt.Router):
    """A router that remembers who used it."""

    threads = None

    def choose(self, *given, **options):
        self.threads.add(threading.get_ident())
        return super().choose(*given, **options)

    def observe(self, *given, **options):
        self.threads.add(threading.get_ident())
        return super().observe(*given, **options)


def test_the_router_is_asked_and_told_in_the_workers_thread_alone():
    router = Watched(rng=1)
    router.threads = set()
    session = open_session(summarizer=RoutedSummarizer([Writer("a"), Writer("b")], router))
    session.append(pt.system("You are an agent."))
    work(session, 0, 20)
    session.derive(budget_tokens=2_000)
    assert session.summaries.finish()
    session.close()
    assert router.threads
    assert threading.get_ident() not in router.threads


def test_beliefs_in_the_sessions_own_file_are_there_for_the_next(tmp_path):
    path = str(tmp_path / "agent.db")
    for number in range(2):
        with pt.Router.open(path, rng=number) as router:
            summarizer = RoutedSummarizer([Writer("bad", ValueError()), Writer("good")], router)
            with pt.Session.open(path, id=f"s{number}", summarizer=summarizer) as session:
                session.append(pt.system("You are an agent."))
                work(session, 0, 30)
                assert session.summaries.finish()
            asked = [writer.requests for writer in summarizer._by_name.values()]
    assert asked[0] <= 1 < asked[1]  # the second session knew


def test_a_summary_is_not_lost_because_the_router_cannot_write():
    class Forgetful(pt.Router):
        def observe(self, decision, outcome, **_):
            raise pt.StoreError("the disk is full")

    session = open_session(summarizer=RoutedSummarizer([Writer("good")], Forgetful()))
    session.append(pt.system("You are an agent."))
    work(session, 0, 12)
    prepared = session.summaries.finish()
    assert all(isinstance(each.outcome, Committed) for each in prepared)
    assert prepared


class Stubborn(pt.Router):
    """A router that names repeats itself."""

    def choose_router_target(self, decision, error, **_):
        super().choose_router_target(decision, error)
        return decision


class Elsewhere(pt.Router):
    """A router that names somebody else."""

    def choose(self, candidates, skill, **options):
        return super().choose(["a stranger"], skill, **options)


class Mute(pt.Router):
    """A router that names nobody."""

    def choose(self, *_, **__):
        return None


@pytest.mark.parametrize(
    ("router", "names", "asked", "told"),
    [
        (Stubborn, ["a"], 1, "ValueError"),
        (Stubborn, ["a", "b"], 1, "a choice among"),
        (Elsewhere, ["a", "b"], 0, "expected a choice among a, b, got 'a stranger'"),
        (Mute, ["a"], 0, "expected a choice among a, got None"),
    ],
)
def test_a_broken_router_is_told_of_and_nobody_is_asked_twice(router, names, asked, told):
    writers = [Writer(name, ValueError()) for name in names]
    session = open_session(summarizer=RoutedSummarizer(writers, router(rng=1)))
    session.append(pt.system("You are an agent."))
    session.summaries.sizes = ()
    work(session, 0, 12)
    session.summaries.sizes = (4,)
    prepared = session.summaries.finish()
    assert prepared
    assert all(told in str(each.outcome) for each in prepared)
    assert sum(writer.requests for writer in writers) == asked * len(prepared)


class Meeting(pt.Router):
    """A router in which two threads can meet."""

    def choose(self, *given, **options):
        with suppress(threading.BrokenBarrierError):  # nobody else came
            self.place.wait(0.5)
            self.has_met = True
        return super().choose(*given, **options)


def test_a_fork_takes_turns_with_its_parent_at_the_router():
    router = Meeting(rng=1)
    router.place, router.has_met = threading.Barrier(2), False
    session = open_session(summarizer=RoutedSummarizer([Writer("a")], router))
    session.append(pt.system("You are an agent."))
    session.summaries.sizes = ()
    work(session, 0, 12)
    fork = session.fork()
    for each in (session, fork):
        each.summaries.sizes = (4,)
        each.checkpoint()
    assert session.summaries.finish()
    assert fork.summaries.finish()
    assert not router.has_met


@pytest.mark.parametrize(
    ("summarizers", "expected"),
    [
        ([], "at least one"),
        (Writer("a"), "at least one"),
        ([Writer("a"), Writer("a")], "a name for each"),
        ([Writer("a|b")], "without '|'"),
        (["gpt-5"], "a Summarizer"),
    ],
)
def test_what_cannot_be_chosen_from_is_refused(summarizers, expected):
    with pytest.raises(pt.InvalidInput, match=expected.replace("|", r"\|")):
        RoutedSummarizer(summarizers, pt.Router())
    with pytest.raises(pt.InvalidInput, match="router"):
        RoutedSummarizer([Writer("a")], "thompson")
    with pytest.raises(pt.InvalidInput, match="the class Router"):
        RoutedSummarizer([Writer("a")], pt.Router)
