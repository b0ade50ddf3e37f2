"""Beliefs in a store: shared, durable, never counted twice; and damage that is told."""

import sqlite3
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import pageturn as pt
from pageturn.routing import Beliefs, setting
from pageturn.stores import MemoryStore, Slot, SqliteStore

NOW = datetime(2026, 4, 20, 12, tzinfo=UTC)
ROOT = Path(__file__).parents[2]
WHERE = setting("model_call", {"domain": "sql"})
EASY = WHERE.bucket
PROCESSES, OUTCOMES = 8, 15


@pytest.fixture(params=["memory", "sqlite"])
def store(request, tmp_path):
    opened = MemoryStore() if request.param == "memory" else SqliteStore(str(tmp_path / "agent.db"))
    yield opened
    opened.close()


def beliefs_in(store, scope="default", **options):
    return Beliefs(store, scope, clock=lambda: NOW, **options)


def record(beliefs, agent="a", skill="model_call"):
    found = beliefs.state.beliefs.get(pt.DelegationState.key(agent, skill, EASY))
    return None if found is None else (found.alpha, found.beta, found.n)


def test_what_one_learns_the_others_see_and_a_store_keeps(store):
    one, two = beliefs_in(store), beliefs_in(store)
    one.update("a", "model_call", EASY, True)
    two.update("a", "model_call", EASY, False)
    assert record(one) == record(two) == record(beliefs_in(store)) == (2.0, 2.0, 2)
    assert one.estimate("a", WHERE) == two.estimate("a", WHERE)


def test_scopes_are_apart(store):
    beliefs_in(store, "red").update("a", "model_call", EASY, True)
    assert record(beliefs_in(store, "blue")) is None
    with pytest.raises(pt.InvalidInput, match="id: expected"):
        beliefs_in(store, "../x")


def test_a_change_of_another_scope_is_noticed_once(store):
    mine, other = beliefs_in(store), beliefs_in(store, "other")
    other.update("a", "model_call", EASY, True)
    assert mine.refresh() is False
    version = mine.version
    assert version == other.version
    mine.update("a", "model_call", EASY, True)
    assert mine.version == version + 1


def test_the_knobs_are_shared_and_lambda_is_clamped(store):
    one = beliefs_in(store)
    assert one.config.enabled
    two = beliefs_in(store, config=pt.DelegationConfig(lambda_=0.5, enabled=True))
    one.refresh()
    assert one.config == two.config
    one.update("a", "model_call", EASY, True)
    assert record(one) == pytest.approx((0.9 + 1, 0.9, 1))


def test_declared_confidence_counts_until_something_is_known(store):
    beliefs = beliefs_in(store)
    beliefs.declare("a", WHERE, 0.9)
    beliefs.declare("a", WHERE, 0.1)
    assert record(beliefs, skill=WHERE.skill) == pytest.approx((10.8, 1.2, 0))
    assert beliefs.estimate("a", WHERE).mean > beliefs.estimate("b", WHERE).mean
    with pytest.raises(pt.InvalidInput, match="confidence"):
        beliefs.declare("b", WHERE, float("nan"))
    assert record(beliefs, "b", WHERE.skill) is None


def test_the_seeds_json_goes_in_and_comes_out(store):
    state = pt.DelegationState(config=pt.DelegationConfig(enabled=True, gamma=0.7))
    for outcome in (True, True, False):
        state.update("a", "model_call", EASY, outcome, now=NOW)
    beliefs = beliefs_in(store)
    beliefs.take(pt.from_json(pt.DelegationState, pt.to_json(state)))
    assert beliefs.state == state
    beliefs.take(state)
    assert beliefs.state == state.merge(state)
    assert record(beliefs) == (5.0, 3.0, 6)


def test_a_state_that_is_handed_out_is_a_copy(store):
    beliefs = beliefs_in(store)
    beliefs.update("a", "model_call", EASY, True)
    beliefs.state.update("a", "model_call", EASY, True, now=NOW)
    beliefs.state.beliefs.clear()
    assert record(beliefs) == (2.0, 1.0, 1)


