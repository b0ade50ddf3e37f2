"""Databases of every earlier schema are brought up to date, and programs of two versions work beside each other."""

import pytest

from pageturn.stores import SessionRow, Span
from pageturn.testing.concurrency import in_threads
from pageturn.testing.stores import batch
from pageturn.values.errors import InvalidInput, StoreError

schema = pytest.importorskip("pageturn.stores.postgres.schema", reason="psycopg is not installed: make test-stores")

_ALL = 10**9
_NOTE = schema.Migration("ALTER TABLE pageturn.sessions ADD COLUMN note text NOT NULL DEFAULT ''", needs=1)
_CUT_OFF = schema.Migration("CREATE TABLE pageturn.later (one int)", needs=len(schema.MIGRATIONS) + 1)
KNOWN = schema.MIGRATIONS


def written(store):
    store.create(SessionRow("a", b"key", 1))
    store.append("a", 0, batch(1, 2, blobs={"d": b"x"}, texts=["tulip", "rose"]))


def goes_on(store, after):
    """A store has what was written, and can be written."""
    store.append("a", after, batch(after + 1, texts=["lily"]))
    assert [record.seq for record in store.records("a")] == list(range(1, after + 2))
    assert store.blob("d") == b"x"
    assert [found.seq for found in store.search([Span("a", _ALL)], "tulip", 5)] == [1]
    assert store.check() == []


def migrations(server, url):
    return server.execute(
        "SELECT number, needs FROM pageturn.migrations ORDER BY number", url.partition("?")[0].rpartition("/")[2]
    )


@pytest.mark.parametrize("begun", range(1, len(KNOWN) + 1))
def test_a_database_of_every_earlier_schema_goes_on(server, opened, url, monkeypatch, begun):
    monkeypatch.setattr(schema, "MIGRATIONS", KNOWN[:begun])
    written(opened(url))
    monkeypatch.setattr(schema, "MIGRATIONS", (*KNOWN, _NOTE))
    goes_on(opened(url), 2)
    assert migrations(server, url) == [(n, m.needs) for n, m in enumerate((*KNOWN, _NOTE), start=1)]


def test_an_older_program_works_beside_a_newer_one(opened, url, monkeypatch):
    older = opened(url)
    written(older)
    monkeypatch.setattr(schema, "MIGRATIONS", (*KNOWN, _NOTE))
    newer = opened(url)
    goes_on(older, 2)
    goes_on(newer, 3)
    monkeypatch.setattr(schema, "MIGRATIONS", KNOWN)
    goes_on(opened(url), 4)


def test_a_program_that_is_too_old_says_so(opened, url, monkeypatch):
    monkeypatch.setattr(schema, "MIGRATIONS", (*KNOWN, _CUT_OFF))
    written(opened(url))
    monkeypatch.setattr(schema, "MIGRATIONS", KNOWN)
    with pytest.raises(StoreError, match=r"changed by a newer pageturn .* update pageturn"):
        opened(url)


def test_programs_that_start_at_once_migrate_once(server, opened, url, monkeypatch):
    monkeypatch.setattr(schema, "MIGRATIONS", (*KNOWN, _NOTE))
    in_threads(lambda _: opened(url), range(4))
    assert len(migrations(server, url)) == len(KNOWN) + 1


def test_a_migration_that_fails_changes_nothing(server, opened, url, monkeypatch):
    written(opened(url))
    monkeypatch.setattr(schema, "MIGRATIONS", (*KNOWN, _NOTE, schema.Migration("SELECT 1/0", needs=1)))
    with pytest.raises(StoreError, match="division by zero"):
        opened(url)
    monkeypatch.setattr(schema, "MIGRATIONS", KNOWN)
    goes_on(opened(url), 2)
    assert len(migrations(server, url)) == len(KNOWN)


def test_what_only_reads_creates_nothing(server, opened, url):
    for options in ({"create": False}, {"read_only": True}):
        with pytest.raises(InvalidInput, match="expected a database that has a store"):
            opened(url, **options)
    assert server.execute("SELECT to_regnamespace('pageturn')", "store0") == [(None,)]
