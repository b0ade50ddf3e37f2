"""The gateway's own endpoints as an OpenAPI document: `python -m tools.openapi` writes `docs/openapi.json`.

Calls of models and every other path are the providers', and not in it.
"""

import json
from pathlib import Path
from typing import Any

import msgspec

from pageturn.apps.gateway.headers import TOKEN
from pageturn.apps.gateway.proxy import HEALTH
from pageturn.apps.gateway.readiness import PATH as READY
from pageturn.apps.gateway.routes.outcomes import PATH as OUTCOMES
from pageturn.apps.gateway.routes.outcomes import Report
from pageturn.apps.gateway.telemetry.prometheus import PATH as METRICS

FILE = Path(__file__).parents[1] / "docs" / "openapi.json"
_STRING, _TRUTH = {"type": "string"}, {"type": "boolean"}
_WHOLE = {"type": "integer", "minimum": 0}


def document() -> dict[str, Any]:
    """The document."""
    (report,), components = msgspec.json.schema_components([Report], ref_template="#/components/schemas/{name}")
    return {
        "openapi": "3.1.0",
        "info": {"title": "Pageturn gateway", "version": "1", "description": "What the gateway answers itself."},
        "paths": {
            HEALTH: {
                "get": _operation("health", "Whether the process runs; with the token, what it has done.", {"200": _health()}, is_open=True)
            },
            READY: {
                "get": _operation(
                    "ready",
                    "Whether it takes requests.",
                    {"200": _object("It does.", status=_STRING), "503": _object("It does not.", status=_STRING, reason=_STRING)},
                    is_open=True,
                )
            },
            METRICS: {
                "get": _operation("metrics", "Counts for Prometheus.", {"200": {"description": "Text.", "content": {"text/plain": {"schema": _STRING}}}})
            },
            OUTCOMES: {
                "post": {
                    **_operation(
                        "outcomes",
                        "Report how an answer did.",
                        {
                            "200": _object("Whether it changed anything.", counted=_TRUTH),
                            **{status: _error(why) for status, why in _REFUSED.items()},
                        },
                    ),
                    "requestBody": {"required": True, "content": {"application/json": {"schema": report}}},
                }
            },
        },
        "components": {
            "schemas": components,
            "securitySchemes": {
                "token": {"type": "apiKey", "in": "header", "name": TOKEN.decode()},
                "bearer": {"type": "http", "scheme": "bearer", "description": "the token, or at /outcomes a key of the gateway"},
            },
        },
    }  # fmt: skip


_REFUSED = {
    "400": "It cannot be read.",
    "404": "There is no such decision.",
    "503": "The store failed.",
}


def _operation(name: str, summary: str, responses: dict[str, Any], *, is_open: bool = False) -> dict[str, Any]:
    refused = {"413": _error("The body is too large.")} if is_open else {"401": _error("No token."), "413": _error("The body is too large.")}  # fmt: skip
    return {
        "operationId": name,
        "summary": summary,
        "security": [{}, {"token": []}, {"bearer": []}],
        "responses": {**responses, **refused},
    }


def _health() -> dict[str, Any]:
    counts = {"starts": _WHOLE, "turns": _WHOLE, "sessions": _WHOLE}
    found = _object("It does.", status=_STRING, **counts, passed={"type": "object", "additionalProperties": _WHOLE})
    found["content"]["application/json"]["schema"]["required"] = ["status"]
    return found


def _error(why: str) -> dict[str, Any]:
    error = {"type": "object", "properties": {"message": _STRING, "type": _STRING}, "required": ["message", "type"]}
    return _object(why, error=error)


def _object(why: str, **fields: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": fields, "required": sorted(fields)}
    return {"description": why, "content": {"application/json": {"schema": schema}}}


if __name__ == "__main__":
    FILE.write_text(json.dumps(document(), indent=2) + "\n")
