"""Paged: shows what is expected to cost least, misses included, within the budget, and seldom moves anything."""

from collections.abc import Callable, Mapping, Sequence
from math import sqrt
from typing import Annotated

import msgspec

from pageturn.policies.contract import DerivePolicy, Whole
from pageturn.policies.packing import beyond, climb
from pageturn.policies.stable_prefix import held
from pageturn.policies.worth import READ, WRITE, Valuation
from pageturn.tokens.windows import budget_within
from pageturn.values.checks import require_finite
from pageturn.values.layout import Candidate, Forecast, Frame, Growth, Levels
from pageturn.values.pages import ResidencyLevel

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]

_FULL = ResidencyLevel.FULL
_THRIFTY, _BALANCED, _FAITHFUL = 0, 20_000, 80_000  # tokens that a turn with a miss costs, besides fetching again
_MUCH_THRIFT = 0.04  # from this on, `thrift` of earlier versions means `thrifty`
_FIRST_TOKENS = 12_000  # besides what no fold can remove; smaller contexts are not worth a first fold
_COLD_TOKENS = 4_000  # the same if the provider's cache has expired, so that a fold has nothing to write twice
_MISSES = 0.3  # turns that miss something because of a fold, about
_FIRST_SHARE = 0.75  # of the room, if the budget is so small that this is less
_LEAST_REWRITTEN = 1_000  # tokens that a fold is expected to write again, however few the last one wrote
_LEFT = 0.15  # of the room: a fold that must make room leaves at least this much, or the next one is due at once
_TURNS = 10  # until the next fold, if there was none yet
_LEAST_TURNS = 4
_WAITED_FOR = 0.25  # of what the last fold rewrote: the rest grows with waiting, so it is no reason to wait
_SAVES = 1.5  # a token must save this multiple of its cost until the next fold to stay: later folds write it again, too


