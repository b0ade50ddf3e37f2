"""Lowering: a program's notes to the model, for vendors that take no instructions in the middle of a conversation.

There they are the user's, so they say in tags whose words they are (`pageturn.reminders`), and a recorded request that has
these tags is known as a program's (`pageturn.formats.openings`).
"""

import msgspec

from pageturn.messages import Message, Text
from pageturn.reminders import is_note, reminder


def lowered(message: Message) -> Message:
    """The message as the user may say it: a note in tags, anything else as it is."""
    if not is_note(message):
        return message
    text = message.text
    shown = reminder(text)
    return message if shown == text else msgspec.structs.replace(message, content=(Text(text=shown),))
