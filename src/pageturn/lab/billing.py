"""Billing: what the requests of a session cost at a vendor with a prompt cache, relative to fresh input."""

from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple


class Sent(NamedTuple):
    """One message of a request: what it is, so that equal ones are found again, and its tokens."""

    content: Hashable
    tokens: int


class Prices(NamedTuple):
    """Of a token that the cache has, and of one that it gets; fresh input is 1."""

    read: float = 0.1
    write: float = 1.25


def cached(request: Sequence[Sent], before: Sequence[Sent]) -> int:
    """The tokens of the longest run of whole messages that both requests begin with."""
    tokens = 0
    for ours, theirs in zip(request, before, strict=False):
        if ours != theirs:
            break
        tokens += ours.tokens
    return tokens


def bill(requests: Iterable[Sequence[Sent]], prices: Prices = Prices(), *, cold: Sequence[int] = ()) -> float:  # noqa: B008
    """What a session's requests cost, one after the other; those named in `cold` come after the cache was gone."""
    cost = 0.0
    before: Sequence[Sent] = ()
    for turn, request in enumerate(requests):
        hit = 0 if turn in cold else cached(request, before)
        cost += prices.read * hit + prices.write * (sum(sent.tokens for sent in request) - hit)
        before = request
    return cost


def floor(tokens: int, opening_tokens: int, turns: int, prices: Prices = Prices()) -> float:  # noqa: B008
    """The least that a session can cost: every token written once, and the opening system text read at every turn."""
    return prices.write * tokens + prices.read * opening_tokens * max(turns - 1, 0)


def refetches(pages: Iterable[int], request_tokens: int, prices: Prices = Prices()) -> float:  # noqa: B008
    """What it costs at one turn to read pages of these sizes again, each with one more call over the cached request."""
    return sum(prices.write * size + prices.read * request_tokens for size in pages)
