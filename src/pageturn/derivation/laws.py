"""The laws of a layout: what holds in every context, whatever the policy wants.

Each law says what it demands, and raises levels until it is met or refuses; what a policy wants beyond that is taken back where the
budget does not hold it.
The other laws hold elsewhere: the journal's by its store, the order of calls and results by `pageturn.derivation.pairing`.
"""

import heapq
from collections.abc import Callable, Sequence
from typing import NamedTuple

from pageturn.derivation.telling_room import most_told
from pageturn.errors import BudgetTooSmall
from pageturn.layout import Candidate, Frame, Layout, Levels, Placement, Told, Why, lay_out
from pageturn.pages import ResidencyLevel

_FULL = ResidencyLevel.FULL
_TASK_SHARE = 3  # the task turn stands verbatim if it takes at most this part of the budget
_UNSEEN_SHARE = 2  # and what the model has not seen yet, if it takes at most this part of the room


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
    alone = (unit for unit in frame.candidates if unit.is_bound or not frame.can_point)
    return {unit.first: unit.cheapest for unit in alone}


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
    task = sum(unit.sizes[_FULL] - unit.sizes[unit.cheapest] for unit in tasks)
    return frame.budget_tokens - frame.needed_tokens - task


def _may_stand(task: Candidate, frame: Frame) -> bool:
    return task.sizes[_FULL] * _TASK_SHARE <= frame.budget_tokens


def _task(draft: Draft) -> None:
    for unit in draft.frame.candidates:
        if unit.why is not Why.TASK:
            continue
        may_stand = _may_stand(unit, draft.frame)
        wanted = sorted((level for level in unit.sizes if may_stand or level < _FULL), reverse=True)
        any(draft.raised(unit, level, Why.TASK) for level in wanted)
        level = unit.at_least(draft.levels[unit.first])
        if level is not _FULL:
            draft.notices.append(f"the task, {unit.sizes[_FULL]:,} tokens, stands as {level}")


def _unseen(draft: Draft) -> None:
    units = [unit for unit in draft.frame.candidates if unit.why is Why.UNSEEN and unit.sizes]
    before = dict(draft.levels)
    room = draft.frame.budget_tokens - draft.frame.needed_tokens
    most = min(room // _UNSEEN_SHARE, draft.frame.budget_tokens - draft.tokens())
    draft.levels = before | _largest_first(units, most)
    while most >= 0 and (excess := draft.tokens() - draft.frame.budget_tokens) > 0:  # where a line was cut in two
        most -= excess
        draft.levels = before | _largest_first(units, most)
    draft.whys |= {unit.first: Why.UNSEEN for unit in units if draft.levels.get(unit.first) != before.get(unit.first)}
    shortened = sum(1 for unit in units if draft.levels.get(unit.first) is not _FULL)
    if shortened:
        what = "a new page is" if shortened == 1 else f"{shortened} new pages are"
        draft.notices.append(f"{what} too large to be shown whole")


def _largest_first(units: Sequence[Candidate], most: int) -> dict[int, ResidencyLevel]:
    """All at full; then always the largest one level lower, until they take at most so many tokens."""
    levels = {unit.first: _FULL for unit in units}
    total = sum(unit.sizes[_FULL] for unit in units)
    heap = [(-unit.sizes[_FULL], unit.first, unit) for unit in units]
    heapq.heapify(heap)
    while total > most and heap:
        size, first, unit = heapq.heappop(heap)
        lower = [level for level in unit.sizes if level < levels[first]]
        total += size
        if lower:
            levels[first] = max(lower)
            total += unit.sizes[levels[first]]
            heapq.heappush(heap, (-unit.sizes[levels[first]], first, unit))
        else:
            del levels[first]
    return levels


def _open(draft: Draft) -> None:
    for unit in draft.frame.candidates:
        if unit.why is Why.OPEN:
            draft.raised(unit, _FULL, Why.OPEN)


LAWS = (
    Law("L2", "Rules never sink below their floor, and the plan in force not below structured.", _room_for_floors),
    Law("L5", "The task turn is in every context: verbatim if it takes at most a third of the budget.", _task),
    Law("L12", "What is new is shown whole once, unless it alone takes more than half of the room.", _unseen),
    Law("L3", "A call that is still open stays a call, as long as there is room.", _open),
)


def promised(frame: Frame) -> Draft:
    """The least that every policy must show: all floors, and then law after law as far as there is room."""
    draft = Draft(frame)
    for law in LAWS:
        said = len(draft.notices)
        law.keep(draft)
        draft.notices[said:] = [f"{law.code}: {notice}" for notice in draft.notices[said:]]
    return draft


def enforce(draft: Draft, wanted: Levels) -> Layout:
    """The layout that a policy wants, with what the laws demand, within the budget. What it wants most comes first."""
    frame = draft.frame
    least = dict(draft.levels)
    units = {unit.first: unit for unit in frame.candidates}
    above: list[Candidate] = []
    for first, level in wanted.items():
        unit = units[first]
        if unit.sizes and (first not in least or level > least[first]):
            draft.levels[first] = level
            draft.whys[first] = Why.WORTH if draft.levels[first] > unit.cheapest else Why.ROOM
            above.append(unit)
    _fit(draft, above, least)
    draft.told = most_told(frame, draft.levels, draft.tokens())
    placements = draft.placements()
    return Layout(
        placements=placements,
        tokens=frame.fixed_tokens + sum(placement.tokens for placement in placements),
        budget_tokens=frame.budget_tokens,
        needed_tokens=frame.needed_tokens,
        notices=tuple(draft.notices),
    )


def _fit(draft: Draft, above: Sequence[Candidate], least: Levels) -> None:
    """Take back what the policy wanted beyond the laws, the last first, until the budget holds."""
    low, high = 0, len(above)
    wanted = {unit.first: draft.levels[unit.first] for unit in above}

    def keep(count: int) -> int:
        draft.levels = dict(least) | {unit.first: wanted[unit.first] for unit in above[:count]}
        return draft.tokens()

    if keep(high) <= draft.frame.budget_tokens:
        return
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if keep(middle) <= draft.frame.budget_tokens else (low, middle - 1)
    keep(low)
    for unit in above[low:]:
        draft.whys.pop(unit.first, None)
