"""Billing: what the requests of a session cost at a vendor with a prompt cache, relative to fresh input.

A request is a row of content blocks: the parts of its messages, where a call and a result are one each. Which message a block is in does
not matter to a cache, so neighbours of one role may as well be one message, and a message may grow at its end.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from msgspec.structs import replace

from pageturn.policies.worth import FETCHED_TOKENS
from pageturn.values.messages import Message, Part, Role
from pageturn.values.vendors import IDEAL_CACHE, Prices, Vendor

_MOST_ADDED = 64  # blocks of a message; to count what each adds takes the square of their number
CALL_TOKENS = 60  # of the call that fetches


class Sent(NamedTuple):
    """One content block of a request: what it is, so that equal ones are found again, and its tokens."""

    content: Hashable
    tokens: int


class Block(NamedTuple):
    """What a content block is: who says it, and the part; none in a message without any."""

    role: Role
    part: Part | None


def blocks_of(message: Message, tokens: Callable[[Message], int]) -> Iterator[tuple[Block, int]]:
    """The blocks of a message, each with what it adds to the tokens of those before it; they sum up to the message's own.

    Of very many, each is counted by itself, and the last makes up for what that says too much or too little.
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
    """The tokens of the longest run of whole blocks that both requests begin with; where only marked ends were kept, up to one."""
    count = shared(request, before)
    if marks is not None:
        count = max((mark + 1 for mark in marks if mark < count), default=0)
    return sum(sent.tokens for sent in request[:count])


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


def fetching(pages: Iterable[int], request_tokens: int, vendor: Vendor = IDEAL_CACHE) -> float:
    """What one more call costs that brings back, at one turn, pages of these sizes: they are written, the request is read, the call is output."""
    brought = sum(min(size, FETCHED_TOKENS) for size in pages)
    return vendor.prices.write * brought + vendor.prices.read * request_tokens + vendor.output * CALL_TOKENS
