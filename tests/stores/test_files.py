"""What a store does where its file takes no writes, is gone, is locked, or lies on a full disk; and who may read it."""

import os
import shutil
import stat
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import pageturn as pt
from pageturn.stores import SqliteStore
from tests.sessions import open_session

ROOT = Path(__file__).parents[2]


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "agent.db"
    with pt.Session.open(file, id="s", policy=pt.Legacy()) as session:
        session.append(pt.user("the tulip"))
        session.pin("Never dig.")
    return file


@pytest.mark.parametrize("mask", [0o000, 0o022])
def test_only_its_owner_may_read_a_file_and_its_log(tmp_path, mask):
    before = os.umask(mask)
    try:
        session = pt.Session.open(tmp_path / "agent.db", id="s")
        session.append(pt.user("secret"))
        modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert modes == dict.fromkeys(("agent.db", "agent.db-wal", "agent.db-shm"), 0o600)


def test_a_file_that_is_there_keeps_its_rights(path):
    path.chmod(0o640)
    pt.Session.open(path, id="s").append(pt.user("more"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def as_nobody(path, program):
    """What a program says that may read the file, and may write neither it nor its folder."""
    with TemporaryDirectory() as folder:
        file = Path(shutil.copy(path, folder))
        file.chmod(0o444)
        Path(folder).chmod(0o555)
        command = [sys.executable, "-c", program, str(file)]
        told = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    return told.stdout, told.stderr


READING = """
import os, sys, pageturn as pt
pt.Session.open().derive()  # reads what it needs before it may no longer
os.setuid(65_534)
session = pt.Session.open(sys.argv[1], id="s")
print([message.text for message in session.reader.messages()], len(session.recall("tulip").hits), len(session.derive().messages))
try:
    session.append(pt.user("more"))
except pt.StoreError as error:
    print(error)
print(session.recall("zebra"), session.close())
"""


@pytest.mark.skipif(
    not hasattr(os, "getuid") or os.getuid() != 0, reason="gives its rights away, so it needs those of root"
)
@pytest.mark.parametrize("waits", [False, True])
def test_a_file_in_a_folder_that_takes_no_writes_is_read_and_searched(path, waits):
    if waits:
        store = SqliteStore(str(path))
        waiting = [(1 << 40 | seq,) for seq in store.documents("s")]
        store._connection.execute("INSERT INTO words(words) VALUES ('delete-all')")
        store._connection.execute("DELETE FROM unindexed")
        store._connection.executemany("INSERT INTO unindexed(row, text) VALUES (?, 'the tulip')", waiting[:1])
        store._connection.executemany("INSERT INTO unindexed(row, text) VALUES (?, 'Never dig.')", waiting[1:])
        store.close()
    shown, failed = as_nobody(path, READING)
    assert failed == ""
    lines = shown.splitlines()
    assert lines[0] == "['the tulip', 'Never dig.'] 1 2"
    assert "readonly" in lines[1]
    assert lines[2] == "no match flush miss"


def test_what_is_written_into_a_file_that_was_removed_is_refused_and_what_is_there_can_be_read(path, monkeypatch):
    monkeypatch.setattr("pageturn.stores.sqlite_file._LOOK_EVERY", 0)
    session = pt.Session.open(path, id="s")
    path.unlink()
    with pytest.raises(
        pt.StoreError, match="the file was removed or replaced while it was open, so nothing was written"
    ):
        session.append(pt.user("lost"))
    assert [message.text for message in session.reader.messages()] == ["the tulip", "Never dig."]
    assert session.recall("tulip").hits
    pt.Session.open(path, id="s", policy=pt.Legacy())  # another one of the same name
    with pytest.raises(pt.StoreError, match="removed or replaced"):
        session.append(pt.user("lost"))


FILLING = """
import resource, signal, sys, pageturn as pt
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
session = pt.Session.open(sys.argv[1], id="s")
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
done = 0
try:
    for number in range(10_000):
        session.append(pt.user(f"page {number} " + "x" * 2_000))
        done += 1
except pt.StoreError as error:
    print(error)
print(done, len(session.reader.pages()), len(session.recall("tulip").hits))
"""


def test_a_file_that_may_not_grow_takes_nothing_more_and_loses_nothing(path):
    shown = subprocess.run(
        [sys.executable, "-c", FILLING, str(path)], capture_output=True, text=True, cwd=ROOT, check=True
    )
    why, counted = shown.stdout.splitlines()
    done, pages, hits = map(int, counted.split())
    assert "full" in why or "disk I/O error" in why
    assert (pages, hits) == (2 + done, 1)
    assert len(pt.Session.open(path, id="s").reader.pages()) == 2 + done
    assert done > 10


def test_a_clock_that_goes_back_changes_nothing_but_times(tmp_path):
    times = iter(datetime(2026, 1, 1, tzinfo=UTC) - timedelta(days=number) for number in range(1_000))
    session = open_session(tmp_path / "agent.db")
    backwards = pt.Session.open(tmp_path / "back.db", id="s", clock=lambda: next(times), entropy=os.urandom)
    for each in (session, backwards):
        for number in range(5):
            each.append(pt.user(f"question {number}"))
            each.derive()
            each.append(pt.assistant(f"answer {number}"))
    assert [one.text for one in session.reader.messages()] == [one.text for one in backwards.reader.messages()]
    assert [page.seq for page in backwards.reader.pages()] == sorted(page.seq for page in backwards.reader.pages())
    assert session.derive().messages[0].text == backwards.derive().messages[0].text


def test_a_path_that_no_file_can_have_is_refused():
    with pytest.raises(pt.InvalidInput, match="a path, sqlite:PATH"):
        pt.Session.open("\ud800.db")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE sessions SET key = 'text'",
        "UPDATE sessions SET parent = id, parent_seq = 2",
        "UPDATE sessions SET parent = 'nobody'",
        "UPDATE sessions SET created_at = 'yesterday'",
        "UPDATE sessions SET id = 'other'",
        "DELETE FROM sessions",
    ],
)
def test_a_row_that_was_altered_is_an_error_with_its_session(path, statement):
    store = SqliteStore(str(path))
    store._connection.execute(statement)
    with pytest.raises(pt.Damaged, match=r"session 's': its row"):
        pt.Session.open(store, id="s")
