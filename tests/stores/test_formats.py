"""A file that any version has written is read by this one, and gives what it gave then."""

import json
import shutil
import sqlite3

import pytest

import pageturn as pt
from pageturn.journal.doctor import examine
from pageturn.stores import SqliteStore
from pageturn.stores.tables import FORMAT
from tests.stores import written

FILES = sorted(written.FIXTURES.glob("format-*.db"))


@pytest.fixture(params=FILES, ids=lambda path: path.stem)
def kept(request, tmp_path):
    """A copy of a file, and what was read from it by the version that wrote it."""
    told = json.loads(request.param.with_suffix(".json").read_text())
    return shutil.copy(request.param, tmp_path / "agent.db"), told


def test_there_is_a_file_of_this_format():
    assert f"format-{FORMAT}" in [path.stem for path in FILES]


def test_a_file_gives_what_it_gave_when_it_was_written(kept):
    path, told = kept
    assert json.loads(json.dumps(written.read(path))) == told
    for id, again in written.read(
        path
    ).items():  # now that it was brought up to date; what was not found is a fault by now
        assert json.loads(json.dumps(again | {"faults": told[id]["faults"]})) == told[id]
    store = SqliteStore(str(path))
    assert [*examine(store)] == []
    store.close()


def test_a_session_that_has_folded_gives_the_bytes_that_it_gave_when_it_was_written(tmp_path):
    file = written.FIXTURES / f"{written.FOLDED}.db"
    path = shutil.copy(file, tmp_path / "agent.db")
    expected = json.loads(file.with_suffix(".json").read_text())
    assert expected["folds"]  # the context is the one of a fold, with messages after it
    assert not expected["is_folded_now"]
    assert {level for *_, level in expected["levels"]} >= {"full", "structured"}
    assert json.loads(json.dumps(written.read_folded(path))) == expected


def test_a_file_goes_on(kept):
    path, told = kept
    with pt.Session.open(path, id="whole") as session:
        page = session.append(pt.user("a new tulip"))
        assert page.handle in [hit.handle for hit in session.recall("tulip", 50).hits]
        assert len(session.fork("another").reader.pages()) == len(told["whole"]["pages"]) + 1
    store = SqliteStore(str(path))
    assert [*examine(store)] == []
    store.close()


def test_an_older_file_that_takes_no_writes_says_that_it_must_be_brought_up_to_date(tmp_path, monkeypatch):
    path = shutil.copy(written.FIXTURES / "format-4.db", tmp_path / "agent.db")
    connect = sqlite3.connect

    def read_only(*arguments, **options):
        db = connect(*arguments, **options)
        db.execute("PRAGMA query_only = ON")
        return db

    monkeypatch.setattr("sqlite3.connect", read_only)
    with pytest.raises(
        pt.StoreError, match=rf"format 4, which has to be brought to {FORMAT} first, and it takes no writes"
    ):
        SqliteStore(str(path))


def test_a_damaged_older_file_is_brought_up_to_date_and_what_is_damaged_is_said(tmp_path):
    path = shutil.copy(written.FIXTURES / "format-4.db", tmp_path / "agent.db")
    with sqlite3.connect(path) as db:
        db.execute("UPDATE records SET body = 'no entry' WHERE session = 1 AND seq = 5")
        db.execute("UPDATE records SET at = 'never' WHERE session = 2 AND seq = 2")
    db.close()
    for id in ("whole", "reset", "fork"):
        with pytest.raises(pt.Damaged, match=r"entry (5|2) (cannot be read|was altered)"):
            pt.Session.open(path, id=id, scope=written.SCOPES.get(id)).derive()
    pt.Session.open(path, id="folded").derive()
