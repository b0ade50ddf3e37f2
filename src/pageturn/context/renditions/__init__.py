"""Renders a unit of pages at each level.

A unit is a call with its results, or a single message. At full it is its messages. Compressed, each message keeps its place, with an
outline of its texts; calls keep their arguments, so that the model never sees a call that it did not make. At structured and below, a
unit is one generated text. Rules get no generated form: without one from their author they stay full.
"""

from collections.abc import Sequence

from pageturn.context.renditions.compressed import BUILT_IN, Compressor
from pageturn.context.renditions.contract import ContentType, Line, Material, Renderer, Renderers
from pageturn.context.renditions.ledger import Counted, Effect, Ledger, effects_of
from pageturn.context.renditions.pointers import Run, folder_of, index, missing, pointer, summed_up, summed_up_only
from pageturn.context.renditions.structured import Fields, PageMessage, structured
from pageturn.values.fencing import fenced
from pageturn.values.identifiers import Vocabulary
from pageturn.values.messages import Message, user
from pageturn.values.pages import ResidencyLevel

__all__ = [
    "BUILT_IN",
    "ContentType",
    "Counted",
    "Effect",
    "Fields",
    "Ledger",
    "Line",
    "Material",
    "PageMessage",
    "Renderer",
    "Renderers",
    "Run",
    "effects_of",
    "folder_of",
    "index",
    "missing",
    "pointer",
    "render",
    "structured",
    "summed_up",
    "summed_up_only",
]


def render(
    unit: Sequence[PageMessage], level: ResidencyLevel, vocabulary: Vocabulary, renderers: Renderers = BUILT_IN
) -> tuple[Message, ...]:
    """The messages that represent a unit."""
    match level:
        case ResidencyLevel.FULL:
            return tuple(page.message for page in unit)
        case ResidencyLevel.COMPRESSED:
            calls = {call.id: call for page in unit for call in page.message.tool_calls}
            compressor = Compressor(vocabulary, renderers)
            return tuple(compressor.message(page.message, calls, page.handle) for page in unit)
        case ResidencyLevel.STRUCTURED:
            return (user(fenced(structured(unit, vocabulary).text()), synthetic=True),)
        case ResidencyLevel.POINTER:
            return (user(fenced(pointer(unit)), synthetic=True),)
