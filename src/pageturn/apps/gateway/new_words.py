"""Derives the context of a request so that the model sees a person's newest words in full, once, whatever the room.

A room is a limit for what the model has seen. New words that do not fit it get the model's whole window instead.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from pageturn.apps.gateway.model_request import ModelRequest
from pageturn.apps.gateway.places import Terms
from pageturn.journal.reader import SessionReader
from pageturn.session import Session
from pageturn.tokens.windows import DEFAULT_MODEL, input_capacity, window_of
from pageturn.values.context import Context
from pageturn.values.messages import Role, Text
from pageturn.values.pages import Page, ResidencyLevel


class NewWords(StrEnum):
    """How a context shows the newest words of a person, and what `x-pageturn` says of it."""

    FIT = ""
    BEYOND = "over=new words"  # in full, since the context may be larger than the room
    CUT = "new words=cut"  # not in full, with any room


class Derivation(NamedTuple):
    """A context, and how it shows the newest words of a person."""

    context: Context
    words: NewWords

    @property
    def is_whole(self) -> bool:
        """Whether it says all that was said, so that the client's own words will do."""
        return all(each.line is None and each.level is ResidencyLevel.FULL for each in self.context.folded)


def derivation_for(session: Session, request: ModelRequest, terms: Terms) -> Derivation:
    """What the next call gets: within the room, or within the model's window where that alone shows the newest words."""
    for room, way in ((terms.room, NewWords.FIT), (capacity_for(request), NewWords.BEYOND)):
        derivation = Derivation(session.derive(request.tools, model=request.model, room_tokens=room), way)
        if derivation.is_whole or _shows(derivation.context, _newest_words(session.reader, terms.tool)):
            return derivation
    return derivation._replace(words=NewWords.CUT)


def capacity_for(request: ModelRequest) -> int:
    """The most tokens of a prompt for the model of a request."""
    return input_capacity(window_of(request.model or DEFAULT_MODEL))


def _newest_words(reader: SessionReader, tool: str | None) -> tuple[str, ...]:
    """What people said since the last answer that a client got; rounds that only call the recall tool are hidden from it."""
    found: list[str] = []
    for page in reversed(reader.pages(uncounted=True)):
        if not page.counts:
            continue
        if page.role is Role.ASSISTANT and not _only_recalls(page, tool):
            break
        message = reader.message(page) if page.role is Role.USER and not page.synthetic else None
        parts = message.content if message is not None else ()
        found += [part.text for part in parts if isinstance(part, Text) and not part.synthetic]
    return tuple(found)


def _only_recalls(page: Page, tool: str | None) -> bool:
    return bool(page.calls) and all(call.name == tool for call in page.calls)


def _shows(context: Context, words: Sequence[str]) -> bool:
    """Whether all of these words are in a context."""
    if not words:
        return True
    told = (part for message in context.messages if message.role is Role.USER for part in message.content)
    shown = [part.text for part in told if isinstance(part, Text)]
    return all(any(each in text for text in shown) for each in words)
