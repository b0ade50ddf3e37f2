"""The laws on frames that are made by hand, where every token is known: each number from both sides, and who gives way to whom."""

import pytest

import pageturn as pt
from pageturn.context.draft import lowest_levels
from pageturn.context.laws import enforce, most_needed, most_of_people, promised, room_above_laws
from pageturn.context.layouts import lay_out
from pageturn.values.layout import Candidate, Why
from tests.policies.test_contract import EMPTY

FULL, COMPRESSED, STRUCTURED, POINTER = pt.ResidencyLevel
LINE = 5  # tokens of any index line


def unit(at, full, compressed=None, structured=None, pointer=None, **signs):
    sizes = dict(zip(pt.ResidencyLevel, (full, compressed, structured, pointer), strict=True))
    offered = {level: size for level, size in sizes.items() if size is not None}
    return Candidate(at, at, offered, **{"floor": POINTER if pointer else min(offered)} | signs)


def task(at, *sizes):
    return unit(at, *sizes, why=Why.TASK, is_bound=True)


def rule(at, tokens):
    return unit(at, tokens, why=Why.RULE, is_bound=True)


def new(at, *sizes, **signs):
    return unit(at, *sizes, unseen_tokens=sizes[0], **signs)


def said(at, *sizes):
    return unit(at, *sizes, is_human=True)


def frame(*units, budget, tools=0, can_point=True, shown_before=None):
    """A frame in a session whose last context was full, unless that is said."""
    frame = EMPTY._replace(
        growth=EMPTY.growth._replace(tokens=budget if shown_before is None else shown_before),
        items=units,
        budget_tokens=budget,
        fixed_tokens=tools,
        can_point=can_point,
        line_tokens=lambda _: LINE,
        handle=lambda first: f"p{first}",
    )
    lowest = lay_out(frame, lowest_levels(frame))
    return frame._replace(needed_tokens=tools + sum(placement.tokens for placement in lowest))


def levels(*units, **options):
    return promised(frame(*units, **options)).levels


def test_floors_need_room_and_who_takes_it_is_named_the_largest_first():
    units = rule(1, 30), rule(2, 50)
    assert levels(*units, budget=80) == {1: FULL, 2: FULL}
    for tools, names in ((0, ("p2", "p1")), (40, ("p2", "the tools", "p1"))):
        with pytest.raises(pt.BudgetTooSmall) as refused:
            levels(*units, budget=79 + tools, tools=tools)
        assert (refused.value.needed_tokens, refused.value.budget_tokens) == (80 + tools, 79 + tools)
        assert refused.value.handles == names


@pytest.mark.parametrize(("budget", "level"), [(300, FULL), (299, COMPRESSED)])
def test_a_task_is_shown_in_full_up_to_a_third_and_else_one_level_lower(budget, level):
    draft = promised(frame(task(1, 100, 60, 20, 8), budget=budget))
    assert (draft.levels, draft.whys) == ({1: level}, {1: Why.TASK})
    assert draft.tokens() == {FULL: 100, COMPRESSED: 60}[level]


@pytest.mark.parametrize(("tokens", "level"), [(146, FULL), (147, COMPRESSED)])
def test_a_new_task_is_shown_in_full_up_to_half_of_the_room_and_says_why(tokens, level):
    draft = promised(frame(task(1, tokens, 60, 20, 8)._replace(unseen_tokens=tokens), budget=300))
    assert draft.levels == {1: level}
    assert draft.whys == {1: Why.UNSEEN if level is FULL else Why.TASK}
    assert draft.notices == []  # the task has one of its own


def test_a_task_that_has_no_room_goes_as_low_as_it_must_and_the_smaller_of_two_comes_first():
    assert levels(rule(1, 150), task(2, 100, 60, 20, 8), budget=300) == {1: FULL, 2: FULL}
    assert levels(rule(1, 201), task(2, 100, 60, 20, 8), budget=300) == {1: FULL, 2: COMPRESSED}
    assert levels(rule(1, 241), task(2, 100, 60, 20, 8), budget=300) == {1: FULL, 2: STRUCTURED}
    assert levels(rule(1, 292), task(2, 100, 60, 20, 8), budget=300) == {1: FULL, 2: POINTER}
    assert levels(rule(1, 190), task(2, 90, 8), task(3, 80, 8), budget=300) == {1: FULL, 2: COMPRESSED, 3: FULL}