@pytest.mark.parametrize("agent", ["a|b", "", " ", None, "a\nb"])
def test_names_that_would_not_be_whole_in_a_key_are_refused(store, agent):
    beliefs = beliefs_in(store)
    with pytest.raises(pt.InvalidInput, match=r"agent: expected a name without '\|'"):
        beliefs.update(agent, "model_call", EASY, True)
    assert beliefs.state.beliefs == {}


@pytest.mark.parametrize(
    ("key", "body", "complaint"),
    [
        ("a|model_call|easy|isolated|no", b'{"alpha":-1}', r"damaged at 'a\|model_call"),
        ("a|model_call|easy|isolated|no", b"\x00rubbish", "JSON in UTF-8"),
        ("a|model_call|easy|isolated|no", b'{"alpha":1,"beta":1,"n":-3,"c_self":0.5,"kappa":2,"last_update":"2026-04-20T12:00:00Z"}', r"\$\.n"),
        ("no bars", b"{}", "not the key of a posterior"),
        ("config", b'{"gamma":"much"}', r"damaged at 'config': \$\.gamma"),
    ],
)  # fmt: skip
def test_damage_is_told_and_what_was_believed_stays(store, key, body, complaint):
    beliefs = beliefs_in(store)
    beliefs.update("b", "model_call", EASY, True)
    before = beliefs.estimate("b", WHERE)
    slot = Slot("delegation/default", key)
    store.amend([slot], lambda _: {slot: body})
    with pytest.raises(pt.StoreError, match=complaint):
        beliefs.refresh()
    assert beliefs.estimate("b", WHERE) == before
    with pytest.raises(pt.StoreError, match=complaint):
        beliefs_in(store)


def test_a_damaged_cell_is_not_overwritten(store):
    beliefs = beliefs_in(store)
    slot = Slot("delegation/default", "a|model_call|easy|isolated|no")
    store.amend([slot], lambda _: {slot: b"{}"})
    with pytest.raises(pt.StoreError, match="damaged"):
        beliefs.update("a", "model_call", EASY, True)
    assert store.document(slot) == b"{}"


def test_a_file_that_another_program_wrote_into_is_told(tmp_path):
    path = tmp_path / "agent.db"
    store = SqliteStore(str(path))
    beliefs_in(store).update("a", "model_call", EASY, True)
    with sqlite3.connect(path) as db:
        db.execute("UPDATE sidecars SET body = 'text', version = version + 1")
    db.close()
    with pytest.raises(pt.StoreError, match="changed by another program"):
        beliefs_in(store)
    store.close()


def test_what_is_no_knob_no_state_and_no_setting_changes_nothing(store):
    beliefs = beliefs_in(store)
    before = store.sidecar_version()
    for wrong, complaint in (
        (lambda: beliefs.configure(None), "config: expected a DelegationConfig"),
        (lambda: beliefs.take({"beliefs": {}}), "state: expected a DelegationState"),
        (lambda: beliefs.declare("a", "model_call", 0.5), "setting: expected a Setting"),
        (lambda: beliefs.update("a", "model_call", "easy", True), "bucket: expected a Bucket"),
        (lambda: beliefs.update("a", None, EASY, True), "skill: expected a name"),
    ):
        with pytest.raises(pt.InvalidInput, match=complaint):
            wrong()
    assert store.sidecar_version() == before
    assert beliefs_in(store).state == beliefs.state


@pytest.mark.parametrize("c_self", [0.5, 0.9])
@pytest.mark.parametrize(("alpha", "beta", "n"), [(1e308, 1e308, 5), (1e308, 0.0, 2**60), (5e-324, 0.0, 5), (0.0, 0.0, 9), (1e-200, 1e200, 1)])  # fmt: skip
def test_numbers_that_somebody_made_up_do_no_harm_to_others(store, alpha, beta, n, c_self):
    made = pt.BetaPosterior(alpha, beta, n, c_self, 0.0, NOW)
    beliefs = beliefs_in(store)
    beliefs.update("b", "model_call", EASY, True)
    state = pt.DelegationState({pt.DelegationState.key("a", "model_call", EASY): made})
    beliefs.take(state)
    beliefs.take(state)
    for agent in ("a", "b", "new"):
        mean, deviation = beliefs.estimate(agent, setting("model_call", EASY))
        assert -0.5 <= mean <= 1.5
        assert 0.0 < deviation < 1.0


