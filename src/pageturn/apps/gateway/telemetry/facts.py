"""Defines what observers get: facts of requests and of calls of models. No body, no header and no key is among them."""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from pageturn.apps.gateway.tenants.grants import Grant
from pageturn.values.usage import Usage

PASSED = "passed"  # a request that went on as it came, with the reason why the gateway was unsure
UNREACHABLE = "unreachable"  # the error of a call that no upstream took


class ModelCall(NamedTuple):
    """One request to an upstream and its answer. A client's request may take several, where the model recalls in between."""

    request_id: str
    endpoint: str
    provider: str  # whose format it is
    address: str
    port: int
    asked_model: str  # as the client named it
    model: str  # that was asked
    answered_model: str | None
    conversation: str | None  # the client's name for it
    session: str  # the same, or a name made of how it begins
    is_stream: bool
    began: int  # nanoseconds since 1970
    seconds: float
    first_byte_seconds: float | None
    status: int | None  # None where there was no answer
    error: str | None
    is_whole: bool  # the answer came to its end, so that its usage is final
    usage: Usage | None
    note: Mapping[str, str]  # what the mode says of it, as in `x-pageturn`
    budget_tokens: int | None  # of a derived context
    faults: Mapping[str, int]  # of it, by code
    decision: str | None
    agent: str | None  # that was chosen
    why: str | None
    tenant: str | None
    grant: Grant | None
    parent: str | None  # the `traceparent` of the client

    @property
    def is_folded(self) -> bool:
        """Whether old steps were shortened with this request."""
        return self.note.get("fold") == "yes"

    @property
    def is_derived(self) -> bool:
        """Whether a derived history was sent."""
        return self.note.get("mode") == "managed"


class ClientRequest(NamedTuple):
    """A request of a client that asks a model, when it is over."""

    request_id: str
    endpoint: str
    status: int | None  # of the answer; None where there was none
    ending: str
    rounds: int
    calls: int  # of models that were sent, also those that nobody was told of
    seconds: float
    request_bytes: int
    answer_bytes: int
    note: Mapping[str, str]
    decision: str | None
    agent: str | None
    tenant: str | None
    grant: Grant | None


class Observer(Protocol):
    """Receives the facts. It is called from one thread; what it raises is logged, and stops no call."""

    def model_call(self, call: ModelCall) -> None:
        """A call of a model is over."""
        ...

    def client_request(self, request: ClientRequest) -> None:
        """A client's request is over."""
        ...

    def close(self) -> None:
        """Send what waits."""
        ...


def read_note(note: str) -> dict[str, str]:
    """What a mode said of a request, as in `managed; in=48211; sent=17402; fold=no`."""
    mode, *rest = note.split("; ")
    first = {"mode": mode} if mode else {}
    if mode == PASSED and rest:
        first["reason"] = "; ".join(rest)
    return {**first, **dict(each.partition("=")[::2] for each in rest if "=" in each)}
