"""Prepares background summaries ahead of time, without delaying the turns of a session.

Everything here runs on the session's own thread and is short: it finds runs to summarize, hands their text to the worker, and passes
finished summaries to writeback. Runs that the worker has not finished when the process ends are summarized later.
"""

import time
from collections import deque
from collections.abc import Callable, Container, Iterable, Sequence
from typing import NamedTuple

from pageturn.context.renditions.structured import PageMessage
from pageturn.journal.lookup import pages_between
from pageturn.journal.writing import Recorder
from pageturn.values.checks import require_finite
from pageturn.values.context import Wish
from pageturn.values.entries import Committed, Rejected, Waiting
from pageturn.values.errors import InvalidInput, StoreError, show
from pageturn.values.faults import BackendError
from pageturn.values.messages import Visibility
from pageturn.values.proposals import Proposal
from pageturn.writeback.summaries.contract import Summarizer, SummaryRequest
from pageturn.writeback.summaries.runs import SIZES, Run, RunsAhead, run_between, still_holds
from pageturn.writeback.summaries.worker import Done, Job, Worker

_PAGES_AT_ONCE = 64  # characters that are read in one go, so that no turn waits for long
_LOOKS_EVERY = 8  # pages
_MOST_FAILURES = 3  # failures of one run, while the process lives
_LONGEST_REST = 64  # messages
_GIVES_UP = 8  # a pause that long means that four runs failed in a row
_PATIENCE = 1.0  # seconds that closing a session waits for the thread


class Prepared(NamedTuple):
    """The outcome of a summary: admitted or rejected by writeback, or the summarizer failed."""

    handles: str
    outcome: Committed | Waiting | Rejected | BackendError
    text: str = ""
    tokens: int = 0


