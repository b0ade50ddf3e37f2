"""Lowering: a program's notes for vendors that take no instructions in the middle of a conversation.

The tags are those of `pageturn.reminders`, and a recorded request that has them is known as a program's (`pageturn.formats.openings`).
"""

from pageturn.reminders import lowered

__all__ = ["lowered"]
