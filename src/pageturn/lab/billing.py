"""Billing: what the requests of a session cost at a vendor with a prompt cache, relative to fresh input.

A request is a sequence of content blocks: the parts of its messages, where a call and a result are one each. A cache does not care
which message a block is in, so adjacent messages of one role may be merged, and a message may grow at its end.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from msgspec.structs import replace

from pageturn.policies.worth import FETCHED_TOKENS
from pageturn.values.messages import Message, Part, Role
from pageturn.values.vendors import IDEAL_CACHE, Prices, Vendor

_MOST_ADDED = 64  # blocks of a message; counting what each adds takes the square of their number
CALL_TOKENS = 60  # of the call that fetches


class Sent(NamedTuple):
    """One content block of a request: its identity, so that equal ones are recognised, and its tokens."""

    content: Hashable
    tokens: int


class Block(NamedTuple):
    """The content of a block: the role and the part; None for the part of an empty message."""

    role: Role
    part: Part | None


def blocks_of(message: Message, tokens: Callable[[Message], int]) -> Iterator[tuple[Block, int]]:
    """The blocks of a message, each with what it adds to the tokens of those before it; their sum is the message's own.

    If there are very many, each is counted by itself, and the last one absorbs the difference.
    """
    parts = message.content
    if len(parts) <= 1:
        yield Block(message.role, parts[0] if parts else None), tokens(message)
        return
    if len(parts) > _MOST_ADDED:
        alone = [tokens(replace(message, content=(part,))) for part in parts[:-1]]
        counts = [*accumulate(alone, initial=0), tokens(message)]
    else:
        counts = [0, *(tokens(replace(message, content=parts[:end])) for end in range(1, len(parts))), tokens(message)]
    for part, (before, now) in zip(parts, pairwise(counts), strict=True):
        yield Block(message.role, part), now - before


def shared(request: Sequence[Sent], before: Sequence[Sent]) -> int:
    """How many blocks both requests begin with."""
    count = 0
    for ours, theirs in zip(request, before, strict=False):
        if ours.content != theirs.content:
            break
        count += 1
    return count


def cached(request: Sequence[Sent], before: Sequence[Sent], marks: Iterable[int] | None = None) -> int:
    """The tokens of the longest run of whole blocks that both requests begin with; if only marked ends are kept, up to one of those."""
    count = shared(request, before)
    if marks is not None:
        count = max((mark + 1 for mark in marks if mark < count), default=0)
    return sum(sent.tokens for sent in request[:count])


def bill(requests: Iterable[Sequence[Sent]], prices: Prices = Prices(), *, cold: Sequence[int] = ()) -> float:  # noqa: B008
    """What a session's requests cost, one after the other; before those in `cold` the cache had expired."""
    cost = 0.0
    before: Sequence[Sent] = ()
    for turn, request in enumerate(requests):
        hit = 0 if turn in cold else cached(request, before)
        cost += prices.read * hit + prices.write * (sum(sent.tokens for sent in request) - hit)
        before = request
    return cost


def floor(tokens: int, opening_tokens: int, turns: int, prices: Prices = Prices()) -> float:  # noqa: B008
    """The lower bound for a session: every token is written once, and the opening system text is read at every turn."""
    return prices.write * tokens + prices.read * opening_tokens * max(turns - 1, 0)


def refetches(pages: Iterable[int], request_tokens: int, prices: Prices = Prices()) -> float:  # noqa: B008
    """The cost at one turn of reading pages of these sizes again, each with one more call over the cached request."""
    return sum(prices.write * size + prices.read * request_tokens for size in pages)


def fetching(pages: Iterable[int], request_tokens: int, vendor: Vendor = IDEAL_CACHE) -> float:
    """The cost at one turn of one more call that fetches pages of these sizes: they are written, the request is read, the call is output."""
    brought = sum(min(size, FETCHED_TOKENS) for size in pages)
    return vendor.prices.write * brought + vendor.prices.read * request_tokens + vendor.output * CALL_TOKENS
