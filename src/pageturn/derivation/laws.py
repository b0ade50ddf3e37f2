"""The laws of a layout: what holds in every context, whatever the policy wants.

Each law says what it demands, and raises levels until it is met or refuses; what a policy wants beyond that is taken back where the
budget does not hold it.
The other laws hold elsewhere: the journal's by its store, the order of calls and results by `pageturn.derivation.pairing`.
"""

import heapq
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from pageturn.derivation.telling_room import most_told
from pageturn.errors import BudgetTooSmall
from pageturn.layout import Candidate, Frame, Layout, Levels, Placement, Told, Why, lay_out
from pageturn.pages import ResidencyLevel

_FULL, _COMPRESSED = ResidencyLevel.FULL, ResidencyLevel.COMPRESSED
_TASK_SHARE = 3  # the task turn stands verbatim if it takes at most this part of the budget
_UNSEEN_SHARE = 2  # and what the model has not seen yet, if it takes at most this part of the room
_PEOPLE_SHARE = 4  # what people said stands verbatim up to this part of the budget,
_PEOPLE_TOKENS = 4_000  # and up to so many tokens
_STEPS_SHARE = 2  # without the recall tool, old steps take this part of what is then free; the rest is for new ones
_PASTED = 64  # tokens; what people type is often shorter, and there is nothing to win by putting it shorter still


