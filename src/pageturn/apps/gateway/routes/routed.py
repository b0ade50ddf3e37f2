"""Sends calls of a routed model to the candidate that was chosen, and to the next if that one fails before it has begun to answer."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from typing import NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from pageturn.apps.gateway.decoding import UNREADABLE
from pageturn.apps.gateway.dispatch import Direct
from pageturn.apps.gateway.endpoints import ANTHROPIC, OPENAI
from pageturn.apps.gateway.exchange import Ending, Exchange
from pageturn.apps.gateway.headers import DECISION, Headers, as_header, with_changes
from pageturn.apps.gateway.modes import Refuse
from pageturn.apps.gateway.reading import Seen, read_answer
from pageturn.apps.gateway.routes.attempt import BegunAnswer, NoAnswer, UpstreamRequest, attempt
from pageturn.apps.gateway.routes.chooser import Chooser
from pageturn.apps.gateway.routes.requests import RequestOutline, read_outline, with_key, with_model
from pageturn.apps.gateway.routes.settings import Candidate, RoutedModel, RouteSettings
from pageturn.apps.gateway.upstream import Answer, Unreachable, UpstreamClient
from pageturn.formats import anthropic
from pageturn.routing import Decision
from pageturn.values.errors import InvalidInput

T = TypeVar("T")

_LOG = logging.getLogger("pageturn.gateway")
_WHOLE_ANSWER = 10.0  # times as long may the first byte of an answer take that is not streamed
_SUCCESS = range(200, 300)


class Journey(NamedTuple):
    """A call on its way."""

    routed: RoutedModel
    candidates: tuple[Candidate, ...]
    outline: RequestOutline
    tokens: int
    decision: Decision

    @property
    def candidate(self) -> Candidate:
        """The candidate that was chosen."""
        return next(each for each in self.candidates if each.agent == self.decision.choice)


class Routed:
    """The way of calls where some models are routed; others go to their vendor. `room` bounds a history that will be derived."""

    def __init__(
        self, direct: Direct, client: UpstreamClient, settings: RouteSettings, chooser: Chooser, room: int | None
    ) -> None:
        self._direct = direct
        self._client = client
        self._models = settings.models
        self._chooser = chooser
        self._room = room
        self._journeys: WeakKeyDictionary[Exchange, Journey] = WeakKeyDictionary()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="pageturn-routing")
        self._reading = ThreadPoolExecutor(1, thread_name_prefix="pageturn-answers")

    async def choose(self, exchange: Exchange) -> Refuse | None:
        """Decide who answers, and put that model into the request."""
        try:
            outline = await self._in_thread(lambda: read_outline(exchange, self._chooser.reader))
        except InvalidInput:
            return None  # the upstream will say what is wrong with it
        routed = self._models.get(outline.model)
        if routed is None:
            return None
        format_ = ANTHROPIC if exchange.endpoint.format is anthropic else OPENAI
        candidates = routed.speaking(format_)
        if not candidates:
            message = f"no candidate of {outline.model!r} speaks the format of {exchange.endpoint.path}"
            return Refuse(400, message, "refused; no candidate")
        tokens = outline.tokens
        if self._room is not None:  # what goes out is shorter than what came
            tokens -= max(0, outline.history_tokens - self._room)
        try:
            decision = await self._in_thread(lambda: self._decided(routed, candidates, outline, tokens))
        except InvalidInput as error:
            return Refuse(400, str(error), "refused; price")
        journey = Journey(routed, candidates, outline, tokens, decision)
        self._journeys[exchange] = journey
        exchange.asked_model, exchange.decision = outline.model, decision
        exchange.body = with_model(outline.body, journey.candidate.model)
        exchange.headers = with_changes(exchange.headers, ((b"content-encoding", None),))
        return None

    @asynccontextmanager
    async def ask(self, exchange: Exchange, headers: Headers, body: bytes) -> AsyncIterator[Answer]:
        """Ask who was chosen, and others until one begins to answer; where none does, the last error is the answer."""
        if exchange not in self._journeys:
            async with self._direct.ask(exchange, headers, body) as answer:
                yield answer
            return
        async with AsyncExitStack() as connection:
            yield await self._answer(exchange, headers, body, connection)

    async def over(self, exchange: Exchange) -> None:
        """Keep an answer that came whole, so that the next request can say how good it was; one that is none counts as a failure."""
        journey = self._journeys.pop(exchange, None)
        if journey is None or exchange.status not in _SUCCESS or exchange.ending not in (Ending.WHOLE, Ending.CUT):
            return
        if exchange.ending is Ending.WHOLE:  # known at once, since the next request may be here already
            self._thread.submit(self._chooser.answered, journey.outline, journey.decision, journey.tokens)
        self._reading.submit(self._judge, journey, exchange)

    async def observe(self, decision: str, outcome: object, **how: object) -> bool:
        """Count a reported outcome."""
        return await self._in_thread(lambda: self._chooser.observe(decision, outcome, **how))

    def close(self) -> None:
        """Write down what is left."""
        self._reading.shutdown()
        self._thread.submit(self._chooser.close)
        self._thread.shutdown()

    def _judge(self, journey: Journey, exchange: Exchange) -> None:
        """Tell the chooser of an answer that is none, which counts for more than what is taken from the next request."""
        if (why := broken(exchange)) is not None:
            _LOG.warning("%s failed (%s)", journey.decision.choice, why)
            self._thread.submit(self._chooser.failed, journey.decision, NoAnswer(None, (), b"", why))

    def _decided(
        self, routed: RoutedModel, candidates: tuple[Candidate, ...], outline: RequestOutline, tokens: int
    ) -> Decision:
        self._chooser.learn(outline)
        return self._chooser.choose(routed, candidates, outline, tokens)

    async def _answer(self, exchange: Exchange, headers: Headers, body: bytes, connection: AsyncExitStack) -> Answer:
        failures: list[str] = []
        answered: NoAnswer | None = None
        while True:
            journey = self._journeys[exchange]
            stack = AsyncExitStack()
            try:
                answer = await attempt(self._client, _request(journey, exchange, headers, body), stack)
            except NoAnswer as failed:
                await stack.aclose()
                exchange.calls += failed.may_cost
                failures.append(f"{journey.decision.choice}: {failed}")
                _LOG.warning("%s failed (%s)", journey.decision.choice, failed)
                answered = failed if failed.status_code is not None else answered
                if not await self._goes_on(exchange, journey, failed):
                    return _error(journey, answered, failures)
            except BaseException:
                await stack.aclose()
                raise
            else:
                connection.push_async_callback(stack.aclose)
                answer.headers = (*answer.headers, _decision(journey, failures))
                return answer

    async def _goes_on(self, exchange: Exchange, journey: Journey, failed: NoAnswer) -> bool:
        """Choose another candidate; False if none would help."""
        instead = await self._in_thread(
            lambda: self._chooser.instead(journey.decision, failed, journey.candidates, journey.tokens)
        )
        if instead is None:
            return False
        self._journeys[exchange] = journey._replace(decision=instead)
        exchange.decision = instead
        return True

    async def _in_thread(self, act: Callable[[], T]) -> T:
        return await asyncio.wrap_future(self._thread.submit(act))


def broken(exchange: Exchange) -> str | None:
    """Why an answer that began is none after all; None for one that is whole, or that is too large to look at."""
    if exchange.ending is Ending.CUT:
        return "the answer broke off"
    if exchange.is_too_large:
        return None
    try:
        is_whole = read_answer(Seen.of(exchange, None)).reply is not None
    except UNREADABLE as error:
        return f"the answer cannot be read ({type(error).__name__})"
    return None if is_whole else "the answer is not whole"


def _request(journey: Journey, exchange: Exchange, headers: Headers, body: bytes) -> UpstreamRequest:
    """The request to the candidate that was chosen."""
    candidate = journey.candidate
    patience = journey.routed.first_byte_seconds * (1.0 if journey.outline.is_stream else _WHOLE_ANSWER)
    try:
        keyed = with_key(headers, candidate.server)
    except InvalidInput as error:  # a key that is gone since
        raise NoAnswer(401, (), b"", f"no key: {error}") from error
    url = candidate.server.base.url(exchange.endpoint, exchange.query)
    return UpstreamRequest(exchange.method, url, keyed, with_model(body, candidate.model), patience)


def _error(journey: Journey, answered: NoAnswer | None, failures: list[str]) -> Answer:
    """The last error that an upstream answered; raises `Unreachable` if none answered at all."""
    if answered is None or not answered.body:
        raise Unreachable("; ".join(failures))
    assert answered.status_code is not None
    headers = (*answered.raw_headers, _decision(journey, failures))
    return BegunAnswer(200 if answered.is_stream else answered.status_code, headers, [answered.body], None, "")


def _decision(journey: Journey, failures: list[str]) -> tuple[bytes, bytes]:
    """Who was chosen and why, for the client."""
    failed = f"; failed before: {', '.join(failures)}" if failures else ""
    return (DECISION, as_header(f"{journey.decision.id}; {journey.decision.choice}; {journey.decision.why}{failed}"))