def test_the_room_above_the_laws_is_what_floors_and_a_task_that_may_be_shown_in_full_leave():
    assert room_above_laws(frame(rule(1, 50), task(2, 100, 8), budget=300)) == 300 - 50 - 100
    assert room_above_laws(frame(rule(1, 50), task(2, 101, 8), budget=300)) == 300 - 50 - 8
    assert room_above_laws(frame(rule(1, 50), unit(2, 90, 8), budget=300, tools=7)) == 300 - 50 - 8 - 7


def test_the_most_that_is_ever_needed_is_the_floors_and_every_task_in_full_without_the_tools():
    units = rule(1, 50), task(2, 100, 8), task(3, 30, 6), unit(4, 90, 8)
    assert most_needed(frame(*units, budget=300, tools=7)) == 50 + 100 + 30 + 8
    loose = task(2, 100, 8)._replace(
        is_bound=False
    )  # without the recall tool it may have no level, and then nothing is below it
    assert most_needed(frame(rule(1, 50), loose, budget=300)) == 50 + 8 + 100


@pytest.mark.parametrize(("tokens", "is_whole"), [(90, True), (91, False)])
def test_what_is_new_is_shown_in_full_up_to_half_of_the_room(tokens, is_whole):
    draft = promised(frame(rule(1, 100), new(2, tokens, 60, 20, 20), budget=300))  # 20 are needed anyway
    assert draft.levels[2] is (FULL if is_whole else COMPRESSED)
    assert draft.whys == {2: Why.UNSEEN}
    assert draft.notices == ([] if is_whole else ["a new page is too large to be shown whole"])


@pytest.mark.parametrize(("budget", "level"), [(200, FULL), (199, COMPRESSED)])
def test_without_the_recall_tool_a_task_is_shown_in_full_up_to_half(budget, level):
    assert levels(task(1, 100, 60, 20), budget=budget, can_point=False) == {1: level}


@pytest.mark.parametrize(("tokens", "before", "is_whole"), [(150, 150, True), (151, 150, False), (280, 0, True)])
def test_what_is_new_is_shown_in_full_if_it_fits_beside_the_last_context_as_it_was(tokens, before, is_whole):
    draft = promised(frame(new(2, tokens, 60, 20, 20), budget=300, shown_before=before))
    assert draft.levels[2] is (FULL if is_whole else COMPRESSED)
    assert draft.notices == ([] if is_whole else ["a new page is too large to be shown whole"])


def test_of_what_is_new_the_largest_gives_way_first_level_by_level():
    units = new(1, 50, 30, 12, 4), new(2, 80, 45, 10, 4), new(3, 20, 12, 8, 4)
    for budget, expected in (
        (310, {1: FULL, 2: FULL, 3: FULL}),  # half of the room, without the line, is 152
        (300, {1: FULL, 2: COMPRESSED, 3: FULL}),
        (234, {1: COMPRESSED, 2: COMPRESSED, 3: FULL}),  # 114 do not hold 115
        (194, {1: COMPRESSED, 2: STRUCTURED, 3: FULL}),
    ):
        assert levels(*units, budget=budget) == expected, budget
    draft = promised(frame(*units, budget=194))
    assert draft.notices == ["2 new pages are too large to be shown whole"]
    assert draft.whys == dict.fromkeys((1, 2, 3), Why.UNSEEN)


def test_a_new_task_that_stands_in_full_takes_nothing_of_the_half_for_what_is_new():
    units = new(1, 100, 8, why=Why.TASK, is_bound=True), new(2, 120, 60, 20, 20)
    assert levels(*units, budget=300) == {1: FULL, 2: FULL}  # half of the room is 136


