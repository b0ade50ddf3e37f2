"""How long a store keeps what it has: what is old goes with its bytes, what is shared stays, copies are whole."""

import threading
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

import pageturn as pt
from pageturn.stores import open_store
from tests.apps.cli.command import run

OLD = datetime.now(UTC) - timedelta(days=100)
SECRET = "the secret of the old session is lily-of-the-valley-1234, and nobody should find it " * 4


@pytest.fixture
def store(tmp_path):
    return tmp_path / "agent.db"


def talk(store, name, *texts, at=None):
    """A session whose entries have that time."""
    given = {} if at is None else {"clock": lambda: at}
    with pt.Session.open(str(store), id=name, **given) as session:
        for text in texts:
            session.append(pt.user(text))


def files(store):
    return b"".join(path.read_bytes() for path in store.parent.iterdir() if path.is_file())


def words(store, name):
    return str(pt.SessionReader.open(str(store), name).messages())


def test_what_is_old_goes_with_its_bytes_and_what_is_not_stays(store):
    talk(store, "old", SECRET, at=OLD)
    talk(store, "new", "This one is of today. " * 20)
    assert SECRET.encode()[100:160] in files(store)
    shown = run("retain", store, "--older-than", "90d")
    assert (shown.returncode, "would erase old" in shown.stdout) == (0, True)
    assert SECRET.encode()[100:160] in files(store)
    done = run("retain", store, "--older-than", "90d", "--yes")
    assert done.returncode == 0
    assert "erased 1 sessions of 1 pages" in done.stdout
    assert "looked for 1 of the erased texts in the file: 0 are still there" in done.stdout
    assert SECRET.encode()[100:160] not in files(store)
    assert "lily" not in words(store, "old")
    assert "today" in words(store, "new")
    assert run("doctor", store).returncode == 0
    assert "0 sessions are old enough" in run("retain", store, "--older-than", "90d", "--yes").stdout


def test_a_past_that_a_younger_fork_shares_stays(store):
    with pt.Session.open(str(store), id="parent", clock=lambda: OLD) as session:
        session.append(pt.user(SECRET))
        session.fork("child").close()
    talk(store, "child", "Today.")
    assert "0 sessions" in run("retain", store, "--older-than", "90d", "--yes").stdout
    assert "lily" in words(store, "child")


def test_words_that_went_by_age_may_come_again(store):
    talk(store, "old", SECRET, at=OLD)
    run("retain", store, "--older-than", "90d", "--yes")
    talk(store, "new", SECRET)
    assert "lily" in words(store, "new")


@pytest.mark.parametrize("age", ["", "90", "d", "-1d", "90 years"])
def test_an_age_that_is_none_is_refused(store, age):
    talk(store, "old", "x")
    done = run("retain", store, "--older-than", age)
    assert done.returncode == 2
    assert "as 90d" in done.stderr


def test_a_copy_of_a_store_in_use_is_whole(store, tmp_path):
    talk(store, "one", "first")
    stop = threading.Event()

    def write():
        number = 0
        while not stop.is_set():
            talk(store, f"w{number}", "words " * 200)
            number += 1

    writing = threading.Thread(target=write)
    writing.start()
    copies = [tmp_path / f"copy{number}.db" for number in range(3)]
    done = [run("backup", store, copy) for copy in copies]
    stop.set()
    writing.join()
    assert [each.returncode for each in done] == [0, 0, 0]
    for copy in copies:
        assert "first" in words(copy, "one")
        assert run("doctor", copy).returncode == 0
    assert run("backup", store, copies[0]).returncode == 1
    assert [path.name for path in tmp_path.iterdir() if "part" in path.name] == []


def test_a_copy_is_put_back_and_what_was_there_is_kept(store, tmp_path):
    talk(store, "one", "first")
    run("backup", store, tmp_path / "copy.db")
    talk(store, "two", "second")
    refused = run("restore", tmp_path / "copy.db", store)
    assert (refused.returncode, "--yes" in refused.stderr) == (1, True)
    assert run("restore", tmp_path / "copy.db", store, "--yes").returncode == 0
    with closing(open_store(str(store))) as opened:
        assert [row.id for row in opened.sessions()] == ["one"]
    assert "second" in words(tmp_path / "agent.db.before-restore-1", "two")


def test_what_is_no_copy_is_not_put_back(store, tmp_path):
    talk(store, "one", "first")
    (tmp_path / "copy.db").write_bytes(b"no store at all" * 500)
    assert run("restore", tmp_path / "copy.db", store, "--yes").returncode == 1
    assert "first" in words(store, "one")


def test_a_database_is_not_copied_as_a_file_and_its_password_is_not_shown(tmp_path):
    url = "postgresql://me:canary@host/agents"
    for arguments in (("backup", url, tmp_path / "copy.db"), ("restore", tmp_path / "copy.db", url)):
        done = run(*arguments)
        assert done.returncode == 1
        assert "a PostgreSQL database is copied by pg_dump" in done.stderr + done.stdout
        assert "canary" not in done.stderr + done.stdout
