"""Computes the cost of calling an agent, and the prompt cache lost by switching."""

import math
from collections.abc import Mapping
from typing import NamedTuple, Self

from pageturn.values.checks import require_finite
from pageturn.values.errors import InvalidInput, show
from pageturn.values.json import Closed

MONEY_A_SECOND = 0.001  # what waiting is worth, in the unit of the prices


class Price(Closed):
    """What it takes to ask a candidate: money, seconds, and the money that its prompt cache would save if it goes on."""

    money: float
    seconds: float = 0.0
    cached_money: float = 0.0

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            require_finite(f"$.{name}", getattr(self, name), at_least=0.0)


class Costs(NamedTuple):
    """Prices by agent, who runs already, and what waiting is worth."""

    prices: Mapping[str, Price]
    running: str | None
    money_a_second: float

    @classmethod
    def of(
        cls, prices: Mapping[str, Price] | None, running: str | None = None, money_a_second: float = MONEY_A_SECOND
    ) -> Self:
        """What somebody gave, if it is what it should be."""
        if prices is not None and not isinstance(prices, Mapping):
            raise InvalidInput("prices", expected="a price for each candidate", got=show(prices))
        for agent, price in (prices or {}).items():
            if not isinstance(price, Price):
                raise InvalidInput("prices", expected=f"a price for {show(agent)}", got=show(price))
        if running is not None and not isinstance(running, str):
            raise InvalidInput("running", expected="a candidate", got=show(running))
        require_finite("money_a_second", money_a_second, at_least=0.0)
        return cls({} if prices is None else prices, running, money_a_second)

    def asking(self, agent: str) -> float:
        """Money and time; a candidate that is not already in use has to read the whole prompt again."""
        price = self.prices.get(agent)
        if not isinstance(price, Price):
            raise InvalidInput(
                "prices", expected=f"a price for {agent!r}", got="none" if price is None else show(price)
            )
        runs = None if self.running is None or self.running == agent else self.prices.get(self.running)
        lost = 0.0 if runs is None else runs.cached_money
        cost = price.money + lost + price.seconds * self.money_a_second
        if not 0.0 < cost < math.inf:
            raise InvalidInput(f"prices.{agent}", expected="something above 0, and finite", got=show(price))
        return cost
