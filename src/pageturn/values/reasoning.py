"""Removes a model's reasoning after a change to the prompt before it.

Vendors check returned reasoning against the prompt it was made on, or sign it for one model. So it stays as long as everything before
it does: a change removes all reasoning after it, never a single block.
"""

import msgspec

from pageturn.values.messages import Message, Thinking


def has_reasoning(message: Message) -> bool:
    """Whether a message has reasoning that could be sent back."""
    return any(isinstance(part, Thinking) for part in message.content)


def without_reasoning(message: Message) -> Message | None:
    """The message without its reasoning; None if nothing is left."""
    left = tuple(part for part in message.content if not isinstance(part, Thinking))
    return msgspec.structs.replace(message, content=left) if left else None
