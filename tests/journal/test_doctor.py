"""The doctor finds what is wrong, and nothing else."""

import pytest

import pageturn as pt
from pageturn.journal.doctor import examine
from pageturn.routing.stored_state import examine_beliefs
from pageturn.stores import MemoryStore, Slot
from tests.sessions import open_session, take_turn


@pytest.fixture
def store():
    opened = MemoryStore()
    session = open_session(opened)
    take_turn(session, 1)
    page = session.append(pt.tool_result("c9", "large " * 2_000))
    session.write_back(pt.Proposal(field="compressed", value="large, many times", evidence=(page.handle,)))
    session.pin("a rule", structured="rule")
    session.erase(session.append(pt.user("forget me")))
    session.fork("child").append(pt.user("more"))
    return opened


def findings(store):
    return [finding.what for finding in examine(store, also=[examine_beliefs])]


def test_a_sound_store_has_no_findings(store):
    assert findings(store) == []


def test_progress_covers_every_entry(store):
    seen = []
    list(examine(store, progress=lambda row, seq: seen.append((row.id, seq))))
    assert len(seen) == sum(row.head - row.parent_seq for row in store.sessions())


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        ("DELETE FROM blobs", "is missing"),
        ("UPDATE blobs SET data = CAST(data || 'x' AS BLOB)", "is not what was written"),
        ("UPDATE sessions SET key = x'00'", "its row was altered"),
        ("DELETE FROM records WHERE seq = 4", "entry 4 is missing: its content is lost"),
        (
            "UPDATE records SET body = CAST('{}' AS BLOB) WHERE seq = 3",
            "entry 3 was altered: its page",
        ),
        ("DELETE FROM records WHERE seq = 5", "entry 5 is missing: its page"),
        ("DELETE FROM blobs WHERE data = CAST('rule' AS BLOB)", "entry 11: its text"),
        ("DELETE FROM blobs WHERE data = CAST('\"large, many times\"' AS BLOB)", "entry 7: its text"),
    ],
)
def test_damage_is_found(store, damage, what):
    store._connection.execute("DELETE FROM snapshots")
    store._connection.execute(damage)
    assert any(what in finding for finding in findings(store)), findings(store)


@pytest.mark.parametrize("sidecar", ["delegation/team", "decisions/team", "pruned/team"])
def test_beliefs_and_decisions_that_cannot_be_read_are_found(store, sidecar):
    router = pt.Router.open(store, "team")
    for _ in range(2):
        router.observe(router.choose(["a", "b"]), True)
    router.beliefs.prune(keep=1)
    assert findings(store) == []
    slot = Slot(sidecar, next(iter(store.sidecar(sidecar).documents)))
    store.amend([slot], lambda _: {slot: b"{}"})
    (what,) = findings(store)
    assert what.startswith(f"beliefs of scope 'team' are damaged at {slot.key!r}")
