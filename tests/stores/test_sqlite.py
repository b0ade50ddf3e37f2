"""The SQLite file: other people's files, newer formats, full and read-only disks, erased bytes."""

import gc
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

import pageturn as pt
from pageturn.stores import Batch, Broken, MemoryStore, Record, SessionRow, SqliteStore
from pageturn.stores.sqlite_file import _refuse_foreign
from pageturn.stores.tables import APPLICATION_ID, FORMAT, FORMATS
from pageturn.values.errors import Conflict, NotScrubbed, StoreError
from pageturn.values.proposals import Op
from tests.sessions import open_session, store_of


@pytest.mark.parametrize("version", [0, 1, 2, 99])
def test_a_file_of_another_program_is_refused_and_left_alone(tmp_path, version):
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE notes (text)")
        db.execute(f"PRAGMA user_version = {version}")
    before = path.read_bytes()
    with pytest.raises(StoreError, match="a SQLite file of another program"):
        SqliteStore(str(path))
    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "text.db"
    path.write_text("just some text, longer than a header of SQLite would be" * 20)
    before = path.read_bytes()
    with pytest.raises(StoreError, match="file is not a database"):
        pt.Session.open(str(path))
    assert path.read_bytes() == before


def test_a_newer_format_is_refused_with_both_numbers(tmp_path):
    path = str(tmp_path / "new.db")
    SqliteStore(path).close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreError, match=rf"written by a newer pageturn \(format 99, this one reads up to {FORMAT}\)"):
        pt.Session.open(path)


@pytest.mark.parametrize("version", range(1, FORMAT))
def test_a_file_of_an_older_format_is_brought_up_to_date(tmp_path, version):
    path = str(tmp_path / "old.db")
    with sqlite3.connect(path) as db:
        for script, work in FORMATS[:version]:
            db.executescript(script)
            if work is not None:
                work(db)
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {version}")
    with pt.Session.open(path, id="s") as session:
        session.append(pt.user("the tulip"))
        assert isinstance(session.recall("tulip"), pt.Recalled)
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (FORMAT,)


# A file as it was written before erasures were counted: what its sessions say is read from it as it stands.
FORMAT_3 = """
CREATE TABLE sessions (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, key BLOB NOT NULL, created_at INTEGER NOT NULL,
    scope TEXT, parent TEXT, parent_seq INTEGER NOT NULL
);
CREATE TABLE records (
    session INTEGER NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (session, seq)
) WITHOUT ROWID;
CREATE TABLE snapshots (session INTEGER PRIMARY KEY, seq INTEGER NOT NULL, body BLOB NOT NULL);
CREATE TABLE blobs (digest TEXT NOT NULL UNIQUE, data BLOB NOT NULL);
CREATE TABLE erased (digest TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE refs (
    digest TEXT NOT NULL, session INTEGER NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (digest, session, seq)
) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5(
    text, parts, content='', tokenize='porter unicode61 remove_diacritics 2'
);
CREATE TABLE unindexed (row INTEGER PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE sidecars (
    name TEXT NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY (name, key)
) WITHOUT ROWID;
CREATE INDEX sidecars_by_version ON sidecars (version);
CREATE INDEX sidecars_by_name ON sidecars (name, version);
PRAGMA application_id = 0x50414745;
PRAGMA user_version = 3;
"""
_TABLES = ("sessions", "records", "snapshots", "blobs", "erased", "refs", "sidecars")


@pytest.fixture
def old_file(tmp_path):
    """A file of format 3 with a session that erased a page, and its fork."""
    new, old = str(tmp_path / "new.db"), str(tmp_path / "old.db")
    with pt.Session.open(new, id="s") as session:
        kept, gone = session.extend([pt.user("the rose"), pt.user("the tulip")])
        session.fork("f").append(pt.user("the lily"))
        session.erase(gone)
    with sqlite3.connect(old) as db:
        db.executescript(FORMAT_3)
        db.execute("ATTACH ? AS new", (new,))
        for table in _TABLES:
            columns = ", ".join(row[1] for row in db.execute(f"PRAGMA main.table_info({table})"))
            db.execute(f"INSERT INTO {table} SELECT {columns} FROM new.{table}")
        db.execute("INSERT INTO unindexed VALUES (?, 'the rose')", (1 << 40 | kept.seq,))
    return old, kept, gone


