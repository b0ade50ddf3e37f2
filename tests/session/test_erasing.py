"""Erasing: what goes, what stays, and what only looks erased."""

import pytest

import pageturn as pt
from pageturn.journal.doctor import examine
from tests.sessions import journal_of, open_session, reopened


def test_erase_destroys_words_everywhere_and_leaves_a_tombstone(store):
    session = open_session(store)
    secret = session.append(pt.user("the password is tulip"))
    fork = session.fork("f")
    session.pin(secret, structured="tulip in short")
    summary = pt.Proposal(field="compressed", value="password: tulip", evidence=(secret.handle,))
    session.write_back(summary)
    freed = session.erase(secret.handle)
    assert freed.bytes > 0
    assert session.resolve(secret.handle) == pt.Denied("erased")
    assert fork.resolve(secret.handle) == pt.Denied("erased")
    assert reopened(session).resolve(secret.handle) == pt.Denied("erased")
    assert reopened(session).reader.renditions == ()
    everything = b"".join(bytes(row[0]) for row in store._connection.execute("SELECT data FROM blobs"))
    journal = b"".join(record.body for record, _ in journal_of(session).entries())
    assert b"tulip" not in everything + journal
    assert session.recall("tulip") == pt.NoMatch()
    assert fork.recall("tulip") == pt.NoMatch()
    with pytest.raises(pt.InvalidInput, match="the handle of a page that has text"):
        session.erase(secret)


def test_erasing_one_of_two_equal_messages_keeps_the_other():
    session = open_session()
    first, second = session.extend([pt.user("same words"), pt.user("same words")])
    erased = session.erase(first)
    assert (erased.blobs, erased.bytes) == (0, 0)
    assert [quote.handle for quote in erased.quoting] == [second.handle]
    assert session.resolve(first.handle) == pt.Denied("erased")
    assert session.resolve(second.handle).text == "same words"


def test_erasing_what_a_memory_rests_on_takes_the_memory_and_nothing_else():
    session = open_session()
    first, second = session.extend([pt.user("the tulip"), pt.user("the rose")])
    for page, value in ((first, "tulip"), (second, "rose")):
        session.write_back(pt.Proposal(field="memory.flowers", value=value, evidence=(page.handle,)))
    session.erase(first)
    assert session.reader.memory("flowers") == ["rose"]
    session.write_back(pt.Proposal(field="memory.flowers", value="lily", evidence=(second.handle,)))
    assert session.checkpoint() is None
    assert reopened(session).reader.memory("flowers") == ["rose", "lily"]


def test_erasing_a_page_inside_a_summary_takes_the_summary(store):
    session = open_session(store)
    pages = session.extend(pt.user(f"tulip {n} " * 30) for n in range(3))
    text = "flowers were named, tulips among them, many times " * 6
    session.write_back(pt.Proposal(field="summary", value=text, evidence=(pages[0].handle, pages[2].handle)))
    session.erase(pages[1])
    assert reopened(session).reader.renditions == ()
    everything = b"".join(bytes(row[0]) for row in store._connection.execute("SELECT data FROM blobs"))
    assert b"flowers were named" not in everything
    assert list(examine(store)) == []


def test_erasing_the_summary_of_a_reset_takes_the_reset():
    session = open_session()
    session.erase(session.reset("so far"))
    assert session.reader.resets == ()


def test_missing_bytes_are_a_backend_error_and_not_an_erasure(store):
    session = open_session(store)
    page = session.append(pt.user("hello"))
    store._connection.execute("DELETE FROM blobs")
    assert isinstance(session.resolve(page.handle), pt.BackendError)
    assert "missing" in session.resolve(page.handle).reason


def test_bytes_that_were_tampered_with_are_a_backend_error(store):
    session = open_session(store)
    page = session.append(pt.user("hello"))
    store._connection.execute("UPDATE blobs SET data = CAST(replace(data, 'hello', 'jello') AS BLOB)")
    assert "does not have the content that its name says" in session.resolve(page.handle).reason
    store._connection.execute("UPDATE blobs SET data = 'text'")
    assert "was changed by another program" in session.resolve(page.handle).reason


def test_equal_texts_are_stored_once(store):
    session = open_session(store)
    body = "line of a file\n" * 2_000
    session.append(pt.tool_result("c1", body))
    blobs = store._connection.execute("SELECT count(*), sum(length(data)) FROM blobs").fetchone()
    session.append(pt.tool_result("c2", body))
    more = store._connection.execute("SELECT count(*), sum(length(data)) FROM blobs").fetchone()
    assert more[0] == blobs[0] + 1
    assert more[1] - blobs[1] < 500


def test_a_memory_goes_with_the_page_that_it_rests_on_even_if_another_says_the_same():
    session = open_session()
    first, second = session.extend([pt.user("one"), pt.user("two")])
    for name, page in (("x", first), ("y", second)):
        session.write_back(pt.Proposal(field=f"memory.{name}", value="tulip", evidence=(page.handle,)))
    session.erase(first)
    assert session.reader.memory("x") in (None, [])
    assert session.reader.memory("y") == ["tulip"]
    session.write_back(pt.Proposal(field="memory.x", value="rose", evidence=(second.handle,)))
    assert reopened(session).reader.memory("x") == ["rose"]


def test_a_page_is_erased_in_a_fork_and_in_its_parent():
    session = open_session()
    page, _ = session.extend([pt.user("yes"), pt.user("yes")])
    session.checkpoint()
    session.fork("f").erase(page)
    session.erase(page)
    assert len(session.recall("yes").hits) == 1
