"""A session gives the same in PostgreSQL as in SQLite: its journal, its contexts byte for byte, and what a search finds."""

import pytest

import pageturn as pt
from pageturn.journal.doctor import examine
from pageturn.journal.repair import repair
from pageturn.routing.stored_state import examine_beliefs
from pageturn.stores import Batch, Document, MemoryStore, Record, SessionRow, Span
from pageturn.testing import Script, open_session
from pageturn.values.json import to_json

ALL = 10**9
_QUERIES = [
    "the login service",
    "src/auth/login.py",
    "UserAccountService",
    "expiry of sessions",
    "raise ValueError",
    "naïve café",
    "会议",
    "timeout 1800",
    "module_7",
    "compute 11",
]


@pytest.fixture
def pair(store):
    return store, MemoryStore()


def worked(store):
    """A session with a bit of everything, and all contexts on the way."""
    script = Script(open_session(store), budget_tokens=3_000).begin()
    script.session.pin("Never push to main.")
    contexts = script.work(12)
    erased = script.say(pt.user("the secret tulip"))
    script.session.plan("mend it", ["look", "mend"], 1)
    script.session.erase(erased)
    script.session.checkpoint()
    fork = script.session.fork("fork")
    contexts += [*script.work(4), script.derive(), fork.derive(budget_tokens=3_000)]
    return [to_json(context.messages) for context in contexts]


def test_the_same_calls_give_the_same_journal_and_the_same_contexts(pair):
    contexts = [worked(store) for store in pair]
    assert contexts[0] == contexts[1]
    for session in ("s", "fork"):
        rows, journals = zip(*((store.session(session), list(store.records(session))) for store in pair), strict=True)
        assert rows[0] == rows[1]
        assert journals[0] == journals[1]
        assert pair[0].references(session) == pair[1].references(session)
        assert pair[0].documents(session) == pair[1].documents(session)
    assert dict(pair[0].blobs()) == dict(pair[1].blobs())


def test_what_was_opened_again_derives_the_same(store, opened, url):
    worked(store)
    again = open_session(opened(url)).derive(budget_tokens=3_000)
    beside = MemoryStore()
    worked(beside)
    assert to_json(again.messages) == to_json(open_session(beside).derive(budget_tokens=3_000).messages)


def test_the_doctor_finds_nothing_and_a_repair_keeps_everything(store):
    worked(store)
    assert [*examine(store, also=[examine_beliefs])] == []
    before = {row.id: list(store.records(row.id)) for row in store.sessions()}
    repair(store)
    assert {row.id: list(store.records(row.id)) for row in store.sessions()} == before
    assert [*examine(store, also=[examine_beliefs])] == []


def texts():
    for number in range(120):
        yield (
            f"step {number}: the {['login', 'payment', 'search'][number % 3]} service in src/auth/module_{number % 40}.py\n"
            f"class UserAccount{number % 7}Service: timeout = {number * 100}; compute_{number % 13}(naive, café)\n"
            + ("raise ValueError('expired session') in src/auth/login.py\n" if number % 10 == 3 else "")
            + ("会议改到星期五" if number % 30 == 5 else "")
            + "filler words of another kind " * (number % 9)
        )


def test_a_search_finds_the_same_records_and_ranks_them_comparably(pair):
    documents = [Document(number, text) for number, text in enumerate(texts(), start=1)]
    for store in pair:
        store.create(SessionRow("a", b"key", 1))
        store.append("a", 0, Batch([Record(each.seq, 1, b"{}") for each in documents], documents=documents))
    for query in _QUERIES:
        ours, theirs = (store.search([Span("a", ALL)], query, 200) for store in pair)
        assert {found.seq for found in ours} == {found.seq for found in theirs}, query
        # The best ten are as good as SQLite's best ten, by SQLite's own scores: many passages score the same.
        scores = {found.seq: found.score for found in theirs}
        assert sum(scores[found.seq] for found in ours[:10]) >= 0.9 * sum(found.score for found in theirs[:10]), query
