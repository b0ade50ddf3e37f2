"""Candidates: the units of a session as a policy sees them when a fold is made."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from pageturn.derivation.forms import Forms, name_of
from pageturn.derivation.sealing import outside
from pageturn.layout import About, Candidate, Why
from pageturn.messages import Role
from pageturn.pages import PageKind, ResidencyLevel
from pageturn.repeats import first_to_bring, is_repetition
from pageturn.state import SessionState
from pageturn.units import Unit, entangled, unanswered

# What lies further back stands in index lines, whatever it says: more than any window holds even as pointers, and as much text as
# can be read in some seconds when a long session is derived for the first time. Not a share of the budget, so that what is needed
# does not depend on what is there.
_REACH = 2_000  # units
_REACH_TOKENS = 4_000_000
_ABANDONED = 32  # turns after which nobody waits for a result any more
_BINDING = frozenset((Why.RULE, Why.PLAN, Why.TASK, Why.OPEN))
_FULL, _, _STRUCTURED, _POINTER = ResidencyLevel


def near(state: SessionState, units: Sequence[Unit], task: int | None, *, can_point: bool) -> list[Unit]:
    """The units that may stand at a level of their own, in the order of their last pages."""
    covered = state.resets[-1] if state.resets else 0
    near: list[Unit] = []
    tokens = 0
    for group in reversed(list(entangled(units, lambda unit: (unit[0].seq, unit[-1].seq)))):
        tokens += sum(page.tokens for unit in group for page in unit)
        is_far = can_point and (tokens > _REACH_TOKENS or len(near) > _REACH)
        is_far = is_far or all(unit[-1].seq < covered for unit in group)
        if not is_far or any(_stays_near(state, unit, task) for unit in group):
            near += group
    return sorted(near, key=lambda unit: unit[-1].seq)


def _stays_near(state: SessionState, unit: Unit, task: int | None) -> bool:
    """Whether a unit may stand at a level of its own however long ago it was."""
    return state.kind(unit[0]) is PageKind.PREFERENCE or _why(state, unit, task) in _BINDING


def candidates_of(
    state: SessionState, units: Sequence[Unit], forms: Mapping[int, Forms], task: int | None, *, can_point: bool
) -> Iterator[Candidate]:
    """The units as the policy sees them, the newest first."""
    edited = {name for made in forms.values() for name in made.edited}
    alone = {page.seq for page in outside(state, state.lines)} & state.placed.keys()
    after = 0
    made_since: set[tuple[str, str]] = set()
    shown: set[str] = set()
    brought = first_to_bring(units)
    for unit in reversed(units):
        first, last = unit[0].seq, unit[-1].seq
        made = forms.get(first)
        if made is None:
            if can_point:  # without pointers, what a reset covers is in its summary alone
                yield Candidate(first, last, {}, _POINTER, tokens_after=after)
        else:
            floor, why, calls = state.path(unit)[-1], _why(state, unit, task), made.calls
            yield Candidate(
                first,
                last,
                made.sizes,
                floor=floor if can_point else max(floor, _STRUCTURED),
                why=why,
                is_bound=why in _BINDING,
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
        after += sum([page.tokens for page in unit])


def _why(state: SessionState, unit: Unit, task: int | None) -> Why:
    if any(state.kind(page).is_rule for page in unit):
        return Why.RULE
    if state.is_in_force(unit[0]):
        return Why.PLAN
    if unit[0].seq == task:
        return Why.TASK
    if _is_open(state, unit):
        return Why.OPEN
    is_new = unit[-1].seq > state.seen and any(
        page.seq > state.seen and page.role is not Role.ASSISTANT for page in unit
    )
    return Why.UNSEEN if is_new else Why.ROOM


def _about(state: SessionState, unit: Unit, forms: Forms, edited: AbstractSet[str]) -> About:
    if state.resets and unit[0].seq == state.resets[-1]:
        return About.SUMMARY
    if unit[0].role is Role.USER and not unit[0].synthetic:
        return About.PERSON
    if forms.edited:
        return About.EDIT
    if forms.path is None:
        return About.OTHER
    return About.EDITED if name_of(forms.path) in edited else About.FILE


def _is_open(state: SessionState, unit: Unit) -> bool:
    """Whether somebody still waits for a result."""
    if len(state.turns) >= _ABANDONED and unit[0].seq < state.turns[-_ABANDONED]:
        return False
    return bool(unanswered(unit))


def _includes(unit: Unit, pages: AbstractSet[int]) -> bool:
    return any(page.seq in pages for page in unit)
