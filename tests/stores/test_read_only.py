"""A store that is opened for reading only: it reads what another writes, and nobody can write through it."""

import sqlite3

import pytest

import pageturn as pt
from pageturn.stores import LAST, Span, open_store, tables
from pageturn.values.errors import InvalidInput, StoreError
from tests.sessions import open_session


@pytest.fixture
def file(tmp_path):
    with open_session(tmp_path / "agent.db", id="s") as session:
        session.append(pt.user("find the marmot"))
    return tmp_path / "agent.db"


def test_it_reads_what_another_process_writes_and_changes_nothing(file):
    store = open_store(str(file), read_only=True)
    with open_session(file, id="s") as session:
        for number in range(3):
            session.append(pt.user(f"word {number}"))
            with pt.SessionReader.open(store, "s") as reader:
                assert reader.messages()[-1].text == f"word {number}"
    store.close()


def test_every_way_to_write_is_refused_by_the_store_and_by_sqlite_itself(file):
    before = file.read_bytes()
    store = open_store(str(file), read_only=True)
    row = store.session("s")
    for write in (
        lambda: store.create(row._replace(id="t")),
        lambda: store.keep_snapshot("s", None),
        lambda: store.amend([], lambda _: {}),
        lambda: store.erase("s", row.head, None, []),
        lambda: store.vacuum(dry_run=False),
        lambda: store.give_words("s", []),
        store.drop_words,
        lambda: pt.Session.open(store, id="new"),
    ):
        with pytest.raises(StoreError):
            write()
    for statement in ("DELETE FROM records", "PRAGMA query_only = OFF; DELETE FROM records", "CREATE TABLE t (x)"):
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            store._connection.executescript(statement)
    store.close()
    assert file.read_bytes() == before


def test_it_is_searched_without_being_indexed(file):
    store = open_store(str(file), read_only=True)
    with pt.SessionReader.open(store, "s") as reader:
        (page,) = reader.pages()
        assert [found.seq for found in store.search([Span("s", LAST)], "marmot", 5)] == [page.seq]
    store.close()


def test_a_file_that_is_not_there_is_not_made(tmp_path):
    for url in (str(tmp_path / "none.db"), f"sqlite:{tmp_path / 'none.db'}", ":memory:"):
        with pytest.raises(InvalidInput, match="the file of a store"):
            open_store(url, read_only=True)
    assert [*tmp_path.iterdir()] == []


def test_a_file_of_another_format_is_left_as_it_is(file):
    with sqlite3.connect(file) as db:
        db.execute(f"PRAGMA user_version = {tables.FORMAT - 1}")
    db.close()
    with pytest.raises(StoreError, match=f"format {tables.FORMAT - 1}.*pageturn sessions"):
        open_store(str(file), read_only=True)
    with sqlite3.connect(file) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (tables.FORMAT - 1,)
    db.close()