def test_a_file_that_counted_no_erasures_is_read_and_counts_from_now_on(old_file):
    path, kept, gone = old_file
    store = SqliteStore(path)
    session, fork = pt.Session.open(store, id="s"), pt.Session.open(store, id="f")
    assert store.erasures() == 0
    assert [message.text for message in session.reader.messages()] == ["the rose"]
    assert session.resolve(gone) == fork.resolve(gone) == pt.Denied("erased")
    assert session.recall("rose").hits[0].handle == kept.handle
    fork.erase(kept)
    assert store.erasures() == 1
    assert session.resolve(kept) == fork.resolve(kept) == pt.Denied("erased")
    assert store.check() == []


def test_a_file_that_is_brought_up_to_date_by_two_at_once_is_sound(old_file):
    path, *_ = old_file
    with ThreadPoolExecutor(4) as pool:
        stores = list(pool.map(lambda _: SqliteStore(path), range(4)))
    assert [store.erasures() for store in stores] == [0] * 4
    assert stores[0].check() == []


def test_what_waits_to_be_indexed_is_found_on_a_store_that_takes_no_writes(tmp_path):
    store = SqliteStore(str(tmp_path / "s.db"))
    session = pt.Session.open(store, id="s")
    session.append(pt.user("the tulip"))
    store._connection.execute("PRAGMA query_only = ON")
    found = session.recall("tulip")
    store._connection.execute("PRAGMA query_only = OFF")
    assert found == session.recall("tulip")
    assert len(found.hits) == 1


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(StoreError, match="unable to open database file"):
        pt.Session.open(str(tmp_path / "no" / "such" / "folder.db"))


@pytest.fixture
def full_disk(tmp_path):
    """A session on a store that may not grow any more."""
    store = SqliteStore(str(tmp_path / "full.db"))
    session = pt.Session.open(store, id="s")
    session.append(pt.user("before"))
    pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
    store._connection.execute(f"PRAGMA max_page_count = {pages}")
    yield session, store
    store.close()


def test_a_full_disk_refuses_the_append_and_loses_nothing(full_disk):
    session, store = full_disk
    with pytest.raises(StoreError, match="database or disk is full"):
        session.append(pt.user("x" * 200_000))
    assert [message.text for message in session.reader.messages()] == ["before"]
    store._connection.execute("PRAGMA max_page_count = 1000000")
    session.append(pt.user("after"))
    assert [message.text for message in session.reader.messages()] == ["before", "after"]


def test_a_boundary_on_a_broken_store_is_a_flush_miss(full_disk):
    session, store = full_disk
    assert isinstance(session.recall("before"), pt.Recalled)  # so that everything is indexed
    store._connection.execute("PRAGMA query_only = ON")
    assert session.recall("zebra") == pt.NoMatch()
    assert session.checkpoint() == pt.FlushMiss()
    assert session.reader.fault_counts() == {"no_match": 1, "flush_miss": 1}
    store._connection.execute("PRAGMA query_only = OFF")
    store._connection.execute("PRAGMA max_page_count = 1000000")
    assert session.checkpoint() is None
    assert pt.Session.open(store, id="s").reader.fault_counts() == {"no_match": 1, "flush_miss": 1}


def test_leaving_a_session_that_could_not_be_written_is_an_error(full_disk):
    session, store = full_disk
    store._connection.execute("PRAGMA query_only = ON")
    with pytest.raises(StoreError, match="flush miss"), session:
        pass


def test_a_read_only_file_can_be_read_and_not_written(tmp_path):
    path = str(tmp_path / "ro.db")
    with pt.Session.open(path, id="s") as session:
        session.append(pt.user("kept"))
    store = SqliteStore(path)
    store._connection.execute("PRAGMA query_only = ON")
    session = pt.Session.open(store, id="s")
    with pytest.raises(StoreError, match="readonly"):
        session.append(pt.user("lost"))
    assert [message.text for message in session.reader.messages()] == ["kept"]


def test_erased_bytes_are_gone_from_the_file(tmp_path):
    path = tmp_path / "e.db"
    session = pt.Session.open(str(path), id="s")
    page = session.append(pt.user("the launch code is 8675309-tulip " + "pad " * 3_000))
    session.append(pt.user("other"))
    session.erase(page)
    session.close()
    data = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"8675309" not in data
    assert b"tulip" not in data


def test_an_erasure_while_others_read_is_done_and_says_that_bytes_linger(tmp_path):
    path = str(tmp_path / "r.db")
    session = open_session(path, wait_seconds=0.05)
    page = session.append(pt.user("the tulip secret"))
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM records").fetchone()
    with pytest.raises(NotScrubbed, match="wait_seconds"):
        session.erase(page)
    assert session.resolve(page.handle) == pt.Denied("erased")
    reader.close()
    store_of(session).scrub()
    session.close()
    assert b"tulip" not in b"".join(file.read_bytes() for file in tmp_path.iterdir())


