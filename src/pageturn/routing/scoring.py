"""Scores candidates, and keeps the scores until something is learned."""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from operator import attrgetter
from typing import NamedTuple

from pageturn.routing import Beliefs, Mode, Scored, Setting
from pageturn.routing.estimates import Estimates
from pageturn.routing.modes import Aim, RandomSource
from pageturn.routing.prices import Costs
from pageturn.values.errors import InvalidInput, show

_HOPE = 1.64  # deviations above the expected rate; nineteen of twenty rates are below
_FIELDS = attrgetter("agent", "mean", "deviation", "centre", "spread")
_SCORE = attrgetter("score")


class Ready(NamedTuple):
    """What a choice among the same candidates needs until something is learned."""

    scored: tuple[Scored, ...]  # without chance
    # Those that chance moves, and their fields.
    drawn: tuple[tuple[int, Aim, tuple[str, float, float, float, float]], ...]
    expected: float  # of the choice without exploring
    mode: Mode  # held, so that no other object takes its identity meanwhile
    hoped: Mapping[str, float]  # the rate that each may have

    def poor(self, least: float) -> dict[str, str]:
        """Those that are not expected to reach a rate; if none is, all but the most promising."""
        poor = {agent: rate for agent, rate in self.hoped.items() if rate < least}
        if len(poor) == len(self.hoped):
            del poor[max(poor, key=poor.__getitem__)]
        return {agent: f"it may reach {rate:.2f} at most, and {least:g} is asked for" for agent, rate in poor.items()}

    def with_chance(self, rng: RandomSource) -> list[Scored]:
        """The scores with chance."""
        scored = list(self.scored)
        if self.drawn:
            draw = rng.gauss(0.0, 1.0)
            for at, aim, fields in self.drawn:
                scored[at] = Scored(*fields, aim.at(draw))
        return scored


class Scoring:
    """The scores by some beliefs."""

    def __init__(self, beliefs: Beliefs) -> None:
        self._beliefs = beliefs
        self._ready: dict[tuple[object, ...], Ready] = {}
        self._ready_at: tuple[int, datetime | None] = -1, None

    def of(self, agents: tuple[str, ...], where: Setting, mode: Mode, costs: Costs, now: datetime) -> Ready:
        """Estimates and scores; recomputed only after something was learned."""
        hour = now.replace(minute=0, second=0, microsecond=0)  # evidence ages hour by hour
        if self._ready_at != (self._beliefs.version, hour):
            self._ready.clear()
            self._ready_at = self._beliefs.version, hour
        key = (agents, where, id(mode), *((tuple(costs.prices.items()), *costs[1:]) if costs.prices else ()))
        ready = self._ready.get(key)
        if ready is None:
            view = Estimates(self._beliefs, where, now=now, cost=costs.asking, value=costs.value)
            aims = [_checked_aim(mode.aim(agent, view), agent) for agent in agents]
            scored = tuple(
                Scored(agent, *view.estimate(agent), *aim, aim.centre) for agent, aim in zip(agents, aims, strict=True)
            )
            expected = max(each.mean for each in scored)
            drawn = tuple((at, aim, _FIELDS(scored[at])) for at, aim in enumerate(aims) if aim.spread > 0.0)
            hoped = {agent: view.estimate(agent).at(_HOPE) for agent in agents}
            ready = self._ready[key] = Ready(scored, drawn, expected, mode, hoped)
        return ready


def best(scored: Sequence[Scored], rng: RandomSource, local: str | None, margin: float) -> str:
    """The best score; a local agent keeps the work unless it is beaten by more than the margin."""
    own = next((each.score for each in scored if each.agent == local), None)  # none also if it rests
    peers = [each for each in scored if each.agent != local]
    top = max(map(_SCORE, peers), default=-math.inf)
    if own is not None and local is not None and not top > own + margin:
        return local
    equals = [each for each in peers if each.score == top]
    # If chance plays a part, it also decides between equals: tasks that start together are not all given to the first.
    chosen = rng.choice(equals) if len(equals) > 1 and equals[0].spread > 0.0 else equals[0]
    return chosen.agent


def _checked_aim(aim: object, agent: str) -> Aim:
    """The score of a mode, checked, since the mode may be a user's own."""
    if isinstance(aim, tuple) and len(aim) == 2:
        with suppress(TypeError, OverflowError):
            if math.isfinite(aim[0]) and math.isfinite(aim[1]) and aim[1] >= 0.0:
                return Aim(*aim)
    raise InvalidInput("mode", expected=f"a centre and a spread of 0 or more for {agent!r}", got=show(aim))
