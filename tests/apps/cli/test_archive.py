"""A session as one file: what comes out of it in another store is the same, and a file that is not whole brings nothing."""

import json
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pageturn as pt
from pageturn.journal.archive import pack, unpack
from pageturn.stores import MemoryStore, open_store
from pageturn.values.errors import InvalidInput, PageturnError
from tests.apps.cli.command import run

KEY = "sk-ant-api03-abcdefghijklmnop"


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "agent.db"
    with pt.Session.open(str(path), id="parent") as session:
        session.append(pt.system("You are an agent."))
        session.pin("Never push to main.")
        session.append(pt.user("The login returns 500; the secret word is lily."))
        session.fork("child").close()
        session.append(pt.user("This is not in the child."))
    with pt.Session.open(str(path), id="child") as session:
        session.append(pt.user(f"The key is {KEY}."))
        session.derive(budget_tokens=4_000)
        session.append(pt.assistant("I see."))
    return path


def handles(path):
    with pt.Session.open(str(path), id="child") as session:
        found = session.recall("login lily")
        return found.hits[0].handle, str(session.derive(budget_tokens=4_000).messages), len(session.reader.messages())


def test_a_session_is_the_same_in_another_store(store, tmp_path):
    file, other = tmp_path / "child.session", tmp_path / "other.db"
    assert run("pack", store, file, "--session", "child").returncode == 0
    assert file.stat().st_mode & 0o077 == 0
    assert run("unpack", file, other).returncode == 0
    assert handles(other) == handles(store)
    assert run("doctor", other).returncode == 0
    assert b"not in the child" not in other.read_bytes()
    again = run("unpack", file, other)
    assert (again.returncode, "one that has it" in again.stderr) == (1, True)
    assert run("pack", store, file, "--session", "child").returncode == 1


def test_a_scope_is_given_where_it_is_read(store, tmp_path):
    file, other = tmp_path / "child.session", tmp_path / "other.db"
    run("pack", store, file, "--session", "child")
    run("unpack", file, other, "--scope", "team")
    assert {row.scope for row in open_store(str(other)).sessions()} == {"team"}


def test_a_file_that_was_cut_is_refused_and_creates_no_store(store, tmp_path):
    file, other = tmp_path / "child.session", tmp_path / "other.db"
    run("pack", store, file, "--session", "child")
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:-1]))
    refused = run("unpack", file, other)
    assert (refused.returncode, "the rest of the file" in refused.stderr) == (1, True)
    assert not other.exists()


def test_a_file_of_an_older_format_is_read_and_the_command_says_what_it_cannot_check(store, tmp_path):
    file, other = tmp_path / "child.session", tmp_path / "other.db"
    run("pack", store, file, "--session", "child")
    head, *lines, _ = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(head.replace(b'"version":2', b'"version":1') + b"".join(lines))
    done = run("unpack", file, other)
    assert (done.returncode, "could not be checked" in done.stdout) == (0, True)
    assert handles(other) == handles(store)


def test_a_file_that_is_damaged_brings_nothing(store, tmp_path):
    with closing(open_store(str(store))) as opened:
        lines = [*pack(opened, "child")]
    for at in range(len(lines)):
        damaged = [*lines]
        damaged[at] = damaged[at].replace(b'":"', b'":"A', 1)[:-3]
        target = MemoryStore()
        with pytest.raises(InvalidInput, match=f"line {at + 1}"):
            unpack(target, damaged)
        assert target.sessions() == []


@given(st.lists(st.binary(max_size=60), max_size=5))
def test_any_lines_are_read_or_refused(lines):
    with pytest.raises(PageturnError):
        unpack(MemoryStore(), lines)


def test_keys_are_masked_in_what_is_exported_and_stay_in_what_is_stored(store):
    plain = run("export", store, "--session", "child").stdout
    masked = run("export", store, "--session", "child", "--mask").stdout
    assert KEY in plain
    assert KEY not in masked
    assert "sk-[masked]" in masked
    assert len(masked.splitlines()) == len(plain.splitlines())
    assert all(json.loads(line) for line in masked.splitlines())
    assert KEY in run("export", store, "--session", "child").stdout
