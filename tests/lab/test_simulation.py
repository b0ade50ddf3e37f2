"""What a policy loses, fault by fault, on sessions of a few turns."""

from typing import NamedTuple

import pytest

import pageturn as pt
from pageturn.lab.simulation import Harness, simulate
from pageturn.lab.synthetic_workloads import Boundary, Demand, PageSpec, Pin, Turn, Workload
from pageturn.values.faults import DuplicateTool, FlushMiss, PinnedInvariantMiss, PostCompactionBootstrap, Refetch
from pageturn.values.pages import PageKind, ResidencyLevel

FULL, COMPRESSED, STRUCTURED, POINTER = ResidencyLevel
BARE = Harness(pins_floors=False, saves_at_compaction=False, saves_at_reset=False, resolves=False)
BOOTSTRAP = PageSpec("b", PageKind.BOOTSTRAP, Pin.HARD, STRUCTURED, {FULL: 50, STRUCTURED: 20}, 6, 1)
RULE = PageSpec("r", PageKind.CONSTRAINT, Pin.HARD, STRUCTURED, {FULL: 50, STRUCTURED: 20}, 7, 1)
SIZES = {FULL: 80, COMPRESSED: 40, STRUCTURED: 20, POINTER: 4}
EVIDENCE = PageSpec("e", PageKind.EVIDENCE, Pin.SOFT, POINTER, SIZES, 5, 8)
PREFERENCE = PageSpec("p", PageKind.PREFERENCE, Pin.SOFT, POINTER, SIZES, 4, 3)
PAGES = (BOOTSTRAP, RULE, EVIDENCE, PREFERENCE)


class Fixed(NamedTuple):
    """A chooser that always gives the same answer, as far as the pages are there."""

    levels: dict[str, ResidencyLevel]

    def choose(self, pages, *, required, demands, recency, budget_tokens, future):
        return {page.id: self.levels[page.id] for page in pages if page.id in self.levels}


class Listening:
    """A chooser that keeps nothing in the context and remembers what it was asked."""

    def __init__(self):
        self.asked = []

    def choose(self, pages, **asked):
        self.asked.append({"pages": [page.id for page in pages], **asked})
        return {}


def run(*turns, levels=None, harness=BARE, budget=200, pages=PAGES):
    return simulate(Workload("w", pages, turns), budget, Fixed(levels or {}), harness)


def wants(*pages, level=FULL, **fields):
    return Turn(tuple(Demand(page.id, level) for page in pages), **fields)


def test_the_first_demand_brings_a_page_and_counts_for_nothing():
    tally = run(wants(EVIDENCE), wants(PREFERENCE))
    assert (tally.faults, tally.hits, tally.repeats) == ((), 0, 0)


def test_a_sunken_result_is_fetched_again_by_the_same_call():
    assert run(wants(EVIDENCE), wants(EVIDENCE)).faults == (Refetch(), DuplicateTool())
    assert run(wants(EVIDENCE), wants(EVIDENCE), levels={"e": COMPRESSED}).faults == (Refetch(), DuplicateTool())


def test_a_preference_is_fetched_again_without_a_call():
    assert run(wants(PREFERENCE), wants(PREFERENCE)).faults == (Refetch(),)


def test_what_stands_at_the_demanded_level_is_a_hit():
    tally = run(wants(EVIDENCE), wants(EVIDENCE, level=COMPRESSED), levels={"e": COMPRESSED})
    assert (tally.faults, tally.hits, tally.recalls, tally.repeats) == ((), 1, 0, 1)


def test_a_preference_at_hand_is_a_hit_and_no_repeated_call():
    tally = run(wants(PREFERENCE), wants(PREFERENCE), levels={"p": FULL})
    assert (tally.faults, tally.hits, tally.repeats) == ((), 1, 0)


@pytest.mark.parametrize(("levels", "blind"), [({"e": POINTER}, 0), ({}, 1)])
def test_a_store_answers_for_what_has_sunk(levels, blind):
    tally = run(wants(EVIDENCE), wants(EVIDENCE), levels=levels, harness=BARE._replace(resolves=True))
    assert (tally.faults, tally.hits, tally.recalls, tally.blind_recalls) == ((), 1, 1, blind)


def test_a_call_is_judged_by_the_context_that_its_model_saw():
    class OnDemand:
        def choose(self, pages, *, required, **_):
            return dict(required)

    turns = (wants(EVIDENCE), wants(EVIDENCE), Turn(()), wants(EVIDENCE))
    tally = simulate(Workload("w", PAGES, turns), 200, OnDemand(), BARE)
    assert tally.hits == 1
    assert tally.faults == (Refetch(), DuplicateTool())


def test_a_rule_must_stand_in_the_context_of_the_turn_that_names_it():
    assert run(wants(RULE, level=STRUCTURED)).faults == (PinnedInvariantMiss(),)
    tally = run(wants(RULE, level=STRUCTURED), levels={"r": STRUCTURED})
    assert (tally.faults, tally.hits) == ((), 1)


