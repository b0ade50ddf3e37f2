"""Virtual keys: what clients send in the place of a provider's key. The store has their digests, never the keys."""

import secrets
from datetime import UTC, datetime
from hashlib import sha256

import msgspec

from pageturn.stores import Sidecars, Slot
from pageturn.values.checks import require_finite, require_text, require_whole
from pageturn.values.errors import InvalidInput, show
from pageturn.values.json import Closed, Instant, from_json, to_json

PREFIX = "pgt-"
PERIODS = ("day", "month", "total")
_SIDECAR = "gateway/keys"
_BYTES = 32  # of chance: so many that a digest without salt is enough
_ID = 8


class VirtualKey(Closed, omit_defaults=True):
    """What a key allows."""

    id: str
    scope: str  # of its sessions and of what is learned of models
    created_at: Instant
    name: str = ""
    budget: float | None = None  # dollars
    period: str = "month"  # of the budget
    requests_a_minute: int | None = None
    tokens_a_minute: int | None = None
    models: tuple[str, ...] = ()  # as clients name them; none of them: all
    retention_days: int | None = None
    revoked_at: Instant | None = None

    def __post_init__(self) -> None:
        require_text("scope", self.scope)
        if self.budget is not None:
            require_finite("budget", self.budget, at_least=0.0)
        for name in ("requests_a_minute", "tokens_a_minute", "retention_days"):
            if getattr(self, name) is not None:
                require_whole(name, getattr(self, name))
        if self.period not in PERIODS:
            raise InvalidInput("period", expected=f"one of {', '.join(PERIODS)}", got=show(self.period))

    def allows(self, model: str) -> bool:
        """Whether a model may be asked."""
        return not self.models or model in self.models


class Keys:
    """The keys of a store."""

    def __init__(self, store: Sidecars) -> None:
        self._store = store

    def create(self, scope: str, **allowed: object) -> tuple[str, VirtualKey]:
        """A new key, which is shown only this once, and what is stored of it."""
        plain = PREFIX + secrets.token_urlsafe(_BYTES)
        fields = {"id": _digest(plain)[:_ID], "scope": scope, "created_at": Instant.of(datetime.now(UTC)), **allowed}
        key = VirtualKey(**fields)  # type: ignore[arg-type]  # which checks them
        self._put(_digest(plain), key)
        return plain, key

    def find(self, plain: str) -> VirtualKey | None:
        """What a key allows; None for one that was never given out, or that was revoked."""
        if not plain.startswith(PREFIX):
            return None
        body = self._store.document(Slot(_SIDECAR, _digest(plain)))
        key = from_json(VirtualKey, body) if body is not None else None
        return key if key is not None and key.revoked_at is None else None

    def all(self) -> list[VirtualKey]:
        """Every key, the oldest first."""
        documents = self._store.sidecar(_SIDECAR).documents.values()
        return sorted((from_json(VirtualKey, each.body) for each in documents), key=lambda each: each.created_at)

    def revoke(self, id_: str) -> VirtualKey:
        """Take a key back, at once."""
        for digest, document in self._store.sidecar(_SIDECAR).documents.items():
            key = from_json(VirtualKey, document.body)
            if key.id == id_:
                revoked = msgspec.structs.replace(key, revoked_at=key.revoked_at or Instant.of(datetime.now(UTC)))
                self._put(digest, revoked)
                return revoked
        raise InvalidInput("ID", expected="one that `pageturn keys list` shows", got=show(id_))

    def _put(self, digest: str, key: VirtualKey) -> None:
        slot = Slot(_SIDECAR, digest)
        self._store.amend([slot], lambda _: {slot: to_json(key)})


def _digest(plain: str) -> str:
    return sha256(plain.encode()).hexdigest()
