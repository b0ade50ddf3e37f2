"""Projections: what a client sees of an answer that took several rounds, because the model recalled something in between.

There is one for each format. The client gets one well-formed answer: the text of all rounds, its own calls, the reasoning of the last
round, and nothing of the recall tool. What the model really said is in the journal, and is sent upstream from there.
"""

from types import ModuleType

from pageturn.apps.gateway.projections.anthropic import AnthropicProjection
from pageturn.apps.gateway.projections.openai_chat import ChatProjection
from pageturn.apps.gateway.projections.openai_responses import ResponsesProjection
from pageturn.apps.gateway.projections.projection import Projection
from pageturn.formats import anthropic, openai_chat, openai_responses

_OF_FORMATS: dict[ModuleType, type[Projection]] = {
    anthropic: AnthropicProjection,
    openai_chat: ChatProjection,
    openai_responses: ResponsesProjection,
}


def projection_for(format_: ModuleType, tool: str) -> Projection:
    """The projection of one answer, in which the tool of that name is ours."""
    return _OF_FORMATS[format_](format_, tool)


__all__ = ["Projection", "projection_for"]
