"""Defines the gateway's own endpoints: what answers at a path instead of a provider."""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from pageturn.apps.gateway.headers import Headers

MOST_BYTES = 64 * 1024  # of a body


class OwnAnswer(NamedTuple):
    """What one of our own endpoints answers."""

    status: int
    body: bytes
    content_type: bytes = b"application/json"

    @classmethod
    def json(cls, status: int, value: Mapping[str, Any]) -> "OwnAnswer":
        """An object."""
        return cls(status, json.dumps(value).encode())

    @classmethod
    def error(cls, status: int, message: str) -> "OwnAnswer":
        """An error, in the form that most clients know."""
        return cls.json(status, {"error": {"message": message, "type": "invalid_request_error"}})


OwnEndpoint = Callable[[Headers, bytes], Awaitable[OwnAnswer]]
OwnEndpoints = Mapping[tuple[str, str], OwnEndpoint]  # by method and path
