"""Routes each request to one of several summarizers by the outcomes of earlier choices.

Everything happens in the worker's thread: each text is checked against the pages as the quality check will do, so that the router
learns at once, and another summarizer may try if one failed. Sessions that share a summarizer, as forks do, take turns with its
router; no other code may use that router at the same time.
"""

from collections.abc import Sequence
from contextlib import suppress
from threading import Lock
from typing import NamedTuple, Protocol, runtime_checkable

from pageturn.routing import Decision
from pageturn.routing.skills import COMPACTION, require_name
from pageturn.values.checks import require_instance
from pageturn.values.errors import InvalidInput, StoreError, SummaryFailed, show
from pageturn.values.messages import Message
from pageturn.writeback.summaries.contract import Summarizer, SummaryRequest, require_summarizer
from pageturn.writeback.summaries.cutting import cut


@runtime_checkable
class Chooser(Protocol):
    """What this module needs of a router."""

    def choose(self, candidates: Sequence[str], skill: str, *, messages: Sequence[Message] | None = None) -> Decision:
        """Pick one of the candidates."""
        ...

    def choose_router_target(self, decision: Decision, error: object) -> Decision | None:
        """Record an error by its kind, and choose another candidate, if any."""
        ...

    def observe(self, decision: Decision, outcome: object) -> bool:
        """Record the outcome of a decision."""
        ...


class RoutedSummarizer:
    """Lets a router choose the summarizer."""

    def __init__(self, summarizers: Sequence[Summarizer], router: Chooser) -> None:
        if not isinstance(summarizers, list | tuple) or not summarizers:
            raise InvalidInput("summarizers", expected="at least one, in an order", got=show(summarizers))
        for summarizer in summarizers:
            require_summarizer(summarizer)
            require_name("summarizer.name", summarizer.name)
        if isinstance(router, type):  # a class has the methods of its instances
            raise InvalidInput("router", expected="a Router", got=f"the class {router.__name__}")
        require_instance("router", router, Chooser)
        self._by_name = {summarizer.name: summarizer for summarizer in summarizers}
        if len(self._by_name) < len(summarizers):
            raise InvalidInput("summarizers", expected="a name for each", got=", ".join(s.name for s in summarizers))
        self._router = router
        self._lock = Lock()  # one worker at a time uses the router

    @property
    def name(self) -> str:
        """The name of the summarizer; it depends on the names of its summarizers."""
        return f"one of {', '.join(self._by_name)}"

    def summarize(self, request: SummaryRequest) -> str:
        """The first text that passes the quality check, or else the last one; each summarizer is tried at most once."""
        left = dict(self._by_name)
        messages = [message for _, message in request.pages]
        with self._lock:
            decision = self._router.choose(list(left), COMPACTION, messages=messages)
        while True:
            tried = _tried(_taken(decision, left), request)
            if request.stop.is_set:
                if request.stop.is_late:
                    self._observe(decision, outcome=False)
                raise SummaryFailed("stopped")
            if tried.error is None:
                self._observe(decision, outcome=True)
                return tried.text
            with self._lock:
                other = self._router.choose_router_target(decision, tried.error)
            if other is None or not left:
                break
            decision = other
        if tried.text:
            return tried.text  # writeback says what is wrong with it
        raise tried.error

    def _observe(self, decision: Decision, *, outcome: bool) -> None:
        with suppress(StoreError), self._lock:  # a lost lesson costs less than a lost summary
            self._router.observe(decision, outcome)


def _taken(decision: Decision, left: dict[str, Summarizer]) -> Summarizer:
    """The summarizer that a router chose; it is removed from those left."""
    choice = getattr(decision, "choice", None)  # the router may be the user's own
    if choice not in left:
        raise InvalidInput("router", expected=f"a choice among {', '.join(left)}", got=show(choice))
    return left.pop(choice)


class _Tried(NamedTuple):
    """The outcome of one summarizer: a text, and what is wrong with it or why there is none."""

    text: str
    error: Exception | None


def _tried(summarizer: Summarizer, request: SummaryRequest) -> _Tried:
    try:
        text = cut(summarizer.summarize(request), request.target_tokens, request.count)
        text.encode()
    except Exception as error:  # noqa: BLE001  whatever a summarizer raises, another may do better
        return _Tried("", error)
    flaw = request.flaw_of(text)
    return _Tried(text, SummaryFailed(flaw) if flaw is not None else None)
