"""The journal: every entry has a frozen form, old journals are read for ever, snapshots are only a short cut."""

from pathlib import Path

import msgspec
import pytest

import pageturn as pt
from pageturn.journal.apply import apply
from pageturn.journal.journal import Journal
from pageturn.journal.note_state import NoteState
from pageturn.journal.state import SessionState
from pageturn.stores import MemoryStore, Snapshot
from pageturn.stores.tables import rechain
from pageturn.values import entries as e
from pageturn.values.entries import Entry
from pageturn.values.pages import Page
from tests.sessions import forked, journal_of, open_session, take_turn

GOLDEN = Path(__file__).parents[1] / "golden" / "journals"
VERSIONS = sorted(GOLDEN.glob("*.jsonl"))


@pytest.mark.parametrize("path", VERSIONS, ids=lambda path: path.stem)
def test_every_line_of_a_golden_journal_is_read_and_written_byte_for_byte(path):
    for line in path.read_bytes().splitlines():
        assert pt.to_json(pt.from_json(Entry, line)) == line


def test_the_golden_journals_hold_every_kind_of_entry():
    kinds = {type(pt.from_json(Entry, line)) for path in VERSIONS for line in path.read_bytes().splitlines()}
    kinds |= {type(pt.from_json(Entry, path.read_bytes())) for path in GOLDEN.parent.glob("entry_*.json")}
    assert kinds == set(Entry.__subclasses__())


@pytest.mark.parametrize("path", VERSIONS, ids=lambda path: path.stem)
def test_a_golden_journal_comes_to_the_same_state(path):
    state = SessionState()
    for seq, line in enumerate(path.read_bytes().splitlines(), start=1):
        apply(state, seq, pt.from_json(Entry, line))
    assert [page.seq for page in state.live_pages()] == [2, 3, 5, 7, 8, 10, 12, 32]
    assert (state.turn, state.turns, list(state.pins)) == (2, [8], [5])
    assert (state.plan.version, state.preferences, list(state.notes)) == (1, {12: "me"}, ["os"])
    assert (state.policy, state.grants, state.next_txn) == (pt.Reset(9_000), {"team"}, 2)
    assert [record.entry.fault.code for record in state.faults] == ["no_match"]
    assert state.usage == pt.Usage(input_tokens=10, output_tokens=2)


def test_a_turn_of_a_golden_journal_says_which_notes_stand():
    state = SessionState()
    for seq, line in enumerate((GOLDEN / "2.jsonl").read_bytes().splitlines()[:29], start=1):
        apply(state, seq, pt.from_json(Entry, line))
    (standing,) = state.note_state.standing
    assert (standing.note.content, standing.band, standing.after) == ("linux", pt.ContextMessageTarget.SYSTEM, 3)
    assert list(state.note_state.left_out) == ["git"]


def test_a_turn_that_shows_a_note_that_nobody_added_contradicts_the_journal():
    store = MemoryStore()
    session = open_session(store)
    session.append(pt.user("hi"))
    session.inject(pt.ContextMessage.system("os", "linux"))
    session.derive()
    session.append(pt.assistant("done"))
    store._connection.execute("UPDATE records SET body = CAST(replace(body, 'linux', 'macos') AS BLOB)")
    rechain(store._connection, [1])  # as if it had been written so
    with pytest.raises(pt.StoreError, match="contradicts the entries before it"):
        open_session(store)


def test_unknown_fields_of_an_entry_are_kept():
    line = b'{"entry":"pin","page":3,"why":"because"}'
    assert pt.to_json(pt.from_json(Entry, line)) == line
    page = b'{"entry":"message","page":{"seq":1,"check":"abcd","id":"i","role":"user","kind":"conversation","digest":"d","size":1,"tokens":1,"mood":"good"}}'
    assert pt.to_json(pt.from_json(Entry, page)) == page


