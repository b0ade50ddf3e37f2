"""The beginning of a context that a fold had better leave as it is."""

from hypothesis import given
from hypothesis import strategies as st

from pageturn.policies.stable_prefix import held
from pageturn.values.layout import Candidate
from pageturn.values.pages import ResidencyLevel

FULL, COMPRESSED, STRUCTURED, POINTER = ResidencyLevel
ROOM = 10_000
READING, WRITING = 1.0, 1.15


def unit(number, shown_at, full=1_000):
    sizes = {FULL: full, STRUCTURED: full // 10, POINTER: full // 50}
    return Candidate(number, number, sizes, POINTER, shown_at=shown_at)


def holding(units, wanted, least=(), room=ROOM):
    """What is held where each unit is worth its price at the level that is wanted, and hardly more above it."""

    def worth(each):
        best = each.sizes.get(wanted.get(each.first), 0) * (READING + WRITING)
        return {level: 1.001 * min(size * (READING + WRITING), best) for level, size in each.sizes.items()}

    return held(units, dict(least), worth, room, reading=READING, writing=WRITING)


def test_a_small_change_at_the_beginning_waits_while_much_stands_behind_it():
    units = [unit(1, STRUCTURED), *(unit(number, FULL) for number in range(2, 6))]
    wanted = {1: POINTER} | dict.fromkeys(range(2, 6), FULL)
    assert holding(units, wanted) == {1: STRUCTURED} | dict.fromkeys(range(2, 6), FULL)


def test_a_large_unit_sinks_if_little_stands_behind_it():
    units = [unit(1, FULL), unit(2, STRUCTURED)]
    assert holding(units, {1: STRUCTURED, 2: STRUCTURED}) == {}


def test_a_unit_that_must_rise_ends_what_is_held():
    units = [unit(1, STRUCTURED), unit(2, POINTER), *(unit(number, FULL) for number in range(3, 9))]
    wanted = {1: POINTER, 2: FULL} | dict.fromkeys(range(3, 9), FULL)
    assert len(holding(units, wanted, {2: FULL})) < 2
    assert len(holding(units, wanted)) == 8


def test_a_unit_in_an_index_line_stays_in_it():
    units = [unit(1, None), *(unit(number, FULL) for number in range(2, 6))]
    wanted = {1: STRUCTURED} | dict.fromkeys(range(2, 6), FULL)
    assert holding(units, wanted)[1] is None


def test_no_more_is_wasted_than_a_part_of_the_room():
    units = [unit(1, STRUCTURED), *(unit(number, FULL) for number in range(2, 6))]
    wanted = {1: POINTER} | dict.fromkeys(range(2, 6), FULL)
    assert holding(units, wanted, room=300) == {}


def test_a_level_that_is_no_longer_offered_is_not_held():
    units = [unit(1, COMPRESSED), *(unit(number, FULL) for number in range(2, 6))]
    assert holding(units, dict.fromkeys(range(1, 6), FULL)) == {}


@given(
    st.lists(st.tuples(st.sampled_from([*ResidencyLevel, None]), st.sampled_from([*ResidencyLevel, None])), max_size=12)
)
def test_what_is_held_is_a_beginning_as_it_stands(levels):
    units = [unit(number, shown_at) for number, (shown_at, _) in enumerate(levels)]
    wanted = {number: level for number, (_, level) in enumerate(levels) if level in (FULL, STRUCTURED, POINTER)}
    still = holding(units, wanted)
    assert list(still) == list(range(len(still)))
    assert all(still[each.first] is each.shown_at for each in units[: len(still)])
