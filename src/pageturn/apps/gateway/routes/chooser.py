"""Asks the router who answers, and reports the outcome to it. One thread owns it, since it reads and writes a store.

Where the store fails, choices are made by what this process has seen itself. A store that is locked keeps clients waiting for a moment once,
and is then left alone for a while.
"""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, TypeVar

from pageturn.apps.gateway.items import ItemReader
from pageturn.apps.gateway.routes.requests import RequestOutline
from pageturn.apps.gateway.routes.settings import Candidate, RoutedModel
from pageturn.apps.gateway.trouble import Trouble, impatient
from pageturn.routing import Decision, Price
from pageturn.routing.router import Router
from pageturn.routing.skills import MODEL_CALL
from pageturn.stores import MemorySidecars, Sidecars
from pageturn.values.errors import InvalidInput, StoreError
from pageturn.values.vendors import profile_of

T = TypeVar("T")

_LOG = logging.getLogger("pageturn.gateway")
_USUAL_OUTPUT = 1_000  # tokens that an answer is expected to have
_MOST_CONVERSATIONS = 10_000
_MTOK = 1_000_000


class Turn(NamedTuple):
    """The last answer of a conversation: what it was decided by, and what the request was that it answered."""

    decision: Decision
    items: int
    last: tuple[str, ...]  # the fingerprints of its last item
    tokens: int


