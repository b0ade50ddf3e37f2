"""What calls cost at list prices, where they are known."""

from collections.abc import Iterable
from functools import lru_cache

from pageturn.values.errors import UnknownPrice
from pageturn.values.model_prices import ModelPrice, price_of
from pageturn.values.usage import Usage


@lru_cache(maxsize=256)
def price_for(model: str) -> ModelPrice | None:
    """The list price of a model; None if it is not known."""
    try:
        return price_of(model)
    except UnknownPrice:
        return None


def dollars_of(usages: Iterable[Usage], model: str) -> float | None:
    """What calls cost at list prices, each of the model that its provider named; None where one has no known price."""
    total = 0.0
    for usage in usages:
        price = price_for(usage.model or model)
        if price is None:
            return None
        total += price.dollars(usage)
    return total
