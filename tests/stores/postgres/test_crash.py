"""Kill -9 of the writer and of the server, in the middle of appends: what was acknowledged is there, and nothing else by halves."""

import json
import random
import subprocess
import sys
import time
from pathlib import Path
from threading import Event, Thread

import pytest

import pageturn as pt
from pageturn.stores import Batch, Document, Record, SessionRow, Span
from pageturn.values.errors import StoreError
from tests.long import examples
from tests.stores import child
from tests.stores.test_crash import assert_whole, expected

ROOT = Path(__file__).parents[3]
ALL = 10**9
_CRASHES = examples(3, whole=100)


@pytest.fixture(scope="module")
def mortal(server):
    """A server of its own, which waits for the disk."""
    from tests.stores.postgres.server import Server  # noqa: PLC0415  what it imports may not be there

    started = Server(durable=True)
    yield started
    started.stop()


@pytest.mark.long
def test_a_writer_that_is_killed_leaves_what_was_acknowledged_and_one_step_more_at_most(opened, url):
    randomness = random.Random(1)
    store = opened(url)
    done = 0
    for _ in range(_CRASHES):
        command = [sys.executable, "-m", "tests.stores.child", "steps", url, str(done + 1)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as writer:
            assert writer.stdout.readline() == '"awake"\n'
            told = [writer.stdout.readline() for _ in range(randomness.randrange(1, 15))]
            time.sleep(randomness.random() * 0.02)
            writer.kill()
            told += writer.stdout.readlines()
        done += sum(line.endswith("\n") for line in told)
        session = pt.Session.open(store, id=child.SESSION)  # which mends what was left staged
        written = [json.loads(record.body)["entry"] for record in store.records(child.SESSION)]
        assert written in (expected(done), expected(done + 1))
        done += written != expected(done)
        assert_whole(session, store, done)


@pytest.mark.long
def test_a_server_that_is_killed_loses_nothing_acknowledged_and_the_writers_go_on(mortal, opened):
    store = opened(mortal.url(mortal.new_database(), wait_seconds=60))
    names = [f"s{number}" for number in range(4)]
    for name in names:
        store.create(SessionRow(name, b"key", 1))
    done, acknowledged, failures = Event(), dict.fromkeys(names, 0), []

    def write(name):
        while not done.is_set():
            seq = acknowledged[name] + 1
            record = Record(seq, seq, b"{%d}" % seq)
            try:
                store.append(
                    name, seq - 1, Batch([record], {f"{name}.{seq}": b"x" * 5_000}, [Document(seq, f"word{seq}")])
                )
            except StoreError as error:
                failures.append(error)
                return
            acknowledged[name] = seq

    writers = [Thread(target=write, args=(name,)) for name in names]
    for writer in writers:
        writer.start()
    randomness = random.Random(2)
    for _ in range(_CRASHES):
        before = sum(acknowledged.values())
        while sum(acknowledged.values()) < before + randomness.randrange(5, 60) and not failures:
            done.wait(0.001)
        mortal.kill()
        mortal.start()
    done.set()
    for writer in writers:
        writer.join()
    assert failures == []
    for name in names:
        assert [record.seq for record in store.records(name)] == list(range(1, acknowledged[name] + 1))
        assert all(len(store.blob(f"{name}.{seq}")) == 5_000 for seq in range(1, acknowledged[name] + 1))
        assert store.documents(name) == set(range(1, acknowledged[name] + 1))
        last = acknowledged[name]
        assert [found.seq for found in store.search([Span(name, ALL)], f"word{last}", 2)] == [last]
    assert store.check() == []
