"""Puts a program's notes to the model into tags that say whose words they are.

Some vendors accept no instructions in the middle of a conversation. There a note has the role user, so its tags say who wrote it.
The tags are charged whether a vendor needs them or not: a context must fit whichever vendor it is sent to.
"""

import re

import msgspec

from pageturn.values.messages import Message, Role, Text, Visibility

_BEGIN, _END = "<system-reminder>", "</system-reminder>"
_TAG = re.compile(r"<(/?system-reminder)\b", re.IGNORECASE)


def is_note(message: Message) -> bool:
    """Whether a program said it to the model alone."""
    is_instruction = message.role in (Role.SYSTEM, Role.DEVELOPER)
    return is_instruction and message.synthetic and message.visibility is Visibility.INTERNAL


def tagged(text: str) -> str:
    """A text in the tags, unchanged."""
    return f"{_BEGIN}{text}{_END}"


def reminder(text: str) -> str:
    """A text in the tags, with look-alikes inside escaped; a text that already has the tags stays unchanged."""
    if text.startswith(_BEGIN) and text.endswith(_END) and len(_TAG.findall(text)) == 2:
        return text
    return tagged(_TAG.sub(r"<\\\1", text))


def lowered(message: Message) -> Message:
    """The message in a form that the user role may have: a note in tags, anything else unchanged."""
    if not is_note(message):
        return message
    shown = reminder(message.text)
    return message if shown == message.text else msgspec.structs.replace(message, content=(Text(text=shown),))
