"""Decides on each request under virtual keys: who asks, for what, and whether its limits and budget have room.

What it cannot tell, it refuses.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import TypeVar

from pageturn.apps.gateway.exchange import Exchange
from pageturn.apps.gateway.headers import Headers, value_of
from pageturn.apps.gateway.items import ItemReader
from pageturn.apps.gateway.modes import Refuse
from pageturn.apps.gateway.places import Places
from pageturn.apps.gateway.routes.requests import RequestOutline, read_outline
from pageturn.apps.gateway.routes.settings import RoutedModel
from pageturn.apps.gateway.tenants.grants import Grant
from pageturn.apps.gateway.tenants.keys import Keys, VirtualKey
from pageturn.apps.gateway.tenants.most_cost import Bounded, most_dollars
from pageturn.apps.gateway.tenants.rates import Rates
from pageturn.apps.gateway.tenants.spending import Spending
from pageturn.apps.gateway.trouble import Trouble
from pageturn.stores import FullStore, open_store
from pageturn.values.errors import InvalidInput, PageturnError, StoreError, UnknownPrice
from pageturn.values.model_prices import price_of

T = TypeVar("T")

_LOG = logging.getLogger("pageturn.gateway")
_NO_MODEL = "there is no model of that name for this key"
_UNSEEN = "the answer that previous_response_id names was not found"
_LEFT_ALONE = 1.0  # seconds for which a store that failed is not asked
_TRIES, _PAUSE = 10, 0.1  # an answer is written down a moment after its client has it


class Admission:
    """Who may pass."""

    def __init__(
        self, url: str, models: Mapping[str, RoutedModel], clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._url = url
        self._models = models
        self._clock = clock
        self._rates = Rates(lambda: clock().timestamp())
        self._reader = ItemReader()
        self._store: FullStore | None = None
        self._trouble = Trouble(lambda: clock().timestamp(), _LEFT_ALONE)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="pageturn-keys")

    async def enter(self, headers: Headers) -> VirtualKey | Refuse:
        """Whose request it is, by the key in the place of a provider's."""
        plain = value_of(headers, b"x-api-key") or (value_of(headers, b"authorization") or "").partition(" ")[2]
        try:
            key = await self._in_thread(lambda: Keys(self._opened()).find(plain.strip()))
        except (PageturnError, OSError) as error:
            return _store_failed(error)
        if key is None:
            return Refuse(401, "this gateway requires a key that it issued, and does not know this one", "refused; key")
        return key

    async def admit(self, key: VirtualKey, exchange: Exchange) -> Refuse | None:
        """Whether a call may pass; it carries what it was granted then."""
        try:
            outline = read_outline(exchange, self._reader)
            unseen = await self._follows_unseen(key, outline)
        except InvalidInput as error:
            return Refuse(400, f"the request cannot be read: {error.path}", "refused; not understood")
        if not key.allows(outline.model):
            return Refuse(404, _NO_MODEL, "refused; model")
        if unseen is not None:
            return unseen
        try:
            dollars = self._most_dollars(outline)
        except InvalidInput as error:
            return Refuse(400, f"the request cannot be read: {error.path}", "refused; not understood")
        except UnknownPrice:
            if key.budget is not None:
                return Refuse(403, "this key has a budget, and the price of this model is not known", "refused; price")
            dollars = 0.0
        if (limit := self._rates.full(key, outline.tokens)) is not None:
            return Refuse(429, f"this key may have {limit}", "refused; limit")
        now = self._clock()
        try:
            is_taken = await self._in_thread(lambda: Spending(self._opened()).reserve(key, dollars, now))
        except (PageturnError, OSError) as error:
            return _store_failed(error)
        if not is_taken:
            reason = f"the budget of this key ({key.budget:g} dollars, {key.period}) has no room for this request"
            return Refuse(402, reason, "refused; budget")
        exchange.tenant = key.scope
        exchange.grant = Grant(key.id, key.scope, key.period, dollars, now)
        return None

    def close(self) -> None:
        """Let go of the store."""
        self._thread.submit(self._closed)
        self._thread.shutdown()

    async def _follows_unseen(self, key: VirtualKey, outline: RequestOutline) -> Refuse | None:
        """Whether a request goes on with something at the provider that this scope has not seen: it may be somebody else's."""
        id_ = outline.field("previous_response_id")
        if outline.field("conversation") is not None:
            return Refuse(
                400, "conversations stored by the provider cannot be used with keys of this gateway", "refused; kept"
            )
        if id_ is None:
            return None
        for _ in range(_TRIES):
            try:
                found = await self._in_thread(lambda: Places(self._opened(), key.scope).link_after(str(id_)))
            except (PageturnError, OSError) as error:
                return _store_failed(error)
            if found is not None:
                return None
            await asyncio.sleep(_PAUSE)
        _LOG.warning("denied: key %s asked for an answer that its scope has not seen", key.id)
        return Refuse(404, _UNSEEN, "refused; not found")

    def _most_dollars(self, outline: RequestOutline) -> float:
        """What a request may cost at most."""
        routed = self._models.get(outline.model)
        if routed is None:
            return most_dollars(outline, [Bounded(outline.model, price_of(outline.model))])
        bounds = ((each.model, each.price, each.limits.window) for each in routed.candidates)
        return most_dollars(
            outline, [Bounded(model, price, window) for model, price, window in bounds if price is not None]
        )

    def _opened(self) -> FullStore:
        if self._store is None:
            self._store = open_store(self._url)
        return self._store

    def _closed(self) -> None:
        if self._store is not None:
            self._store.close()

    async def _in_thread(self, act: Callable[[], T]) -> T:
        return await asyncio.wrap_future(self._thread.submit(self._tried, act))

    def _tried(self, act: Callable[[], T]) -> T:
        """Ask the store, unless it failed a moment ago: whoever waits here would wait for all before him."""
        if self._trouble.is_fresh:
            raise StoreError("it failed a moment ago")
        try:
            done = act()
        except (PageturnError, OSError):
            self._trouble.note()
            raise
        self._trouble.over()
        return done


def _store_failed(error: Exception) -> Refuse:
    _LOG.warning("keys cannot be looked up (%s)", type(error).__name__)
    return Refuse(503, "keys cannot be looked up now", "refused; store")
