"""Killed at any moment, cut off at any byte: what was acknowledged is there, and nothing is there by half."""

import json
import random
import shutil
import subprocess
import sys
import time
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

import pytest

import pageturn as pt
from pageturn.journal.doctor import examine
from pageturn.routing.stored_state import examine_beliefs
from pageturn.stores import SqliteStore
from tests.long import examples
from tests.stores import child

ROOT = Path(__file__).parents[2]
LIVES = 10  # of one file


def tags(store):
    return [json.loads(record.body)["entry"] for record in store.records(child.SESSION)]


def killed(path, first, rng, what="steps"):
    """What a child acknowledged from that step on, until it was killed."""
    command = [sys.executable, "-m", "tests.stores.child", what, str(path), str(first)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        # It says first that it is awake; some are killed while they open the file, some much later.
        told = [process.stdout.readline() for _ in range(rng.choice([1, rng.randrange(2, 30), rng.randrange(2, 30)]))]
        time.sleep(rng.uniform(0, 0.01))
        assert process.poll() is None, "the child died by itself"
        process.kill()
        told += process.stdout
    return [json.loads(line) for line in told[1:] if line.endswith("\n")]


def expected(upto):
    return ["policy", *(tag for number in range(1, upto + 1) for tag in child.entries(number))]


def said(messages):
    return [(message.role, message.content) for message in messages]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(examples(5, whole=50)))
def test_what_was_acknowledged_survives_kill_9_and_one_step_more_at_most(tmp_path, seed):
    rng = random.Random(seed)
    home = tmp_path / "home"
    home.mkdir()
    acknowledged = {}
    done = 0
    for life in range(LIVES):
        told = killed(home / "agent.db", done + 1, rng)
        assert [number for number, _ in told] == list(range(done + 1, done + 1 + len(told)))
        done += len(told)
        for number, pages in told:
            acknowledged.update(zip(pages.items(), child.messages(number), strict=True))
        # Looking mends the file, so now and then we look at a copy and leave the mending to the next child.
        seen = home if rng.random() < 0.5 else shutil.copytree(home, tmp_path / f"copy{life}")
        store = SqliteStore(str(seen / "agent.db"))
        session = pt.Session.open(store, id=child.SESSION)
        written = tags(store)
        assert written in (expected(done), expected(done + 1))
        done += written != expected(done)
        assert_whole(session, store, done)
        for (handle, digest), message in acknowledged.items():
            found = session.resolve(handle)
            assert (found.digest, said([found.message])) == (digest, said([message]))
        store.close()


def assert_whole(session, store, done):
    """Every step up to that one is there with all of its parts, and nothing else is."""
    added = [child.messages(number) for number in range(1, done + 1)]
    assert said(session.reader.messages()) == said(chain(*added))
    if any(added):
        last = max(number for number, messages in enumerate(added, start=1) if messages)
        assert session.reader.pages()[-1].handle in [hit.handle for hit in session.recall(f"step{last}").hits]
    records = list(store.records(child.SESSION))
    assert [record.seq for record in records] == list(range(1, len(records) + 1))
    bodies = [json.loads(record.body) for record in records]
    staged = [body["txn"] for body in bodies if body["entry"] == "staged"]
    settled = [body["txn"] for body in bodies if body["entry"] in ("committed", "rejected")]
    assert staged == settled == list(range(len(staged)))
    assert store.vacuum(dry_run=True) == (0, 0)
    assert store.check() == []


def assert_done(store, session, said, number, erased, *, is_sure):
    """An act that was acknowledged is done; one that was begun twice may have left a message more."""
    match child.ACTS[number % len(child.ACTS)]:
        case "say" | "checkpoint" as kind:
            assert f"{kind}{number}" in said
        case "fork":
            assert store.session(f"fork{number}") is not None
        case "erase":
            assert session.resolve(erased) == pt.Denied("erased")
        case "undo":
            assert not is_sure or f"undone{number}" not in said
        case "import":
            assert len(pt.Session.open(store, id=f"import{number}.1").reader.pages()) == 2


