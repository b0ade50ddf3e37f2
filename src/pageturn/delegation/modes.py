"""Modes: how estimates become a choice. Each says where a candidate's score lies and how far chance may move it.

| mode | score |
|---|---|
| seed | the seed's lower bound of the cell alone; an unseen agent scores 0 |
| lcb | the same lower bound, with at most two outcomes lent to a cell that has none; for hand-offs that have a local agent |
| mean | what is expected |
| ucb | what is expected, and a deviation more |
| thompson | as ucb, drawn at random around it; without a local agent |
| cost | as thompson, per money and time, with what switching loses of the prompt cache |
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from pageturn.delegation.pooling import Estimate
from pageturn.errors import InvalidInput

_OPTIMISM = 1.2  # deviations; without it, an agent that began unluckily is never tried again
_CHANCE = 0.25  # of a deviation, so that what was not chosen is learned about, and logs can be compared
_REACH = 4.0  # spreads of a draw that anybody will ever see
_STEPS = 48
_ROOT_2 = math.sqrt(2.0)
_ROOT_2_PI = math.sqrt(2.0 * math.pi)
_CERTAIN = ((0.0, 1.0),)
_NODES = tuple((at, math.exp(-0.5 * at * at) / _ROOT_2_PI * 0.5) for at in (half / 2 for half in range(-7, 8)))


class Chance(Protocol):
    """Where randomness comes from: `random.Random(seed)` is one."""

    def gauss(self, mu: float, sigma: float) -> float:
        """A draw from a normal distribution."""
        ...


class Aim(NamedTuple):
    """Where the score of a candidate lies, and how far chance moves it."""

    centre: float
    spread: float = 0.0


class View(Protocol):
    """What a mode may ask about a candidate in the setting at hand."""

    def seed_score(self, agent: str) -> float:
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


class Seed:
    """The seed's ranking, to the letter."""

    name = "seed"

    def aim(self, agent: str, view: View) -> Aim:
        """The lower bound of the cell."""
        return Aim(view.seed_score(agent))


class LowerBound:
    """The seed's lower bound, where what is unseen is thought to be like what is nearest."""

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
    """Drawn at random around the upper bound. `Thompson(0, 1)` is the plain kind, on pooled estimates."""

    name = "thompson"

    def __init__(self, optimism: float = _OPTIMISM, chance: float = _CHANCE) -> None:
        self.optimism = optimism
        self.chance = chance

    def aim(self, agent: str, view: View) -> Aim:
        """The upper bound, and how far a draw may fall from it."""
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
    mode.name: mode for mode in (Seed(), LowerBound(), Mean(), UpperBound(), Thompson(), Cost())
}


def mode_of(mode: str | Mode) -> Mode:
    """The mode of a name, or the mode itself."""
    found = MODES.get(mode) if isinstance(mode, str) else mode
    if not callable(getattr(found, "aim", None)):
        raise InvalidInput("mode", expected=f"one of {', '.join(MODES)}, or a mode", got=repr(mode))
    return found  # type: ignore[return-value]


def contenders(aims: Sequence[Aim]) -> tuple[int, ...]:
    """Those that chance may make the best, or keep from it."""
    floor = max((centre - _REACH * spread for centre, spread in aims), default=0.0)
    return tuple(at for at, (centre, spread) in enumerate(aims) if spread > 0.0 and centre + _REACH * spread >= floor)


def probability(aims: Sequence[Aim], at: int) -> float:
    """How likely this one is to have the greatest score, quickly, to about a hundredth."""
    centre, spread = aims[at]
    rivals = [
        aim for other, aim in enumerate(aims) if other != at and aim[0] + _REACH * aim[1] > centre - _REACH * spread
    ]
    total = 0.0
    for node, weight in _NODES if spread > 0.0 else _CERTAIN:
        x = centre + spread * node
        for other, wide in rivals:
            weight *= 0.5 * math.erfc((other - x) / (wide * _ROOT_2)) if wide > 0.0 else float(x >= other)  # noqa: PLW2901
        total += weight
    return total


def probabilities(aims: Sequence[Aim]) -> list[float]:
    """How likely each is to have the greatest score, to about a thousandth; of equal ones without chance, the first."""
    certain = max((centre for centre, spread in aims if spread == 0.0), default=-math.inf)
    floor = max(certain, *(centre - _REACH * spread for centre, spread in aims))
    rivals = [at for at, (centre, spread) in enumerate(aims) if spread > 0.0 and centre + _REACH * spread > floor]
    shares = [0.0] * len(aims)
    if rivals:
        top = max(aims[at].centre + _REACH * aims[at].spread for at in rivals)
        width = (top - floor) / _STEPS
        for step in range(_STEPS):  # where the greatest score may lie
            x = floor + (step + 0.5) * width
            distances = [(x - aims[at].centre) / aims[at].spread for at in rivals]
            below = [0.5 * math.erfc(-distance / _ROOT_2) for distance in distances]
            whole = math.prod(below) * width / _ROOT_2_PI
            for at, distance, share in zip(rivals, distances, below, strict=True):
                shares[at] += math.exp(-0.5 * distance * distance) / aims[at].spread * (whole / max(share, 1e-300))
    if certain > -math.inf:
        first = next(at for at, aim in enumerate(aims) if aim.spread == 0.0 and aim.centre == certain)
        shares[first] = max(0.0, 1.0 - sum(shares))
    total = sum(shares)
    return [share / total for share in shares]
