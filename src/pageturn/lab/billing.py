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
    lookback_blocks: int | None = None  # how far before a mark the end of an earlier request is found
    least_tokens: int = 0  # shorter prefixes are not kept
    step_tokens: int = 1  # in which prefixes are kept

    def kept(self, tokens: int) -> int:
        """The tokens of a prefix that are read from the cache, where the request before had it, too."""
        return tokens // self.step_tokens * self.step_tokens if tokens >= self.least_tokens else 0


STUDY = Vendor("study")  # as policies are compared: any prefix, for ever
# The least is 512 to 4,096 for some models.
_ANTHROPIC = Vendor("", output=5.0, breakpoints=4, lookback_blocks=20, least_tokens=1_024)
VENDORS = {
    vendor.name: vendor
    for vendor in (
        STUDY,
        _ANTHROPIC._replace(name="anthropic-5m", prices=Prices(0.1, 1.25), ttl_seconds=300),
        _ANTHROPIC._replace(name="anthropic-1h", prices=Prices(0.1, 2.0), ttl_seconds=3_600),
        Vendor("openai", Prices(0.1, 1.0), output=8.0, ttl_seconds=300, least_tokens=1_024, step_tokens=128),
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
