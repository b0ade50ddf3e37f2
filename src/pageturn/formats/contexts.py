"""Contexts: what `dump` is given. A derived context has messages and tools; mere messages have no tools."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pageturn.checks import require_instance, require_several
from pageturn.derivation.context import Context
from pageturn.messages import Message, require_sound
from pageturn.recall_tool import RecallTool


def messages_of(context: Context | Sequence[Message]) -> Sequence[Message]:
    """The messages, in order."""
    if isinstance(context, Context):
        return context.messages
    require_several("context", context, "a context, or messages")
    messages = tuple(context)
    for index, message in enumerate(messages):
        require_sound(message, f"context[{index}]")
    return messages


def model_of(context: Context | Sequence[Message], model: str | None) -> str | None:
    """The model that the request is for: the one that is named, else the one that a context was derived for."""
    if model is not None:
        require_instance("model", model, str)
    return model if model is not None or not isinstance(context, Context) else context.model


def tools_of(
    context: Context | Sequence[Message], declare: Callable[[RecallTool], dict[str, Any]]
) -> dict[str, list[Mapping[str, Any]]]:
    """The field with the tools, the host's as they were given and ours as the vendor has it declared; no field where there are none."""
    tools = context.tools if isinstance(context, Context) else ()
    shown = [declare(tool) if isinstance(tool, RecallTool) else tool for tool in tools]
    return {"tools": shown} if shown else {}
