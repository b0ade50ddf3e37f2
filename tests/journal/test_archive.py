"""A packed session: what was cut, altered or moved in the file is refused, and then nothing is written."""

import base64
import json
import sqlite3
from contextlib import closing
from hashlib import blake2b
from itertools import pairwise

import pytest

import pageturn as pt
from pageturn.journal.archive import pack, unpack
from pageturn.journal.doctor import examine
from pageturn.journal.packed_file import read
from pageturn.stores import MemoryStore, open_store
from pageturn.values.errors import InvalidInput, PageturnError, StoreError


@pytest.fixture
def store():
    store = MemoryStore()
    with pt.Session.open(store, id="x") as session:
        session.extend([pt.system("S"), pt.user("hi")])
        session.pin("Never push.")
        session.extend([pt.assistant("ok"), pt.user("bye")])
        with session.fork("y") as fork:
            fork.append(pt.user("in the fork"))
    return store


@pytest.fixture
def lines(store):
    return [*pack(store, "y")]


def texts(store, session="y"):
    with pt.Session.open(store, id=session) as opened:
        return [message.text for message in opened.derive().messages]


def altered(lines, old, new):
    """The lines with other words in the records and the texts, in base64 and digests as if nothing had happened."""
    again = []
    for line in lines:
        fields = json.loads(line)
        for name in ("body", "data"):
            if fields.get(name):
                fields[name] = base64.b64encode(base64.b64decode(fields[name]).replace(old, new)).decode()
        again.append(json.dumps(fields, separators=(",", ":")).encode() + b"\n")
    return again


def of_format_1(lines):
    head = {**json.loads(lines[0]), "version": 1}
    return [json.dumps(head).encode() + b"\n", *lines[1:-1]]


def refuse(lines, match):
    target = MemoryStore()
    with pytest.raises(PageturnError, match=match):
        unpack(target, lines)
    assert target.sessions() == []


def test_a_session_is_the_same_where_it_is_unpacked(store, lines):
    target = MemoryStore()
    assert unpack(target, lines, scope="team") == "y"
    with pt.Session.open(target, id="y", scope="team") as session:
        assert [message.text for message in session.derive().messages] == texts(store)
        assert isinstance(session.recall("bye"), pt.Recalled)
    assert [*examine(target)] == []
    assert read(lines).unchecked == ""


def test_a_file_that_ends_too_early_is_refused(lines):
    for length in range(1, len(lines)):
        refuse(lines[:length], match=f"after line {length}: expected the rest of the file")
    refuse([], match="line 1")


def test_a_line_that_is_missing_twice_there_or_moved_is_refused(lines):
    for at in range(1, len(lines) - 1):
        refuse([*lines[:at], *lines[at + 1 :]], match="entries and|altered or moved")
        refuse([*lines[:at], lines[at], *lines[at:]], match="entries and|altered or moved")
    for at, (first, second) in enumerate(pairwise(lines[1:-1]), start=1):
        refuse([*lines[:at], second, first, *lines[at + 2 :]], match="altered or moved")
    refuse([*lines, lines[1]], match="nothing after the end")


@pytest.mark.parametrize(
    ("old", "new"), [(b"constraint", b"conversation"), (b'"role":"user"', b'"role":"system"'), (b"Never", b"Always")]
)
def test_an_entry_that_was_altered_is_refused(lines, old, new):
    changed = altered(lines, old, new)
    assert changed != lines
    refuse(changed, match="altered or moved|fit their digest")


def test_no_byte_can_be_changed(lines):
    whole = b"".join(lines)
    for at in range(0, len(whole) - 1, 61):
        changed = whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]
        refuse(changed.splitlines(keepends=True), match="expected")


def test_line_endings_may_be_others(lines):
    target = MemoryStore()
    unpack(target, [line.rstrip(b"\n") + b"\r\n" for line in lines])
    assert texts(target)[-1] == "in the fork"


