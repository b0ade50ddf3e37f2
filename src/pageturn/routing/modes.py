"""Defines the routing modes: each turns estimates into scores, and says how much randomness may move them.

| mode | score |
|---|---|
| cadmas | the lower confidence bound of CADMAS-CTX for the cell alone; an unseen agent scores 0 |
| lcb | the same lower bound, with at most two pooled outcomes for a cell that has none; for hand-offs that have a local agent |
| mean | the expected rate |
| ucb | the expected rate plus one standard deviation |
| thompson | as ucb, with a random number of standard deviations for each choice; without a local agent |
| cost | as thompson, divided by money and time, including the prompt cache lost by switching |
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

from pageturn.routing.pooling import Estimate
from pageturn.values.errors import InvalidInput, show

T = TypeVar("T")

_OPTIMISM = 1.2  # deviations; without it, an agent that began unluckily is never tried again
_CHANCE = 0.25  # of a deviation, so that what was not chosen is learned about, and logs can be compared
_ROOT_2 = math.sqrt(2.0)


class RandomSource(Protocol):
    """Where randomness comes from: `random.Random(seed)` is one."""

    def gauss(self, mu: float, sigma: float) -> float:
        """A draw from a normal distribution."""
        ...

    def choice(self, seq: Sequence[T], /) -> T:
        """One of several."""
        ...


class Aim(NamedTuple):
    """Where the score of a candidate lies, and how far chance moves it: by as many spreads as all others, up or down.

    One draw for all decides how bold this choice is (RandUCB, arXiv:1910.04928). Were each candidate to draw for itself, the
    luckiest of many unknown ones would nearly always win.
    """

    centre: float
    spread: float = 0.0

    def at(self, draw: float) -> float:
        """The score, where chance drew so many spreads."""
        return self.centre + self.spread * draw


class View(Protocol):
    """What a mode may ask about a candidate in the setting at hand."""

    def cell_score(self, agent: str) -> float:
        """The lower bound of its cell alone; 0 where it was never seen."""
        ...

    def warmed_score(self, agent: str) -> float:
        """The lower bound of its cell, which borrows where it is empty."""
        ...

    def estimate(self, agent: str) -> Estimate:
        """What to expect of it, with everything that is known of others and elsewhere."""
        ...

    @property
    def cost(self) -> Callable[[str], float]:
        """What it takes to ask a candidate, switching included."""
        ...


class Mode(Protocol):
    """A way to choose. One of your own is as good as those here."""

    @property
    def name(self) -> str:
        """What the log calls it."""
        ...

    def aim(self, agent: str, view: View) -> Aim:
        """Where the score of this candidate lies."""
        ...


class Cadmas:
    """The ranking of CADMAS-CTX, to the letter."""

    name = "cadmas"

    def aim(self, agent: str, view: View) -> Aim:
        """The lower bound of the cell."""
        return Aim(view.cell_score(agent))


class LowerBound:
    """The lower bound of CADMAS-CTX, where what is unseen is thought to be like what is nearest."""

    name = "lcb"

    def aim(self, agent: str, view: View) -> Aim:
        """The lower bound of the cell, warmed."""
        return Aim(view.warmed_score(agent))


class Mean:
    """What is expected, and nothing else: never explores on purpose."""

    name = "mean"

    def aim(self, agent: str, view: View) -> Aim:
        """The expected rate."""
        return Aim(view.estimate(agent).mean)


class UpperBound:
    """What is expected, and a little more for what is not known well."""

    name = "ucb"

    def __init__(self, optimism: float = _OPTIMISM) -> None:
        self.optimism = optimism

    def aim(self, agent: str, view: View) -> Aim:
        """The expected rate and some deviations."""
        mean, deviation = view.estimate(agent)
        return Aim(mean + self.optimism * deviation)


class Thompson:
    """The upper bound, higher for some choices and lower for others, by chance."""

    name = "thompson"

    def __init__(self, optimism: float = _OPTIMISM, chance: float = _CHANCE) -> None:
        self.optimism = optimism
        self.chance = chance

    def aim(self, agent: str, view: View) -> Aim:
        """The upper bound, and how far a draw moves it."""
        mean, deviation = view.estimate(agent)
        return Aim(mean + self.optimism * deviation, self.chance * deviation)


class Cost(Thompson):
    """The most success for money and time."""

    name = "cost"

    def aim(self, agent: str, view: View) -> Aim:
        """What Thompson aims at, per unit of cost."""
        centre, spread = super().aim(agent, view)
        cost = view.cost(agent)
        return Aim(max(centre, 0.0) / cost, spread / cost)


MODES: Mapping[str, Mode] = {
    mode.name: mode for mode in (Cadmas(), LowerBound(), Mean(), UpperBound(), Thompson(), Cost())
}


_FORMER_NAMES = {"seed": "cadmas"}  # which stored decisions and configurations still have


def name_now(name: str) -> str:
    """The present name of a mode."""
    return _FORMER_NAMES.get(name, name)


def mode_of(mode: str | Mode) -> Mode:
    """The mode of a name, or the mode itself."""
    if isinstance(mode, str) and name_now(mode) in MODES:
        return MODES[name_now(mode)]
    if not callable(getattr(mode, "aim", None)) or not isinstance(getattr(mode, "name", None), str):
        raise InvalidInput("mode", expected=f"one of {', '.join(MODES)}, or a mode", got=show(mode))
    return mode  # type: ignore[return-value]


def probabilities(aims: Sequence[Aim]) -> list[float]:
    """How likely each is to have the greatest score."""
    return [probability(aims, at) for at in range(len(aims))]


def probability(aims: Sequence[Aim], at: int) -> float:
    """How likely this one is to. Equals share it where chance has a part, else the first of them has it all."""
    centre, spread = aims[at]
    low, high, equals = -math.inf, math.inf, 1  # between these draws nobody scores more
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
