"""Climbing by value per token."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from pageturn.policies.packing import climb
from pageturn.values.layout import Candidate
from pageturn.values.pages import ResidencyLevel

FULL, COMPRESSED, STRUCTURED, POINTER = ResidencyLevel


def unit(first, **sizes):
    levels = {level: sizes[level.value] for level in ResidencyLevel if level.value in sizes}
    return Candidate(first, first, levels, POINTER)


sizes = st.lists(st.integers(1, 40), min_size=4, max_size=4, unique=True).map(lambda four: sorted(four, reverse=True))
values = st.lists(st.integers(0, 50), min_size=4, max_size=4).map(sorted)
pages = st.lists(st.tuples(sizes, values), min_size=1, max_size=4)


def climbed(pages, room):
    """Units of these sizes, what each level of them is worth, and where they stand after climbing from their pointers."""
    units = [unit(at, **dict(zip(("full", "compressed", "structured", "pointer"), sizes, strict=True)))
             for at, (sizes, _) in enumerate(pages, start=1)]  # fmt: skip
    worth = {at: dict(zip((POINTER, STRUCTURED, COMPRESSED, FULL), values, strict=True))
             for at, (_, values) in enumerate(pages, start=1)}  # fmt: skip
    start = {each.first: POINTER for each in units}
    levels = start | climb(units, start, lambda each: worth[each.first], room)
    return units, worth, levels


def test_a_small_step_behind_a_large_one_is_not_hidden():
    """The case in which a single pass over sorted steps stalls at structured, with 940 of 1,000 tokens unused."""
    page = unit(1, full=90, compressed=80, structured=60, pointer=10)
    worth = {POINTER: 1.0, STRUCTURED: 2.0, COMPRESSED: 3.0, FULL: 4.0}
    assert climb([page], {1: POINTER}, lambda _: worth, 990) == {1: FULL}


@given(pages, st.integers(0, 120))
def test_nothing_affordable_is_left_and_the_room_is_kept(pages, room):
    units, worth, levels = climbed(pages, room)
    spent = sum(each.sizes[levels[each.first]] - each.sizes[POINTER] for each in units)
    assert spent <= room
    for each in units:
        above = [level for level in each.sizes if level > levels[each.first]]
        gaining = [level for level in above if worth[each.first][level] > worth[each.first][levels[each.first]]]
        assert all(each.sizes[level] - each.sizes[levels[each.first]] > room - spent for level in gaining)


@given(pages, st.integers(0, 120))
def test_it_misses_the_best_choice_by_one_unit_at_most(pages, room):
    """The usual bound of a greedy choice: what is missing is worth no more than the one dearest climb."""
    units, worth, levels = climbed(pages, room)
    ours = sum(worth[at][level] for at, level in levels.items())
    best = dearest = 0
    for choice in product(ResidencyLevel, repeat=len(units)):
        spent = sum(each.sizes[level] - each.sizes[POINTER] for each, level in zip(units, choice, strict=True))
        if spent <= room:
            best = max(best, sum(worth[each.first][level] for each, level in zip(units, choice, strict=True)))
    for each in units:
        dearest = max(dearest, worth[each.first][FULL] - worth[each.first][POINTER])
    assert ours + dearest >= best
