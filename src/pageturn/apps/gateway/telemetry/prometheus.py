"""Counts for Prometheus, at `/metrics`. Labels are few: endpoints, models (the first fifty), upstreams, statuses."""

from collections import OrderedDict
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from pageturn.apps.gateway.headers import Headers
from pageturn.apps.gateway.own_endpoints import OwnAnswer
from pageturn.apps.gateway.telemetry.bounded import Bounded
from pageturn.apps.gateway.telemetry.facts import ClientRequest, ModelCall
from pageturn.values.usage import Usage
from pageturn.values.vendors import profile_of

PATH = "/metrics"
_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)
_SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 1.0)
_MOST_PROMPTS = 10_000
_CACHED_FROM = 2_048  # tokens: of a shorter prompt, providers may cache nothing
_SECOND = 1_000_000_000


class _Last(NamedTuple):
    """The last call of a session to one model."""

    ended: float
    tokens: int


class Prometheus:
    """An observer that counts, and the endpoint that shows it."""

    def __init__(self, starts: int) -> None:
        self._registry = CollectorRegistry()
        self._models, self._agents, self._tenants = Bounded(), Bounded(), Bounded()
        self._prompts: OrderedDict[tuple[str | None, ...], _Last] = OrderedDict()
        started = self._counter("starts", "Gateways that were started on this store, with this one.")
        started.inc(starts)
        self._requests = self._counter("requests", "Requests of clients.", "endpoint", "status", "ending", "tenant")
        self._calls = self._counter("model_calls", "Calls of models.", "upstream", "model", "status")
        self._tokens = self._counter("tokens", "Tokens, as providers counted them.", "model", "kind")
        self._folds = self._counter("folds", "Requests with which old steps were shortened.", "model")
        self._modes = self._counter("passages", "Requests by what was sent, as in x-pageturn.", "mode")
        self._choices = self._counter("decisions", "Calls by the candidate that was chosen.", "agent")
        self._broken = self._counter(
            "cache_broken",
            "Calls that read less than half of what the call before had, while the provider should still have kept it.",
            "model",
        )
        self._seconds = self._histogram("model_call_seconds", "Duration of calls.", _SECONDS, "model")
        self._first = self._histogram("first_byte_seconds", "Time to the first byte.", _SECONDS, "model")
        self._read = self._histogram(
            "cache_read_ratio",
            "Share of the input read from the cache, after a session's first call.",
            _SHARES,
            "model",
        )

    def model_call(self, call: ModelCall) -> None:
        """Count a call."""
        model = self._models.of(call.model)
        self._calls.labels(self._agents.of(call.address), model, call.error or str(call.status)).inc()
        self._seconds.labels(model).observe(call.seconds)
        if call.first_byte_seconds is not None:
            self._first.labels(model).observe(call.first_byte_seconds)
        if call.is_folded:
            self._folds.labels(model).inc()
        if call.agent is not None:
            self._choices.labels(self._agents.of(call.agent)).inc()
        if (usage := call.usage) is not None:
            kinds = {
                "input": usage.input_tokens,
                "output": usage.output_tokens,
                "cache_read": usage.cache_read_tokens,
                "cache_write": usage.cache_write_tokens,
            }
            for kind, tokens in kinds.items():
                self._tokens.labels(model, kind).inc(tokens)
            self._note_cache(call, usage, model)

    def client_request(self, request: ClientRequest) -> None:
        """Count a request."""
        status = str(request.status) if request.status is not None else "none"
        tenant = self._tenants.of(request.tenant or "")
        self._requests.labels(request.endpoint, status, request.ending, tenant).inc()
        self._modes.labels(self._agents.of(request.note.get("mode", ""))).inc()

    def close(self) -> None:
        """Nothing waits."""

    async def __call__(self, _headers: Headers, _body: bytes) -> OwnAnswer:
        """The counts, as Prometheus reads them."""
        return OwnAnswer(200, generate_latest(self._registry), CONTENT_TYPE_LATEST.encode())

    def _note_cache(self, call: ModelCall, usage: Usage, model: str) -> None:
        """A session whose prompt is no longer found in the cache costs ten times as much, and nothing else shows it."""
        prompt = (call.tenant, call.session, call.address, call.model)  # each model has a cache of its own
        before = self._prompts.pop(prompt, None)
        began = call.began / _SECOND
        self._prompts[prompt] = _Last(began + call.seconds, usage.input_tokens)
        if len(self._prompts) > _MOST_PROMPTS:
            self._prompts.popitem(last=False)
        if before is None or usage.input_tokens == 0:
            return
        self._read.labels(model).observe(usage.cache_read_tokens / usage.input_tokens)
        is_kept = profile_of(call.model).billing.is_warm_after(began - before.ended)
        is_warm = is_kept and before.tokens >= _CACHED_FROM
        if is_warm and not call.is_folded and usage.cache_read_tokens < before.tokens / 2:
            self._broken.labels(model).inc()

    def _counter(self, name: str, description: str, *labels: str) -> Counter:
        return Counter(f"pageturn_{name}", description, labels, registry=self._registry)

    def _histogram(self, name: str, description: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        return Histogram(f"pageturn_{name}", description, labels, buckets=buckets, registry=self._registry)