class Summaries:
    """The summaries of one session. Made by `Session.open(summarizer=...)`."""

    def __init__(
        self,
        recorder: Recorder,
        count: Callable[[str], int],
        write_back: Callable[[Proposal], Committed | Waiting | Rejected],
        summarizer: Summarizer,
    ) -> None:
        self._recorder = recorder
        self._state = recorder.journal.state
        self._count = count
        self._write_back = write_back
        self._name = summarizer.name
        self._worker = Worker(summarizer)
        self._sizes: tuple[int, ...] = SIZES
        self._timeout_seconds = 300.0
        self._wished: dict[str, None] = {}  # ranges, in the order of the wishes
        self._runs = RunsAhead(self._state)
        self._ahead: deque[Run] = deque()
        self._reading: _Reading | None = None
        self._unwritten: deque[Done] = deque()
        self._failures: dict[str, int] = {}  # by range
        self._busy: set[str] = set()  # ranges that are being read, in the queue, or not written yet
        self._looked_at = 0  # the number of pages at the last search for runs
        self._rest = self._rests = 0  # messages to skip after a failure; doubled each time

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of units of the runs that are summarized ahead; empty for wishes only."""
        return self._sizes

    @sizes.setter
    def sizes(self, sizes: Sequence[int]) -> None:
        if not isinstance(sizes, list | tuple) or not all(type(size) is int and size > 0 for size in sizes):
            raise InvalidInput("sizes", expected="whole numbers, 1 or more", got=show(sizes))
        self._sizes = tuple(sizes)

    @property
    def timeout_seconds(self) -> float:
        """How long to wait for a summary."""
        return self._timeout_seconds

    @timeout_seconds.setter
    def timeout_seconds(self, seconds: float) -> None:
        require_finite("timeout_seconds", seconds, at_least=0)
        self._timeout_seconds = seconds

    def wish(self, wishes: Iterable[Wish]) -> None:
        """Remember the runs that a policy would like a summary of."""
        self._wished |= {wish.handle: None for wish in wishes if ".." in wish.handle}

    def tend(self) -> None:
        """Store finished summaries and continue; takes little time, and never raises."""
        try:
            with self._recorder.journal.store.at_once():
                self.collect()
                if self._rest:
                    self._rest -= 1
                else:
                    self._go_on()
        except StoreError:
            return  # finished summaries are kept, and stored the next time

    def collect(self) -> tuple[Prepared, ...]:
        """Store finished summaries; returns the outcome of each."""
        self._unwritten += self._worker.take(self.timeout_seconds)
        prepared: list[Prepared] = []
        while self._unwritten:
            outcome = self._settle(self._unwritten[0])
            done = self._unwritten.popleft()
            self._busy.discard(done.run.handles)
            if outcome is not None:
                prepared.append(outcome)
        return tuple(prepared)

    def finish(self, timeout_seconds: float | None = None) -> tuple[Prepared, ...]:
        """Wait until everything worth a summary has one, or until the time is over: for programs that have nothing else to do."""
        if timeout_seconds is not None:
            require_finite("timeout_seconds", timeout_seconds, at_least=0)
        until = time.monotonic() + timeout_seconds if timeout_seconds is not None else None
        prepared: list[Prepared] = []
        self._looked_at = self._rests = 0
        is_going = True
        while is_going:
            while self._go_on():
                pass
            is_in_time = self._worker.wait_for_jobs(until, self.timeout_seconds)
            prepared += self.collect()
            is_going = is_in_time and self._rests < _GIVES_UP and (self._go_on() or self._worker.is_busy)
        return tuple(prepared)

    def wait(self, timeout_seconds: float | None = None) -> bool:
        """Wait until the summarizer has finished what it was given; False if the time is over first. The next append stores the
        summaries.
        """
        if timeout_seconds is not None:
            require_finite("timeout_seconds", timeout_seconds, at_least=0)
        return self._worker.wait(timeout_seconds)

    def close(self) -> None:
        """Store finished summaries, and drop the rest."""
        try:
            self.collect()
        except StoreError as error:
            self._recorder.keep(BackendError.of(error), detail="summaries that were finished could not be written")
        self._worker.stop()
        if not self._worker.wait(_PATIENCE):
            self._recorder.keep(BackendError("a summarizer did not stop in time"), detail=self._name)

    # -- finished summaries

    def _settle(self, done: Done) -> Prepared | None:
        run = done.run
        if done.text is None:
            return Prepared(run.handles, self._failed(run, done.failure))
        self._rests = 0
        # Also by a fork or another process, which the state may not include yet.
        erased = self._recorder.journal.erased()
        if not still_holds(self._state, run) or any(page.seq in erased for page in run.pages):
            return None  # undone, erased, reset or made a rule: nothing may replace it now
        evidence = (run.pages[0].handle, run.pages[-1].handle)
        proposal = Proposal(field="summary", value=done.text, evidence=evidence, key=self._key(run))
        return Prepared(run.handles, self._write_back(proposal), done.text, self._count(done.text))

    def _failed(self, run: Run, failure: str) -> BackendError:
        self._failures[run.handles] = self._failures.get(run.handles, 0) + 1
        self._rests = min(2 * self._rests or 1, _LONGEST_REST)
        self._rest = self._rests
        fault = BackendError(f"summarizer: {failure[:200]}")
        self._recorder.fault(fault, page=run.pages[0].seq, detail=f"{run.handles} by {self._name}")
        return fault

    # -- runs to summarize

    def _go_on(self) -> bool:
        """One step: read some text, or find a run to read. Returns whether there was one."""
        if not self._worker.has_room:
            return False
        if self._reading is None:
            run = self._next()
            if run is None:
                return False
            self._reading = _Reading(run)
            self._busy.add(run.handles)
        try:
            self._read(self._reading)
        except StoreError as error:
            run, self._reading = self._reading.run, None
            self._busy.discard(run.handles)
            self._failed(run, str(error))
        return True

    def _next(self) -> Run | None:
        """The run to summarize next: one that is wished for, or one found ahead of time."""
        while self._wished:
            handles = next(iter(self._wished))
            del self._wished[handles]
            pages = pages_between(self._state, handles)
            run = run_between(self._state, pages) if isinstance(pages, tuple) else None
            if run is not None and self._is_open(run, self._summed_up()):
                return run
        if not self._ahead and self.sizes and abs(len(self._state.pages) - self._looked_at) >= _LOOKS_EVERY:
            self._looked_at = len(self._state.pages)
            there = self._summed_up()
            self._ahead.extend(run for run in self._runs.find(self.sizes) if self._is_open(run, there))
        while self._ahead:
            run = self._ahead.popleft()
            if still_holds(self._state, run) and self._is_open(run, self._summed_up()):
                return run
        return None

    def _summed_up(self) -> set[tuple[int, int]]:
        """The first and the last page of every run that has a summary."""
        return {(each.first, each.last) for each in self._state.renditions}

    def _is_open(self, run: Run, there: Container[tuple[int, int]]) -> bool:
        """Whether a run still needs a summary: none exists, none is being written, and it did not fail too often."""
        if (run.pages[0].seq, run.pages[-1].seq) in there:
            return False
        is_tried = self._failures.get(run.handles, 0) >= _MOST_FAILURES
        return not (is_tried or self._key(run) in self._state.settled or run.handles in self._busy)

    def _read(self, reading: "_Reading") -> None:
        """Read more text of a run, and hand it to the worker when complete. Internal text is not included."""
        run = reading.run
        if still_holds(self._state, run):
            for page in run.pages[reading.at : reading.at + _PAGES_AT_ONCE]:
                message = self._recorder.journal.message(page) if page.visibility is Visibility.ALL else None
                if message is not None:
                    reading.messages.append(PageMessage(page.handle, message))
            reading.at += _PAGES_AT_ONCE
            if reading.at < len(run.pages):
                return
            if reading.messages:
                request = SummaryRequest(tuple(reading.messages), run.target_tokens, run.least_tokens, self._count)
                self._worker.submit(Job(run, request))
                self._reading = None
                return
        self._busy.discard(run.handles)
        self._reading = None

    def _key(self, run: Run) -> str:
        """A key of the pages; some pages of a range may be erased later."""
        return f"summary of {run.handles}, {len(run.pages)} pages, by {self._name}"


class _Reading:
    """A run whose text is being read."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.at = 0
        self.messages: list[PageMessage] = []