def test_threads_lose_nothing(store):
    def work():
        beliefs = beliefs_in(store)
        for _ in range(20):
            beliefs.update("a", "model_call", EASY, True)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert record(beliefs_in(store)) == (81.0, 1.0, 80)


CHILD = """
import sys
import pageturn as pt
router = pt.Router.open(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
for at in range(int(sys.argv[2])):
    decision = router.choose(["only"], "model_call")
    router.observe(decision, at % 3 > 0)
"""


def test_processes_lose_nothing(tmp_path):
    path = str(tmp_path / "agent.db")
    command = [sys.executable, "-c", CHILD, path, str(OUTCOMES)]
    children = [
        subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(PROCESSES)
    ]
    assert [child.stdout.readline() for child in children] == ["ready\n"] * PROCESSES
    for child in children:
        child.stdin.write("go\n")
        child.stdin.flush()
    for child in children:
        child.communicate()
        assert child.returncode == 0
    store = SqliteStore(path)
    beliefs = beliefs_in(store)
    wins = sum(at % 3 > 0 for at in range(OUTCOMES)) * PROCESSES
    assert record(beliefs, "only") == (1.0 + wins, 1.0 + PROCESSES * OUTCOMES - wins, PROCESSES * OUTCOMES)
    assert sum(entry.verdict for _, entry in beliefs.log()) == wins
    store.close()


def test_a_session_shares_what_its_store_believes(tmp_path):
    path = tmp_path / "agent.db"
    with pt.Session.open(path, id="one") as session, pt.Router.open(path) as router:
        before = session.derive()
        router.beliefs.update("a", "model_call", EASY, True)
        assert session.derive() == before or session.derive().messages == before.messages
    with pt.Router.open(path) as router:
        assert record(router.beliefs) == (2.0, 1.0, 1)


def test_beliefs_are_never_in_a_context_nor_in_a_journal(tmp_path):
    path = tmp_path / "agent.db"
    with pt.Session.open(path, id="one") as session, pt.Router.open(path) as router:
        session.append(pt.user("Who should do it?"))
        head = session.reader.pages()
        router.beliefs.update("secret-agent", "model_call", EASY, True)
        context = session.derive()
        assert b"secret-agent" not in pt.to_json(list(context.messages))
        assert session.reader.pages() == head
        entries = [pt.to_json(each.entry).decode() for each in session.reader.entries()]
    assert entries
    assert "secret-agent" not in "".join(entries)


def test_an_update_is_stamped(store):
    later = NOW + timedelta(hours=1)
    Beliefs(store, clock=lambda: later).update("a", "model_call", EASY, True)
    assert beliefs_in(store).state.beliefs["a|model_call|easy|isolated|no"].last_update == later


def test_a_hand_off_needs_the_margin_as_the_seed_says_and_a_router_in_that_mode_says_the_same(store):
    beliefs = beliefs_in(store)
    router = pt.Router(beliefs, mode="cadmas")
    for wins, expected in ((2, None), (40, "peer")):
        for number in range(20):
            beliefs.update("local", "model_call", EASY, number % 2 == 0)
            beliefs.update("peer", "model_call", EASY, number % 2 == 0)
        for _ in range(wins):
            beliefs.update("peer", "model_call", EASY, True)
        assert beliefs.delegate_to("local", ["peer", "unseen"], "model_call", EASY) == expected
        chosen = router.choose(["peer", "unseen"], "model_call", EASY, local="local").choice
        assert chosen == (expected or "local")
