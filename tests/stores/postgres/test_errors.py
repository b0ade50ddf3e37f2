"""What can go wrong between a store and its server is said in plain words, and never with the password."""

import logging
import traceback
from contextlib import contextmanager

import pytest

from pageturn.stores import Document, Record, SessionRow, Slot, Snapshot, Span, open_store
from pageturn.testing.stores import batch, erase
from pageturn.values.errors import Busy, Conflict, InvalidInput, MissingExtra, StoreError

SECRET = "s3cr3t-w0rd"
SLOT = Slot("counts", "one")


@pytest.fixture(autouse=True)
def _installed(server):
    """Only where a server is."""


def everything_said(error):
    return "".join(traceback.format_exception(error)) + repr(error)


@pytest.mark.parametrize(
    ("url", "kind", "words"),
    [
        (
            f"postgresql://me:{SECRET}@127.0.0.1:1/agents",
            StoreError,
            "postgresql://me@127.0.0.1:1/agents: no answer from the server",
        ),
        (f"postgresql://me:{SECRET}@no-such-host.invalid/agents", StoreError, "no answer from the server"),
        (f"postgresql://me:{SECRET}%zz@host/agents", InvalidInput, "a URL that libpq cannot read"),
        (f"postgresql://me:{SECRET}@host/agents?shoe_size=9", InvalidInput, "a URL that libpq cannot read"),
        (
            f"postgresql://me:{SECRET}@host/agents?wait_seconds=soon",
            InvalidInput,
            "expected a number of seconds, up to 86400, got 'soon'",
        ),
        (f"postgresql://me:{SECRET}@host/agents?connections=1.5", InvalidInput, "expected a whole number above 0"),
        (
            f"postgresql://me@host/agents?password={SECRET}&port=x",
            StoreError,
            "postgresql://me@host:x/agents: no answer",
        ),
    ],
)
def test_a_url_that_leads_nowhere_is_an_error_without_the_password(url, kind, words, caplog):
    with caplog.at_level(logging.DEBUG), pytest.raises(kind) as caught:
        open_store(url)
    assert words in str(caught.value)
    assert SECRET not in everything_said(caught.value) + caplog.text


def test_nothing_shows_the_password_of_a_store_that_is_open(server, opened, caplog):
    url = server.url(server.new_database()).replace("postgres@", f"postgres:{SECRET}@")
    with caplog.at_level(logging.DEBUG):
        store = opened(url)
        store.create(SessionRow("a", b"key", 1))
        errors = [provoked(store, call) for call in PROVOCATIONS.values()]
    assert SECRET not in "".join(map(everything_said, errors)) + caplog.text
    assert SECRET not in repr(store) + repr(store._db._pool) + store.path
    assert store.path.startswith("postgresql://postgres@/")


PROVOCATIONS = {
    "twice": lambda store: store.create(SessionRow("a", b"key", 1)),
    "two of one number": lambda store: store.append("a", 0, batch(1)._replace(records=[Record(1, 1, b"")] * 2)),
    "no session": lambda store: store.append("b", 0, batch(1)),
    "a null": lambda store: store.create(SessionRow("a\0b", b"key", 1)),
    "a surrogate": lambda store: store.create(SessionRow("\ud800", b"key", 1)),
    "a number too large": lambda store: store.append("a", 0, batch(2**70)),
    "a snapshot of nothing": lambda store: store.keep_snapshot("a", Snapshot(9, b"")),
}


def provoked(store, call):
    with pytest.raises(StoreError) as caught:
        call(store)
    return caught.value


@pytest.mark.parametrize("name", PROVOCATIONS)
def test_what_the_server_refuses_is_a_store_error_of_one_line(store, name):
    store.create(SessionRow("a", b"key", 1))
    error = provoked(store, PROVOCATIONS[name])
    assert "\n" not in str(error)
    assert "DETAIL" not in everything_said(error)
    store.append("a", 0, batch(1, texts=["a \0 null and a \ud800 surrogate"]))
    assert [record.seq for record in store.records("a")] == [1]


