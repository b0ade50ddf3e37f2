"""Defines the routing modes: each turns estimates into scores, and says how much randomness may move them.

| mode | score |
|---|---|
| cadmas | the lower confidence bound of CADMAS-CTX for the cell alone; an unseen agent scores 0 |
| lcb | the same lower bound, with at most two pooled outcomes for a cell that has none; for hand-offs that have a local agent |
| mean | the expected rate |
| ucb | an optimistic rate: the expected one plus some standard deviations, in log-odds |
| thompson | as ucb, with a random number of standard deviations for each choice; without a local agent |
| cost | the value of a success times the rate of thompson, less money and time, with the prompt cache that a switch loses |
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

from pageturn.routing.pooling import Estimate, log_odds
from pageturn.values.errors import InvalidInput, show

T = TypeVar("T")

# Deviations; without them, an agent with a bad start is never tried again. There are more at the beginning, and fewer
# as outcomes arrive: what is found out early pays for longest.
_OPTIMISM = 1.1
_EARLY = 0.7
_EARLY_OUTCOMES = 80.0
_CHANCE = 0.25  # of a deviation, so that other candidates are tried too, and logs can be compared
# An agent that is better than usual by one unit of log-odds needs that much less: it is tried anyway, and its outcomes will show.
_LESS_FOR_THE_GOOD = 0.15
_BETTER_AT_MOST = 2.0
_ROOT_2 = math.sqrt(2.0)


class RandomSource(Protocol):
    """A source of randomness, such as `random.Random(seed)`."""

    def gauss(self, mu: float, sigma: float) -> float:
        """A draw from a normal distribution."""
        ...

    def choice(self, seq: Sequence[T], /) -> T:
        """One of several."""
        ...


class Aim(NamedTuple):
    """The score of a candidate, and how far chance moves it: all candidates by the same number of spreads, up or down.

    One draw for all decides how optimistic this choice is (RandUCB, arXiv:1910.04928). If each candidate had its own draw, the
    luckiest of many unknown ones would nearly always win.
    """

    centre: float
    spread: float = 0.0

    def at(self, draw: float) -> float:
        """The score, if this many spreads were drawn."""
        return self.centre + self.spread * draw


class View(Protocol):
    """What a mode may ask about a candidate in the present setting."""

    def cell_score(self, agent: str) -> float:
        """The lower bound of its cell alone; 0 if it was never seen."""
        ...

    def warmed_score(self, agent: str) -> float:
        """The lower bound of its cell, which borrows outcomes if it is empty."""
        ...

    def estimate(self, agent: str) -> Estimate:
        """The estimate, using everything that is known of others and in other cells."""
        ...

    @property
    def usual(self) -> float:
        """The rate of an average agent here."""
        ...

    @property
    def outcomes(self) -> float:
        """The number of known outcomes of any agent at this skill."""
        ...

    @property
    def cost(self) -> Callable[[str], float]:
        """The cost of calling a candidate, including a switch."""
        ...

    @property
    def value(self) -> float:
        """The value of a success, in the unit of the cost."""
        ...


class Mode(Protocol):
    """A rule for choosing. Your own class can be used like those here."""

    @property
    def name(self) -> str:
        """The name that the log stores."""
        ...

    def aim(self, agent: str, view: View) -> Aim:
        """The score of this candidate, before chance."""
        ...


class Cadmas:
    """The exact ranking of CADMAS-CTX."""

    name = "cadmas"

    def aim(self, agent: str, view: View) -> Aim:
        """The lower bound of the cell."""
        return Aim(view.cell_score(agent))


class LowerBound:
    """The lower bound of CADMAS-CTX, with an unseen cell estimated from the nearest ones."""

    name = "lcb"

    def aim(self, agent: str, view: View) -> Aim:
        """The lower bound of the cell, warmed."""
        return Aim(view.warmed_score(agent))


class Mean:
    """The expected rate and nothing else: never explores on purpose."""

    name = "mean"

    def aim(self, agent: str, view: View) -> Aim:
        """The expected rate."""
        return Aim(view.estimate(agent).mean)


class Thompson:
    """An optimistic rate, more optimistic for some choices than for others, by chance."""

    name = "thompson"

    def __init__(self, optimism: float = _OPTIMISM, chance: float = _CHANCE, early: float = _EARLY) -> None:
        self.optimism = optimism
        self.chance = chance
        self.early = early

    def aim(self, agent: str, view: View) -> Aim:
        """The expected rate and some deviations, and how far a draw moves it."""
        estimate = view.estimate(agent)
        better = log_odds(estimate.mean) - log_odds(view.usual)
        share = math.exp(-_LESS_FOR_THE_GOOD * min(max(better, -_BETTER_AT_MOST), _BETTER_AT_MOST))
        hope = share * (self.optimism + self.early * math.exp(-view.outcomes / _EARLY_OUTCOMES))
        centre = estimate.at(hope)
        if self.chance == 0.0:
            return Aim(centre)
        chance = share * self.chance
        return Aim(centre, (estimate.at(hope + chance) - estimate.at(hope - chance)) / 2.0)


class UpperBound(Thompson):
    """An optimistic rate, without chance."""

    name = "ucb"

    def __init__(self, optimism: float = _OPTIMISM, early: float = _EARLY) -> None:
        super().__init__(optimism, 0.0, early)


class Cost(Thompson):
    """The most money: the value of success, less the cost. A quotient of both would prefer a cheap agent that never succeeds."""

    name = "cost"

    def aim(self, agent: str, view: View) -> Aim:
        """The value at Thompson's rate, less the cost."""
        centre, spread = super().aim(agent, view)
        return Aim(view.value * centre - view.cost(agent), view.value * spread)


MODES: Mapping[str, Mode] = {
    mode.name: mode for mode in (Cadmas(), LowerBound(), Mean(), UpperBound(), Thompson(), Cost())
}


_FORMER_NAMES = {"seed": "cadmas"}  # names that stored decisions and configurations may still have


def name_now(name: str) -> str:
    """The present name of a mode."""
    return _FORMER_NAMES.get(name, name)


def mode_of(mode: str | Mode) -> Mode:
    """The mode with a name, or the mode itself."""
    if isinstance(mode, str) and name_now(mode) in MODES:
        return MODES[name_now(mode)]
    if not callable(getattr(mode, "aim", None)) or not isinstance(getattr(mode, "name", None), str):
        raise InvalidInput("mode", expected=f"one of {', '.join(MODES)}, or a mode", got=show(mode))
    return mode  # type: ignore[return-value]


def probabilities(aims: Sequence[Aim]) -> list[float]:
    """How likely each is to have the greatest score."""
    return [probability(aims, at) for at in range(len(aims))]


def probability(aims: Sequence[Aim], at: int) -> float:
    """The probability that this one has the greatest score. Equal ones share it if chance plays a part, else the first of them has all of
    it.
    """
    centre, spread = aims[at]
    low, high, equals = -math.inf, math.inf, 1  # between these draws no other scores more
    for other, (rival, wide) in enumerate(aims):
        if wide > spread:
            high = min(high, (centre - rival) / (wide - spread))
        elif wide < spread:
            low = max(low, (rival - centre) / (spread - wide))
        elif rival > centre or (rival == centre and spread == 0.0 and other < at):
            return 0.0
        elif rival == centre and spread > 0.0 and other != at:
            equals += 1
    return max(0.0, _chance_below(high) - _chance_below(low)) / equals


def _chance_below(draw: float) -> float:
    return 0.5 * math.erfc(-draw / _ROOT_2)
