"""Embeds pages in a background thread, as long as there are any without vectors."""

from collections.abc import Callable
from threading import Event, Lock, Thread

from pageturn.journal.journal import Journal
from pageturn.recall.vectors import Meaning
from pageturn.values.errors import PageturnError

_PATIENCE = 2.0  # seconds that closing waits for the texts being embedded


class Background:
    """Embeds the pages of one session. It reads the journal with a reader of its own, and never touches the session."""

    def __init__(self, meaning: Meaning, read: Callable[[], Journal | None]) -> None:
        self.meaning = meaning
        self.read = read
        self._lock = Lock()
        self._thread: Thread | None = None  # it ends when there is nothing left to do
        self._again = False
        self._stop = Event()

    def wake(self) -> None:
        """Make sure that new pages are embedded; costs next to nothing."""
        with self._lock:
            self._again = True
            if self._thread is None and not self._stop.is_set():
                self._thread = Thread(target=self._work, name="pageturn-embedding", daemon=True)
                self._thread.start()

    def wait(self) -> None:
        """Wait until everything is embedded, or cannot be."""
        while (thread := self._thread) is not None:
            thread.join()

    def close(self) -> None:
        """Stop after the texts that are being embedded."""
        self._stop.set()
        if (thread := self._thread) is not None:
            thread.join(_PATIENCE)

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._again or self._stop.is_set():
                    self._thread = None
                    return
                self._again = False
            try:
                journal = self.read() if not self.meaning.is_pausing else None
                if journal is not None:
                    self.meaning.embed(journal, self._stop.is_set)
            except PageturnError:  # unembedded pages are found by words; the next run tries again
                continue
            except BaseException:
                with self._lock:
                    self._thread = None  # so that no caller waits for it, and the next `wake` starts another
                raise
