"""Knows which conversations were shortened: their clients do not have all of them, so that what they send must not simply pass."""

from collections import OrderedDict

from pageturn.apps.gateway.headers import Headers
from pageturn.apps.gateway.identity import identity_of
from pageturn.apps.gateway.model_request import ModelRequest
from pageturn.apps.gateway.sessions import Sessions
from pageturn.values.errors import PageturnError

_MOST = 4_096  # histories that are remembered, for when the store fails


class Shortened:
    """What the store says of it, and what is remembered in case the store says nothing."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._links: OrderedDict[str, None] = OrderedDict()

    def remember(self, link: str) -> None:
        """Note a history."""
        self._links[link] = None
        if len(self._links) > _MOST:
            self._links.popitem(last=False)

    def forget(self) -> None:
        """Forget all that is not in the store."""
        self._links.clear()

    def has(self, request: ModelRequest) -> bool:
        """Whether a request goes on with such a history, as far as can still be read."""
        if any(link in self._links for link in self._sessions.links(request)):
            return True
        try:
            place = self._sessions.locate(request).place
            return place is not None and self._sessions.is_held(place.session)
        except (PageturnError, OSError):
            return False

    def has_name(self, headers: Headers) -> bool:
        """Whether a client's own name for its conversation is that of such a one."""
        identity = identity_of(headers)
        try:
            found = self._sessions.named(identity.name) if identity is not None else ()
            return any(map(self._sessions.is_held, found))
        except (PageturnError, OSError):
            return False