@pytest.mark.parametrize("boundary", [Boundary.COMPACTION, Boundary.RESET])
def test_a_bootstrap_page_must_outlive_a_boundary(boundary):
    assert run(Turn((), boundary)).faults == (PostCompactionBootstrap(),)
    assert run(Turn((), boundary), levels={"b": STRUCTURED}).faults == ()


def test_a_switch_destroys_no_promise():
    turns = (wants(PREFERENCE, dirty=("p",)), Turn((), Boundary.SWITCH))
    assert run(*turns).faults == ()


@pytest.mark.parametrize(
    ("boundary", "saving"), [(Boundary.COMPACTION, "saves_at_compaction"), (Boundary.RESET, "saves_at_reset")]
)
def test_unsaved_pages_are_lost_once_where_nobody_saves(boundary, saving):
    turns = (Turn((), dirty=("p", "e")), Turn((), boundary), Turn((), boundary))
    levels = {"b": STRUCTURED}
    assert run(*turns, levels=levels).faults == (FlushMiss(), FlushMiss())
    assert run(*turns, levels=levels, harness=BARE._replace(**{saving: True})).faults == ()


def test_a_boundary_ends_only_what_its_session_holds():
    pages = (PREFERENCE._replace(session="a"), PREFERENCE._replace(id="q", session="b"))
    left = Turn((), dirty=("p",), session="a")
    crossed = Turn((), Boundary.RESET, session="b")
    assert run(left, crossed, pages=pages).faults == ()
    assert run(left, crossed._replace(session="a"), pages=pages).faults == (FlushMiss(),)


def test_floors_that_cannot_fit_are_no_fault_of_the_policy():
    turns = (wants(RULE, level=STRUCTURED), Turn((), Boundary.COMPACTION))
    tally = run(*turns, budget=39)
    assert (tally.floors_fit, tally.floor_tokens, tally.faults, tally.unmet_floors) == (False, 40, (), 2)
    tally = run(*turns, budget=40)
    assert (tally.floors_fit, len(tally.faults), tally.unmet_floors) == (True, 2, 0)


def test_thrash_counts_faults_and_repeats_for_each_hit():
    turns = (wants(EVIDENCE), wants(EVIDENCE, level=COMPRESSED), wants(EVIDENCE), wants(EVIDENCE))
    tally = run(*turns, levels={"e": COMPRESSED})
    assert tally.by_code == {"refetch": 2, "duplicate_tool": 2}
    assert tally.thrash == pytest.approx((4 + 1) / (1 + 1))


def test_a_chooser_is_told_what_it_needs_and_no_more():
    chooser = Listening()
    turns = (wants(PREFERENCE, level=STRUCTURED), wants(EVIDENCE), Turn((), Boundary.RESET))
    simulate(Workload("w", PAGES, turns), 100, chooser)
    first, second, anew, third = chooser.asked
    assert first["pages"] == ["b", "r", "p"]  # no result before the call that brings it
    assert second["pages"] == ["b", "r", "e", "p"]
    assert first["required"] == {"b": STRUCTURED, "r": STRUCTURED, "p": STRUCTURED}
    assert first["demands"] == turns[0].demands
    assert [asked["future"] for asked in (first, second, anew, third)] == [turns[1:], turns[2:], turns[2:], ()]
    assert second["recency"] == {"p": 1.0}
    assert third["recency"] == pytest.approx({"p": 0.88, "e": 1.0})
    assert anew["required"] == {"b": STRUCTURED, "r": STRUCTURED}


def test_without_pinned_floors_only_demands_are_required():
    chooser = Listening()
    simulate(Workload("w", PAGES, (wants(PREFERENCE),)), 100, chooser, BARE)
    assert chooser.asked[0]["required"] == {"p": FULL}


def test_a_demand_below_the_floor_requires_the_floor():
    chooser = Listening()
    plan = PREFERENCE._replace(floor=STRUCTURED)
    simulate(Workload("w", (plan,), (wants(plan, level=POINTER),)), 100, chooser, BARE)
    assert chooser.asked[0]["required"] == {"p": STRUCTURED}


def test_recency_is_forgotten_in_the_end():
    chooser = Listening()
    simulate(Workload("w", PAGES, (wants(PREFERENCE), *[Turn(())] * 80)), 100, chooser)
    assert chooser.asked[70]["recency"]["p"] > 0
    assert chooser.asked[-1]["recency"]["p"] == 0


def test_the_handicap_counts_only_where_sessions_take_turns():
    alone, shared = Listening(), Listening()
    handicapped = Harness(multi_session_scale=0.78)
    simulate(Workload("w", (), (Turn(()), Turn(()))), 120, alone, handicapped)
    simulate(Workload("w", (), (Turn((), session="a"), Turn((), session="b"))), 120, shared, handicapped)
    assert [asked["budget_tokens"] for asked in alone.asked] == [120, 120]
    assert [asked["budget_tokens"] for asked in shared.asked] == [93, 93]


def test_a_chooser_that_overspends_is_refused():
    with pytest.raises(pt.InvalidInput, match="at most 49 tokens, got 50 tokens"):
        run(Turn(()), levels={"b": FULL}, budget=49)