def test_what_is_new_and_has_no_room_even_as_a_pointer_goes_into_a_line():
    units = *(new(at, 90, 80) for at in (1, 2, 3)), rule(4, 1), new(5, 95, 94)
    draft = promised(frame(*units, budget=275))
    assert (draft.levels, draft.whys) == ({3: COMPRESSED, 4: FULL}, {3: Why.UNSEEN})


@pytest.mark.parametrize(("budget", "level"), [(12, COMPRESSED), (13, FULL)])
def test_what_is_new_makes_room_for_a_line_that_it_cuts_in_two(budget, level):
    old = [unit(at, 10, 4) for at in (1, 2, 4, 5)]
    assert levels(*old[:2], new(3, 3, 2, 1), *old[2:], budget=budget) == {3: level}


def test_a_call_that_is_new_and_open_counts_with_what_it_takes_anyway_and_is_never_below_its_floor():
    def waiting(*sizes, **signs):
        return new(3, *sizes, why=Why.OPEN, is_bound=True, **signs)

    draft = promised(frame(rule(1, 146), task(2, 100, 8), waiting(54, 30), budget=300))
    assert (draft.levels, draft.notices) == ({1: FULL, 2: FULL, 3: FULL}, [])
    low = waiting(90, 60, 20, 5, floor=STRUCTURED)
    assert levels(rule(1, 100), low, budget=130) == {1: FULL, 3: STRUCTURED}


def test_a_new_plan_is_whole_once_and_what_was_seen_is_not_raised():
    units = unit(1, 40, 8, why=Why.PLAN, is_bound=True, unseen_tokens=40), unit(2, 40, 8), unit(3, 40, 8)
    assert levels(*units, budget=400) == {1: FULL}
    seen = unit(1, 40, 8, why=Why.PLAN, is_bound=True)
    assert levels(seen, *units[1:], budget=400) == {1: COMPRESSED}


def test_what_is_new_has_only_the_room_that_the_task_left():
    units = task(1, 100, 8), new(2, 90, 70, 30, 8), unit(3, 30, 8), unit(4, 30, 8)
    assert levels(*units, rule(5, 85), budget=300) == {1: FULL, 2: FULL, 5: FULL}
    assert levels(*units, rule(5, 111), budget=300) == {1: FULL, 2: COMPRESSED, 5: FULL}


@pytest.mark.parametrize(("in_part", "notices"), [(True, []), (False, ["a new page is too large to be shown whole"])])
def test_a_unit_that_was_seen_in_part_shows_its_new_part_whole_when_compressed(in_part, notices):
    late = unit(1, 400, 120, 30, 10, unseen_tokens=100, is_seen_in_part=in_part)
    draft = promised(frame(late, budget=220))
    assert draft.levels == ({1: COMPRESSED} if in_part else {1: STRUCTURED})  # only what is new is charged: 100 of 105
    assert draft.notices == notices


@pytest.mark.parametrize(("budget", "level"), [(210, FULL), (208, COMPRESSED), (64, STRUCTURED)])
def test_only_the_compressed_form_of_a_unit_that_was_seen_in_part_is_charged_with_what_is_new(budget, level):
    late = unit(1, 100, 60, 25, 10, unseen_tokens=30, is_seen_in_part=True)
    assert levels(late, budget=budget) == {1: level}  # half of the room is 100, 99 and 27


def test_people_have_a_quarter_of_the_budget_and_at_most_4000_tokens():
    assert [most_of_people(budget) for budget in (400, 403, 404, 16_000, 16_004, 200_000)] == [
        100, 100, 101, 4_000, 4_000, 4_000,
    ]  # fmt: skip


@pytest.mark.parametrize(("tokens", "level"), [(100, FULL), (101, COMPRESSED)])
def test_what_people_said_is_shown_in_full_up_to_their_part(tokens, level):
    draft = promised(frame(said(1, tokens, 30, 10, 6), budget=400))
    assert draft.levels == {1: level}
    assert draft.whys == {1: Why.PERSON}


