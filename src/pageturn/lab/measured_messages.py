"""Measures the messages of a replay, each once, since requests share most of their messages."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cached_property

from pageturn.lab.billing import Sent, blocks_of
from pageturn.lab.demand import lines_of
from pageturn.lab.traces import text_of
from pageturn.values.json import to_json
from pageturn.values.messages import Message


class Read:
    """A measured message; what is asked often is computed once."""

    def __init__(self, message: Message, blocks: Sequence[Sent], *, is_recorded: bool) -> None:
        self.message = message
        self.text = text_of(message)
        self.blocks = blocks
        self.tokens = sum(block.tokens for block in blocks)
        self.is_recorded = is_recorded

    @cached_property
    def lines(self) -> set[str]:
        """The lines in it."""
        return lines_of(self.message)


class Reader:
    """Measures messages; equal ones are the same object, and so are equal blocks of different ones."""

    def __init__(self, tokens: Callable[[Message], int]) -> None:
        self._tokens = tokens
        self._reads: dict[Hashable, Read] = {}
        self._blocks: dict[Hashable, int] = {}  # equal blocks have one number, which identifies them
        self._known: dict[int, tuple[Message, Read]] = {}  # by identity, which is looked up faster

    def read(self, messages: Iterable[Message], *, are_recorded: bool = False) -> list[Read]:
        """The measured messages; whether they are the session's own is given when they first occur."""
        known = self._known
        return [
            known[id(message)][1] if id(message) in known else self._new(message, is_recorded=are_recorded)
            for message in messages
        ]

    def forget(self) -> None:
        """Drop the messages themselves, though not what was measured."""
        self._known.clear()

    def _new(self, message: Message, *, is_recorded: bool) -> Read:
        value = _hashable((message.role, message.content))
        read = self._reads.get(value)
        if read is None:
            blocks = [
                Sent(self._blocks.setdefault(_hashable(block), len(self._blocks)), tokens)
                for block, tokens in blocks_of(message, self._tokens)
            ]
            read = self._reads[value] = Read(message, blocks, is_recorded=is_recorded)
        self._known[id(message)] = (message, read)  # the message is kept, so that no other object can have its identity
        return read


def _hashable(value: tuple[object, ...]) -> Hashable:
    try:
        hash(value)
    except TypeError:  # a part that holds a vendor's own item
        return to_json(value)
    return value
