"""Reports to OpenTelemetry a span and measurements for each call of a model, sent by OTLP over HTTP.

Names are those of the GenAI semantic conventions (open-telemetry/semantic-conventions-genai, in development, read in November 2026); what
they have no name for begins with `pageturn.`.
"""

from importlib.metadata import version
from typing import Any

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from pageturn.apps.gateway.telemetry.bounded import Bounded
from pageturn.apps.gateway.telemetry.facts import ClientRequest, ModelCall

_NAME = "pageturn.gateway"
_OPERATION = "chat"
_SECOND = 1_000_000_000
_SECONDS = [0.01 * 2**power for power in range(14)]
_TOKENS = [4.0**power for power in range(14)]
_PATIENCE = 3  # seconds with a collector that does not answer; what it did not take is lost


class OpenTelemetry:
    """An observer that sends to a collector. Further settings, such as headers, are those of the standard `OTEL_` variables."""

    def __init__(self, endpoint: str) -> None:
        base = endpoint.rstrip("/")
        resource = Resource.create({"service.name": "pageturn-gateway", "service.version": version("pageturn")})
        self._spans = TracerProvider(resource=resource)
        self._spans.add_span_processor(
            BatchSpanProcessor(OTLPSpanExporter(endpoint=f"{base}/v1/traces", timeout=_PATIENCE))
        )
        reader = PeriodicExportingMetricReader(OTLPMetricExporter(endpoint=f"{base}/v1/metrics", timeout=_PATIENCE))
        self._meters = MeterProvider(metric_readers=[reader], resource=resource)
        self._tracer = self._spans.get_tracer(_NAME)
        meter = self._meters.get_meter(_NAME)
        client = "gen_ai.client.inference"
        self._duration = meter.create_histogram(
            f"{client}.duration", "s", "Duration of a call of a model.", explicit_bucket_boundaries_advisory=_SECONDS
        )
        self._first_chunk = meter.create_histogram(
            f"{client}.time_to_first_chunk",
            "s",
            "Time to the first chunk.",
            explicit_bucket_boundaries_advisory=_SECONDS,
        )
        self._counters = {
            name: meter.create_counter(f"{client}.usage.{name}", "{token}", f"What the provider counted as {name}.")
            for name in ("input_tokens", "output_tokens", "cache_read.input_tokens", "cache_write.input_tokens")
        }
        self._inputs = meter.create_histogram(
            f"{client}.operation.input_tokens",
            "{token}",
            "Input of a call.",
            explicit_bucket_boundaries_advisory=_TOKENS,
        )
        self._folds = meter.create_counter("pageturn.folds", "{fold}", "Requests with which old steps were shortened.")
        self._models = Bounded()

    def model_call(self, call: ModelCall) -> None:
        """A span that began and ended when the call did, and its measurements."""
        context = TraceContextTextMapPropagator().extract({"traceparent": call.parent}) if call.parent else None
        span = self._tracer.start_span(
            f"{_OPERATION} {call.model}".strip(),
            context=context,
            kind=SpanKind.CLIENT,
            attributes=_attributes(call),
            start_time=call.began,
        )
        if call.is_folded:
            counts = {name: int(call.note[name]) for name in ("in", "sent") if call.note.get(name, "").isdecimal()}
            span.add_event("pageturn.fold", {f"pageturn.{name}": value for name, value in counts.items()}, call.began)
        if call.error is not None:
            span.set_status(Status(StatusCode.ERROR))
        span.end(call.began + int(call.seconds * _SECOND))
        self._measure(call)

    def client_request(self, request: ClientRequest) -> None:
        """Nothing: each call of a request has a span of its own."""

    def close(self) -> None:
        """Send what waits, for some seconds at most."""
        self._spans.shutdown()
        self._meters.shutdown(timeout_millis=1_000 * _PATIENCE)

    def _measure(self, call: ModelCall) -> None:
        labels: dict[str, str | int] = {
            "gen_ai.operation.name": _OPERATION,
            "gen_ai.provider.name": call.provider,
            "gen_ai.request.model": self._models.of(call.model),
            "server.address": call.address,
            "server.port": call.port,
        }
        self._duration.record(call.seconds, {**labels, **({"error.type": call.error} if call.error else {})})
        if call.is_stream and call.first_byte_seconds is not None:
            self._first_chunk.record(call.first_byte_seconds, labels)
        if call.is_folded:
            self._folds.add(1, {"gen_ai.request.model": labels["gen_ai.request.model"]})
        if (usage := call.usage) is not None:
            counted = {**labels, "gen_ai.token.modality": "unknown"}
            self._counters["input_tokens"].add(usage.input_tokens, counted)
            self._counters["output_tokens"].add(usage.output_tokens, counted)
            self._counters["cache_read.input_tokens"].add(usage.cache_read_tokens, counted)
            self._counters["cache_write.input_tokens"].add(usage.cache_write_tokens, counted)
            self._inputs.record(usage.input_tokens, labels)


def _attributes(call: ModelCall) -> dict[str, Any]:
    usage = call.usage
    attributes: dict[str, Any] = {
        "gen_ai.operation.name": _OPERATION,
        "gen_ai.provider.name": call.provider,
        "gen_ai.request.model": call.model,
        "gen_ai.request.stream": call.is_stream,
        "gen_ai.response.model": call.answered_model,
        "gen_ai.response.time_to_first_chunk": call.first_byte_seconds if call.is_stream else None,
        "gen_ai.conversation.id": call.conversation,
        "gen_ai.conversation.compacted": True if call.is_derived else None,
        "server.address": call.address,
        "server.port": call.port,
        "error.type": call.error,
        "http.response.status_code": call.status,
        "pageturn.request_id": call.request_id,
        "pageturn.mode": call.note.get("mode"),
        "pageturn.tokens.whole": _number(call.note.get("in")),
        "pageturn.tokens.sent": _number(call.note.get("sent")),
        "pageturn.tokens.budget": call.budget_tokens,
        "pageturn.unsure": call.note.get("reason"),
        **{f"pageturn.faults.{code}": count for code, count in call.faults.items()},
        "pageturn.fold": call.is_folded if call.is_derived else None,
        "pageturn.asked_model": call.asked_model,
        "pageturn.decision.id": call.decision,
        "pageturn.decision.why": call.why,
        "pageturn.tenant": call.tenant,
    }
    if usage is not None:
        attributes |= {
            "gen_ai.usage.input_tokens": usage.input_tokens,
            "gen_ai.usage.output_tokens": usage.output_tokens,
            "gen_ai.usage.cache_read.input_tokens": usage.cache_read_tokens,
            "gen_ai.usage.cache_write.input_tokens": usage.cache_write_tokens,
        }
    return {name: value for name, value in attributes.items() if value is not None}


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None
