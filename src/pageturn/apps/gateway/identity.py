"""Identity: which session a request says that it belongs to, by a header of ours or by the client's own id."""

from typing import NamedTuple

from pageturn.apps.gateway.headers import SESSION, Headers, value_of

# The headers of each client that together name a conversation. A session id of Codex's is shared by its subagents, and a prompt cache
# key by whoever likes to, so neither is one.
_OF_CLIENTS: tuple[tuple[str, bytes, bytes | None], ...] = (
    ("claude-code", b"x-claude-code-session-id", b"x-claude-code-agent-id"),
    ("codex", b"thread-id", None),
    ("opencode", b"x-session-id", None),
)


class Identity(NamedTuple):
    """The name of a session, and whether the client's side calls may have it too."""

    name: str
    is_explicit: bool = False


def identity_of(headers: Headers) -> Identity | None:
    """What the headers of a request say, None where they say nothing."""
    explicit = (value_of(headers, SESSION) or "").strip()
    if explicit:
        return Identity(explicit, is_explicit=True)
    for client, session, agent in _OF_CLIENTS:
        if name := value_of(headers, session):
            part = value_of(headers, agent) if agent is not None else None
            return Identity("-".join(filter(None, (client, name, part))))
    return None
