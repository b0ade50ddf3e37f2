"""The task: what the agent was last asked to do.

Nobody can tell by a list of words whether "retry the one that works" is a task or mere encouragement. So a person's last message always
counts as the task, and where it may well be only talk, the last one that says something definite counts as well.
"""

from collections.abc import Iterable

from pageturn.identifiers import names_in
from pageturn.messages import Message, Text
from pageturn.pages import Page

_LONG = 80  # characters; who only wants the agent to go on does not write so much


def is_definite(message: Message) -> bool:
    """Whether a person's message surely says what to do: it is long, names something, or brings a picture or a file."""
    if any(not isinstance(part, Text) for part in message.content):
        return True
    words = message.own_words.strip()
    return len(words) >= _LONG or bool(names_in(words))


def tasks_of(newest_first: Iterable[tuple[Page, Message]]) -> frozenset[int]:
    """The pages that hold the task: the last that a person said, and the last definite one where that is another."""
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