class Draft:
    """Levels on their way to a layout, with the reasons and with what must be said about them."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.levels = lowest_levels(frame)
        self.whys: dict[int, Why] = {}
        self.notices: list[str] = []
        self.told = Told()
        self._laid_out: tuple[tuple[Levels, Told], tuple[Placement, ...]] | None = None  # since several laws ask

    def placements(self) -> tuple[Placement, ...]:
        """Where everything would stand."""
        return tuple([self._explained(placement) for placement in self._placements()])

    def tokens(self) -> int:
        """What that would take."""
        return self.frame.fixed_tokens + sum([placement.tokens for placement in self._placements()])

    def _placements(self) -> tuple[Placement, ...]:
        if self._laid_out is None or self._laid_out[0] != (self.levels, self.told):
            self._laid_out = ((dict(self.levels), self.told), lay_out(self.frame, self.levels, self.told))
        return self._laid_out[1]

    def _explained(self, placement: Placement) -> Placement:
        why = self.whys.get(placement.first)
        return placement if why is None or placement.line is not None else placement._replace(why=why)

    def raised(self, unit: Candidate, level: ResidencyLevel, why: Why) -> bool:
        """Raise a unit, if it fits."""
        before = dict(self.levels)
        self.levels[unit.first] = level
        if self.tokens() > self.frame.budget_tokens:
            self.levels = before
            return False
        self.whys[unit.first] = why
        return True


def lowest_levels(frame: Frame) -> dict[int, ResidencyLevel]:
    """Every unit as low as it may go: what is bound keeps the cheapest form of its own, others share index lines."""
    return {unit.first: unit.cheapest for unit in frame.candidates if unit.is_bound}


class Law(NamedTuple):
    """A promise: its name, what it says, and how it is kept."""

    code: str
    says: str
    keep: Callable[[Draft], None]


def _room_for_floors(draft: Draft) -> None:
    """Nothing stands lower than its floor from the start; the budget must have room for that."""
    if draft.frame.needed_tokens > draft.frame.budget_tokens:
        needs = [(placement.tokens, draft.frame.handle(placement.first)) for placement in draft.placements()]
        needs += [(draft.frame.fixed_tokens, "the tools")] if draft.frame.fixed_tokens else []
        raise BudgetTooSmall(
            needed_tokens=draft.frame.needed_tokens,
            budget_tokens=draft.frame.budget_tokens,
            handles=tuple(name for _, name in sorted(needs, key=lambda need: -need[0])),
        )


def room_above_laws(frame: Frame) -> int:
    """What is left beside the floors and the task, where that may stand verbatim."""
    tasks = (unit for unit in frame.candidates if unit.why is Why.TASK and _may_stand(unit, frame))
    task = sum(unit.sizes[_FULL] - (unit.sizes[unit.cheapest] if unit.is_bound else 0) for unit in tasks)
    return frame.budget_tokens - frame.needed_tokens - task


def most_of_people(budget_tokens: int) -> int:
    """The tokens up to which all that people said stands verbatim."""
    return min(budget_tokens // _PEOPLE_SHARE, _PEOPLE_TOKENS)


def _may_stand(task: Candidate, frame: Frame) -> bool:
    return task.sizes[_FULL] * _TASK_SHARE <= frame.budget_tokens


def _task(draft: Draft) -> None:
    tasks = [unit for unit in draft.frame.candidates if unit.why is Why.TASK]
    for unit in sorted(tasks, key=lambda unit: unit.sizes[_FULL]):
        most = draft.frame.budget_tokens // _TASK_SHARE  # for its outline too: what is new must have room
        wanted = sorted((level for level, size in unit.sizes.items() if size <= most), reverse=True)
        any(draft.raised(unit, level, Why.TASK) for level in [*wanted, unit.cheapest])


def _unseen(draft: Draft) -> None:
    """What is new, a task too that may not stand whole in every context."""
    new = (unit for unit in draft.frame.candidates if unit.unseen_tokens and unit.sizes)
    units = [unit for unit in new if unit.why is not Why.TASK or draft.levels.get(unit.first) is not _FULL]
    if not units:
        return
    before = dict(draft.levels)
    most = (draft.frame.budget_tokens - draft.frame.needed_tokens) // _UNSEEN_SHARE
    free = draft.frame.budget_tokens - draft.tokens() + _own_tokens(draft, units)
    draft.levels = before | _highest(before, _largest_first(units, most, free))
    while free >= 0 and (excess := draft.tokens() - draft.frame.budget_tokens) > 0:  # where a line was cut in two
        free -= excess
        draft.levels = before | _highest(before, _largest_first(units, most, free))
    draft.whys |= {unit.first: Why.UNSEEN for unit in units if draft.levels.get(unit.first) != before.get(unit.first)}
    others = (unit for unit in units if unit.why is not Why.TASK)  # of which a notice of its own tells
    shortened = sum(1 for unit in others if not _shows_new(unit, draft.levels.get(unit.first)))
    if shortened:
        what = "a new page is" if shortened == 1 else f"{shortened} new pages are"
        draft.notices.append(f"{what} too large to be shown whole")


def _own_tokens(draft: Draft, units: Sequence[Candidate]) -> int:
    """What units take already that have a level of their own."""
    return sum(unit.sizes[unit.at_least(draft.levels[unit.first])] for unit in units if unit.first in draft.levels)


def _highest(before: Levels, after: Levels) -> dict[int, ResidencyLevel]:
    """The levels after, but none lower than before."""
    return {first: max(level, before.get(first, level)) for first, level in after.items()}


def _largest_first(units: Sequence[Candidate], most: int, free: int) -> dict[int, ResidencyLevel]:
    """All at full; then always the largest one level lower, until what is new takes at most `most` tokens, and all of them `free`."""
    levels = {unit.first: _FULL for unit in units}
    _shorten(levels, units, most, _charged)
    _shorten(levels, units, free, lambda unit, level: unit.sizes[level])
    return levels


def _shorten(
    levels: dict[int, ResidencyLevel],
    units: Sequence[Candidate],
    most: int,
    size_of: Callable[[Candidate, ResidencyLevel], int],
) -> None:
    """Put always the largest unit one level lower, and at last into no level of its own, until they take at most so many tokens."""
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
    """Whether all that is new of a unit stands whole."""
    return level is _FULL or (level is _COMPRESSED and unit.is_seen_in_part)


def _charged(unit: Candidate, level: ResidencyLevel) -> int:
    """What a unit takes of the room for what is new: where its new part stands whole beside an outline of the rest, that part alone."""
    is_in_part = level is _COMPRESSED and unit.unseen_tokens < unit.sizes[level]
    return unit.unseen_tokens if is_in_part and unit.is_seen_in_part else unit.sizes[level]


def _people(draft: Draft) -> None:
    """What people said. Where not all of it has room, the longest is put shorter first, and then the oldest leaves.

    What lies between a call and its result comes last: to show it, that call must stand by itself too.
    """
    said = [unit for unit in draft.frame.candidates if unit.is_human and unit.why is not Why.TASK and unit.sizes]
    before, most = dict(draft.levels), most_of_people(draft.frame.budget_tokens)
    if not _stand_shortened(draft, before, said, most):
        draft.levels = before
        apart = [unit for unit in said if unit.first not in draft.frame.groups]
        between = [unit for unit in said if unit.first in draft.frame.groups]
        for units in (apart, between):
            _most(most, partial(_stand_shortened, draft, dict(draft.levels), units))
            standing = (unit for unit in units if unit.first in draft.levels)
            most = max(0, most - sum(_words(unit, draft.levels[unit.first]) for unit in standing))
    raised = (unit.first for unit in said if draft.levels.get(unit.first) != before.get(unit.first))
    draft.whys |= dict.fromkeys(raised, Why.PERSON)


def _stand_shortened(draft: Draft, least: Levels, said: Sequence[Candidate], most: int) -> bool:
    """Let what people said stand in so many tokens, and nothing lower than it must; whether the budget holds that."""
    draft.levels = dict(least) | _highest(least, _longest_shortened(said, most))
    return draft.tokens() <= draft.frame.budget_tokens


def _longest_shortened(said: Sequence[Candidate], most: int) -> dict[int, ResidencyLevel]:
    """All verbatim; then always the longest paste one level lower, and when none is left the oldest left to index lines, until so
    many tokens hold them.
    """
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
    """The lowest level at which a person's words stand as they are: what a harness put beside them may be shorter."""
    return _COMPRESSED if unit.own_tokens is not None and _COMPRESSED in unit.sizes else _FULL