class Chooser:
    """A router for the models of one gateway, in one scope of a store."""

    def __init__(
        self,
        store: str | Sidecars | None,
        scope: str | None,
        models: Sequence[RoutedModel],
        half_life: timedelta | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store, self._scope = impatient(store) if isinstance(store, str) else store, scope
        self._half_life = half_life
        self._trouble = Trouble(clock)
        self._models = models
        self._router: Router | None = None
        self._beside = Router()  # for when the store fails
        self._reader = ItemReader()
        self._turns: OrderedDict[str, Turn] = OrderedDict()

    @property
    def reader(self) -> ItemReader:
        """What items say, for all requests."""
        return self._reader

    def choose(
        self, routed: RoutedModel, candidates: Sequence[Candidate], outline: RequestOutline, tokens: int
    ) -> Decision:
        """Who answers a request; raises `InvalidInput` where all cost more than may be spent."""
        before = self._turns.get(outline.session)
        is_warm = before is not None and _is_warm(before.decision, datetime.now(UTC))
        running, cached = (before.decision.choice, before.tokens) if before is not None and is_warm else (None, 0)

        def chosen(router: Router) -> Decision:
            return router.choose(
                [each.agent for each in candidates],
                MODEL_CALL,
                messages=outline.newest(),
                prices=prices_of(candidates, tokens),
                value=routed.value,
                running=running,
                cached_tokens=min(cached, tokens),
                most_money=routed.most_money,
                least_success=routed.least_success,
                tokens=tokens,
                limits={each.agent: each.limits for each in candidates},
            )

        return self._with_store(chosen)

    def instead(
        self, decision: Decision, error: Exception, candidates: Sequence[Candidate], tokens: int
    ) -> Decision | None:
        """Who answers after an error; None if no other candidate would do better."""

        def chosen(router: Router) -> Decision | None:
            return router.choose_router_target(
                decision,
                error,
                [each.agent for each in candidates],
                prices=prices_of(candidates, tokens),
                limits={each.agent: each.limits for each in candidates},
                tokens=tokens,
            )

        return self._with_store(chosen)

    def answered(self, outline: RequestOutline, decision: Decision, tokens: int) -> None:
        """Note that a conversation has an answer; its next request shows what the answer was worth."""
        last = self._last(outline, len(outline.items))
        self._turns.pop(outline.session, None)
        self._turns[outline.session] = Turn(decision, len(outline.items), last, tokens)
        if len(self._turns) > _MOST_CONVERSATIONS:
            self._settle(self._turns.popitem(last=False)[1].decision, outcome=True)
        self._with_store(lambda router: router.flush())

    def failed(self, decision: Decision, error: Exception) -> None:
        """Count an answer that had begun and was none."""
        self._settle(decision, error, is_weak=False)

    def learn(self, outline: RequestOutline) -> None:
        """Take from a request how the answer before it did: failed tools, or the same request again, speak against it."""
        turn = self._turns.get(outline.session)
        if turn is None or len(outline.items) < turn.items or self._last(outline, turn.items) != turn.last:
            return
        if len(outline.items) == turn.items:
            self._settle(turn.decision, outcome=False)
            return
        new = outline.since(turn.items)
        self._settle(turn.decision, outcome=new if any(each.tool_results for each in new) else True)

    def observe(self, decision: str, outcome: object, **how: object) -> bool:
        """Count a reported outcome; raises `InvalidInput` for an unknown decision, and `StoreError`."""
        router = self._opened()
        self._catch_up(router)  # it may be of a decision that was made while the store failed
        return router.observe(decision, outcome, **how)  # type: ignore[arg-type]  # which checks them

    def close(self) -> None:
        """Count what was left open as answered, and close the store."""
        while self._turns:
            self._settle(self._turns.popitem()[1].decision, outcome=True)
        if self._router is not None:
            try:
                self._catch_up(self._router)
                self._router.close()
            except StoreError as error:
                _LOG.warning("routing decisions were not stored (%s)", type(error).__name__)

    def _settle(self, decision: Decision, outcome: object, *, is_weak: bool = True) -> None:
        try:
            self._with_store(lambda router: router.observe(decision, outcome, is_weak=is_weak))
        except ValueError:  # somebody reported another outcome meanwhile, which is the stronger one
            return

    def _last(self, outline: RequestOutline, count: int) -> tuple[str, ...]:
        try:
            return self._reader.read(outline.format, outline.items[count - 1 : count])[0].fingerprints if count else ()
        except InvalidInput:
            return ()

    def _with_store(self, act: Callable[[Router], T]) -> T:
        if not self._trouble.is_fresh:
            try:
                router = self._opened()
                self._catch_up(router)
                done = act(router)
            except (StoreError, OSError) as error:
                self._trouble.note()
                _LOG.warning("routing goes on without the store (%s)", type(error).__name__)
            else:
                self._trouble.over()
                return done
        return act(self._beside)

    def _catch_up(self, router: Router) -> None:
        """Store what was decided and learned while the store failed."""
        if not self._trouble.is_known:
            return
        for _, entry in self._beside.beliefs.log():
            if entry.is_settled:
                with suppress(InvalidInput):  # another outcome was reported meanwhile
                    router.beliefs.observe(entry.decision, entry.outcome)
        router.beliefs.keep(self._beside.pending)
        self._beside = Router()
        self._trouble.over()

    def _opened(self) -> Router:
        if self._router is None:
            store = self._store if self._store is not None else MemorySidecars()
            self._router = Router.open(store, self._scope, half_life=self._half_life)
            for model in self._models:
                self._router.declare(model.declared)
        return self._router


def _is_warm(decision: Decision, now: datetime) -> bool:
    """Whether the chosen model still has the prompt of that request in its provider's cache."""
    seconds = (now - decision.at).total_seconds()
    return profile_of(decision.choice.partition("/")[2]).billing.is_warm_after(seconds)


def prices_of(candidates: Sequence[Candidate], tokens: int) -> dict[str, Price]:
    """What a prompt of so many tokens costs with each."""
    found = {}
    for each in candidates:
        price = each.price
        if price is None:
            found[each.agent] = Price(0.0)
        else:
            money = price.of_input(tokens) + price.output * _USUAL_OUTPUT / _MTOK
            saved = max(0.0, price.input - price.cached_read) / _MTOK
            found[each.agent] = Price(money, money_a_cached_token=saved)
    return found
