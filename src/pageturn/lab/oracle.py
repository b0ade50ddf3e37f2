"""Computes an oracle: the best layout within a budget by a policy that knows what the next turns will name.

It keeps the same laws as every policy, may choose every level again at every turn, and minimises misses only: first of this turn, then
of the next ones as far as it looks ahead. It also gives a lower bound: no policy that keeps the floors has fewer misses.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from pageturn.context.fold import FoldMaker, Terms
from pageturn.context.layouts import Layouts
from pageturn.context.renditions import BUILT_IN
from pageturn.context.task import tasks_of
from pageturn.context.unit_forms import Forms
from pageturn.lab.coverage_oracle import Choice, Taken, cover, most_covered
from pageturn.lab.demand import demand
from pageturn.lab.our_policies import CharacterCounter, empty_journal, session_of
from pageturn.lab.replay import Shown
from pageturn.lab.results import Form
from pageturn.lab.traces import Trace, text_of
from pageturn.policies import OracleReplay, Paged
from pageturn.policies.checked import CheckedPolicy
from pageturn.tokens.counters import TokenCounter
from pageturn.values.entries import FoldReason
from pageturn.values.errors import BudgetTooSmall
from pageturn.values.layout import Candidate, Frame, Growth, IndexLine, Levels
from pageturn.values.messages import Message
from pageturn.values.pages import Page, ResidencyLevel
from pageturn.values.recall_tool import RecallTool
from pageturn.values.units import Unit, units_of

_FULL, _COMPRESSED, _STRUCTURED, _POINTER = ResidencyLevel
_FEW = 32  # units, each of which is tried alone
_Key = tuple[int, ...]
_Offers = Mapping[int, Sequence[tuple[Choice, ResidencyLevel]]]


class _Plan(NamedTuple):
    """Levels, and the names that they add."""

    levels: dict[int, ResidencyLevel]
    names: frozenset[str]


class Oracle:
    """Shows a recorded session as the oracle would; `bounds` then has for each turn the number of names that no policy could have shown."""

    def __init__(
        self,
        policy: OracleReplay,
        budget_tokens: int,
        counter: TokenCounter | None = None,
        *,
        recall: RecallTool | None = RecallTool(),  # noqa: B008
    ) -> None:
        self.bounds: list[int] = []
        self._policy = policy
        self._budget_tokens = budget_tokens
        self._counter = counter or CharacterCounter()
        self._recall_tool = recall

    def __call__(self, trace: Trace) -> Iterator[Shown | None]:
        """What it shows, turn by turn."""
        self.bounds = []
        wanted = {one.turn: one.identifiers for one in demand(trace)}
        sight = _Sight(trace, self._counter, self._recall_tool, self._budget_tokens)
        for number, turn in enumerate(trace.turns):
            ahead = trace.turns[number : number + 1 + self._policy.lookahead]
            sight.reach(turn)
            shown = sight.shown([wanted.get(later, frozenset()) for later in ahead], self._policy.lookahead)
            names = wanted.get(turn, frozenset())
            text = "\n".join(map(text_of, shown.messages)) if shown is not None else ""
            self.bounds.append(0 if all(name in text for name in names) else sight.least_missed(names))
            yield shown


class _Foreseen(OracleReplay):
    """The oracle's policy at one turn, in the form that a fold takes."""

    looks_ahead: ClassVar[bool] = False

    sight: Any = None
    wanted: tuple[frozenset[str], ...] = ()

    def is_full(self, growth: Growth, budget_tokens: int) -> bool:  # noqa: ARG002
        return True

    def plan(self, frame: Frame, least: Levels, tokens: int) -> Levels:
        levels: Levels = self.sight.plan(frame, least, tokens, self.wanted)
        return levels


