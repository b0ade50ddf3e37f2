"""Computes the cost of calling an agent, and the prompt cache lost by switching."""

import math
from collections.abc import Mapping
from typing import NamedTuple, Self

from pageturn.values.checks import require_finite, require_whole
from pageturn.values.errors import InvalidInput, show
from pageturn.values.json import Closed

VALUE_OF_SUCCESS = 1.0  # in the unit of the prices: a dollar, if they are dollars
MONEY_A_SECOND = 0.001  # the price of waiting, in the unit of the prices


class Price(Closed):
    """The price of calling a candidate: money, seconds, and the money that its prompt cache would save if it continues.

    `money` is the price without a cache. The saving is given for the whole prompt, or per token of the cached prefix; a choice says
    how many tokens that has.
    """

    money: float
    seconds: float = 0.0
    cached_money: float = 0.0
    money_a_cached_token: float = 0.0

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            require_finite(f"$.{name}", getattr(self, name), at_least=0.0)


class Costs(NamedTuple):
    """Prices by agent, the agent that is running, and the price of waiting."""

    prices: Mapping[str, Price]
    running: str | None
    money_a_second: float
    cached_tokens: int
    value: float  # of a success

    @classmethod
    def of(
        cls,
        prices: Mapping[str, Price] | None,
        running: str | None = None,
        money_a_second: float = MONEY_A_SECOND,
        cached_tokens: int = 0,
        value: float = VALUE_OF_SUCCESS,
    ) -> Self:
        """The given prices, checked."""
        if prices is not None and not isinstance(prices, Mapping):
            raise InvalidInput("prices", expected="a price for each candidate", got=show(prices))
        for agent, price in (prices or {}).items():
            if not isinstance(price, Price):
                raise InvalidInput("prices", expected=f"a price for {show(agent)}", got=show(price))
        if running is not None and not isinstance(running, str):
            raise InvalidInput("running", expected="a candidate", got=show(running))
        require_finite("money_a_second", money_a_second, at_least=0.0)
        require_whole("cached_tokens", cached_tokens)
        require_finite("value", value, at_least=0.0)
        return cls({} if prices is None else prices, running, money_a_second, cached_tokens, value)

    @property
    def cache(self) -> float:
        """The money that the prompt cache of the running agent would save."""
        price = None if self.running is None else self.prices.get(self.running)
        return 0.0 if price is None else price.cached_money + price.money_a_cached_token * self.cached_tokens

    def asking(self, agent: str) -> float:
        """Money and time; a candidate that is not already in use has to read the whole prompt again."""
        price = self.prices.get(agent)
        if not isinstance(price, Price):
            raise InvalidInput(
                "prices", expected=f"a price for {agent!r}", got="none" if price is None else show(price)
            )
        lost = 0.0 if agent == self.running else self.cache
        cost = price.money + lost + price.seconds * self.money_a_second
        if not cost < math.inf:
            raise InvalidInput(f"prices.{agent}", expected="a sum that is finite", got=show(price))
        return cost
