"""Runs a summarizer in one thread while there is work. It never touches a session."""

import time
from collections import deque
from threading import Condition, Thread
from typing import NamedTuple

from pageturn.values.errors import PageturnError
from pageturn.writeback.summaries.contract import Summarizer, SummaryRequest
from pageturn.writeback.summaries.cutting import cut
from pageturn.writeback.summaries.runs import Run

_PATIENCE = 1.0  # seconds in which a cancelled job should return
_QUEUE = 2  # jobs in the queue; their text is in memory


class Job(NamedTuple):
    """A run to summarize."""

    run: Run
    request: SummaryRequest


class Done(NamedTuple):
    """The outcome of a job: a text, or an error."""

    run: Run
    text: str | None = None
    failure: str = ""


class Worker:
    """Runs jobs one after the other. A job that takes too long is cancelled; its late result is dropped."""

    def __init__(self, summarizer: Summarizer) -> None:
        self._summarizer = summarizer
        self._changed = Condition()
        self._jobs: deque[Job] = deque()
        self._done: list[Done] = []
        self._current: Job | None = None
        self._since = 0.0
        self._is_stuck = False  # a cancelled job still holds the thread
        self._thread: Thread | None = None  # it ends when there is nothing left to do

    @property
    def has_room(self) -> bool:
        """Whether another job would start soon; not while a cancelled one still holds the thread."""
        with self._changed:
            return self._thread is None or (self._current is not None and len(self._jobs) < _QUEUE)

    @property
    def is_busy(self) -> bool:
        """Whether the thread exists, with a job or a cancelled one."""
        with self._changed:
            return self._thread is not None

    def submit(self, job: Job) -> None:
        """Run a job after those before it."""
        with self._changed:
            self._jobs.append(job)
            if self._thread is None:
                self._thread = Thread(target=self._work, name="pageturn-summaries", daemon=True)
                self._thread.start()

    def take(self, timeout_seconds: float) -> list[Done]:
        """The jobs that finished since the last call, and those that timed out."""
        late = self._give_up_late(timeout_seconds)
        with self._changed:
            done, self._done = self._done, []
        return [*done, *late]

    def stop(self) -> None:
        """Drop the queue, and cancel the running job."""
        with self._changed:
            self._jobs.clear()
            current, self._current = self._current, None
            self._is_stuck = self._thread is not None
        if current is not None:
            current.request.stop.set()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the thread has ended; False if it has not by then."""
        with self._changed:
            thread = self._thread
            if not self._changed.wait_for(lambda: self._thread is None, seconds):
                return False
        if thread is not None:
            thread.join()  # it has announced its end
        return True

    def wait_for_jobs(self, until: float | None, timeout_seconds: float) -> bool:
        """Wait until all jobs are done, or one times out. False if there is nothing more to wait for, or after `until`."""
        with self._changed:
            left = min(_PATIENCE, until - time.monotonic()) if until is not None else _PATIENCE
            if not self._changed.wait_for(lambda: not self._is_stuck, left):
                return False
        while not self.wait(self._left(until, timeout_seconds)):
            if until is not None and time.monotonic() >= until:
                return False
            with self._changed:
                if self._current is not None and time.monotonic() - self._since >= timeout_seconds:
                    return True
        return True

    def _left(self, until: float | None, timeout_seconds: float) -> float:
        """The seconds until a job must be cancelled."""
        with self._changed:
            late = self._since + timeout_seconds
        return max(0.0, min(late, until if until is not None else late) - time.monotonic())

    def _give_up_late(self, timeout_seconds: float) -> list[Done]:
        with self._changed:
            current = self._current
            if current is None or time.monotonic() - self._since < timeout_seconds:
                return []
            self._current = None
            self._is_stuck = True
        current.request.stop.set(is_late=True)
        return [Done(current.run, failure=f"no summary in {timeout_seconds:g} s")]

    def _work(self) -> None:
        while (job := self._next()) is not None:
            done = self._do(job)
            with self._changed:
                if self._current is job:  # otherwise the job was cancelled
                    self._done.append(done)
                    self._current = None

    def _next(self) -> Job | None:
        with self._changed:
            if not self._jobs:
                self._thread = None
                self._is_stuck = False
                self._changed.notify_all()
                return None
            self._current = self._jobs.popleft()
            self._is_stuck = False
            self._changed.notify_all()
            self._since = time.monotonic()
            return self._current

    def _do(self, job: Job) -> Done:
        request = job.request
        try:
            text = self._summarizer.summarize(request)
            text.encode()
            return Done(job.run, cut(text, request.target_tokens, request.count))
        except PageturnError as error:
            return Done(job.run, failure=str(error))
        except BaseException as error:  # noqa: BLE001  whatever a summarizer raises, a session goes on
            return Done(job.run, failure=type(error).__name__)
