"""Keeps, in a sidecar of the store, where in its sessions each known history ends.

A history is named by the chain of its fingerprints. A *place* is a session and the entry up to which it is that history: a request
with the same history continues there, and one with a different continuation is a fork there. Places survive a restart, and several
gateways can share them.
"""

from collections.abc import Mapping, Sequence

from pageturn.stores import Sidecars, Slot
from pageturn.values.json import Closed, from_json, to_json

SIDECAR = "gateway/places"
_MOST_FORMS = 64  # of the same words
_MOST_PLACES = 8  # of one history: sessions that have it in common


class Place(Closed):
    """A session, and the number of the last entry of a history in it."""

    session: str
    seq: int


class _Places(Closed):
    places: tuple[Place, ...]


class End(Closed, omit_defaults=True):
    """The end of a session: the link of its history, the digest of its instructions, and how many pages it has."""

    link: str = ""
    opening: str = ""
    pages: int = 0
    is_asked: bool = False  # a request was sent, and its reply has not been written yet


class Terms(Closed, omit_defaults=True):
    """The settings fixed when a session began, so that another configuration or a restart does not change them."""

    mode: str
    room: int
    tool: str | None = None  # the name of the recall tool, where the session has it
    hidden: bool = False  # it has rounds that its client does not know, or lacks text that was erased


class Places:
    """What is known of histories in one scope of a store."""

    def __init__(self, store: Sidecars, scope: str | None = None) -> None:
        self._store = store
        self._name = SIDECAR if scope is None else f"{SIDECAR}/{scope}"  # so no history of another scope is found

    def at(self, link: str) -> tuple[Place, ...]:
        """The places of a history."""
        body = self._store.document(Slot(self._name, f"link/{link}"))
        return from_json(_Places, body).places if body is not None else ()

    def link_after(self, answer: str) -> str | None:
        """The history that ends in the answer of that id."""
        body = self._store.document(Slot(self._name, f"answer/{answer}"))
        return body.decode() if body is not None else None

    def end(self, session: str) -> End:
        """The end of a session."""
        body = self._store.document(Slot(self._name, f"end/{session}"))
        return from_json(End, body) if body is not None else End()

    def terms(self, session: str) -> Terms | None:
        """What was agreed for a session."""
        body = self._store.document(Slot(self._name, f"terms/{session}"))
        return from_json(Terms, body) if body is not None else None

    def compacted(self, name: str) -> str | None:
        """The session of a client that asked for a summary of it and has not gone on yet."""
        body = self._store.document(Slot(self._name, f"compacted/{name}"))
        return body.decode() if body else None

    def origin(self, session: str) -> str | None:
        """The session that a client compacted before it went on with this one."""
        body = self._store.document(Slot(self._name, f"origin/{session}"))
        return body.decode() if body is not None else None

    def note_origin(self, session: str, origin: str) -> None:
        """Keep which session a client compacted into another."""
        slot = Slot(self._name, f"origin/{session}")
        self._store.amend([slot], lambda _: {slot: origin.encode()})

    def forms(self, words: str) -> tuple[str, ...]:
        """The digests under which the same words of a person were kept, each time with other text of a client next to them."""
        body = self._store.document(Slot(self._name, f"words/{words}"))
        return tuple(body.decode().split()) if body else ()

    def note_form(self, words: str, digest: str) -> None:
        """Keep one of them."""
        slot = Slot(self._name, f"words/{words}")

        def change(found: Mapping[Slot, bytes | None]) -> dict[Slot, bytes | None]:
            before = (found.get(slot) or b"").decode().split()
            return {slot: " ".join(dict.fromkeys([*before[-_MOST_FORMS + 1 :], digest])).encode()}

        self._store.amend([slot], change)

    def note_terms(self, session: str, terms: Terms) -> None:
        """Keep what was agreed."""
        slot = Slot(self._name, f"terms/{session}")
        self._store.amend([slot], lambda _: {slot: to_json(terms)})

    def note_compacted(self, name: str, session: str | None) -> None:
        """Keep that a client compacts a session, or that it went on."""
        slot = Slot(self._name, f"compacted/{name}")
        self._store.amend([slot], lambda _: {slot: (session or "").encode()})

    def note(self, session: str, end: End, links: Sequence[tuple[str, int]], answer: str | None = None) -> None:
        """Keep the end of a session, and the places of what was added to it."""
        seqs = {Slot(self._name, f"link/{link}"): seq for link, seq in links}
        others = {Slot(self._name, f"end/{session}"): to_json(end)}
        if answer is not None:
            others[Slot(self._name, f"answer/{answer}")] = end.link.encode()

        def change(found: Mapping[Slot, bytes | None]) -> dict[Slot, bytes | None]:
            changed: dict[Slot, bytes | None] = dict(others)
            for slot, seq in seqs.items():
                before = from_json(_Places, body).places if (body := found.get(slot)) is not None else ()
                kept = [each for each in before if each.session != session][-_MOST_PLACES + 1 :]
                changed[slot] = to_json(_Places((*kept, Place(session, seq))))
            return changed

        self._store.amend([*seqs], change)
