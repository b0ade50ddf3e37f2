"""Keeps the note state: durable notes, notes in what was sent, and the outcome of the others.

The last note of a key wins, in any band. Only a turn entry emits a note: a context without an answer counts as never shown. So a note
to be shown once is consumed by the answer, identified by its key and its text, and a failed call consumes nothing.
"""

from collections.abc import Sequence

import msgspec

from pageturn.values.entries import Fold, NoteShown, Shown
from pageturn.values.json import Closed
from pageturn.values.notes import ContextMessage, ContextMessageTarget, Emission, NoteDecision, emission


class StandingNote(Closed):
    """A note in the cached part of the prompt, which does not change until the next fold."""

    note: ContextMessage
    digest: str
    band: ContextMessageTarget
    after: int  # the page before it


class LostNote(Closed):
    """A note that is not durable any more: replaced or retracted since the last turn, or consumed by it."""

    note: ContextMessage
    decision: NoteDecision
    now: bool = False  # it was to leave the prompt at once


class EmittedNote(Closed):
    """When a key was last emitted, and the page of that turn."""

    emission: Emission
    page: int


class SpentNote(Closed):
    """A note that was shown once, and the page of the turn that it was shown in."""

    note: ContextMessage
    page: int


class NoteState(msgspec.Struct):
    """The state of the notes of one session."""

    notes: dict[str, ContextMessage] = {}  # the durable ones by key, in the order in which the keys were added
    standing: list[StandingNote] = []  # in the order of the prompt
    lost: list[LostNote] = []
    emitted: dict[str, EmittedNote] = {}  # by key
    spent: list[SpentNote] = []
    left_out: dict[str, str] = {}  # those that the last fold had no room for: digests by key
    answered: int = 0  # contexts: the clock of cooldowns, which a reply in several pieces advances once
    # The cached part of the last context had a note that is shown once; the next one removes it.
    is_leaving: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether there are no notes to place and none to report."""
        return not (self.notes or self.standing or self.lost)

    def add(self, note: ContextMessage) -> None:
        """Add a note, which replaces an earlier one with its key."""
        before = self.notes.get(note.key)
        if before is not None and before.digest != note.digest:
            was_shown = self._was_shown(before)
            self.lost.append(LostNote(before, NoteDecision.SUPERSEDED if was_shown else NoteDecision.DUPLICATE_KEY))
        self.notes[note.key] = note

    def retract(self, key: str, *, now: bool) -> bool:
        """Retract a note. Returns whether it must leave what was sent."""
        before = self.notes.pop(key, None)
        if before is not None:
            self.lost.append(LostNote(before, NoteDecision.RETRACTED, now))
        return now and self.stands(key)

    def stands(self, key: str) -> bool:
        """Whether a text with this key is in what was sent."""
        return any(each.note.key == key for each in self.standing)

    def last_emission(self, key: str, standing: StandingNote | None = None) -> Emission | None:
        """When a key was last emitted: in the last turn, if its text then is still in what was sent."""
        last = self.emitted.get(key)
        if last is None or standing is None or not _says(standing.note, last.emission):
            return last.emission if last is not None else None
        return Emission(max(last.emission.turn, self.answered - 1), last.emission.digest)

    def take_turn(self, shown: Shown | None, page: int) -> bool:
        """Record that a context was answered, so its notes were emitted. Returns whether some must leave what was sent."""
        if shown is None:
            return False  # another piece of a reply: what was lost since the last context is not reported yet
        found = [(each, self._found(each)) for each in shown.notes]
        if shown.fold is not None:
            self._fold(shown.fold)
        stood = []
        for each, note in found:
            self.emitted[each.key] = EmittedNote(emission(note, self.answered), page)
            if each.band is not ContextMessageTarget.SUFFIX_SYSTEM:
                stood.append(StandingNote(note, each.digest, each.band, each.after))
        self.standing += stood
        retracted = {(each.note.key, each.note.digest) for each in self.lost if each.now}
        self.lost = []
        self._consume([each for each, _ in found], page)
        self.answered += 1
        self.is_leaving = any(each.note.consume_after_emit for each in stood)
        return self.is_leaving or any((each.note.key, each.digest) in retracted for each in stood)

    def undo(self, first: int) -> None:
        """Undo the turns from this page on, and what they showed."""
        self.is_leaving = False
        self.emitted = {key: each for key, each in self.emitted.items() if each.page < first}
        released = {each.note.key: each.note for each in self.spent if each.page >= first}
        self.spent = [each for each in self.spent if each.page < first]
        self.lost = [
            each for each in self.lost if each.decision is not NoteDecision.CONSUMED or each.note.key not in released
        ]
        for key, note in released.items():
            self.notes.setdefault(key, note)

    def _fold(self, fold: Fold) -> None:
        for each in self.standing:  # a cooldown starts when the note was last shown, and not when it was added
            if (last := self.last_emission(each.note.key, each)) is not None:
                self.emitted[each.note.key] = EmittedNote(last, self.emitted[each.note.key].page)
        self.standing = []
        self.left_out = dict(fold.left_out)

    def _consume(self, shown: Sequence[NoteShown], page: int) -> None:
        for each in shown:
            note = self.notes.get(each.key)
            if note is not None and note.consume_after_emit and note.digest == each.digest:
                del self.notes[each.key]
                self.spent.append(SpentNote(note, page))
                self.lost.append(LostNote(note, NoteDecision.CONSUMED))

    def _found(self, shown: NoteShown) -> ContextMessage:
        """The note that was shown; it may have been replaced or retracted before the answer arrived."""
        note = self.notes.get(shown.key)
        known = ([note] if note is not None else []) + [each.note for each in reversed(self.lost)]
        for each in known:
            if (each.key, each.digest) == (shown.key, shown.digest):
                return each
        raise LookupError(f"a turn showed the note {shown.key!r}, which nobody added")

    def _was_shown(self, note: ContextMessage) -> bool:
        last = self.emitted.get(note.key)
        return last is not None and _says(note, last.emission)


def _says(note: ContextMessage, last: Emission) -> bool:
    """Whether a note has the text that was emitted then."""
    return last == emission(note, last.turn)
