"""Charges what calls took to the key that asked. An observer: it runs in the thread of telemetry.

What was set aside for a request stays charged until its calls are known, so that whatever is lost on the way counts in full.
"""

from collections import OrderedDict
from collections.abc import Mapping

from pageturn.apps.gateway.routes.settings import RoutedModel
from pageturn.apps.gateway.telemetry.facts import ClientRequest, ModelCall
from pageturn.apps.gateway.tenants.spending import Spending
from pageturn.stores import FullStore, open_store
from pageturn.values.errors import UnknownPrice
from pageturn.values.model_prices import ModelPrice, price_of

_ERRORS = 400
_MOST_OPEN = 100_000


class Accounting:
    """The observer."""

    def __init__(self, url: str, models: Mapping[str, RoutedModel]) -> None:
        self._url = url
        self._prices: dict[str, ModelPrice | None] = {
            candidate.agent: candidate.price for model in models.values() for candidate in model.candidates
        }
        self._store: FullStore | None = None
        self._taken: OrderedDict[str, float] = OrderedDict()  # dollars of requests that are not over

    def model_call(self, call: ModelCall) -> None:
        """Add what a call took: by its usage, or all that was set aside where an answer has none."""
        if call.grant is None:
            return
        dollars = 0.0
        if call.usage is not None:
            price = self._price(call)
            dollars = price.dollars(call.usage) if price is not None else 0.0
        elif call.status is not None and call.status < _ERRORS:
            dollars = call.grant.reserved
        self._taken[call.request_id] = self._taken.get(call.request_id, 0.0) + dollars
        while len(self._taken) > _MOST_OPEN:
            self._taken.popitem(last=False)

    def client_request(self, request: ClientRequest) -> None:
        """Put what it took in the place of what was set aside."""
        grant = request.grant
        if grant is not None:
            taken = self._taken.pop(request.request_id, 0.0)
            if self._store is None:
                self._store = open_store(self._url)
            Spending(self._store).charge(grant.key_id, grant.period, taken - grant.reserved, grant.at)

    def close(self) -> None:
        """Let go of the store."""
        if self._store is not None:
            self._store.close()

    def _price(self, call: ModelCall) -> ModelPrice | None:
        if call.agent is not None and call.agent in self._prices:
            return self._prices[call.agent]
        try:
            return price_of(call.model)
        except UnknownPrice:
            return None