def test_the_default_writes_through_to_the_disk_at_every_append(tmp_path):
    store = SqliteStore(str(tmp_path / "d.db"))
    assert store._connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
    assert store._connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    lazy = SqliteStore(str(tmp_path / "n.db"), durability="normal")
    assert lazy._connection.execute("PRAGMA synchronous").fetchone() == (1,)  # NORMAL


def test_two_stores_on_one_file_go_on_where_the_other_ended(tmp_path):
    """Where a session ends is remembered; what another process wrote since is noticed all the same."""
    path = str(tmp_path / "agent.db")
    one, other = SqliteStore(path), SqliteStore(path)
    one.create(SessionRow("a", b"key", 1))
    one.append("a", 0, Batch([Record(1, 1, b"{1}")]))
    other.append("a", 1, Batch([Record(2, 2, b"{2}")]))
    with pytest.raises(Conflict, match="expected entry 1 to be the last, and another writer has appended up to 2"):
        one.append("a", 1, Batch([Record(2, 2, b"{other}")]))
    for seq, store in ((3, one), (4, one), (5, other), (6, one)):
        store.append("a", seq - 1, Batch([Record(seq, seq, b"{%d}" % seq)]))
    assert [record.body for record in other.records("a")] == [b"{%d}" % seq for seq in range(1, 7)]


def test_a_record_that_is_lost_behind_the_back_of_a_writer_is_noticed(tmp_path):
    path = str(tmp_path / "agent.db")
    store = SqliteStore(path)
    store.create(SessionRow("a", b"key", 1))
    for seq in (1, 2):
        store.append("a", seq - 1, Batch([Record(seq, seq, b"{}")]))
    with sqlite3.connect(path) as db:
        db.execute("DELETE FROM records WHERE seq = 2")
    store.append("a", 2, Batch([Record(3, 3, b"{}")]))
    assert [(type(each), each.seq) for each in store.records("a")] == [(Record, 1), (Broken, 2), (Record, 3)]


def test_damage_is_reported(tmp_path):
    store = SqliteStore(str(tmp_path / "c.db"))
    store.create(SessionRow("s", b"k", 1))
    session = pt.Session.open(store, id="s")
    session.append(pt.user("hello"))
    store._connection.execute("DELETE FROM records WHERE seq = 1")
    assert [str(each) for each in store.records("s") if isinstance(each, Broken)] == ["entry 1 is missing"]


def test_a_reason_for_a_rejection_quotes_nothing_that_could_not_be_erased(tmp_path):
    path = tmp_path / "q.db"
    with pt.Session.open(str(path), id="s") as session:
        page = session.append(pt.user("mine"))
        for field, value, fields in [
            ("memory.pw", "hunter2xyz", {"op": Op.SET_WITH_VERSION, "version": 0}),
            ("memory.pw", "more", {}),
            ("summary", ["hunter2xyz"], {}),
            ("plan", {"goal": 5, "steps": "hunter2xyz"}, {"op": Op.SET_WITH_VERSION, "version": 0}),
        ]:
            session.write_back(pt.Proposal(field=field, value=value, evidence=(page.handle,), **fields))
        session.erase(page)
    assert b"hunter2xyz" not in path.read_bytes()


def test_a_damaged_index_stops_searching_but_not_the_journal_and_the_doctor_sees_it(tmp_path):
    store = SqliteStore(str(tmp_path / "i.db"))
    session = pt.Session.open(store, id="s")
    store._connection.execute("DROP TABLE words")
    for number in range(200):
        session.append(pt.user(f"word{number}"))
    assert session.checkpoint() is None
    assert isinstance(session.recall("word7"), pt.BackendError)
    assert any("no such table: words" in what for what in store.check())


def test_connections_end_with_their_threads(tmp_path):
    store = SqliteStore(str(tmp_path / "t.db"))
    for _ in range(20):
        thread = threading.Thread(target=store.sessions)
        thread.start()
        thread.join()
    gc.collect()
    assert len(store._connections) <= 1
    store.close()


def test_what_was_erased_and_written_again_is_missing_when_it_is_lost(tmp_path):
    store = SqliteStore(str(tmp_path / "m.db"))
    session = pt.Session.open(store, id="s")
    session.erase(session.append(pt.user("tulip")))
    again = session.append(pt.user("tulip"))
    store._connection.execute("DELETE FROM blobs WHERE digest = ?", (again.digest,))
    assert isinstance(session.resolve(again), pt.BackendError)