def test_what_it_lacks_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pageturn.stores.postgres", None)
    with pytest.raises(MissingExtra, match=r"pip install 'pageturn\[postgres\]'"):
        open_store("postgresql://host/agents")


# -- waiting


@contextmanager
def held(server, url, statement):
    """While another connection is in a transaction."""
    import psycopg  # noqa: PLC0415  may not be there

    with psycopg.connect(url.partition("&")[0]) as other:
        other.execute(statement)
        yield
        other.rollback()


@pytest.fixture
def hasty(opened, url):
    """A store that hardly waits."""
    store = opened(url + "&wait_seconds=0.05")
    store.create(SessionRow("a", b"key", 1))
    store.append("a", 0, batch(1, blobs={"d": b"x"}, texts=["tulip"]))
    return store


WAITING = {
    "append": lambda store: store.append("a", 1, batch(2)),
    "erase": lambda store: erase(store, "a", 1),
    "snapshot": lambda store: store.keep_snapshot("a", Snapshot(1, b"s")),
    "amend": lambda store: store.amend([SLOT], lambda _: {SLOT: b"1"}),
    "words": lambda store: store.give_words("a", [Document(2, "late")]),
}


@pytest.mark.parametrize("name", WAITING)
def test_a_writer_waits_as_long_as_it_was_told_and_readers_do_not_wait(server, hasty, url, name):
    with held(server, url, f"SELECT pg_advisory_xact_lock({0x50414745_00000001})"):
        with pytest.raises(Busy, match=r"waited 0\.05 s \(wait_seconds\)"):
            WAITING[name](hasty)
        assert [record.seq for record in hasty.records("a")] == [1]
        assert [found.seq for found in hasty.search([Span("a", 9)], "tulip", 5)] == [1]
        assert hasty.session("a").head == 1
    WAITING[name](hasty)


def test_a_writer_of_the_same_session_is_waited_for(server, hasty, url):
    with held(server, url, "UPDATE pageturn.sessions SET head = 2 WHERE id = 'a'"), pytest.raises(Busy):
        hasty.append("a", 1, batch(2))
    hasty.append("a", 1, batch(2))


def test_at_once_never_waits(server, opened, url):
    store = opened(url + "&wait_seconds=600")
    store.create(SessionRow("a", b"key", 1))
    with (
        held(server, url, "UPDATE pageturn.sessions SET head = 2 WHERE id = 'a'"),
        store.at_once(),
        pytest.raises(Busy),
    ):
        store.append("a", 0, batch(1))
    store.append("a", 0, batch(1))


def test_when_all_connections_are_in_use_a_caller_is_told(opened, url):
    store = opened(url + "&connections=1&wait_seconds=0")
    store.create(SessionRow("a", b"key", 1))
    with store._db.connection(), pytest.raises(Busy, match="no connection was free; at most 1 are used"):
        store.session("a")


def test_a_statement_that_takes_too_long_is_ended(opened, url, server):
    store = opened(url + "&statement_seconds=0.2")
    store.create(SessionRow("a", b"key", 1))
    with held(server, url, "LOCK TABLE pageturn.passages"), pytest.raises(StoreError, match=r"longer than 0\.2 s"):
        store.search([Span("a", 9)], "tulip", 5)


def test_a_closed_store_says_so(store):
    store.close()
    store.close()
    with pytest.raises(StoreError, match="the store is closed"):
        store.session("a")


def test_a_store_for_reading_writes_nothing(hasty, opened, url):
    reader = opened(url, read_only=True)
    assert [found.seq for found in reader.search([Span("a", 9)], "tulip", 5)] == [1]
    for call in (
        *WAITING.values(),
        lambda store: store.create(SessionRow("b", b"", 1)),
        lambda store: store.drop_words(),
    ):
        with pytest.raises(StoreError, match="opened for reading only"):
            call(reader)
    with pytest.raises(Conflict):
        hasty.create(SessionRow("a", b"key", 1))