def test_a_snapshot_is_only_a_short_cut():
    store = MemoryStore()
    session = open_session(store)
    for number in range(3):
        take_turn(session, number)
    session.undo()
    session.checkpoint()
    take_turn(session, 9)
    with_snapshot = Journal.open(store, "s").state
    store._connection.execute("DELETE FROM snapshots")
    assert Journal.open(store, "s").state == with_snapshot == session.reader.state()
    for damaged in (b"", b"garbage", msgspec.msgpack.encode({"format": 99, "state": {}})):
        store.keep_snapshot("s", Snapshot(session.reader.head, damaged))
        assert Journal.open(store, "s").state == with_snapshot


@pytest.mark.parametrize("step", [-1, 1])
def test_a_snapshot_of_another_format_is_not_gone_by_even_if_it_can_be_read(step):
    store = MemoryStore()
    session = open_session(store)
    take_turn(session, 1)
    session.checkpoint()
    stored = msgspec.msgpack.decode(store.snapshot("s").body, strict=False)
    stored["state"]["turn"] = 77
    head = session.reader.head
    store.keep_snapshot("s", Snapshot(head, msgspec.msgpack.encode(stored)))
    assert Journal.open(store, "s").state.turn == 77  # of our format, it is gone by
    store.keep_snapshot("s", Snapshot(head, msgspec.msgpack.encode({**stored, "format": stored["format"] + step})))
    assert Journal.open(store, "s").state == session.reader.state()


def test_a_long_journal_is_saved_now_and_then():
    store = MemoryStore()
    session = open_session(store)
    assert store.snapshot("s") is None
    session.extend(pt.user(f"message {number}") for number in range(2_100))
    assert store.snapshot("s").seq == session.reader.head


def test_the_form_of_a_snapshot_has_its_number():
    """When this fails, raise `_SNAPSHOT_FORMAT` in journal.py and put the new fields here."""
    assert SessionState.__struct_fields__ == (
        "head", "pages", "turns", "turn", "is_opening", "system", "rules", "model", "people", "pins", "from_task_log", "plan", "spared", "preferences",
        "note_state", "renditions", "fields", "policy", "grants", "faults", "usage", "resets", "placed", "lines", "folded", "folds", "tried", "fold_cost", "fold_tokens",
        "read_since_fold", "forms_folded",
        "has_handles", "unreasoned", "promises", "changes", "changes_folded",
        "is_cold", "seen", "shown", "overtaken", "fetched", "fetched_since_fold", "calibrations", "bounds", "next_txn", "staged", "waiting", "settled",
        "lost", "restored",
    )  # fmt: skip
    assert Page.__struct_fields__ == (
        "extra", "seq", "check", "id", "role", "kind", "digest", "size", "tokens", "counter", "at", "visibility", "synthetic", "calls",
        "results", "relevance", "undone", "erased", "replaced",
    )  # fmt: skip
    assert NoteState.__struct_fields__ == (
        "notes", "standing", "lost", "emitted", "spent", "left_out", "answered", "is_leaving",
    )  # fmt: skip


def test_an_entry_that_nobody_knows_is_an_error_with_its_place():
    store = MemoryStore()
    open_session(store)
    store._connection.execute('UPDATE records SET body = CAST(\'{"entry":"telepathy"}\' AS BLOB)')
    rechain(store._connection, [1])  # as a newer version would have written it
    what = r"session 's': entry 1 cannot be read: \$\.entry: expected one of .*, got 'telepathy'"
    with pytest.raises(pt.Damaged, match=what):
        open_session(store).derive()


def test_entries_are_applied_in_order_and_none_is_left_out():
    with pytest.raises(AssertionError, match="entry 2 after 0"):
        apply(SessionState(), 2, e.Unpinned(page=1))


def test_the_past_is_what_the_entries_up_to_one_came_to():
    session = open_session(MemoryStore())
    states = {}
    for number in range(4):
        take_turn(session, number)
        states[session.reader.head] = msgspec.msgpack.encode(session.reader.state())
    session.undo()
    session.checkpoint()
    fork = forked(session, "branch")
    fork.append(pt.user("other"))
    for journal in (journal_of(session), journal_of(fork)):
        assert {head: msgspec.msgpack.encode(journal.past(head)) for head in states} == states
    assert fork.reader.state(fork.reader.head) == fork.reader.state()
    assert session.reader.state(0) == SessionState()
