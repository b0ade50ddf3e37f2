"""Builds the candidates of a fold: the units of a session as a policy sees them."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from pageturn.context.forms import name_of
from pageturn.context.repeats import first_to_bring, is_repetition
from pageturn.context.sizes import PageSizes
from pageturn.context.unit_forms import Forms
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
_EVIDENCE = PageKind.EVIDENCE.degradation_path
_FULL, _, _STRUCTURED, _POINTER = ResidencyLevel


class Wanted(NamedTuple):
    """The pages considered regardless of age: the task, and human messages that may be shown verbatim."""

    tasks: frozenset[int] = frozenset()
    people: frozenset[int] = frozenset()


def people_of(state: SessionState, sizes: PageSizes, tasks: AbstractSet[int], most_tokens: int) -> frozenset[int]:
    """The newest pages that people wrote besides the task, as many as fit into `most_tokens` when long ones are shortened."""
    people: list[int] = []
    for seq in reversed(state.people):
        page = state.page(seq)
        if page is not None and page.counts and seq not in tasks:
            most_tokens -= min(sizes.of(page), _SHORTENED)
            if most_tokens < 0:
                break
            people.append(seq)
    return frozenset(people)


_SHORTENED = 120  # tokens, about, that a long message takes at least when it is shortened


def near(state: SessionState, units: Sequence[Unit], wanted: Wanted) -> Sequence[Unit]:
    """The units that may have a level of their own, in the order of their last pages."""
    covered = state.last_reset
    if not covered and len(units) <= _REACH and sum([page.size for unit in units for page in unit]) <= _REACH_BYTES:
        return sorted(units, key=_last)
    near: list[Unit] = []
    size = 0
    for group in reversed(list(entangled(units, lambda unit: (unit[0].seq, unit[-1].seq)))):
        size += sum(page.size for unit in group for page in unit)
        is_far = size > _REACH_BYTES or len(near) > _REACH
        if is_far or all(unit[-1].seq < covered for unit in group):
            for unit in group:
                if unit[0].seq in wanted.people or _binds(state, unit, wanted):
                    break
            else:
                continue
        near += group
    return sorted(near, key=_last)


def _last(unit: Unit) -> int:
    return unit[-1].seq


def _binds(state: SessionState, unit: Unit, wanted: Wanted) -> bool:
    """Whether a unit keeps a level of its own regardless of its age and of resets."""
    if unit[0].kind is PageKind.PREFERENCE:
        return True
    for page in unit:  # asked of every unit of a long import
        if page.seq in state.pins or page.kind is PageKind.BOOTSTRAP:
            return True
    return state.is_in_force(unit[0]) or unit[0].seq in wanted.tasks or _is_open(state, unit)


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
    lines = _Lines(state)
    seen, folded, placed, pins = state.seen, state.folded, state.placed, state.pins
    binding = _BINDING if can_point else _BINDING_ALWAYS
    after = 0
    made_since: set[tuple[str, str]] = set()
    shown: set[str] = set()
    changed = _changed(state, forms)
    brought = first_to_bring(units)
    for unit in reversed(units):
        page = unit[0]
        first = page.seq
        made = forms.get(first)
        if made is None:
            # Without pointers, what a reset covers is only in its summary.
            if can_point or not state.is_covered(unit[-1].seq):
                yield Candidate(first, unit[-1].seq, {}, _POINTER, tokens_after=after)
            continue
        is_usual = (
            len(unit) > 1 and not made.is_opening and (not pins or pins.keys().isdisjoint([page.seq for page in unit]))
        )
        path, calls = _EVIDENCE if is_usual else state.path(unit), made.calls
        floor, why = path[-1], _why(state, made, wanted)
        yield Candidate(
            first,
            made.last,
            made.sizes if can_point else {level: size for level, size in made.sizes.items() if level is not _POINTER},
            floor=floor if can_point else max(floor, _STRUCTURED),
            why=why,
            is_bound=why in binding,
            may_be_absent=not can_point and why not in _BINDING_ALWAYS,
            unseen_tokens=sum(sizes.of(page) for page in unit if page.seq > seen) if made.last > seen else 0,
            is_seen_in_part=bool(made.whole_from),
            is_human=page.is_human and why is not Why.RULE,
            own_tokens=made.own_tokens,
            about=_about(state, unit, made, changed.keys()),
            is_error=made.is_error,
            is_superseded=(bool(made.paths) and made.paths <= shown) or (bool(calls) and calls <= made_since),
            is_repetition=is_repetition(first, made.contents, brought),
            tokens_after=0 if state.fetched_since_fold and _includes(unit, state.fetched_since_fold) else after,
            fetched=sum(state.fetched.get(page.seq, 0) for page in unit) if state.fetched else 0,
            shown_at=_FULL
            if first > folded
            else placed[first].level
            if first in placed and not lines.cover(first)
            else None,
            kind=state.kind(page) if len(unit) == 1 else PageKind.EVIDENCE,
            turn=state.turn_of(page),
            written=tuple([level for level in made.sizes if level in made.written]) if made.written else (),
            since_edit=_since_edit(state, made, changed) if changed else None,
        )
        made_since |= calls
        if not made.edited:
            shown |= made.paths
        after += made.page_tokens


class _Lines:
    """The index lines of the last fold, sealed or not."""

    def __init__(self, state: SessionState) -> None:
        self._firsts = [line.first for line in state.lines]
        self._lasts = [line.last for line in state.lines]

    def cover(self, page: int) -> bool:
        at = bisect_right(self._firsts, page) - 1
        return at >= 0 and page <= self._lasts[at]


def _why(state: SessionState, forms: Forms, wanted: Wanted) -> Why:
    if forms.is_opening or (state.pins and any(page.seq in state.pins for page in forms.unit)):
        return Why.RULE
    if state.is_in_force(forms.unit[0]):
        return Why.PLAN
    if forms.first in wanted.tasks:
        return Why.TASK
    return Why.OPEN if forms.is_waiting and not _is_abandoned(state, forms.unit) else Why.ROOM


def _about(state: SessionState, unit: Unit, forms: Forms, edited: AbstractSet[str]) -> About:
    if unit[0].seq == state.last_reset:
        return About.SUMMARY
    if unit[0].is_human:
        return About.PERSON
    if forms.edited:
        return About.EDIT
    if not forms.paths:
        return About.OTHER
    return About.FILE if edited.isdisjoint(map(name_of, forms.paths)) else About.EDITED


def _changed(state: SessionState, forms: Mapping[int, Forms]) -> dict[str, int]:
    """The turn of the last change of each file, by its name."""
    changed: dict[str, int] = {}
    for made in forms.values():
        for name in made.edited:
            changed[name] = max(changed.get(name, 0), state.turn_of(made.unit[0]))
    return changed


def _since_edit(state: SessionState, forms: Forms, changed: Mapping[str, int]) -> int | None:
    """The turns since the file that a unit is about was changed last."""
    names = forms.edited or map(name_of, forms.paths)
    newest = max((changed[name] for name in names if name in changed), default=None)
    return max(0, len(state.turns) - newest) if newest is not None else None


def _is_open(state: SessionState, unit: Unit) -> bool:
    """Whether a call of the unit still waits for its result."""
    return not _is_abandoned(state, unit) and bool(unanswered(unit))


def _is_abandoned(state: SessionState, unit: Unit) -> bool:
    """Whether its results are waited for no longer."""
    return len(state.turns) >= ABANDONED and unit[0].seq < state.turns[-ABANDONED]


def _includes(unit: Unit, pages: AbstractSet[int]) -> bool:
    return any(page.seq in pages for page in unit)
