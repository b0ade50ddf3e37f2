"""Writes logs as JSON, a line for each request of a client and each call of a model.

A line has facts alone: no header, no body. What looks like a key in one of them is masked.
"""

import logging
import sys
from collections.abc import Mapping, MutableMapping
from typing import Any, TextIO

import structlog
from structlog.stdlib import ProcessorFormatter
from structlog.typing import Processor

from pageturn.apps.gateway.telemetry.facts import ClientRequest, ModelCall
from pageturn.values.masking import masked

_LOGGER = "pageturn"
_LONGEST = 1_000  # characters of a value


class Logs:
    """An observer that writes lines, and takes in what the gateway itself has to say."""

    def __init__(self, stream: TextIO | None = None) -> None:
        before: list[Processor] = [
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper("iso", utc=True),
            _safe,
        ]
        out = stream if stream is not None else sys.stderr
        self._log = structlog.wrap_logger(
            structlog.PrintLogger(out), processors=[*before, structlog.processors.JSONRenderer()]
        )
        self._handler = logging.StreamHandler(out)
        self._handler.setFormatter(
            ProcessorFormatter(
                foreign_pre_chain=before,
                processors=[ProcessorFormatter.remove_processors_meta, structlog.processors.JSONRenderer()],
            )
        )
        self._logger = logging.getLogger(_LOGGER)
        self._propagated = self._logger.propagate
        self._logger.addHandler(self._handler)
        self._logger.propagate = False  # or each of its lines would be there twice

    def model_call(self, call: ModelCall) -> None:
        """A line for a call."""
        usage = call.usage
        self._log.info(
            "model call",
            request_id=call.request_id,
            upstream=call.address,
            model=call.model,
            asked_model=call.asked_model,
            session=call.session,
            status=call.status,
            error=call.error,
            seconds=round(call.seconds, 3),
            first_byte_seconds=round(call.first_byte_seconds, 3) if call.first_byte_seconds is not None else None,
            input_tokens=usage.input_tokens if usage is not None else None,
            output_tokens=usage.output_tokens if usage is not None else None,
            cache_read_tokens=usage.cache_read_tokens if usage is not None else None,
            budget_tokens=call.budget_tokens,
            faults=dict(call.faults) or None,
            decision=call.decision,
            agent=call.agent,
            tenant=call.tenant,
            **_named(call.note),
        )

    def client_request(self, request: ClientRequest) -> None:
        """A line for a request."""
        self._log.info(
            "request",
            request_id=request.request_id,
            endpoint=request.endpoint,
            status=request.status,
            ending=request.ending,
            rounds=request.rounds,
            seconds=round(request.seconds, 3),
            request_bytes=request.request_bytes,
            answer_bytes=request.answer_bytes,
            decision=request.decision,
            tenant=request.tenant,
            **_named(request.note),
        )

    def close(self) -> None:
        """Let go of the gateway's logger."""
        self._logger.removeHandler(self._handler)
        self._logger.propagate = self._propagated


def _named(note: Mapping[str, str]) -> dict[str, str]:
    return {f"note_{name}" if name != "mode" else "mode": value for name, value in note.items()}


def _safe(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Without what is not known, with masks, and nothing endless."""
    for name in [name for name, value in event.items() if value is None]:
        del event[name]
    for name, value in event.items():
        if isinstance(value, str):
            event[name] = masked(value[:_LONGEST])
    return event