class Paged(DerivePolicy, tag="paged", repr_omit_defaults=True, omit_defaults=True):
    """The default of a new session: old pages keep their levels between folds, so the cached prefix stays valid.

    It minimises the bill: what is sent, and what is fetched again because it was not, plus `miss_tokens` for each turn that has to
    fetch. A budget of 0 is all that the model takes; it is a ceiling, not a target.
    """

    budget_tokens: Whole = 0
    miss_tokens: Whole = _BALANCED
    # The rest is of earlier versions, so that what was stored with it still opens.
    low: Share | None = None
    high: Share | None = None
    thrift: Share | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, value in self._retired.items():
            require_finite(f"$.{name}", value, at_least=0, at_most=1)
        # The default itself, by identity: a price that was given holds, also if it is as high.
        if self.thrift is not None and self.miss_tokens is _BALANCED:
            msgspec.structs.force_setattr(self, "miss_tokens", _miss_tokens_for(self.thrift))

    @property
    def _retired(self) -> dict[str, float]:
        settings = {"low": self.low, "high": self.high, "thrift": self.thrift}
        return {name: value for name, value in settings.items() if value is not None}

    @property
    def notices(self) -> tuple[str, ...]:
        if self.low is None and self.high is None and self.thrift is None:
            return ()
        settings = ", ".join(f"{name}={value:g}" for name, value in self._retired.items())
        return (
            f"paged no longer has {settings}: when it folds and what stays follow from miss_tokens={self.miss_tokens:,}",
        )

    @classmethod
    def thrifty(cls, budget_tokens: int = 0) -> "Paged":
        """The cheapest setting: a miss costs only the fetching."""
        return cls(budget_tokens, miss_tokens=_THRIFTY)

    @classmethod
    def faithful(cls, budget_tokens: int = 0) -> "Paged":
        """Keeps what may be quoted as long as the budget allows."""
        return cls(budget_tokens, miss_tokens=_FAITHFUL)

    def limit_tokens(self, window_tokens: int) -> int:
        return budget_within(self.budget_tokens, window_tokens)

    def pays(self, growth: Growth, budget_tokens: int) -> bool:
        movable = growth.tokens - growth.fixed_tokens
        last = growth.last_fold
        if last is None or growth.is_cold:
            least = _COLD_TOKENS if growth.is_cold else _FIRST_TOKENS
            return movable > min(least, _FIRST_SHARE * (budget_tokens - growth.fixed_tokens))
        return READ * growth.read_tokens > self._fold_price(growth, _WAITED_FOR)

    def plan(self, frame: Frame, least: Levels, tokens: int) -> Levels:
        units = [unit for unit in frame.candidates if unit.sizes]
        valuation = self._valuation(frame)
        room = max(0, frame.budget_tokens - tokens)
        if frame.is_pressed:
            room -= int(_LEFT * room)
        price = _price(frame, valuation, self._fold_price(frame.growth))
        reading, writing = price(room // 2) - (WRITE - READ), WRITE - READ
        # A small change in a small context moves nothing else: the provider has it in its cache.
        still: Mapping[int, ResidencyLevel | None] = {} if frame.is_pressed else _as_shown(units)
        if frame.is_warm and not still:
            still = held(units, least, valuation.worth, room, reading=reading, writing=writing)
        kept = {first: level for first, level in still.items() if level is not None}
        taken = sum(beyond(unit, kept[unit.first], least.get(unit.first)) for unit in units if unit.first in kept)
        rest = [unit for unit in units if unit.first not in still][::-1]
        return {**kept, **climb(rest, least, valuation.worth, max(0, room - taken), price=price)}

    def forecast(self, frame: Frame, levels: Levels) -> Forecast | None:
        valuation = self._valuation(frame)
        risk = 0.0
        for unit in frame.candidates:
            if unit.sizes:
                worth = valuation.billed.worth(unit)
                before, after = unit.shown_at, levels.get(unit.first)
                stood = worth[before] if before is not None else 0.0
                risk += max(0.0, stood - (worth[after] if after is not None else 0.0))
        return Forecast(round(valuation.turns), round(risk), round(_token_price(valuation), 3))

    def _fold_price(self, growth: Growth, share: float = 1.0) -> float:
        """The expected cost of the next fold: that of the last one, or a share of it, and the misses that a fold causes."""
        last = growth.last_fold
        rewritten = last.rewritten_tokens + last.unreasoned_tokens if last is not None else 0
        return share * (WRITE - READ) * max(_LEAST_REWRITTEN, rewritten) + _MISSES * self.miss_tokens

    def _valuation(self, frame: Frame) -> Valuation:
        turns = frame.growth.turns if frame.growth.last_fold is not None else _TURNS
        return Valuation.of(frame, max(_LEAST_TURNS, turns), self.miss_tokens)


def _as_shown(units: Sequence[Candidate]) -> dict[int, ResidencyLevel]:
    """The units at their present levels, without those in index lines; none if a fold would pay for that many tokens."""
    levels = {unit.first: unit.at_least(unit.shown_at) for unit in units if unit.shown_at is not None}
    tokens = sum(unit.sizes[levels[unit.first]] for unit in units if unit.first in levels)
    return levels if tokens <= _FIRST_TOKENS else {}


def _miss_tokens_for(thrift: float) -> int:
    """The price of a miss that is closest to what `thrift` meant in earlier versions."""
    return _FAITHFUL if thrift == 0 else _THRIFTY if thrift >= _MUCH_THRIFT else _BALANCED


def _price(frame: Frame, valuation: Valuation, fold_price: float) -> Callable[[int], float]:
    """What a token must save until the next fold to stay, by the room that is then left."""
    plain = _token_price(valuation)
    return lambda room: plain + _budget_price(frame, fold_price, room)


def _token_price(valuation: Valuation) -> float:
    return _SAVES * (READ * valuation.turns + WRITE - READ)


def _budget_price(frame: Frame, fold_price: float, room: int) -> float:
    """A token's share of the cost of bringing the next fold nearer, if the budget will be full before a fold would pay."""
    growth = frame.growth
    pace = max(1.0, growth.grown_tokens / max(1, growth.turns))
    until_it_pays = sqrt(2 * fold_price * pace / READ)  # tokens of growth
    if room >= until_it_pays:
        return 0.0
    return (WRITE - READ) * max(0, frame.budget_tokens - frame.needed_tokens - room) / max(1, room)
