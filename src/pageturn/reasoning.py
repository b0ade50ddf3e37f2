"""Reasoning: what must become of a model's thinking when the prompt before it changes.

Vendors check reasoning that comes back against the prompt that it was made on, or sign it for that model only. So it stays exactly as
long as everything before it does: a change takes out all reasoning behind it, never one block alone.
"""

import re
from enum import StrEnum

import msgspec

from pageturn.messages import Message, Thinking


class ReasoningRule(StrEnum):
    """What a model wants of the reasoning behind a change."""

    NONE_BEHIND_A_CHANGE = "none behind a change"
    OPEN_LOOP_STAYS = "open loop stays"  # a call without its reasoning is refused while its results are new


# The first pattern that occurs in the model's name wins. Claude before 5.5 does not check the prefix, but asks for the thinking of the tool
# loop that it is in, and so does DeepSeek; the others refuse, or drop, what stands behind a change.
_RULES = (
    (r"fable|mythos|(?:opus|sonnet|haiku)-5[.-]5|5[.-]5-(?:opus|sonnet|haiku)", ReasoningRule.NONE_BEHIND_A_CHANGE),
    (r"claude|deepseek", ReasoningRule.OPEN_LOOP_STAYS),
)


def reasoning_rule(model: str) -> ReasoningRule:
    """The rule of a model, by its name."""
    name = model.lower()
    return next((rule for pattern, rule in _RULES if re.search(pattern, name)), ReasoningRule.NONE_BEHIND_A_CHANGE)


def has_reasoning(message: Message) -> bool:
    """Whether a message has reasoning that could be sent back."""
    return any(isinstance(part, Thinking) for part in message.content)


def without_reasoning(message: Message) -> Message | None:
    """The message without its reasoning; None where nothing is left."""
    left = tuple(part for part in message.content if not isinstance(part, Thinking))
    return msgspec.structs.replace(message, content=left) if left else None
