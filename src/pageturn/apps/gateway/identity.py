"""Finds the session that a request says it belongs to, by our header or by the client's own id."""

import json
import re
from typing import Any, NamedTuple

from pageturn.apps.gateway.headers import SESSION, Headers, value_of

# The headers of each client that together identify a conversation. Codex's subagents share a session id, and anyone may share a prompt
# cache key, so neither identifies one.
_OF_CLIENTS: tuple[
    tuple[str, bytes, bytes | None, bytes | None], ...
] = (  # the last: that of the conversation it branched off
    ("claude-code", b"x-claude-code-session-id", b"x-claude-code-agent-id", None),
    ("codex", b"thread-id", None, b"x-codex-parent-thread-id"),
    ("opencode", b"x-session-id", None, None),
)
_SESSION_OF_CLAUDE = re.compile(r"session_([0-9a-fA-F-]{36})$")


class Identity(NamedTuple):
    """The name of a session, whether the client's side calls may have it too, and the name of the session that it branched off."""

    name: str
    is_explicit: bool = False
    parent: str | None = None


def identity_of(headers: Headers) -> Identity | None:
    """The identity in the headers of a request; None if there is none."""
    explicit = (value_of(headers, SESSION) or "").strip()
    if explicit:
        return Identity(explicit, is_explicit=True)
    for client, session, agent, parent in _OF_CLIENTS:
        if name := value_of(headers, session):
            part = value_of(headers, agent) if agent is not None else None
            before = value_of(headers, parent) if parent is not None else None
            return Identity(
                "-".join(filter(None, (client, name, part))), parent=f"{client}-{before}" if before else None
            )
    return None


def identity_in(metadata: Any) -> Identity | None:
    """What the `metadata` of a request to Anthropic says: Claude Code has its session there, as JSON or at the end of a name."""
    user = metadata.get("user_id") if isinstance(metadata, dict) else None
    if not isinstance(user, str):
        return None
    try:
        identity = json.loads(user)
    except (ValueError, RecursionError):
        identity = None
    if isinstance(identity, dict):
        id_ = identity.get("session_id")
        return Identity(f"claude-code-{id_}") if isinstance(id_, str) and id_ else None
    found = _SESSION_OF_CLAUDE.search(user)
    return Identity(f"claude-code-{found[1]}") if found else None
