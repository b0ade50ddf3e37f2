"""Renditions: what stands in a context for a unit of pages, at each level.

A unit is a call with its results, or a lone message. At full it is its messages. Compressed, each message stands in its own
place with an outline of its texts; calls keep their arguments, so that the model never sees a call that it did not make. From
structured down, a unit is one text of ours. Rules get no guessed form: without one from their author they stay full.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pageturn.identifiers import Vocabulary
from pageturn.messages import Message, user
from pageturn.pages import PageKind, ResidencyLevel
from pageturn.renditions.compressed import BUILT_IN, Compressor
from pageturn.renditions.contract import ContentType, Line, Material, Renderer, Renderers
from pageturn.renditions.fencing import fenced
from pageturn.renditions.ledger import Counted, Effect, Ledger, effects_of
from pageturn.renditions.pointers import Run, folder_of, index, missing, pointer, summed_up, summed_up_only
from pageturn.renditions.structured import Fields, Voiced, structured
from pageturn.tokens import TokenCounter

__all__ = [
    "BUILT_IN",
    "ContentType",
    "Counted",
    "Effect",
    "Fields",
    "Ledger",
    "Line",
    "Material",
    "Offer",
    "Renderer",
    "Renderers",
    "Run",
    "Voiced",
    "effects_of",
    "folder_of",
    "index",
    "lowest",
    "missing",
    "offers",
    "pointer",
    "render",
    "sizes",
    "structured",
    "summed_up",
    "summed_up_only",
]


def render(
    unit: Sequence[Voiced], level: ResidencyLevel, vocabulary: Vocabulary, renderers: Renderers = BUILT_IN
) -> tuple[Message, ...]:
    """The messages that stand for a unit."""
    match level:
        case ResidencyLevel.FULL:
            return tuple(voiced.message for voiced in unit)
        case ResidencyLevel.COMPRESSED:
            calls = {call.id: call for voiced in unit for call in voiced.message.tool_calls}
            compressor = Compressor(vocabulary, renderers)
            return tuple(compressor.message(voiced.message, calls, voiced.handle) for voiced in unit)
        case ResidencyLevel.STRUCTURED:
            return (user(fenced(structured(unit, vocabulary).text()), synthetic=True),)
        case ResidencyLevel.POINTER:
            return (user(fenced(pointer(unit)), synthetic=True),)


class Offer(NamedTuple):
    """What a unit may stand as: messages, and their tokens."""

    messages: tuple[Message, ...]
    tokens: int


def offers(
    unit: Sequence[Voiced],
    kind: PageKind,
    counter: TokenCounter,
    vocabulary: Vocabulary,
    *,
    renderers: Renderers = BUILT_IN,
    full_tokens: int | None = None,
) -> dict[ResidencyLevel, Offer]:
    """The levels that a unit may stand at: on the kind's path, and each shorter than the ones above it."""
    messages = render(unit, ResidencyLevel.FULL, vocabulary)
    tokens = full_tokens if full_tokens is not None else sum(map(counter.message, messages))
    offered = {ResidencyLevel.FULL: Offer(messages, tokens)}
    for level in () if kind.is_rule else kind.degradation_path[1:]:
        messages = render(unit, level, vocabulary, renderers)
        offer = Offer(messages, sum(map(counter.message, messages)))
        if offer.tokens < min(above.tokens for above in offered.values()):
            offered[level] = offer
    return offered


def sizes(
    unit: Sequence[Voiced], kind: PageKind, counter: TokenCounter, vocabulary: Vocabulary
) -> dict[ResidencyLevel, int]:
    """The tokens of each level that is offered."""
    return {level: offer.tokens for level, offer in offers(unit, kind, counter, vocabulary).items()}


def lowest(offered: Mapping[ResidencyLevel, int], level: ResidencyLevel) -> int:
    """The fewest tokens that a unit can take at a level or above it."""
    return min(tokens for other, tokens in offered.items() if other >= level)
