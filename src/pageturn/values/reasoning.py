"""Reasoning: what must become of a model's thinking when the prompt before it changes.

Vendors check reasoning that comes back against the prompt that it was made on, or sign it for that model only. So it stays exactly as
long as everything before it does: a change takes out all reasoning behind it, never one block alone.
"""

import msgspec

from pageturn.values.messages import Message, Thinking


def has_reasoning(message: Message) -> bool:
    """Whether a message has reasoning that could be sent back."""
    return any(isinstance(part, Thinking) for part in message.content)


def without_reasoning(message: Message) -> Message | None:
    """The message without its reasoning; None where nothing is left."""
    left = tuple(part for part in message.content if not isinstance(part, Thinking))
    return msgspec.structs.replace(message, content=left) if left else None
