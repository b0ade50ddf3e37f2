"""Finds the task: the messages in which the agent was last asked to do something.

A list of words cannot tell whether "retry the one that works" is a task or encouragement. So a person's last message always counts
as the task, and if it is not definite, the last definite one counts as well.
"""

from collections.abc import Iterable

from pageturn.values.identifiers import names_in
from pageturn.values.messages import Message, Text
from pageturn.values.pages import Page

_LONG = 80  # characters; a message that only says to go on is shorter


def is_definite(message: Message) -> bool:
    """Whether a person's message surely says what to do: it is long, names something, or has a picture or a file."""
    if any(not isinstance(part, Text) for part in message.content):
        return True
    words = message.own_words.strip()
    return len(words) >= _LONG or bool(names_in(words))


def tasks_of(newest_first: Iterable[tuple[Page, Message]]) -> frozenset[int]:
    """The pages that hold the task: a person's last message, and the last definite one if that is another."""
    last: int | None = None
    longest: tuple[int, int] | None = None
    for page, message in newest_first:
        if last is None:
            last = page.seq
        if is_definite(message):
            return frozenset((last, page.seq))
        size = len(message.own_words)
        if longest is None or size > longest[0]:
            longest = (size, page.seq)
    return frozenset((last, longest[1])) if last is not None and longest is not None else frozenset()
