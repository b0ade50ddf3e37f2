"""Reminders: a program's note to the model, as it stands where a vendor takes no instructions in the middle of a conversation.

There it is the user's text, in tags that say whose words it is: those of `ContextMessage.system_reminder`.
"""

import re

from pageturn.messages import Message, Role, Visibility

_BEGIN, _END = "<system-reminder>", "</system-reminder>"
_TAG = re.compile(r"<(/?system-reminder)\b", re.IGNORECASE)
_ESCAPED = r"<\\\1"


def is_note(message: Message) -> bool:
    """Whether a program said it to the model alone."""
    is_instruction = message.role in (Role.SYSTEM, Role.DEVELOPER)
    return is_instruction and message.synthetic and message.visibility is Visibility.INTERNAL


def reminder(text: str) -> str:
    """The text in its tags, with look-alikes inside escaped; a text that has them already stays as it is."""
    if text.startswith(_BEGIN) and text.endswith(_END) and len(_TAG.findall(text)) == 2:
        return text
    return f"{_BEGIN}{_TAG.sub(_ESCAPED, text)}{_END}"