def _words(unit: Candidate, level: ResidencyLevel) -> int:
    """What a person's words take at a level."""
    is_own = unit.own_tokens is not None and level >= _verbatim(unit)
    return unit.own_tokens if is_own and unit.own_tokens is not None else unit.sizes[level]


def _open(draft: Draft) -> None:
    for unit in draft.frame.candidates:
        if unit.why is Why.OPEN:
            draft.raised(unit, _FULL, Why.OPEN)


def _without_recall(draft: Draft) -> None:
    """Nobody can ask for what a model without the recall tool no longer sees, so it leaves as late as it may."""
    if draft.frame.can_point:
        return
    least = dict(draft.levels)
    newest_first = [unit for unit in draft.frame.candidates if unit.sizes and unit.first not in least][::-1]
    free = max(
        0, draft.frame.budget_tokens - draft.tokens()
    )  # a number of steps is charged by its largest, so there may be less than none
    most = min(draft.frame.budget_tokens, draft.tokens() + free // _STEPS_SHARE)

    def keep(count: int) -> bool:
        draft.levels = least | {unit.first: unit.cheapest for unit in newest_first[:count]}
        return draft.tokens() <= most

    _most(len(newest_first), keep)


# In the order in which the budget is given out.
LAWS = (
    Law("floors", "Rules never sink below their floor, and the plan in force not below structured.", _room_for_floors),
    Law("task", "The task is in every context: verbatim if it takes at most a third of the budget.", _task),
    Law("seen once", "What is new is shown whole once, unless it alone takes more than half of the room.", _unseen),
    Law("people", "What people said stands verbatim, up to a quarter of the budget and 4,000 tokens.", _people),
    Law("open calls", "A call that is still open stays a call, as long as there is room.", _open),
    Law("without recall", "What nobody can ask for again leaves last, the oldest first.", _without_recall),
)


def promised(frame: Frame) -> Draft:
    """The least that every policy must show: all floors, and then law after law as far as there is room."""
    draft = Draft(frame)
    for law in LAWS:
        law.keep(draft)
    return draft


def enforce(draft: Draft, wanted: Levels) -> Layout:
    """The layout that a policy wants, with what the laws demand, within the budget. What it wants most comes first."""
    frame = draft.frame
    least, whys = dict(draft.levels), dict(draft.whys)
    units = {unit.first: unit for unit in frame.candidates}
    above: list[Candidate] = []
    for first, level in wanted.items():
        unit = units[first]
        if unit.sizes and (first not in least or level > least[first]):
            draft.levels[first] = level
            draft.whys[first] = Why.WORTH if draft.levels[first] > unit.cheapest else Why.ROOM
            above.append(unit)
    _fit(draft, above, least, whys)
    draft.told = most_told(frame, draft.levels, draft.tokens())
    placements = draft.placements()
    return Layout(
        placements=placements,
        tokens=frame.fixed_tokens + sum(placement.tokens for placement in placements),
        budget_tokens=frame.budget_tokens,
        needed_tokens=frame.needed_tokens,
        notices=tuple(draft.notices),
    )


def _fit(draft: Draft, above: Sequence[Candidate], least: Levels, whys: Mapping[int, Why]) -> None:
    """Take back what the policy wanted beyond the laws, the last first, until the budget holds."""
    wanted = {unit.first: draft.levels[unit.first] for unit in above}

    def keep(count: int) -> bool:
        draft.levels = dict(least) | {unit.first: wanted[unit.first] for unit in above[:count]}
        return draft.tokens() <= draft.frame.budget_tokens

    for unit in above[_most(len(above), keep) :]:
        draft.whys.pop(unit.first, None)
        draft.whys |= {unit.first: whys[unit.first]} if unit.first in whys else {}


def _most(count: int, keep: Callable[[int], bool]) -> int:
    """The most of a row, from its beginning, that can be kept; they are kept when this returns."""
    if keep(count):
        return count
    low, high = 0, count - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if keep(middle) else (low, middle - 1)
    keep(low)
    return low
