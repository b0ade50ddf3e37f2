"""Enforces the laws of a layout: what holds in every context, whatever the policy wants.

Each law raises levels until it is met, or raises an error. What a policy wants beyond the laws is reduced until it fits the budget.
Other laws are enforced elsewhere: those of the journal by its store, the order of calls and results by `pageturn.context.pairing`.
"""

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from pageturn.context.draft import Draft, largest_count
from pageturn.context.index_detail_budget import most_details
from pageturn.values.errors import BudgetTooSmall
from pageturn.values.layout import Candidate, Frame, Layout, Levels, Why
from pageturn.values.pages import ResidencyLevel

_FULL, _COMPRESSED = ResidencyLevel.FULL, ResidencyLevel.COMPRESSED
_TASK_SHARE = 3  # the task is shown verbatim if it takes at most a third of the budget
_TASK_SHARE_WITHOUT_RECALL = 2  # or at most half, if the model cannot fetch the rest
# What the model has not seen yet is shown in full if it takes at most half of the room, or if nothing has to make room for it.
_UNSEEN_SHARE = 2
_PEOPLE_SHARE = 4  # what people said is shown verbatim up to a quarter of the budget
_PEOPLE_TOKENS = 4_000  # what people said is shown verbatim up to this many tokens
_STEPS_SHARE = 2  # without the recall tool, old steps take at most half of what is then free; the rest is for new ones
_PASTED = 64  # tokens; what people type is often shorter, and shortening it saves nothing


class Law(NamedTuple):
    """A law: its name, what it says, and the function that enforces it."""

    code: str
    says: str
    keep: Callable[[Draft], None]


def _room_for_floors(draft: Draft) -> None:
    """Raise if the budget has no room for the floors; nothing starts below its floor."""
    if draft.frame.needed_tokens > draft.frame.budget_tokens:
        needs = [(placement.tokens, draft.frame.handle(placement.first)) for placement in draft.placements()]
        needs += [(draft.frame.fixed_tokens, "the tools")] if draft.frame.fixed_tokens else []
        raise BudgetTooSmall(
            needed_tokens=draft.frame.needed_tokens,
            budget_tokens=draft.frame.budget_tokens,
            handles=tuple(name for _, name in sorted(needs, key=lambda need: -need[0])),
        )


def room_above_laws(frame: Frame) -> int:
    """The tokens left besides the floors and the task, if that may be shown verbatim."""
    task = sum(_above_floor(unit) for unit in _tasks(frame) if _may_be_verbatim(unit, frame))
    return frame.budget_tokens - frame.needed_tokens - task


def most_needed(frame: Frame) -> int:
    """The most tokens needed for any budget: the floors and the task verbatim, without fixed tokens."""
    return frame.needed_tokens - frame.fixed_tokens + sum(_above_floor(unit) for unit in _tasks(frame))


def _tasks(frame: Frame) -> Iterator[Candidate]:
    return (unit for unit in frame.candidates if unit.why is Why.TASK)


def _above_floor(unit: Candidate) -> int:
    """The tokens a unit takes verbatim beyond those it takes anyway."""
    return unit.sizes[_FULL] - (unit.sizes[unit.cheapest] if unit.is_bound else 0)


