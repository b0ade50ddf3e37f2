"""Paged: floors first, then the budget where it matters, and rarely move anything."""

from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec

from pageturn.policies.contract import DerivePolicy, Whole
from pageturn.policies.packing import Values, beyond, climb, room_in
from pageturn.policies.stable_prefix import held
from pageturn.tokens.windows import budget_within
from pageturn.values.checks import require_finite
from pageturn.values.layout import About, Candidate, Frame, Growth, Levels, Why
from pageturn.values.pages import ResidencyLevel
from pageturn.values.vendors import STUDY

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]

_FULL, _COMPRESSED, _STRUCTURED, _POINTER = ResidencyLevel
_ALONE = 0.35  # of the room, for the least that each unit may have of its own
_WORTHWHILE = 0.1  # of the budget, that a fold should free at least where nothing presses
_PRICES = STUDY.prices  # whatever the model, so that a session is folded alike wherever it is sent
_FIRST = 0.5  # of the budget; smaller contexts are not worth a first fold
_NAMES_HALVE = 3_000  # tokens of session; at that age a name is half as likely to be named again as at first
_WORDS_HALVE = 16_000  # and at that age a line to be quoted
_QUOTES = 0.03  # how often a token of a file that is worked on is quoted, where a fresh token of names is named once
_KEPT = {
    _POINTER: (0.2, 0.0),
    _STRUCTURED: (0.97, 0.0),
    _COMPRESSED: (0.98, 0.25),
    _FULL: (1.0, 1.0),
}  # of names, of words
_TOLD = 4  # tokens that say what a unit was, beside its names
_LISTED = 0.25  # of a unit that is too short to be listed, what are names
_FETCHED, _ERROR, _RULE, _STALE = 2, 1.5, 100, 0.4  # rough, and within .003 of coverage it does not matter
_QUOTED = {
    About.PERSON: 1.0,
    About.EDIT: 1.0,
    About.EDITED: 1.0,
    About.FILE: 0.2,
    About.SUMMARY: 1.0,
    About.OTHER: 0.02,
}


class Paged(DerivePolicy, tag="paged", omit_defaults=True):
    """The default of a new session: old pages hold still between folds, so the cached prefix stays valid.

    A budget of 0 is all that the model takes. When the context grows beyond `high` of the budget, a fold shrinks it to what must
    be and at most `low` of the room above that; where the bill is likely to profit, or the provider has forgotten the prompt
    anyway, the fold comes earlier. `thrift` is the least that a token must be worth to stay, where a fresh name is worth 1; with 0
    all room is spent, and no fold comes early to save money.
    """

    budget_tokens: Whole = 0
    low: Share = 0.6
    high: Share = 1.0
    thrift: Share = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        require_finite("$.low", self.low, at_least=0, at_most=1)
        require_finite("$.high", self.high, at_least=0, at_most=1)
        require_finite("$.thrift", self.thrift, at_least=0, at_most=1)

    def limit_tokens(self, window_tokens: int) -> int:
        return budget_within(self.budget_tokens, window_tokens)

    def is_full(self, growth: Growth, budget_tokens: int) -> bool:
        return growth.tokens > self.high * budget_tokens

    def pays(self, growth: Growth, budget_tokens: int) -> bool:
        if growth.is_cold:
            return growth.tokens > (self.low + _WORTHWHILE) * budget_tokens
        return self.thrift > 0 and _pays(growth, budget_tokens)

    def plan(self, frame: Frame, least: Levels, tokens: int) -> Levels:
        share = self.low if frame.is_pressed else self.high
        room = max(0, room_in(frame, tokens, share))
        near = [unit for unit in frame.candidates if unit.sizes]
        least_rate = self.thrift if frame.is_running else 0
        still: Mapping[int, ResidencyLevel | None]
        # A mere change in a small context moves nothing else: the provider has it in its cache.
        if not frame.is_pressed and (standing := _standing(near, _FIRST * frame.budget_tokens)):
            still = standing
        else:
            wanted = _spent(near, least, room, least_rate)
            still = held(near, {**least, **wanted}, least, room) if frame.is_warm else {}
            if not still:
                return wanted
        kept = {first: level for first, level in still.items() if level is not None}
        taken = sum(beyond(unit, kept[unit.first], least.get(unit.first)) for unit in near if unit.first in kept)
        rest = [unit for unit in near if unit.first not in still]
        return {**kept, **_spent(rest, least, max(0, room - taken), least_rate)}


def _pays(growth: Growth, budget_tokens: int) -> bool:
    """Whether a fold earns more than it costs: to write anew what stands, against reading at every turn what has grown since.

    The interval at which both are least is the square root of 2 x rebuild cost x growth per turn / price of reading a token.
    """
    if not growth.standing_tokens:
        return growth.tokens > _FIRST * budget_tokens
    rebuild = (_PRICES.write - _PRICES.read) * growth.standing_tokens
    return growth.grown_tokens * growth.turns > 2 * rebuild / _PRICES.read


def _standing(units: Sequence[Candidate], most: float) -> dict[int, ResidencyLevel]:
    """The units as they stand, where that is not in an index line; none if they take more tokens than that."""
    levels = {unit.first: unit.at_least(unit.stands) for unit in units if unit.stands is not None}
    tokens = sum(unit.sizes[levels[unit.first]] for unit in units if unit.first in levels)
    return levels if tokens <= most else {}


def _spent(units: Sequence[Candidate], least: Levels, room: int, least_rate: float) -> dict[int, ResidencyLevel]:
    """The levels that the room is best spent on."""
    newest_first = units[::-1]
    alone = _newest_alone(newest_first, least, int(room * _ALONE))
    room -= sum(unit.sizes[unit.cheapest] for unit in units if unit.first in alone)
    return {**alone, **climb(newest_first, {**alone, **least}, value, room, least_rate=least_rate)}


def _newest_alone(newest_first: Sequence[Candidate], least: Levels, room: int) -> dict[int, ResidencyLevel]:
    """The newest units at the cheapest level of their own, as far as the room goes; older ones share index lines."""
    alone: dict[int, ResidencyLevel] = {}
    for unit in newest_first:
        if unit.first not in least:
            room -= unit.sizes[unit.cheapest]
            if room < 0:
                break
            alone[unit.first] = unit.cheapest
    return alone


def value(unit: Candidate) -> Values:
    """What a unit is worth at each level: how much of it later calls are likely to name, and how much to quote.

    A pointer keeps what was asked, the structured form keeps the names, and only the whole keeps the words.
    """
    weight = (1 + _FETCHED * unit.fetched) * (_ERROR if unit.is_error else 1)
    weight *= _RULE if unit.why is Why.RULE or unit.about is About.SUMMARY else 1
    full, age = unit.sizes[_FULL], unit.tokens_after
    listed = _TOLD + unit.sizes.get(_STRUCTURED, full * _LISTED)
    names = weight * _NAMES_HALVE / (_NAMES_HALVE + age) * listed
    words = weight * _WORDS_HALVE / (_WORDS_HALVE + age) * _QUOTES * _QUOTED[unit.about] * full
    words *= _STALE if unit.is_superseded else 1
    return {level: kept * names + whole * words for level, (kept, whole) in _KEPT.items()}