@pytest.mark.long
@pytest.mark.parametrize("seed", range(examples(2, whole=25)))
def test_erasing_forking_undoing_importing_and_repairing_survive_kill_9(tmp_path, seed):
    rng = random.Random(seed)
    path = tmp_path / "agent.db"
    done, erased, unsure = 0, {}, set()
    for _ in range(LIVES):
        for what, handle in killed(path, done + 1, rng, "acts"):
            if what == "soon erased":
                erased[done + 1] = handle
            else:
                done = what
        unsure.add(done + 1)
        store = SqliteStore(str(path))
        session = pt.Session.open(store, id=child.SESSION)
        said = {message.text for message in session.reader.messages()}
        for number in range(1, done + 1):
            assert_done(store, session, said, number, erased.get(number), is_sure=number not in unsure)
        if done + 1 in erased:
            assert isinstance(session.resolve(erased[done + 1]), pt.Resolved | pt.Denied)
        assert [*examine(store, also=[examine_beliefs])] == []
        store.close()


FIRST = {child.kind(number): number for number in range(10, 0, -1)}  # the first step of each kind
NOW = datetime(2026, 4, 20, 12, tzinfo=UTC)


def opened(store):
    """A session in which the same calls make the same journal, byte for byte."""
    return pt.Session.open(store, id=child.SESSION, clock=lambda: NOW, entropy=bytes)


class Torn:
    """A file whose last step is in its log, and what a session sees where the log is damaged."""

    def __init__(self, path, last):
        self.path, self.log = path, path.with_name(f"{path.name}-wal")
        store = SqliteStore(str(path))
        session = opened(store)
        child.take(session, FIRST["say"])
        self.before, self.start = list(store.records(child.SESSION)), self.log.stat().st_size
        child.take(session, last)
        self.after, self.end = list(store.records(child.SESSION)), self.log.stat().st_size
        self.database, self.written = path.read_bytes(), self.log.read_bytes()
        store.close()

    def reopened(self, log):
        self.path.write_bytes(self.database)
        self.log.write_bytes(log)
        store = SqliteStore(str(self.path), durability="off")  # what is only read needs no fsync
        session = opened(store)
        records = list(store.records(child.SESSION))
        assert store.check() == []
        assert store.vacuum(dry_run=True) == (0, 0)
        assert len(list(session.reader.messages())) == sum(b'"entry":"message"' in record.body for record in records)
        store.close()
        return records


@pytest.fixture(params=["answer", "prefer"])
def torn(request, tmp_path):
    return Torn(tmp_path / "agent.db", FIRST[request.param])


def sampled(torn, sample, *, whole=1_000_000):
    """Places in the last step's part of the log."""
    places = range(torn.start, torn.end)
    return random.Random(0).sample(places, min(len(places), examples(sample, whole=whole)))


PARTS = examples(1, whole=8)  # so that both cores have something to do


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_a_log_that_is_cut_off_at_any_byte_has_the_last_step_or_not(torn, part):
    assert torn.reopened(torn.written) == torn.after
    for place in sampled(torn, 75)[part::PARTS]:
        assert torn.reopened(torn.written[:place]) in (torn.before, torn.after), place


@pytest.mark.long
def test_a_log_that_is_damaged_anywhere_has_the_last_step_or_not(torn):
    for place in sampled(torn, 30, whole=1_000):
        end = len(torn.written)
        flipped = bytes([torn.written[place] ^ 0x10])
        for damage in (flipped + torn.written[place + 1 :], bytes(end - place), b"\xff" * (end - place)):
            assert torn.reopened(torn.written[:place] + damage) in (torn.before, torn.after), place


def test_what_lies_behind_the_end_of_the_log_is_not_read(torn):
    for rest in (bytes(5_000), b"\xff" * 5_000, torn.written[-8_240:], torn.written):
        assert torn.reopened(torn.written + rest) == torn.after


class Died(Exception):
    pass


class Mortal:
    """A store whose process dies instead of doing one append more than it has left."""

    def __init__(self, store):
        self.store = store
        self.appends_left = 1_000

    def __getattr__(self, name):
        return getattr(self.store, name)

    def append(self, *arguments):
        if not self.appends_left:
            raise Died
        self.appends_left -= 1
        self.store.append(*arguments)


@pytest.fixture
def make_store(tmp_path):
    made = []

    def make(name):
        made.append(Mortal(SqliteStore(str(tmp_path / name))))
        return made[-1]

    yield make
    for store in made:
        store.close()


def records(store):
    return list(store.records(child.SESSION))


