"""Pruning: what goes, what stays, and that the rest of a log is as sound as the whole was."""

import random
import threading
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pageturn as pt
from pageturn.routing import MODES, Beliefs, Outcome
from pageturn.routing.evaluation import differing, replay
from pageturn.stores import MemorySidecars, MemoryStore, SqliteStore
from tests.routing.test_failover import ApiError

NOW = datetime(2026, 4, 20, 12, tzinfo=UTC)
AGENTS = ("a", "b", "c")


class Clock:
    """A minute later each time."""

    def __init__(self):
        self.now = NOW

    def __call__(self):
        self.now += timedelta(minutes=1)
        return self.now


def router(store=None, clock=None, **options):
    return pt.Router.open(store or MemoryStore(), rng=random.Random(1), clock=clock or Clock(), **options)


def worked(decisions, store=None, **options):
    made = router(store, **options)
    for at in range(decisions):
        made.observe(made.choose(AGENTS), at % 3 > 0)
    return made


def ids(made):
    return [entry.decision.id for _, entry in made.beliefs.log()]


def test_the_newest_stay_and_what_the_others_taught_does_too():
    made = worked(10)
    before, state = ids(made), made.beliefs.state
    assert made.beliefs.prune(keep=4) == 6
    assert ids(made) == before[6:]
    assert made.beliefs.state == state
    assert made.beliefs.prune(keep=4) == 0
    assert made.beliefs.prune(keep=1) == 3
    pruned = made.beliefs.pruned
    assert (pruned.decisions, sum(each.n for each in pruned.taught.values())) == (9, 9)


def test_those_made_before_a_moment_go_up_to_the_first_that_was_made_since():
    made = router(clock=(clock := Clock()))
    old = [made.choose(AGENTS) for _ in range(3)]
    moment = clock.now
    young = made.choose(AGENTS)
    for decision in (old[0], young, old[1]):
        made.observe(decision, True)
    made.flush()
    assert made.beliefs.prune(before=old[0].at) == 0
    assert made.beliefs.prune(before=moment + timedelta(seconds=1)) == 1
    assert sorted(ids(made)) == sorted(each.id for each in (old[1], old[2], young))
    assert made.beliefs.prune(before=moment + timedelta(seconds=1), abandoned=True) == 1
    assert sorted(ids(made)) == sorted(each.id for each in (old[1], young))


def test_what_waits_for_its_outcome_stays_and_is_counted_once():
    made = worked(3)
    written = made.choose(AGENTS)
    made.flush()
    held = made.choose(AGENTS)
    for _ in range(5):
        made.observe(made.choose(AGENTS), True)
    assert made.beliefs.prune(keep=0) == 8
    assert ids(made) == [written.id]
    assert made.observe(written.id, True)
    assert made.observe(held, True)  # never written, but this router knows that it was not observed
    assert sum(each.n for each in made.beliefs.state.beliefs.values()) == 10


def test_an_outcome_is_not_counted_again_when_its_decision_was_pruned():
    store = MemoryStore()
    made = router(store, clock=(clock := Clock()))
    decision = made.choose(AGENTS)
    made.observe(decision, True)
    made.beliefs.prune(keep=0)
    state = made.beliefs.state
    for again in (made, router(store, clock)):
        for tell in (again.observe, again.choose_router_target):
            with pytest.raises(pt.InvalidInput, match="decision: expected one that is in the log, or was made after"):
                tell(decision, TimeoutError())
        with pytest.raises(pt.InvalidInput, match="the id of one that was written"):
            again.observe(decision.id, True)
    assert made.beliefs.state == state
    assert made.observe(made.choose(AGENTS), True)


@pytest.mark.parametrize("wrong", [{}, {"keep": 1, "before": NOW}, {"keep": -1}, {"keep": 1.5}, {"keep": True}, {"before": NOW.replace(tzinfo=None)}, {"keep": 1, "abandoned": True}])  # fmt: skip
def test_what_is_no_bound_drops_nothing(wrong):
    made = worked(3)
    with pytest.raises(pt.InvalidInput):
        made.beliefs.prune(**wrong)
    assert len(ids(made)) == 3
    assert made.beliefs.pruned is None


def test_others_see_what_is_learned_after_a_log_was_dropped_whole(tmp_path):
    path = str(tmp_path / "agent.db")
    one, two = router(SqliteStore(path)), router(SqliteStore(path))
    one.observe(one.choose(["a"]), ApiError("bad request", 400))  # the last change is the one that is dropped
    two.beliefs.refresh()
    assert one.beliefs.prune(keep=0) == 1
    one.observe(one.choose(["a"]), True)
    assert two.beliefs.refresh()
    assert two.beliefs.state == one.beliefs.state


