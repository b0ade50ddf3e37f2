"""Lowering: a program's notes to the model, for vendors that take no instructions in the middle of a conversation.

There they are the user's, so they say in tags whose words they are. The tags are those of `ContextMessage.system_reminder`, and
a recorded request that has them is known as a program's (`pageturn.formats.openings`).
"""

import re

import msgspec

from pageturn.messages import Message, Role, Text, Visibility

_BEGIN, _END = "<system-reminder>", "</system-reminder>"
_TAG = re.compile(r"<(/?system-reminder)\b", re.IGNORECASE)


def lowered(message: Message) -> Message:
    """The message as the user may say it: a note in tags, anything else as it is."""
    if not _is_note(message) or _is_tagged(message.text):
        return message
    text = _TAG.sub(r"<\\\1", message.text)
    return msgspec.structs.replace(message, content=(Text(text=f"{_BEGIN}{text}{_END}"),))


def _is_note(message: Message) -> bool:
    is_instruction = message.role in (Role.SYSTEM, Role.DEVELOPER)
    return is_instruction and message.synthetic and message.visibility is Visibility.INTERNAL


def _is_tagged(text: str) -> bool:
    return text.startswith(_BEGIN) and text.endswith(_END) and len(_TAG.findall(text)) == 2
