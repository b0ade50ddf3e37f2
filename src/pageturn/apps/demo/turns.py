"""What a session tells while it is played."""

from typing import NamedTuple


class Turn(NamedTuple):
    """One answer: its number, the tokens that were sent for it, those of the whole history, and whether something was folded."""

    number: int
    sent: int
    everything: int
    folded: bool


class Event(NamedTuple):
    """Something that happened in a turn, described, and whether it went as promised."""

    number: int
    text: str
    is_kept: bool = True
