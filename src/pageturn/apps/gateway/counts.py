"""Counts what a gateway has seen, from any thread."""

import threading
from collections import Counter
from typing import NamedTuple

from pageturn.apps.gateway.exchange import Ending
from pageturn.apps.gateway.journaling import Recorded
from pageturn.apps.gateway.reasons import why_no_reply
from pageturn.values.usage import Usage, total_usage


class Tally(NamedTuple):
    """What a gateway has seen so far."""

    turns: int
    sessions: frozenset[str]
    usage: Usage
    passed: Counter[str]  # what is in no session, by the reason
    new_words: Counter[str]  # requests whose new words of a person do not fit the room, by what was done


class Counts:
    """Counts that grow."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._turns = 0
        self._sessions: set[str] = set()
        self._usage = Usage(input_tokens=0)
        self._passed: Counter[str] = Counter()
        self._new_words: Counter[str] = Counter()

    def pass_over(self, reason: str) -> None:
        """Count an exchange that has nothing to write."""
        with self._lock:
            self._passed[reason] += 1

    def note_new_words(self, done: str) -> None:
        """Count a request whose new words do not fit the room."""
        with self._lock:
            self._new_words[done] += 1

    def add(self, recorded: Recorded, ending: Ending) -> None:
        """Count an exchange that was written down."""
        with self._lock:
            self._turns += recorded.is_turn
            self._sessions.update(filter(None, (recorded.session,)))
            if not recorded.has_reply:
                self._passed[why_no_reply(ending)] += 1
            if (usage := recorded.usage) is not None:
                self._usage = total_usage((self._usage, usage))

    def tally(self) -> Tally:
        """What was counted so far."""
        with self._lock:
            sessions = frozenset(self._sessions)
            return Tally(self._turns, sessions, self._usage, Counter(self._passed), Counter(self._new_words))