def test_a_digest_that_fits_does_not_make_a_session_of_what_is_none(lines):
    """Whoever can compute the digest still gets only sessions that the doctor finds whole."""

    def sealed(body):
        digest = blake2b(b"".join(body), digest_size=16).hexdigest()
        kinds = [json.loads(line) for line in body[1:]]
        count = {"records": sum("session" in each for each in kinds), "blobs": sum("data" in each for each in kinds)}
        return [*body, json.dumps({"end": {**count, "digest": digest}}).encode()]

    body = lines[:-1]
    assert unpack(MemoryStore(), sealed(body)) == "y"
    first = next(at for at, line in enumerate(body) if b'"session"' in line)
    refuse(sealed([*body[:first], *body[first + 1 :]]), match="session 'x': expected entry 1, got entry 2")
    refuse(sealed([line for line in body if b'"data"' not in line]), match="is missing")
    refuse(sealed(altered(body, b'"page":{', b'"pages":{')), match="whole")
    refuse(sealed(body[:1]), match="entries of the session|continue the one before it")


def test_a_file_of_format_1_is_read_and_what_cannot_be_checked_is_said(lines):
    old, target = of_format_1(lines), MemoryStore()
    assert unpack(target, old) == "y"
    assert texts(target)[-1] == "in the fork"
    assert "could not be checked" in read(old).unchecked
    first = next(at for at, line in enumerate(old) if b'"session"' in line)
    refuse([*old[:first], *old[first + 1 :]], match="expected entry 1, got entry 2")
    refuse(old[:1], match="line 1")


@pytest.mark.parametrize("key", ["", "9" * 400, "?"])
def test_a_key_that_no_handle_can_be_checked_with_is_refused(lines, key):
    head = json.loads(lines[0])
    head["sessions"][0]["key"] = key
    refuse(of_format_1([json.dumps(head).encode() + b"\n", *lines[1:]]), match="line 1: expected")


def test_a_newer_format_is_named(lines):
    head = {**json.loads(lines[0]), "version": 3}
    refuse([json.dumps(head).encode(), *lines[1:]], match="expected a format from 1 to 2, got 3")


def test_a_store_that_fails_in_the_middle_has_nothing_of_it(lines):
    target = MemoryStore()
    for failing in ("create", "append", "give_words"):
        broken = _FailsAtSecond(failing)
        with pytest.raises(StoreError, match="full"):
            unpack(broken, lines)
        assert broken.sessions() == []
        assert [*examine(broken)] == []
    unpack(target, lines)
    with pytest.raises(InvalidInput, match="one that has it"):
        unpack(target, lines)


class _FailsAtSecond(MemoryStore):
    """A store that is full when something is written for the second time."""

    def __init__(self, failing):
        super().__init__()
        self._failing, self._calls = failing, 0

    def _count(self, name):
        self._calls += name == self._failing
        if self._calls == 2:
            raise StoreError("the disk is full")

    def create(self, row):
        self._count("create")
        super().create(row)

    def append(self, session, after, batch):
        super().append(session, after, batch)
        self._count("append")

    def give_words(self, session, documents):
        super().give_words(session, documents)
        self._count("give_words")


def test_what_a_fork_erased_is_erased_in_the_file(store):
    with pt.Session.open(store, id="y") as fork:
        fork.erase(fork.reader.pages()[1])
    target = MemoryStore()
    unpack(target, pack(store, "x"))
    assert texts(target, "x") == texts(store, "x")
    assert "hi" not in texts(target, "x")
    assert [*examine(target)] == []


@pytest.mark.parametrize("damage", ["DELETE FROM blobs", "UPDATE blobs SET data = x'00'"])
def test_a_session_with_a_damaged_text_is_not_packed(tmp_path, damage):
    path = str(tmp_path / "a.db")
    with pt.Session.open(path, id="x") as session:
        session.append(pt.user("hi"))
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(damage)
    with closing(open_store(path)) as store, pytest.raises(StoreError, match="doctor --repair comes first"):
        [*pack(store, "x")]