PROPOSALS = [
    {"field": "memory.log", "value": ["ü", {"deep": None}]},
    {"field": "memory.log", "value": {"a": 1}, "op": "merge"},
    {"field": "compressed", "value": "many words"},
    {"field": "summary", "value": "somebody said many words"},
    {"field": "preference", "value": "tea"},
    {"field": "plan", "value": {"goal": "home", "steps": ["pack", "go"]}, "op": "set_with_version", "version": 0},
    {"field": "plan", "value": "somewhere", "op": "set_with_version", "version": 7},
    {"field": "memory.log", "value": 1, "scope": "others"},
    {"field": "compressed", "value": ""},
    {"field": "nonsense", "value": 1},
]


@pytest.mark.parametrize("fields", PROPOSALS)
def test_a_crash_between_staging_and_settling_leaves_no_trace(make_store, fields):
    def prepared(store):
        session = opened(store)
        page = session.append(pt.user("words " * 100))
        return session, pt.from_json(pt.Proposal, pt.to_json({**fields, "evidence": [page.handle], "key": "once"}))

    calm, stormy = make_store("calm.db"), make_store("stormy.db")
    session, proposal = prepared(calm)
    outcome = session.write_back(proposal)

    session, proposal = prepared(stormy)
    stormy.appends_left = 1
    with pytest.raises(Died):
        session.write_back(proposal)
    assert records(stormy) == records(calm)[:3]
    stormy.appends_left = 1
    session = opened(stormy)
    assert records(stormy) == records(calm)
    assert session.write_back(proposal) == outcome
    stormy.appends_left = 0
    again = opened(stormy)
    assert again.reader.pages() == session.reader.pages()
    assert records(stormy) == records(calm)


def test_a_crash_while_settling_after_a_crash_is_settled_too(make_store):
    store = make_store("agent.db")
    session = opened(store)
    page = session.append(pt.user("words"))
    store.appends_left = 1
    with pytest.raises(Died):
        session.write_back(pt.Proposal(field="memory.log", value=1, evidence=(page.handle,)))
    with pytest.raises(Died):
        opened(store)
    store.appends_left = 1
    opened(store)
    assert tags(store) == ["policy", "message", "staged", "committed"]


def test_what_two_writers_left_staged_is_settled_in_order(make_store):
    stores = [make_store("agent.db"), make_store("agent.db")]
    sessions = [opened(store) for store in stores]
    page = sessions[0].append(pt.user("words"))
    for name, store, session in zip("ab", stores, sessions, strict=True):
        session.refresh()
        store.appends_left = 1
        with pytest.raises(Died):
            session.write_back(
                pt.Proposal(field="plan", value=name, op="set_with_version", version=0, evidence=(page.handle,))
            )
    store = make_store("agent.db")
    assert opened(store).reader.plan == pt.Plan(goal="a")
    assert tags(store)[2:] == ["staged", "staged", "message", "plan", "committed", "rejected"]


def test_a_key_that_a_dead_writer_staged_is_done_once(make_store):
    stores = [make_store("agent.db"), make_store("agent.db")]
    dead, alive = [opened(store) for store in stores]
    page = dead.append(pt.user("words"))
    proposal = pt.Proposal(field="memory.log", value=1, evidence=(page.handle,), key="once")
    stores[0].appends_left = 1
    with pytest.raises(Died):
        dead.write_back(proposal)
    alive.refresh()
    assert alive.write_back(proposal) == pt.Committed(txn=0)
    opened(stores[1])
    assert tags(stores[1]) == ["policy", "message", "staged", "committed"]


def test_a_staged_proposal_whose_evidence_was_erased_is_rejected(make_store):
    stores = [make_store("agent.db"), make_store("agent.db")]
    dead, alive = [opened(store) for store in stores]
    page = dead.append(pt.user("words"))
    stores[0].appends_left = 1
    with pytest.raises(Died):
        dead.write_back(pt.Proposal(field="memory.log", value=1, evidence=(page.handle,)))
    alive.refresh()
    alive.erase(page)
    opened(stores[1])
    assert tags(stores[1]) == ["policy", "message", "staged", "erasure", "rejected"]


def test_an_append_whose_snapshot_fails_has_happened(make_store, monkeypatch):
    def fail(*_):
        raise pt.StoreError("no room")

    store = make_store("agent.db")
    session = opened(store)
    monkeypatch.setattr(store, "keep_snapshot", fail, raising=False)
    monkeypatch.setattr("pageturn.journal.journal._SNAPSHOT_EVERY", 0)
    session.append(pt.user("one"))
    assert tags(store) == ["policy", "message"]