def test_what_people_pasted_gives_way_the_longest_first_and_then_the_oldest():
    long, longer, short = said(1, 64, 20, 10, 6), said(2, 90, 30, 10, 6), said(3, 40, 5, 5, 5)
    assert levels(long, longer, short, budget=776) == {1: FULL, 2: FULL, 3: FULL}
    assert levels(long, longer, short, budget=775) == {1: FULL, 2: COMPRESSED, 3: FULL}
    assert levels(long, longer, short, budget=535) == {1: COMPRESSED, 2: COMPRESSED, 3: FULL}
    assert levels(long, longer, short, budget=356) == {1: COMPRESSED, 2: STRUCTURED, 3: FULL}
    typed = said(1, 63, 20, 10, 6)  # which is not put shorter
    assert levels(typed, longer, short, budget=528) == {1: FULL, 2: STRUCTURED, 3: FULL}


def test_of_what_people_said_the_newest_stands_where_the_budget_does_not_hold_all():
    units = (*(said(at, 20, 12, 8, 6) for at in (1, 2, 3, 4)), rule(5, 340))
    assert levels(*units, budget=420) == {1: FULL, 2: FULL, 3: FULL, 4: FULL, 5: FULL}
    assert levels(*units, budget=391) == {3: FULL, 4: FULL, 5: FULL}
    draft = promised(frame(*units, budget=391))
    assert draft.whys == {3: Why.PERSON, 4: Why.PERSON}


def test_where_the_budget_is_short_a_paste_is_put_shorter_still_before_anything_that_was_typed_leaves():
    units = rule(1, 325), said(2, 20), rule(3, 5), said(4, 90, 60, 30, 6)
    assert levels(*units, budget=440) == {1: FULL, 2: FULL, 3: FULL, 4: FULL}
    assert levels(*units, budget=410) == {1: FULL, 2: FULL, 3: FULL, 4: COMPRESSED}
    assert levels(*units, budget=409) == {1: FULL, 2: FULL, 3: FULL, 4: STRUCTURED}
    assert levels(*units, budget=356) == {1: FULL, 2: FULL, 3: FULL, 4: POINTER}
    draft = promised(frame(*units, budget=356))
    assert draft.whys == {2: Why.PERSON, 4: Why.PERSON}


def test_what_was_typed_between_a_call_and_its_late_result_leaves_before_anything_else_that_was_typed():
    call, inside = unit(2, 90, 60, 30)._replace(last=4), said(3, 20)
    units = said(1, 20), call, inside, said(5, 20)
    tangled = frame(*units, rule(6, 300), budget=364)._replace(groups={2: (2, 3), 3: (2, 3)})
    assert promised(tangled).levels == {1: FULL, 5: FULL, 6: FULL}
    roomy = tangled._replace(budget_tokens=391)
    assert promised(roomy).levels == {1: FULL, 3: FULL, 5: FULL, 6: FULL}


def test_what_was_typed_between_a_call_and_its_late_result_stands_in_the_room_that_a_shorter_paste_leaves():
    call, inside = unit(2, 90, 60, 30)._replace(last=4), said(3, 20)
    tangled = frame(said(1, 90, 30, 10, 6), call, inside, rule(6, 360), budget=445)
    assert promised(tangled._replace(groups={2: (2, 3), 3: (2, 3)})).levels == {1: COMPRESSED, 3: FULL, 6: FULL}


def test_what_people_said_that_has_no_shorter_form_leaves_as_a_whole():
    assert levels(said(1, 101), rule(2, 1), said(3, 60), budget=400) == {2: FULL, 3: FULL}


@pytest.mark.parametrize("tokens", [50, 101])
def test_what_a_person_just_said_is_shown_in_full_as_something_new(tokens):
    draft = promised(frame(new(1, tokens, 30, 10, 6, is_human=True), budget=400))
    assert (draft.levels, draft.whys) == ({1: FULL}, {1: Why.UNSEEN})


