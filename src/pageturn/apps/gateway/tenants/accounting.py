"""Charges what calls took to the key that asked. An observer: it runs in the thread of telemetry.

What was set aside for a request stays charged until its calls are known, so that whatever is lost on the way counts in full.
"""

from collections import OrderedDict
from collections.abc import Mapping
from typing import NamedTuple

from pageturn.apps.gateway.routes.settings import RoutedModel
from pageturn.apps.gateway.telemetry.facts import UNREACHABLE, ClientRequest, ModelCall
from pageturn.apps.gateway.tenants.spending import Spending
from pageturn.stores import FullStore, open_store
from pageturn.values.errors import UnknownPrice
from pageturn.values.model_prices import ModelPrice, price_of

_ERRORS = 400
_MOST_OPEN = 100_000


class _Known(NamedTuple):
    """What is known of the calls of one request."""

    calls: int = 0
    dollars: float = 0.0


class Accounting:
    """The observer."""

    def __init__(self, url: str, models: Mapping[str, RoutedModel]) -> None:
        self._url = url
        self._prices: dict[str, ModelPrice | None] = {
            candidate.agent: candidate.price for model in models.values() for candidate in model.candidates
        }
        self._store: FullStore | None = None
        self._known: OrderedDict[str, _Known] = OrderedDict()  # of requests that are not over

    def model_call(self, call: ModelCall) -> None:
        """Add what a call took."""
        if call.grant is None:
            return
        dollars = self._dollars(call, call.grant.reserved)
        before = self._known.get(call.request_id, _Known())
        self._known[call.request_id] = _Known(before.calls + 1, before.dollars + dollars)
        while len(self._known) > _MOST_OPEN:
            self._known.popitem(last=False)

    def client_request(self, request: ClientRequest) -> None:
        """Put what it took in the place of what was set aside; a call that nobody told of took as much as it could."""
        grant = request.grant
        if grant is not None:
            known = self._known.pop(request.request_id, _Known())
            taken = known.dollars + max(0, request.calls - known.calls) * grant.reserved
            if self._store is None:
                self._store = open_store(self._url)
            Spending(self._store).charge(grant.key_id, grant.period, taken - grant.reserved, grant.at)

    def close(self) -> None:
        """Let go of the store."""
        if self._store is not None:
            self._store.close()

    def _dollars(self, call: ModelCall, reserved: float) -> float:
        """By its usage; all that was set aside where that is not final: a provider goes on for a client that left."""
        if call.error == UNREACHABLE or (call.status is not None and call.status >= _ERRORS):
            return 0.0
        price = self._price(call)
        told = price.dollars(call.usage) if price is not None and call.usage is not None else 0.0
        return told if call.is_whole and call.usage is not None else max(told, reserved)

    def _price(self, call: ModelCall) -> ModelPrice | None:
        if call.agent is not None and call.agent in self._prices:
            return self._prices[call.agent]
        try:
            return price_of(call.model)
        except UnknownPrice:
            return None
