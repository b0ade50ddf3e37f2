"""Limits of candidates: how long a prompt, how often, and at what price; and which candidates are left out, with the reason."""

from collections import deque
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple, Self

from pageturn.routing.prices import Costs
from pageturn.tokens.windows import window_of
from pageturn.values.checks import require_finite, require_whole
from pageturn.values.errors import InvalidInput, show
from pageturn.values.json import Closed

_MINUTE = timedelta(minutes=1)


class Limits(Closed):
    """The limits of one candidate: the tokens of a prompt, and the requests and tokens per minute; None if unknown."""

    window: int | None = None
    requests_a_minute: int | None = None
    tokens_a_minute: int | None = None

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            if getattr(self, name) is not None:
                require_whole(f"$.{name}", getattr(self, name))


class Needs(NamedTuple):
    """What a task requires of a candidate."""

    limits: Mapping[str, Limits] = {}
    tokens: int | None = None  # of the prompt
    most_money: float | None = None
    least_success: float | None = None

    @classmethod
    def of(
        cls,
        limits: Mapping[str, Limits] | None,
        tokens: int | None,
        most_money: float | None,
        least_success: float | None,
    ) -> Self:
        """The given needs, checked."""
        for agent, limit in ({} if limits is None else limits).items():
            if not isinstance(limit, Limits):
                raise InvalidInput("limits", expected=f"Limits for {show(agent)}", got=show(limit))
        if tokens is not None:
            require_whole("tokens", tokens)
        if most_money is not None:
            require_finite("most_money", most_money, at_least=0.0)
        if least_success is not None:
            require_finite("least_success", least_success, at_least=0.0, at_most=1.0)
        return cls(limits or {}, tokens, most_money, least_success)

    def window(self, agent: str) -> int:
        """The window of a candidate: as given, or else by the name of the model."""
        limit = self.limits.get(agent)
        return window_of(agent) if limit is None or limit.window is None else limit.window

    def too_long(self, agents: Sequence[str]) -> dict[str, str]:
        """Those whose window the prompt exceeds; but the longest window is never left out."""
        if self.tokens is None:
            return {}
        longest = max(agents, key=self.window)
        return {
            agent: f"the prompt of {self.tokens:,} tokens exceeds its window of {self.window(agent):,}"
            for agent in agents
            if self.window(agent) < self.tokens and self.window(agent) < self.window(longest)
        }

    def too_dear(self, agents: Sequence[str], costs: Costs) -> dict[str, str]:
        """Those that cost more than the cap. If all do, it is an error: the caller set the cap."""
        if self.most_money is None:
            return {}
        asked = {agent: costs.asking(agent) for agent in agents}
        if min(asked.values()) > self.most_money:
            cheapest = min(asked, key=asked.__getitem__)
            expected = f"at least what the cheapest candidate costs, {asked[cheapest]:g} for {cheapest}"
            raise InvalidInput("most_money", expected=expected, got=f"{self.most_money:g}")
        return {
            agent: f"it costs {cost:g}, more than the cap of {self.most_money:g}"
            for agent, cost in asked.items()
            if cost > self.most_money
        }


class Traffic:
    """The requests of this router to each candidate in the last minute. Routers on one store do not share it."""

    def __init__(self) -> None:
        self._asked: dict[str, deque[tuple[datetime, int]]] = {}

    def full(self, agents: Sequence[str], needs: Needs, now: datetime) -> dict[str, str]:
        """Those whose limit per minute is reached; if all are, the one that is free first stays."""
        found: dict[str, str] = {}
        free_at: dict[str, datetime] = {}
        for agent in agents:
            limit = needs.limits.get(agent)
            if limit is None:
                continue
            asked = self._recent(agent, now)
            tokens = sum(each for _, each in asked) + (needs.tokens or 0)
            if limit.requests_a_minute is not None and len(asked) >= limit.requests_a_minute:
                found[agent] = (
                    f"it had {len(asked)} requests in the last minute, and its limit is {limit.requests_a_minute}"
                )
            elif limit.tokens_a_minute is not None and asked and tokens > limit.tokens_a_minute:
                found[agent] = (
                    f"it would have {tokens:,} tokens in a minute, and its limit is {limit.tokens_a_minute:,}"
                )
            free_at[agent] = asked[0][0] if asked else now
        if len(found) == len(agents):
            found.pop(min(found, key=free_at.__getitem__))
        return found

    def ask(self, agent: str, needs: Needs, now: datetime) -> None:
        """Note a request to a candidate that has a limit."""
        if agent in needs.limits:
            self._asked.setdefault(agent, deque()).append((now, needs.tokens or 0))

    def _recent(self, agent: str, now: datetime) -> deque[tuple[datetime, int]]:
        asked = self._asked.get(agent, deque())
        while asked and not now - _MINUTE < asked[0][0] <= now:
            asked.popleft()
        return asked