def test_a_person_who_sets_the_task_is_not_counted_as_talk():
    units = task(1, 100, 8)._replace(is_human=True), said(2, 80, 8)
    assert levels(*units, budget=320) == {1: FULL, 2: FULL}


@pytest.mark.parametrize(("budget", "level"), [(180, FULL), (179, COMPRESSED)])
def test_an_open_call_stays_a_call_if_there_is_room(budget, level):
    waiting = unit(2, 80, 20, why=Why.OPEN, is_bound=True)
    draft = promised(frame(rule(1, 100), waiting, unit(3, 99)._replace(sizes={}), budget=budget + LINE))
    assert draft.levels == {1: FULL, 2: level}
    assert draft.whys == ({2: Why.OPEN} if level is FULL else {})


def test_without_recall_the_newest_steps_keep_a_form_in_half_of_what_is_free():
    units = [unit(at, 50, 30, 10) for at in range(1, 9)]
    assert levels(*units, budget=65) == {}
    assert levels(*units, budget=65, can_point=False) == dict.fromkeys((6, 7, 8), STRUCTURED)  # 5 + 30
    assert levels(*units, budget=63, can_point=False) == {7: STRUCTURED, 8: STRUCTURED}


def enforced(wanted, *units, **options):
    layout = enforce(promised(frame(*units, **options)), wanted)
    assert layout.tokens <= layout.budget_tokens
    return layout, {each.first: (each.level, each.why) for each in layout.placements if each.line is None}


def test_what_a_policy_wants_comes_on_top_of_the_laws_and_the_last_is_taken_back_first():
    units = task(1, 40, 8), unit(2, 60, 25, 10), unit(3, 60, 25, 10), unit(4, 60, 25, 10)
    wanted = {3: FULL, 2: COMPRESSED, 4: STRUCTURED, 1: COMPRESSED}
    layout, stands = enforced(wanted, *units, budget=150, tools=15)
    assert stands == {
        1: (FULL, Why.TASK),
        2: (COMPRESSED, Why.WORTH),
        3: (FULL, Why.WORTH),
        4: (STRUCTURED, Why.ROOM),
    }
    assert layout.tokens == 15 + 40 + 25 + 60 + 10
    assert (layout.budget_tokens, layout.needed_tokens) == (150, 15 + 8 + LINE)
    _, stands = enforced(wanted, *units, budget=149, tools=15)
    assert stands == {
        1: (FULL, Why.TASK),
        2: (STRUCTURED, Why.ROOM),
        3: (FULL, Why.WORTH),
        4: (STRUCTURED, Why.ROOM),
    }


def test_what_is_taken_back_stands_as_the_law_put_it():
    units = new(1, 60, 40, 10), unit(2, 100, 50, 10)
    layout, stands = enforced({2: COMPRESSED, 1: FULL}, *units, budget=100)
    assert stands == {1: (COMPRESSED, Why.UNSEEN), 2: (COMPRESSED, Why.WORTH)}
    assert layout.notices == ("a new page is too large to be shown whole",)
    _, stands = enforced({1: COMPRESSED}, *units, budget=100)
    assert stands[1] == (COMPRESSED, Why.UNSEEN)
    _, stands = enforced({2: FULL}, *units, budget=100)
    assert stands == {1: (COMPRESSED, Why.UNSEEN), 2: (STRUCTURED, Why.ROOM)}
    _, stands = enforced({1: FULL, 2: COMPRESSED}, *units, budget=100)
    assert stands == {1: (FULL, Why.WORTH), 2: (STRUCTURED, Why.ROOM)}


def test_what_lies_too_far_back_for_a_level_of_its_own_stays_in_its_line():
    far = unit(1, 1)._replace(sizes={})
    layout, _ = enforced({1: FULL, 2: FULL}, far, unit(2, 60, 20), budget=100)
    assert [(each.first, each.line is not None) for each in layout.placements] == [(1, True), (2, False)]
