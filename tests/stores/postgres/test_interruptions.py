"""A connection that is lost in the middle of a write: what was written is written once, and what was not is written then."""

import pytest

from pageturn.stores import Batch, Document, Loss, Record, SessionRow, Slot, Span
from pageturn.testing.stores import batch
from pageturn.values.errors import Conflict, StoreError

ALL = 10**9
SLOT = Slot("counts", "one")
_APPEND, _COMMIT, _CREATE = b"INSERT INTO pageturn.records", b"COMMIT", b"INSERT INTO pageturn.sessions"


@pytest.fixture
def proxy(server, tmp_path_factory):
    from tests.stores.postgres.proxy import Proxy  # noqa: PLC0415  what it imports may not be there

    opened = Proxy(server.folder, tmp_path_factory.mktemp("p"))
    yield opened
    opened.close()


@pytest.fixture
def name(server):
    return server.new_database()


@pytest.fixture
def direct(server, opened, name):
    """A store without the proxy."""
    return opened(server.url(name))


@pytest.fixture
def store(direct, server, opened, name, proxy):
    """A store behind the proxy."""
    direct.create(SessionRow("a", b"key", 1))
    return opened(server.url(name).replace(str(server.folder), str(proxy.folder)))


def bodies(store):
    return [record.body for record in store.records("a")]


@pytest.fixture(params=[True, False], ids=["after it was run", "before it was run"])
def is_run(request):
    return request.param


def test_an_append_whose_answer_is_lost_is_in_the_session_once(store, direct, proxy, is_run):
    store.append("a", 0, batch(1))
    proxy.cut(_APPEND, is_run=is_run)
    store.append("a", 1, batch(2, 3, blobs={"d": b"x"}, texts=["tulip", "rose"]))
    assert proxy.cuts == 1
    store.append("a", 3, batch(4))
    assert bodies(direct) == [b"{1}", b"{2}", b"{3}", b"{4}"]
    assert [found.seq for found in direct.search([Span("a", ALL)], "rose", 5)] == [3]
    assert direct.check() == []


def test_an_append_is_done_again_as_often_as_it_is_interrupted(store, direct, proxy):
    proxy.cut(_APPEND, is_run=False, times=5)
    store.append("a", 0, batch(1))
    assert proxy.cuts == 5
    assert bodies(direct) == [b"{1}"]


def test_somebody_else_who_appends_the_same_number_meanwhile_is_no_success_of_ours(store, direct, proxy):
    direct.append("a", 0, batch(1))
    proxy.cut(_APPEND, is_run=False)
    with pytest.raises(Conflict) as caught:
        store.append("a", 0, Batch([Record(1, 10, b"{mine}")]))
    assert caught.value.missed == (Record(1, 10, b"{1}"),)
    assert bodies(direct) == [b"{1}"]


def test_an_append_that_others_have_continued_by_now_was_written_all_the_same(store, direct, proxy, monkeypatch):
    check = store._db._pool.check

    def meanwhile():
        monkeypatch.undo()
        direct.append("a", 1, batch(2))
        check()

    monkeypatch.setattr(store._db._pool, "check", meanwhile)
    proxy.cut(_APPEND, is_run=True)
    store.append("a", 0, batch(1))
    assert bodies(direct) == [b"{1}", b"{2}"]


def test_a_session_whose_creation_is_not_answered_is_created_once(store, direct, proxy, is_run):
    row = SessionRow("b", b"random", 7, "team")
    proxy.cut(_CREATE, is_run=is_run)
    store.create(row)
    assert direct.session("b") == row
    proxy.cut(_CREATE, is_run=is_run)
    with pytest.raises(Conflict, match="'b' exists already"):
        store.create(row._replace(key=b"another"))


def test_an_erasure_whose_answer_is_lost_says_what_it_freed(store, direct, proxy, is_run):
    store.append("a", 0, Batch([Record(1, 1, b"{}")], {"d": b"secret"}, [Document(1, "the secret")], [(1, "d")]))
    proxy.cut(_COMMIT, is_run=is_run)
    freed = store.erase("a", 1, Record(2, 2, b"{}"), [Loss("a", 1, ["d"], "the secret")])
    assert (proxy.cuts, tuple(freed)) == (1, (1, 6))
    assert direct.erasures() == 1
    assert direct.erased([Span("a", ALL)]) == {1}
    assert (direct.blob("d"), direct.is_erased("d")) == (None, True)


def test_a_change_of_a_sidecar_is_made_once(store, direct, proxy, is_run):
    def count(found):
        return {SLOT: b"%d" % (int(found[SLOT] or b"0") + 1)}

    store.amend([SLOT], count)
    proxy.cut(_COMMIT, is_run=is_run)
    assert store.amend([SLOT], count) == 2
    assert proxy.cuts == 1
    assert direct.document(SLOT) == b"2"
    assert direct.sidecar_version() == 2
    assert direct.check() == []


def test_who_does_not_wait_gets_an_error_and_nothing_is_half_written(server, opened, direct, store, proxy, name):
    hasty = opened(server.url(name, wait_seconds=0).replace(str(server.folder), str(proxy.folder)))
    hasty.append("a", 0, batch(1))
    proxy.cut(_APPEND, is_run=False, times=10)
    with pytest.raises(StoreError):
        hasty.append("a", 1, batch(2, blobs={"d": b"x"}))
    assert (bodies(direct), direct.blob("d")) == ([b"{1}"], None)


def test_connections_that_were_lost_while_nothing_happened_are_made_again(server, direct):
    direct.create(SessionRow("a", b"key", 1))
    direct.append("a", 0, batch(1))
    for _ in range(3):
        server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'pageturn'")
        assert bodies(direct) == [b"{1}"]