def test_a_store_that_another_process_makes_while_we_look_is_not_taken_for_a_stranger(tmp_path):
    path = str(tmp_path / "race.db")

    class Slow(sqlite3.Connection):
        """After its first look, somebody else makes the store."""

        looks = 0

        def execute(self, *arguments):
            found = super().execute(*arguments).fetchall()
            self.looks += 1
            if self.looks == 1:
                SqliteStore(path).close()
            return iter_of(found)

    def iter_of(rows):
        return type("Rows", (), {"fetchone": lambda _: rows[0]})()

    connection = sqlite3.connect(path, factory=Slow, isolation_level=None)
    _refuse_foreign(path, connection)
    assert connection.looks >= 1
    connection.close()


LONG = "".join(f"line {at} has parseToken{at} in it\n" for at in range(80_000))  # more than two pieces of the index
FAR_APART = ("parseToken7", "parseToken41234", "parseToken79990")


@pytest.mark.parametrize("shape", ["lone", "result"])
def test_every_word_of_a_very_long_text_is_found_until_it_is_erased(tmp_path, shape):
    with closing(SqliteStore(tmp_path / "a.db")) as store, pt.Session.open(store, id="s") as session:
        message = pt.user(LONG) if shape == "lone" else pt.tool_result("c", LONG)
        others = [session.append(pt.user(f"other {at} words of line")) for at in range(4)]
        page = session.append(message)
        others.append(session.append(pt.user("the line after it")))
        for word in FAR_APART:
            assert [hit.handle for hit in session.recall(word).hits] == [page.handle]
        found = [hit.handle for hit in session.recall("line", limit=6).hits]  # which every piece of it has
        assert sorted(found) == sorted({page.handle, *(each.handle for each in others)})
        assert store.documents("s") == {each.seq for each in (*others, page)}
        session.erase(page)
        assert all(isinstance(session.recall(word), pt.NoMatch) for word in FAR_APART)
        assert store.documents("s") == {each.seq for each in others}
        assert {hit.handle for hit in session.recall("line").hits} == {each.handle for each in others}
    assert b"parseToken41234" not in (tmp_path / "a.db").read_bytes()


def test_a_very_long_text_that_waits_for_the_index_is_found_while_another_writes(tmp_path):
    with pt.Session.open(tmp_path / "a.db", id="s") as session:
        page = session.append(pt.user(LONG))
        with closing(sqlite3.connect(tmp_path / "a.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            for word in FAR_APART:
                assert [hit.handle for hit in session.recall(word).hits] == [page.handle]
            other.execute("ROLLBACK")


def test_a_fork_does_not_find_the_words_of_a_very_long_text_that_its_parent_got_later(tmp_path):
    with pt.Session.open(tmp_path / "a.db", id="s") as session:
        session.append(pt.user("something"))
        fork = session.fork("f")
        session.append(pt.user(LONG))
        assert isinstance(session.recall(FAR_APART[2]), pt.Recalled)
        assert isinstance(fork.recall(FAR_APART[2]), pt.NoMatch)


def steps_of_appends(waiting):
    """The steps that SQLite takes for some appends behind an import of so many messages, whose words wait for the index."""
    store, steps = MemoryStore(), []
    session = open_session(store)
    session.extend([pt.user("a word and another " * 50)] * waiting)
    store._connection.set_progress_handler(lambda: steps.append(1), 50)
    for number in range(130):
        session.append(pt.user(f"one more {number}"))
    return len(steps)


def test_an_append_takes_the_same_however_much_waits_for_the_index():
    assert steps_of_appends(4_000) < 1.2 * steps_of_appends(1_000)


@pytest.mark.parametrize("make", [MemoryStore, None], ids=["memory", "file"])
def test_what_is_written_in_one_transaction_is_written_whole_or_not_at_all(make, tmp_path):
    store = make() if make is not None else SqliteStore(tmp_path / "a.db")

    def write_and_fail():
        with store.transaction():
            store.create(SessionRow("a", b"key", 0))
            store.append("a", 0, Batch([Record(1, 0, b"{}")], {"d": b"data"}))
            raise KeyError

    with pytest.raises(KeyError):
        write_and_fail()
    assert (store.sessions(), store.blob("d")) == ([], None)
    with store.transaction():
        store.create(SessionRow("a", b"key", 0))
        with pytest.raises(Conflict):
            store.append("a", 1, Batch([Record(2, 0, b"{}")], {"d": b"data"}))
        store.append("a", 0, Batch([Record(1, 0, b"{}")]))
    store.append("a", 1, Batch([Record(2, 0, b"{}")]))
    assert [record.seq for record in store.records("a")] == [1, 2]
    assert (store.check(), store.blob("d")) == ([], None)
    store.close()
