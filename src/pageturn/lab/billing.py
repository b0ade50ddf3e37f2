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


class Vendor(NamedTuple):
    """How a vendor bills and remembers."""

    name: str
    prices: Prices = Prices()
    output: float = 5.0  # of a token that the model writes
    ttl_seconds: float | None = None  # how long a prompt is remembered after its last use; for ever without it
    breakpoints: int | None = None  # how many ends of a prefix a request may mark; any prefix is found without it


STUDY = Vendor("study")  # as policies are compared: any prefix, for ever
VENDORS = {
    vendor.name: vendor
    for vendor in (
        STUDY,
        Vendor("anthropic-5m", Prices(0.1, 1.25), output=5.0, ttl_seconds=300, breakpoints=4),
        Vendor("anthropic-1h", Prices(0.1, 2.0), output=5.0, ttl_seconds=3_600, breakpoints=4),
        Vendor("openai", Prices(0.1, 1.0), output=8.0, ttl_seconds=300),
        Vendor("no-cache", Prices(1.0, 1.0), output=5.0),
    )
}


def cached(request: Sequence[Sent], before: Sequence[Sent], marks: Iterable[int] | None = None) -> int:
    """The tokens of the longest run of whole messages that both requests begin with; where only marked ends were kept, up to one."""
    shared = 0
    for ours, theirs in zip(request, before, strict=False):
        if ours != theirs:
            break
        shared += 1
    if marks is not None:
        shared = max((mark + 1 for mark in marks if mark < shared), default=0)
    return sum(sent.tokens for sent in request[:shared])


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
