"""Finds what is new in a request, and which session it continues, and where.

Clients send their whole history each time, and move, edit, strip or compact it as they like. The longest known beginning of it gives
the place. If a session ends there, it is continued; if the session has continued since, the request is a fork of it. So whatever a
client does, a session is exactly its history: nothing is lost, nothing is duplicated, and two histories are never mixed. It does no I/O: what
is known comes from a `Known`.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from pageturn.apps.gateway.fingerprints import chained
from pageturn.apps.gateway.places import Place
from pageturn.values.digests import digest_of


class Known(Protocol):
    """Answers which histories are known."""

    def at(self, link: str) -> Sequence[Place]:
        """The places of a history."""
        ...

    def is_end(self, place: Place, link: str) -> bool:
        """Whether a session ends with that history, so that it can go on."""
        ...


class Located(NamedTuple):
    """Where a request continues."""

    name: str | None  # that the client has for the conversation
    links: tuple[str, ...]  # the history after each number of items, by the client's name
    known: int  # items that are in the session already
    place: Place | None  # None where nothing is known of it
    is_end: bool = False  # the session ends there; or else it is forked

    @property
    def is_all_known(self) -> bool:
        """Whether nothing in it is new."""
        return self.place is not None and self.known == len(self.links) - 1


def first_link(name: str | None, opening: str, follows: str | None = None) -> str:
    """Where the chain of a history begins: at the history that it follows, at the client's name for it, or at its instructions."""
    return follows or digest_of(f"pageturn {name}".encode() if name is not None else f"pageturn: {opening}".encode())


def chain(first: str, items: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """A name for each beginning of a history: the first for nothing of it, the last for all."""
    links = [first]
    for fingerprints in items:
        links.append(chained(links[-1], fingerprints))
    return tuple(links)


def locate(name: str | None, chains: Sequence[tuple[str, ...]], known: Known, *, from_nothing: bool) -> Located:
    """Where a history continues: at its longest known beginning, by the first name under which one is known.

    `from_nothing`: the empty history counts as well, since the client's name for it is enough.
    """
    own = chains[0]
    for links in chains:
        least = 0 if from_nothing else 1
        for at in range(len(links) - 1, least - 1, -1):
            if at and links[at] == links[at - 1]:
                continue  # reasoning, which goes with what it led to
            if places := known.at(links[at]):
                ending = next((place for place in reversed(places) if known.is_end(place, links[at])), None)
                return Located(name, own, at, ending or places[-1], is_end=ending is not None and links is own)
    return Located(name, own, 0, None)