class _Sight:
    """A session up to some turn, with every form of its units. Nothing is recorded as shown, so nothing is sealed."""

    def __init__(self, trace: Trace, counter: TokenCounter, recall: RecallTool | None, budget_tokens: int) -> None:
        self._trace = trace
        self._journal = empty_journal()
        self._session = session_of(Paged(), counter, recall=recall, journal=self._journal)  # the policy is never asked
        self._folds = FoldMaker(self._journal, counter, BUILT_IN, shows_handles=True)
        self._counter = counter
        self._budget_tokens = budget_tokens
        self._fixed_tokens = counter.tools([recall.definition]) if recall is not None else 0
        self._can_point = recall is not None
        self._taken = 0
        self._said: list[tuple[Page, Message]] = []
        self._units: dict[int, Unit] = {}
        self._tokens = 0  # of everything, in full
        self._texts: dict[tuple[_Key, ResidencyLevel], str] = {}
        self._holds: dict[tuple[_Key, str], bool] = {}

    def reach(self, turn: int) -> None:
        """Add everything before a turn."""
        for message in self._trace.messages[self._taken : turn]:
            self._session.append(message)
            page = self._journal.state.pages[-1]
            self._tokens += page.tokens
            if page.is_human:
                self._said.append((page, message))
        self._taken = max(self._taken, turn)
        self._units = {
            unit[0].seq: unit for unit in units_of(self._journal.state.live_pages(), self._journal.state.turns)
        }

    @property
    def _fits(self) -> bool:
        """Whether everything fits in full, so that there is nothing to choose."""
        return self._fixed_tokens + self._tokens <= self._budget_tokens

    def shown(self, wanted: Sequence[frozenset[str]], lookahead: int) -> Shown | None:
        """What to show; None if the floors do not fit."""
        if self._fits:
            return Shown(self._trace.messages[: self._taken], tools_tokens=self._fixed_tokens)
        policy = _Foreseen(lookahead, sight=self, wanted=tuple(wanted))
        terms = Terms(CheckedPolicy(policy), self._budget_tokens, self._fixed_tokens, self._can_point)
        try:
            folded = self._folds.fold(terms, tasks_of(reversed(self._said)), FoldReason.FULL)
        except BudgetTooSmall:
            return None
        forms: dict[Form, int] = {}
        for placement in folded.prefix.placements:
            form = Form.LINE if placement.line is not None else Form(placement.level.value)
            forms[form] = forms.get(form, 0) + placement.tokens
        return Shown(folded.prefix.messages, forms, tools_tokens=self._fixed_tokens)

    def plan(
        self, frame: Frame, least: Levels, tokens: int, wanted: Sequence[frozenset[str]]
    ) -> dict[int, ResidencyLevel]:
        """The levels beyond the minimum that show the most of what is wanted."""
        near = {unit.first: unit for unit in frame.candidates if unit.sizes}
        shown_at = {first: near[first].at_least(level) for first, level in least.items() if first in near}
        shown = {
            name for first, level in shown_at.items() for name in self._held(first, level, frozenset().union(*wanted))
        }
        missing = [names - shown for names in wanted]
        if not any(missing):
            return {}
        offers = {
            first: offered
            for first, unit in near.items()
            if (offered := self._offered(unit, shown_at.get(first), frozenset().union(*missing)))
        }
        cheapest = {first: -unit.sizes[unit.cheapest] for first, unit in near.items()}
        alone = _alone(frame, least, offers) if len(offers) <= _FEW else cheapest
        best = _Plan({}, frozenset())
        for turns in dict.fromkeys((len(missing), 1)):
            for leaving in (dict.fromkeys(near, 0), cheapest, dict.fromkeys(near, _line_tokens(frame)), alone):
                plan = self._planned(frame, least, tokens, offers, missing=missing[:turns], leaving=leaving)
                best = max(best, plan, key=lambda plan: [len(names & plan.names) for names in missing])
                if all(names <= best.names for names in missing):
                    return best.levels
        return best.levels

    def _planned(
        self,
        frame: Frame,
        least: Levels,
        tokens: int,
        offers: "_Offers",
        *,
        missing: Sequence[frozenset[str]],
        leaving: Mapping[int, int],
    ) -> "_Plan":
        """The best levels that fit, if removing a unit from the lines changes the others by `apart` tokens.

        That is 0, or the tokens of its pointer, or those of one more index line, since the unit may cut one in two; or, if units are
        few, the exact change if only this unit leaves.
        """
        groups = {
            first: [
                choice._replace(tokens=max(0, choice.tokens + (0 if first in least else leaving[first])))
                for choice, _ in offered
            ]
            for first, offered in offers.items()
        }
        room = frame.budget_tokens - tokens
        layouts = Layouts(frame)
        while room > 0:
            taken = cover(groups, missing, room).taken
            levels = {first: offers[first][at][1] for first, at in _first_wanted_first(groups, taken, missing)}
            excess = frame.fixed_tokens + layouts.tokens({**least, **levels}) - frame.budget_tokens
            if excess <= 0:
                names = frozenset().union(*(groups[first][at].names for first, at in taken.items()))
                return _Plan(levels, names)
            room -= excess
        return _Plan({}, frozenset())

    def least_missed(self, wanted: frozenset[str]) -> int:
        """How many of these names no policy could have shown.

        A rule counts at its floor, every other form with the fewest tokens that still contain these names, and lines with 0, although
        they may show folders and files.
        """
        if self._fits or not wanted:
            return 0
        state = self._journal.state
        room = self._budget_tokens - self._fixed_tokens
        groups: dict[int, list[Choice]] = {}
        shown: set[str] = set()
        for first, unit in self._units.items():
            forms = self._folds.forms_of(unit)
            floor = state.path(unit)[-1]
            is_rule = any(state.kind(page).is_rule for page in unit)
            allowed = {level: size for level, size in forms.sizes.items() if level >= floor}
            base = min(allowed.values()) if is_rule else 0
            room -= base
            choices = [
                Choice(self._least_tokens(forms, level, wanted) - base, names)
                for level in allowed
                if (names := self._held(first, level, wanted))
            ]
            shown |= {name for name in wanted if self._is_told_by_lines(forms, name)}
            shown |= {name for choice in choices if choice.tokens <= 0 for name in choice.names}
            groups[first] = [choice for choice in choices if choice.tokens > 0]
        if room < 0:
            return len(wanted)
        left = wanted - shown
        groups = {
            first: kept
            for first, choices in groups.items()
            if (kept := [choice._replace(names=choice.names & left) for choice in choices if choice.names & left])
        }
        return len(left) - most_covered(groups, left, room)

    def _least_tokens(self, forms: Forms, level: ResidencyLevel, wanted: frozenset[str]) -> int:
        """The fewest tokens of a form that still shows those of the wanted names that it has."""
        if level is not _STRUCTURED:
            return forms.sizes[level]
        return forms.structured_without(forms.names - wanted, self._counter.message).tokens

    def _is_told_by_lines(self, forms: Forms, name: str) -> bool:
        if name in (forms.folder or ""):
            return True
        return any(name in effect.target or name in effect.text for effect in self._folds.forms.effects(forms))

    def _offered(
        self, unit: Candidate, shown_at: ResidencyLevel | None, wanted: frozenset[str]
    ) -> list[tuple[Choice, ResidencyLevel]]:
        """The levels above a unit's present one that show wanted names, with their extra tokens; without those that another one beats."""
        base = unit.sizes[shown_at] if shown_at is not None else 0
        offered: list[tuple[Choice, ResidencyLevel]] = []
        for level, tokens in reversed(unit.sizes.items()):
            if level < unit.floor or (shown_at is not None and level <= shown_at):
                continue
            names = self._held(unit.first, level, wanted)
            if names and not any(names <= before.names for before, _ in offered):
                offered.append((Choice(max(tokens - base, 0), names), level))
        return offered

    def _held(self, first: int, level: ResidencyLevel, names: frozenset[str]) -> frozenset[str]:
        """The names in a unit at a level."""
        unit = self._units[first]
        key = tuple(page.seq for page in unit)
        inside = []
        for name in names:
            if (key, name) not in self._holds:
                self._holds[key, name] = any(
                    name in self._text(unit, key, each) for each in self._folds.forms_of(unit).sizes
                )
            if self._holds[key, name] and name in self._text(unit, key, level):
                inside.append(name)
        return frozenset(inside)

    def _text(self, unit: Unit, key: _Key, level: ResidencyLevel) -> str:
        if (key, level) not in self._texts:
            forms = self._folds.forms_of(unit)
            messages: Sequence[Message] = (
                self._folds.forms.full(forms).messages if level is _FULL else forms.below(level).messages
            )
            self._texts[key, level] = "\n".join(map(text_of, messages))
        return self._texts[key, level]


def _alone(frame: Frame, least: Levels, offers: _Offers) -> dict[int, int]:
    """The change of the others' tokens if only one unit leaves them."""
    layouts = Layouts(frame)
    before = layouts.tokens(least)
    changes = {}
    for first, ((choice, level), *_) in offers.items():
        after = layouts.tokens({**least, first: level})
        changes[first] = after - before - choice.tokens
    return changes


def _line_tokens(frame: Frame) -> int:
    """The approximate tokens of an index line."""
    units = list(frame.candidates)
    first, last = min(unit.first for unit in units), max(unit.last for unit in units)
    return frame.line_tokens(IndexLine(first, last))


def _first_wanted_first(
    groups: Mapping[int, Sequence[Choice]], taken: Taken, wanted: Sequence[frozenset[str]]
) -> list[tuple[int, int]]:
    """What was chosen, most wanted first: the last are taken back first."""

    def soonest(item: tuple[int, int]) -> int:
        names = groups[item[0]][item[1]].names
        return next((at for at, turn in enumerate(wanted) if names & turn), len(wanted))

    return sorted(taken.items(), key=lambda item: (soonest(item), item))
