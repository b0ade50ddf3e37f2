"""Watch: the mode that changes nothing, and writes down what it saw.

What is seen goes through a bounded queue to one thread, which reads and stores it. Whatever happens there, the traffic goes on; what
could not be taken, read or stored is counted.
"""

import logging
import threading
from collections import Counter, deque
from typing import NamedTuple

from pageturn.apps.gateway.exchange import Ending, Exchange
from pageturn.apps.gateway.identity import identity_of
from pageturn.apps.gateway.journaling import Journaling, Recorded
from pageturn.apps.gateway.modes import Pass
from pageturn.apps.gateway.reading import Seen
from pageturn.values.errors import InvalidInput
from pageturn.values.usage import Usage

_LOG = logging.getLogger("pageturn.gateway")
_WATCHING = Pass("watching")
_MOST_WAITING = 64 * 1024 * 1024  # bytes of exchanges that wait to be written
_SUCCESS = range(200, 300)


class Tally(NamedTuple):
    """What a gateway has seen so far."""

    turns: int
    sessions: frozenset[str]
    usage: Usage
    passed: Counter[str]  # what is in no session, by the reason


class Watch:
    """Passes everything, and keeps a journal of it."""

    def __init__(self, journaling: Journaling) -> None:
        self._recorder = Recorder(journaling)

    async def before(self, exchange: Exchange) -> Pass:  # noqa: ARG002 - the port says so
        """As the client wrote it."""
        return _WATCHING

    def on_chunk(self, exchange: Exchange, chunk: bytes) -> bytes:  # noqa: ARG002
        """As the upstream wrote it."""
        return chunk

    async def after(self, exchange: Exchange) -> None:
        """Hand what passed to the thread that writes it down."""
        if exchange.status is None:
            self._recorder.pass_over(f"{exchange.ending} before an answer")
        elif exchange.status not in _SUCCESS:
            self._recorder.pass_over(f"status {exchange.status}")
        elif exchange.is_too_large:
            self._recorder.pass_over("too large")
        else:
            self._recorder.offer(Seen.of(exchange, identity_of(exchange.headers)))

    def tally(self) -> Tally:
        """What was written so far; after `close`, all of it."""
        return self._recorder.tally()

    def close(self) -> None:
        """Write down what waits, and close the store."""
        self._recorder.close()


class Recorder:
    """The thread that writes. `offer` never waits, and nothing that happens in the thread comes out of it."""

    def __init__(self, journaling: Journaling) -> None:
        self._journaling = journaling
        self._waiting: deque[Seen] = deque()
        self._bytes = 0  # that wait
        self._changed = threading.Condition()
        self._is_closing = False
        self._turns = 0
        self._sessions: set[str] = set()
        self._usage = Usage(input_tokens=0)
        self._passed: Counter[str] = Counter()
        self._thread = threading.Thread(target=self._run, name="pageturn-journal", daemon=True)
        self._thread.start()

    def offer(self, seen: Seen) -> None:
        """Take an exchange to be written, unless too much waits already."""
        with self._changed:
            if self._is_closing or (self._waiting and self._bytes + seen.size > _MOST_WAITING):
                self._passed["too much waits to be written"] += 1
                return
            self._waiting.append(seen)
            self._bytes += seen.size
            self._changed.notify_all()

    def pass_over(self, reason: str) -> None:
        """Count an exchange that has nothing to write."""
        with self._changed:
            self._passed[reason] += 1

    def tally(self) -> Tally:
        """What was written so far."""
        with self._changed:
            return Tally(self._turns, frozenset(self._sessions), self._usage, Counter(self._passed))

    def close(self) -> None:
        """Write what waits, and end the thread; once is enough, and twice does no harm."""
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._is_closing)
                if not self._waiting:
                    break
                seen = self._waiting.popleft()
            recorded = self._record(seen)
            with self._changed:
                self._bytes -= seen.size
                if recorded is not None:
                    self._count(recorded, seen)
                self._changed.notify_all()
        try:
            self._journaling.close()
        except Exception as error:  # noqa: BLE001 - the last sessions may stay open in the store, which harms nobody
            _LOG.warning("the store was not closed (%s)", type(error).__name__)

    def _record(self, seen: Seen) -> Recorded | None:
        try:
            return self._journaling.record(seen)
        except InvalidInput as error:  # its text may quote the body, which belongs in no log
            reason = f"not understood: {seen.name} {error.path}"
        except Exception as error:  # noqa: BLE001 - whatever it is, the traffic goes on
            reason = f"not stored: {type(error).__name__}"
        self.pass_over(reason)
        _LOG.warning("%s", reason)
        return None

    def _count(self, recorded: Recorded, seen: Seen) -> None:
        self._turns += recorded.is_turn
        self._sessions.update(filter(None, (recorded.session,)))
        if not recorded.has_reply:
            self._passed["reply without an end" if seen.ending is Ending.WHOLE else f"reply {seen.ending}"] += 1
        if (usage := recorded.usage) is not None:
            self._usage = Usage(
                input_tokens=self._usage.input_tokens + usage.input_tokens,
                output_tokens=self._usage.output_tokens + usage.output_tokens,
                cache_read_tokens=self._usage.cache_read_tokens + usage.cache_read_tokens,
                cache_write_tokens=self._usage.cache_write_tokens + usage.cache_write_tokens,
            )
