"""Implements watch, the mode that changes nothing and records what it saw.

Exchanges go through a bounded queue to one thread, which reads and stores them. The traffic does not depend on it; what could not be
queued, read or stored is counted.
"""

import logging
import threading
from collections import deque

from pageturn.apps.gateway.counts import Counts, Tally
from pageturn.apps.gateway.exchange import TOO_LARGE, Exchange
from pageturn.apps.gateway.headers import Headers
from pageturn.apps.gateway.identity import identity_of
from pageturn.apps.gateway.journaling import Journaling, Recorded
from pageturn.apps.gateway.modes import Pass, Send
from pageturn.apps.gateway.reading import Seen
from pageturn.apps.gateway.reasons import why_failed, why_unread
from pageturn.values.errors import InvalidInput

_LOG = logging.getLogger("pageturn.gateway")
_WATCHING, _OFF = Pass("watching"), Pass("off")
_MOST_WAITING = 64 * 1024 * 1024  # bytes of exchanges that wait to be written


class Watch:
    """Passes everything, and records it in a journal."""

    def __init__(self, journaling: Journaling) -> None:
        self._recorder = Recorder(journaling)

    async def before(self, exchange: Exchange) -> Pass:
        """Pass the request as the client wrote it."""
        return _OFF if exchange.is_off else _WATCHING

    async def unread(self, headers: Headers) -> Pass:  # noqa: ARG002
        """Pass the request unread."""
        self._recorder.pass_over(TOO_LARGE)
        return Pass(f"passed; {TOO_LARGE}")

    async def refused(self, exchange: Exchange, body: bytes) -> Send | None:  # noqa: ARG002 - the port says so
        """Pass the error on."""
        return None

    def on_chunk(self, exchange: Exchange, chunk: bytes) -> bytes:  # noqa: ARG002
        """Pass the chunk unchanged."""
        return chunk

    def overdue(self, exchange: Exchange) -> bytes:  # noqa: ARG002
        """Release nothing, since nothing is held."""
        return b""

    async def proceed(self, exchange: Exchange) -> Send | None:  # noqa: ARG002
        """Nothing follows."""
        return None

    async def after(self, exchange: Exchange) -> None:
        """Hand the exchange to the thread that records it."""
        if exchange.is_off:
            return
        if (reason := why_unread(exchange)) is not None:
            self._recorder.pass_over(reason)
        else:
            self._recorder.offer(Seen.of(exchange, identity_of(exchange.headers)))

    def tally(self) -> Tally:
        """What was written so far; after `close`, all of it."""
        return self._recorder.tally()

    def close(self) -> None:
        """Record what is queued, and close the store."""
        self._recorder.close()


class Recorder:
    """The thread that writes. `offer` never waits, and no error in the thread leaves it."""

    def __init__(self, journaling: Journaling) -> None:
        self._journaling = journaling
        self._waiting: deque[Seen] = deque()
        self._bytes = 0  # that wait
        self._changed = threading.Condition()
        self._is_closing = False
        self._counts = Counts()
        self._thread = threading.Thread(target=self._run, name="pageturn-journal", daemon=True)
        self._thread.start()

    def offer(self, seen: Seen) -> None:
        """Queue an exchange to be written, unless the queue is full."""
        with self._changed:
            if self._is_closing or (self._waiting and self._bytes + seen.size > _MOST_WAITING):
                self._counts.pass_over("too much waits to be written")
                return
            self._waiting.append(seen)
            self._bytes += seen.size
            self._changed.notify_all()

    def pass_over(self, reason: str) -> None:
        """Count an exchange that has nothing to write."""
        self._counts.pass_over(reason)

    def tally(self) -> Tally:
        """What was written so far."""
        return self._counts.tally()

    def close(self) -> None:
        """Write what is queued, and end the thread; calling it twice does no harm."""
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
                    self._counts.add(recorded, seen.ending)
                self._changed.notify_all()
        try:
            self._journaling.close()
        except Exception as error:  # noqa: BLE001 - the last sessions may stay open in the store, which does no harm
            _LOG.warning("the store was not closed (%s)", why_failed(error))

    def _record(self, seen: Seen) -> Recorded | None:
        try:
            return self._journaling.record(seen)
        except InvalidInput as error:  # its text may quote the body, which belongs in no log
            reason = f"not understood: {seen.name} {error.path}"
        except Exception as error:  # noqa: BLE001 - whatever the error, the traffic continues
            reason = f"not stored: {why_failed(error)}"
        self.pass_over(reason)
        _LOG.warning("%s", reason)
        return None
