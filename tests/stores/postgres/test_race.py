"""Several writers: one wins, the others are told, and nothing is lost or written twice."""

import json
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

import pageturn as pt
from pageturn.testing.concurrency import in_threads
from tests.long import examples
from tests.stores import child
from tests.stores.test_race import let_all_go, texts

ROOT = Path(__file__).parents[3]
WRITERS = examples(3, whole=8)


def numbers(store, session):
    return [record.seq for record in store.records(session)]


@pytest.mark.long
def test_processes_lose_nothing_and_the_losers_are_told(store, url):
    pt.Session.open(store, id=child.SESSION).close()
    command = [sys.executable, "-m", "tests.stores.child", "race", url]
    bounds = [str(examples(25, whole=500)), str(examples(5, whole=60))]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "cwd": ROOT}
    with ExitStack() as stack:
        writers = [
            stack.enter_context(subprocess.Popen([*command, f"writer{n}", *bounds], **pipes)) for n in range(WRITERS)
        ]
        let_all_go(writers, "awake")
        let_all_go(writers, "open")
        told = [[json.loads(line) for line in writer.communicate()[0].splitlines()] for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * WRITERS
    assert sum(conflicts for *_, conflicts in told) >= WRITERS - 1  # all of them had seen the same last entry
    acknowledged = sorted(each for *pages, _ in told for each in pages)
    assert max(Counter(text for _, text in acknowledged).values()) == 1
    session = pt.Session.open(store, id=child.SESSION)
    assert [[page.seq, text] for page, text in zip(session.reader.pages(), texts(session), strict=True)] == acknowledged
    assert numbers(store, child.SESSION) == list(range(1, len(numbers(store, child.SESSION)) + 1))
    assert store.check() == []


def test_threads_with_a_session_each_share_a_store_without_conflicts(store):
    shared = "the same long words " * 400

    def work(name):
        session = pt.Session.open(store, id=name)
        for number in range(10):
            session.extend([pt.user(f"{name} {number}"), pt.assistant(shared)])

    names = [f"thread{number}" for number in range(examples(12, whole=64))]
    in_threads(work, names)
    for name in names:
        expected = [text for number in range(10) for text in (f"{name} {number}", shared)]
        assert texts(pt.Session.open(store, id=name)) == expected
    assert store.check() == []


def test_a_gateway_sees_what_another_appended_and_erased(store, opened, url):
    first, second = pt.Session.open(store, id="s"), pt.Session.open(opened(url), id="s")
    page = first.append(pt.user("the secret tulip"))
    with pytest.raises(pt.Conflict):
        second.append(pt.user("too late"))
    assert second.refresh() == len(first.reader.pages())
    assert second.recall("tulip").hits
    first.erase(page)
    assert second.recall("tulip") == pt.NoMatch()
    assert "secret" not in str(second.derive().messages)


def test_texts_are_read_many_at_a_time_and_never_after_they_were_erased(store, opened, url):
    other = opened(url)
    first, second = pt.Session.open(store, id="s"), pt.Session.open(other, id="s")
    pages = first.extend([pt.user(f"page {number} " * 100) for number in range(60)])
    second.refresh()
    asked = []
    look_up = other._db.look_up
    other._db.look_up = lambda *statement: asked.append(statement) or look_up(*statement)
    assert len(texts(second)) == 60
    assert len([sql for sql, *_ in asked if "blobs" in sql]) <= 3
    assert second.resolve(pages[5].handle).text.startswith("page 5")
    first.erase(pages[5])
    assert second.resolve(pages[5].handle) == pt.Denied("erased")
    assert other.blob(pages[5].digest) is None
    assert second.resolve(pages[6].handle).text.startswith("page 6")


def test_blobs_that_an_erasure_would_drop_stay_where_another_session_comes_to_need_them(store, opened, url):
    """An append and an erasure of the same bytes, at once and many times: each session that needs them has them."""
    other = opened(url)
    long = "the same secret words " * 400
    victims = [pt.Session.open(store, id=f"v{number}") for number in range(10)]
    pages = [session.append(pt.user(long)) for session in victims]

    def work(part):
        if part == "erase":
            for session, page in zip(victims, pages, strict=True):
                session.erase(page)
        else:
            for number in range(10):
                pt.Session.open(other, id=f"n{number}").append(pt.user(long))

    in_threads(work, ["erase", "append"])
    for number in range(10):
        assert texts(pt.Session.open(store, id=f"n{number}")) == [long]
    assert store.check() == []
