"""Builds the candidates of a fold: the units of a session as a policy sees them."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from pageturn.context.forms import Forms, name_of
from pageturn.context.repeats import first_to_bring, is_repetition
from pageturn.context.sealed_runs import outside
from pageturn.context.sizes import PageSizes
from pageturn.journal.state import SessionState
from pageturn.values.layout import About, Candidate, Why
from pageturn.values.pages import PageKind, ResidencyLevel
from pageturn.values.units import ABANDONED, Unit, entangled, unanswered

# Older units are shown in index lines only. The limits are more than any window holds even as pointers, and as much text as can be
# read in a few seconds when a long session is derived for the first time. They are no share of the budget, so that the tokens a
# context needs do not depend on the budget.
_REACH = 2_000  # units
_REACH_BYTES = 16_000_000
_BINDING = frozenset((Why.RULE, Why.PLAN, Why.TASK, Why.OPEN))
_BINDING_ALWAYS = frozenset((Why.RULE, Why.PLAN))  # without the recall tool, the others may have to be left out
_FULL, _, _STRUCTURED, _POINTER = ResidencyLevel


class Wanted(NamedTuple):
    """The pages considered regardless of age: the task, and human messages that may be shown verbatim."""

    tasks: frozenset[int] = frozenset()
    people: frozenset[int] = frozenset()


def people_of(state: SessionState, sizes: PageSizes, most_tokens: int) -> frozenset[int]:
    """The newest pages that people wrote, as many as fit into `most_tokens` when long ones are shortened."""
    people: list[int] = []
    for seq in reversed(state.people):
        page = state.page(seq)
        if page is not None and page.counts:
            most_tokens -= min(sizes.of(page), _SHORTENED)
            if most_tokens < 0:
                break
            people.append(seq)
    return frozenset(people)


_SHORTENED = 120  # tokens, about, that a long message takes at least when it is shortened


def near(state: SessionState, units: Sequence[Unit], wanted: Wanted) -> list[Unit]:
    """The units that may have a level of their own, in the order of their last pages."""
    covered = state.last_reset
    near: list[Unit] = []
    size = 0
    for group in reversed(list(entangled(units, lambda unit: (unit[0].seq, unit[-1].seq)))):
        size += sum(page.size for unit in group for page in unit)
        is_far = size > _REACH_BYTES or len(near) > _REACH
        is_covered = all(unit[-1].seq < covered for unit in group)
        binds = any(_binds(state, unit, wanted) for unit in group)
        is_said = any(unit[0].seq in wanted.people for unit in group)
        if binds or is_said or not (is_covered or is_far):
            near += group
    return sorted(near, key=lambda unit: unit[-1].seq)


def _binds(state: SessionState, unit: Unit, wanted: Wanted) -> bool:
    """Whether a unit keeps a level of its own regardless of its age and of resets."""
    return state.kind(unit[0]) is PageKind.PREFERENCE or _why(state, unit, wanted) in _BINDING


def candidates_of(
    state: SessionState,
    units: Sequence[Unit],
    forms: Mapping[int, Forms],
    wanted: Wanted,
    sizes: PageSizes,
    *,
    can_point: bool,
) -> Iterator[Candidate]:
    """The units as the policy sees them, newest first."""
    edited = {name for made in forms.values() for name in made.edited}
    alone = {page.seq for page in outside(state, state.lines)} & state.placed.keys()
    covered = state.last_reset
    after = 0
    made_since: set[tuple[str, str]] = set()
    shown: set[str] = set()
    brought = first_to_bring(units)
    for unit in reversed(units):
        first, last = unit[0].seq, unit[-1].seq
        made = forms.get(first)
        if made is None:
            if can_point or last > covered:  # without pointers, what a reset covers is only in its summary
                yield Candidate(first, last, {}, _POINTER, tokens_after=after)
            continue
        floor, why, calls = state.path(unit)[-1], _why(state, unit, wanted), made.calls
        yield Candidate(
            first,
            last,
            made.sizes if can_point else {level: size for level, size in made.sizes.items() if level is not _POINTER},
            floor=floor if can_point else max(floor, _STRUCTURED),
            why=why,
            is_bound=why in (_BINDING if can_point else _BINDING_ALWAYS),
            may_be_absent=not can_point and why not in _BINDING_ALWAYS,
            unseen_tokens=sum(sizes.of(page) for page in unit if page.seq > state.seen) if last > state.seen else 0,
            is_seen_in_part=bool(made.whole_from),
            is_human=unit[0].is_human and why is not Why.RULE,
            own_tokens=made.own_tokens,
            about=_about(state, unit, made, edited),
            is_error=made.is_error,
            is_superseded=made.path in shown or (bool(calls) and calls <= made_since),
            is_repetition=is_repetition(unit, brought),
            tokens_after=0 if state.fetched_since_fold and _includes(unit, state.fetched_since_fold) else after,
            fetched=sum(state.fetched.get(page.seq, 0) for page in unit) if state.fetched else 0,
            stands=_FULL if first > state.folded else state.placed[first].level if first in alone else None,
            kind=state.kind(unit[0]) if len(unit) == 1 else PageKind.EVIDENCE,
            turn=state.turn_of(unit[0]),
        )
        made_since |= calls
        if made.path is not None and not made.edited:
            shown.add(made.path)
        after += sum([sizes.of(page) for page in unit])


def _why(state: SessionState, unit: Unit, wanted: Wanted) -> Why:
    if any(state.kind(page).is_rule for page in unit):
        return Why.RULE
    if state.is_in_force(unit[0]):
        return Why.PLAN
    if unit[0].seq in wanted.tasks:
        return Why.TASK
    return Why.OPEN if _is_open(state, unit) else Why.ROOM


def _about(state: SessionState, unit: Unit, forms: Forms, edited: AbstractSet[str]) -> About:
    if unit[0].seq == state.last_reset:
        return About.SUMMARY
    if unit[0].is_human:
        return About.PERSON
    if forms.edited:
        return About.EDIT
    if forms.path is None:
        return About.OTHER
    return About.EDITED if name_of(forms.path) in edited else About.FILE


def _is_open(state: SessionState, unit: Unit) -> bool:
    """Whether a call of the unit still waits for its result."""
    if len(state.turns) >= ABANDONED and unit[0].seq < state.turns[-ABANDONED]:
        return False
    return bool(unanswered(unit))


def _includes(unit: Unit, pages: AbstractSet[int]) -> bool:
    return any(page.seq in pages for page in unit)
