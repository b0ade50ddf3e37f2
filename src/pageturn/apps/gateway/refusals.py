"""Writes our own errors in the form in which the vendor of an endpoint writes its errors."""

import json
from typing import Any

from pageturn.apps.gateway.endpoints import ANTHROPIC, GEMINI

_TYPES = {  # of a status, as Anthropic and OpenAI name them
    400: ("invalid_request_error", "invalid_request_error"),
    401: ("authentication_error", "invalid_request_error"),
    426: ("invalid_request_error", "invalid_request_error"),
}
_OTHERS = ("api_error", "server_error")
_OF_GOOGLE = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 426: "FAILED_PRECONDITION", 502: "UNAVAILABLE"}


def refusal(vendor: str, status: int, message: str) -> bytes:
    """The body of an error."""
    message = f"pageturn: {message}"
    of_anthropic, of_openai = _TYPES.get(status, _OTHERS)
    body: dict[str, Any]
    if vendor == ANTHROPIC:
        body = {"type": "error", "error": {"type": of_anthropic, "message": message}}
    elif vendor == GEMINI:
        body = {"error": {"code": status, "message": message, "status": _OF_GOOGLE.get(status, "INTERNAL")}}
    else:
        body = {"error": {"message": message, "type": of_openai, "param": None, "code": None}}
    return json.dumps(body).encode()