def most_of_people(budget_tokens: int) -> int:
    """The tokens up to which all that people said is shown verbatim."""
    return min(budget_tokens // _PEOPLE_SHARE, _PEOPLE_TOKENS)


def _most_of_task(frame: Frame) -> int:
    """The tokens up to which the task is shown verbatim; its outline may not take more either, since new pages need room."""
    return frame.budget_tokens // (_TASK_SHARE if frame.can_point else _TASK_SHARE_WITHOUT_RECALL)


def _may_be_verbatim(task: Candidate, frame: Frame) -> bool:
    return task.sizes[_FULL] <= _most_of_task(frame)


def _task(draft: Draft) -> None:
    most = _most_of_task(draft.frame)
    for unit in sorted(_tasks(draft.frame), key=lambda unit: unit.sizes[_FULL]):
        wanted = sorted((level for level, size in unit.sizes.items() if size <= most), reverse=True)
        any(draft.raised(unit, level, Why.TASK) for level in [*wanted, unit.cheapest])


def _unseen(draft: Draft) -> None:
    """Show new pages in full, including a task too large to be verbatim in every context."""
    new = (unit for unit in draft.units if unit.unseen_tokens and unit.sizes)
    units = [unit for unit in new if unit.why is not Why.TASK or draft.levels.get(unit.first) is not _FULL]
    if not units:
        return
    before = dict(draft.levels)
    most = _most_unseen(draft.frame, units)
    free = draft.frame.budget_tokens - draft.tokens() + _own_tokens(draft, units)
    draft.levels = before | _highest(before, _largest_first(units, most, free))
    while free >= 0 and (excess := draft.tokens() - draft.frame.budget_tokens) > 0:  # when a line was cut in two
        free -= excess
        draft.levels = before | _highest(before, _largest_first(units, most, free))
    draft.whys |= {unit.first: Why.UNSEEN for unit in units if draft.levels.get(unit.first) != before.get(unit.first)}
    others = (unit for unit in units if unit.why is not Why.TASK)  # which has a notice of its own
    shortened = sum(1 for unit in others if not _shows_new(unit, draft.levels.get(unit.first)))
    if shortened:
        what = "a new page is" if shortened == 1 else f"{shortened} new pages are"
        draft.notices.append(f"{what} too large to be shown whole")


def _most_unseen(frame: Frame, units: Sequence[Candidate]) -> int:
    """The tokens that new pages may take: half of the room, or all that they need if they fit beside the last context as it was."""
    half = (frame.budget_tokens - frame.needed_tokens) // _UNSEEN_SHARE
    needed = sum(unit.unseen_tokens if unit.is_seen_in_part else unit.sizes[_FULL] for unit in units)
    fits = max(frame.growth.tokens, frame.needed_tokens) + needed <= frame.budget_tokens
    return max(half, needed) if fits else half


def _own_tokens(draft: Draft, units: Sequence[Candidate]) -> int:
    """The tokens of units that have a level of their own already."""
    return sum(unit.sizes[unit.at_least(draft.levels[unit.first])] for unit in units if unit.first in draft.levels)


def _highest(before: Levels, after: Levels) -> dict[int, ResidencyLevel]:
    """The levels after, but none lower than before."""
    return {first: max(level, before.get(first, level)) for first, level in after.items()}


def _largest_first(units: Sequence[Candidate], most: int, free: int) -> dict[int, ResidencyLevel]:
    """All at full; then the largest is lowered level by level, until new pages take `most` and all take `free` tokens.

    What was fetched again is not held to `most`: a model that needs the whole and is shown an extract each time would fetch it repeatedly.
    """
    levels = {unit.first: _FULL for unit in units}
    _shorten(levels, [unit for unit in units if not unit.is_repetition], most, _charged)
    _shorten(levels, units, free, lambda unit, level: unit.sizes[level])
    return levels


def _shorten(
    levels: dict[int, ResidencyLevel],
    units: Sequence[Candidate],
    most: int,
    size_of: Callable[[Candidate, ResidencyLevel], int],
) -> None:
    """Lower the largest unit by one level, at last to no level of its own, until all take at most `most` tokens."""
    heap = [(-size_of(unit, levels[unit.first]), unit.first, unit) for unit in units if unit.first in levels]
    total = -sum(size for size, _, _ in heap)
    heapq.heapify(heap)
    while total > most and heap:
        size, first, unit = heapq.heappop(heap)
        lower = [level for level in unit.sizes if level < levels[first]]
        total += size
        if lower:
            levels[first] = max(lower)
            size = size_of(unit, levels[first])
            total += size
            heapq.heappush(heap, (-size, first, unit))
        else:
            del levels[first]


def _shows_new(unit: Candidate, level: ResidencyLevel | None) -> bool:
    """Whether all new pages of a unit are shown in full."""
    return level is _FULL or (level is _COMPRESSED and unit.is_seen_in_part)


def _charged(unit: Candidate, level: ResidencyLevel) -> int:
    """The tokens a unit takes of the room for new pages: only its new part, if the rest is an outline."""
    is_in_part = level is _COMPRESSED and unit.unseen_tokens < unit.sizes[level]
    return unit.unseen_tokens if is_in_part and unit.is_seen_in_part else unit.sizes[level]


def _people(draft: Draft) -> None:
    """Show what people said. If not all fits, the longest is shortened first, and then the oldest is left out.

    Messages between a call and its result come last: to show them, that call needs a level of its own too.
    """
    said = [unit for unit in draft.units if unit.is_human and unit.why is not Why.TASK and unit.sizes]
    before, most = dict(draft.levels), most_of_people(draft.frame.budget_tokens)
    if not _fit_people(draft, before, said, most):
        draft.levels = before
        apart = [unit for unit in said if unit.first not in draft.frame.groups]
        between = [unit for unit in said if unit.first in draft.frame.groups]
        for units in (apart, between):
            largest_count(most, partial(_fit_people, draft, dict(draft.levels), units))
            standing = (unit for unit in units if unit.first in draft.levels)
            most = max(0, most - sum(_words(unit, draft.levels[unit.first]) for unit in standing))
    raised = (unit.first for unit in said if draft.levels.get(unit.first) != before.get(unit.first))
    draft.whys |= dict.fromkeys(raised, Why.PERSON)


def _fit_people(draft: Draft, least: Levels, said: Sequence[Candidate], most: int) -> bool:
    """Show what people said in at most `most` tokens; returns whether the budget allows it."""
    draft.levels = dict(least) | _highest(least, _longest_shortened(said, most))
    return draft.tokens() <= draft.frame.budget_tokens


def _longest_shortened(said: Sequence[Candidate], most: int) -> dict[int, ResidencyLevel]:
    """All verbatim; then the longest pastes lowered, then the oldest moved to index lines, until they take `most` tokens."""
    levels = {unit.first: _verbatim(unit) for unit in said}
    taken = {unit.first: _words(unit, levels[unit.first]) for unit in said}
    total = sum(taken.values())
    heap = [(-taken[unit.first], unit.first, unit) for unit in said if taken[unit.first] >= _PASTED]
    heapq.heapify(heap)
    while total > most and heap:
        _, first, unit = heapq.heappop(heap)
        lower = [level for level in unit.sizes if level < levels[first]]
        total -= taken[first]
        if not lower:
            del levels[first]
            continue
        levels[first] = max(lower)
        taken[first] = _words(unit, levels[first])
        total += taken[first]
        heapq.heappush(heap, (-taken[first], first, unit))
    for first in sorted(levels):
        if total <= most:
            break
        total -= taken[first]
        del levels[first]
    return levels


def _verbatim(unit: Candidate) -> ResidencyLevel:
    """The lowest level that shows a person's words verbatim; a harness's text beside them may be shortened."""
    return _COMPRESSED if unit.own_tokens is not None and _COMPRESSED in unit.sizes else _FULL


def _words(unit: Candidate, level: ResidencyLevel) -> int:
    """The tokens of a person's words at a level."""
    is_own = unit.own_tokens is not None and level >= _verbatim(unit)
    return unit.own_tokens if is_own and unit.own_tokens is not None else unit.sizes[level]


def _open(draft: Draft) -> None:
    for unit in draft.units:
        if unit.why is Why.OPEN:
            draft.raised(unit, _FULL, Why.OPEN)


def _without_recall(draft: Draft) -> None:
    """Keep units as long as possible for a model without the recall tool, which cannot fetch them again."""
    if draft.frame.can_point:
        return
    least = dict(draft.levels)
    newest_first = [unit for unit in draft.units if unit.sizes and unit.first not in least][::-1]
    # Without the max it is negative at times, since the number of missing steps is charged at its maximum.
    free = max(0, draft.frame.budget_tokens - draft.tokens())
    most = min(draft.frame.budget_tokens, draft.tokens() + free // _STEPS_SHARE)

    def keep(count: int) -> bool:
        draft.levels = least | {unit.first: unit.cheapest for unit in newest_first[:count]}
        return draft.tokens() <= most

    largest_count(len(newest_first), keep)


# In the order in which they get the budget.
LAWS = (
    Law(
        "floors",
        "Rules are never shown below their floor, and the plan in force not below structured.",
        _room_for_floors,
    ),
    Law(
        "task",
        "The task is in every context: verbatim if it takes at most a third of the budget, or half without the recall tool.",
        _task,
    ),
    Law(
        "seen once",
        "What is new is shown in full once, unless it does not fit beside the last context and takes more than half of the room.",
        _unseen,
    ),
    Law("people", "What people said is shown verbatim, up to a quarter of the budget and 4,000 tokens.", _people),
    Law("open calls", "A call that is still open stays a call, as long as there is room.", _open),
    Law(
        "without recall",
        "Without the recall tool, steps are left out as late as possible, the oldest first.",
        _without_recall,
    ),
)


def promised(frame: Frame) -> Draft:
    """The levels that every policy must show: all floors, then each law as far as there is room."""
    draft = Draft(frame)
    for law in LAWS:
        law.keep(draft)
    return draft


def enforce(draft: Draft, wanted: Levels) -> Layout:
    """The layout that a policy wants, with what the laws demand, within the budget; its first choices come first."""
    frame = draft.frame
    least, whys = dict(draft.levels), dict(draft.whys)
    units = {unit.first: unit for unit in draft.units}
    above: list[Candidate] = []
    for first, level in wanted.items():
        unit = units[first]
        if unit.sizes and (first not in least or level > least[first]):
            draft.levels[first] = level
            draft.whys[first] = Why.WORTH if draft.levels[first] > unit.cheapest else Why.ROOM
            above.append(unit)
    _fit(draft, above, least, whys)
    draft.details = most_details(draft.layouts, draft.levels, draft.tokens())
    placements = draft.placements()
    return Layout(
        placements=placements,
        tokens=frame.fixed_tokens + sum(placement.tokens for placement in placements),
        budget_tokens=frame.budget_tokens,
        needed_tokens=frame.needed_tokens,
        notices=tuple(draft.notices),
    )


def _fit(draft: Draft, above: Sequence[Candidate], least: Levels, whys: Mapping[int, Why]) -> None:
    """Undo what the policy wanted beyond the laws, last first, until the layout fits the budget."""
    wanted = {unit.first: draft.levels[unit.first] for unit in above}

    def keep(count: int) -> bool:
        draft.levels = dict(least) | {unit.first: wanted[unit.first] for unit in above[:count]}
        return draft.tokens() <= draft.frame.budget_tokens

    for unit in above[largest_count(len(above), keep) :]:
        draft.whys.pop(unit.first, None)
        draft.whys |= {unit.first: whys[unit.first]} if unit.first in whys else {}