def test_who_prunes_and_who_observes_do_not_harm_each_other(tmp_path):
    store = SqliteStore(str(tmp_path / "agent.db"))
    gone = []

    def observe(seed):
        made = pt.Router.open(store, rng=seed)
        for at in range(15):
            made.observe(made.choose(AGENTS), at % 2 == 0)

    def prune():
        made = pt.Router.open(store)
        gone.extend(made.beliefs.prune(keep=2) for _ in range(10))

    threads = [*(threading.Thread(target=observe, args=(seed,)) for seed in range(3)), *(threading.Thread(target=prune) for _ in range(2))]  # fmt: skip
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    beliefs = pt.Router.open(store).beliefs
    assert sum(each.n for each in beliefs.state.beliefs.values()) == 45
    assert sum(gone) + len(list(beliefs.log())) == 45
    assert beliefs.prune(keep=0) + sum(gone) == 45
    assert {key: (each.alpha, each.beta, each.n) for key, each in beliefs.pruned.taught.items()} == {
        key: (each.alpha, each.beta, each.n) for key, each in beliefs.state.beliefs.items()
    }
    store.close()


class Interrupted(MemorySidecars):
    """Where something happens right before the next change."""

    def __init__(self):
        super().__init__()
        self.meanwhile = None

    def amend(self, slots, change):
        act, self.meanwhile = self.meanwhile, None
        if act is not None:
            act()
        return super().amend(slots, change)


def interrupted():
    store, clock = Interrupted(), Clock()
    one, two = (pt.Router(Beliefs(store, clock=clock), rng=at, clock=clock) for at in (1, 2))
    return store, clock, one, two


def test_two_that_prune_at_once_count_what_they_drop_once():
    store, _, one, two = interrupted()
    for at in range(6):
        one.observe(one.choose(["a"]), at % 2 == 0)
    gone = []
    store.meanwhile = lambda: gone.append(two.beliefs.prune(keep=4))
    assert one.beliefs.prune(keep=1) == 3
    assert gone == [2]
    (taught,) = one.beliefs.pruned.taught.values()
    assert (one.beliefs.pruned.decisions, taught.n, len(ids(one))) == (5, 5, 1)


def test_what_was_to_be_abandoned_stays_where_its_outcome_comes_just_then():
    store, clock, one, two = interrupted()
    decision = one.choose(["a"])
    one.flush()
    moment = clock.now + timedelta(seconds=1)
    store.meanwhile = lambda: two.observe(decision.id, True)
    assert one.beliefs.prune(before=moment, abandoned=True) == 1
    (taught,) = one.beliefs.pruned.taught.values()
    assert (taught.n, taught.alpha) == (1, 2.0)


steps = st.lists(
    st.one_of(
        st.tuples(st.just("choose"), st.integers(0, 1)),
        st.tuples(st.just("observe"), st.integers(0, 5)),
        st.tuples(st.just("flush"), st.integers(0, 1)),
        st.tuples(st.just("keep"), st.integers(0, 4)),
        st.tuples(st.just("before"), st.integers(0, 40)),
    ),
    max_size=40,
)


@given(steps, st.sampled_from([1.0, 0.95]))
def test_whatever_is_pruned_every_decision_that_is_left_rests_on_what_the_log_says(script, lambda_):
    """Two routers on one store, outcomes in any order, pruned at any time: beliefs are those of an unpruned twin."""
    config = pt.DelegationConfig(lambda_=lambda_, enabled=True)
    clock = Clock()
    store = MemorySidecars()
    beliefs = [Beliefs(store, clock=clock, config=config) for _ in range(2)]
    routers = [pt.Router(each, rng=random.Random(at), clock=clock) for at, each in enumerate(beliefs)]
    twin = Beliefs(MemorySidecars(), clock=lambda: NOW, config=config)
    waiting = []
    for verb, number in script:
        match verb:
            case "choose":
                waiting.append((routers[number], routers[number].choose(AGENTS, "model_call", "xy"[len(waiting) % 2])))
            case "observe" if waiting:
                made, decision = waiting.pop(number % len(waiting))
                verdict = None if number == 5 else (number % 3) / 2
                outcome = Outcome(
                    verdict, number % 2, None if verdict is not None else "no", weight=1.0 - number % 3 / 4
                )
                assert made.beliefs.observe(decision, outcome, is_first=decision.id in made._pending)
                made._pending.pop(decision.id, None)
                twin.observe(decision, outcome)
            case "flush":
                routers[number].flush()
            case "keep":
                beliefs[0].prune(keep=number)
            case "before":
                beliefs[1].prune(before=NOW + timedelta(minutes=number))
    now, before = beliefs[0].state.beliefs, twin.state.beliefs
    assert {key: (p.alpha, p.beta, p.n) for key, p in now.items()} == {
        key: (p.alpha, p.beta, p.n) for key, p in before.items()
    }
    again = list(replay(list(beliefs[0].log()), MemorySidecars(), config, MODES["mean"], beliefs[0].pruned))
    assert differing(again) == []
