"""Places keyed notes in a context: which are shown where, which wait, and which have no room.

The bands, in order: the base prompt, system notes, session notes, the history, and a suffix that is in one context only. A note
shown in every turn is in the cached part of the prompt, so it does not change between folds: a new text is added after the history
and moves into its band at the next fold. A note with a cooldown is in the suffix, whatever its band, and so costs no cache. A note
shown once is in its band if that was not sent yet, and the fold of the next context removes it; otherwise it is in the suffix too.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from pageturn.journal.note_state import NoteState, StandingNote
from pageturn.journal.state import SessionState
from pageturn.values.context import NoteOutcome
from pageturn.values.entries import NoteShown
from pageturn.values.messages import Message
from pageturn.values.notes import ContextMessage, ContextMessageTarget, Emission, NoteDecision, emission, throttle
from pageturn.values.reminders import lowered

_SYSTEM, _SESSION, _CONVERSATION, _SUFFIX = ContextMessageTarget
_MOST_KEPT = 256  # cached messages of notes, besides those of the present ones
_MOST_WRITTEN_AGAIN = 4_000  # tokens; the most that removing a note that was shown once from its band may rewrite
_ORDER = {band: place for place, band in enumerate(ContextMessageTarget)}


class Wanted(NamedTuple):
    """A note that should be in the context."""

    note: ContextMessage
    digest: str
    message: Message
    tokens: int
    order: int = 0  # in which its key was added, among the others
    decision: NoteDecision = NoteDecision.STICKY  # if it is shown
    was_sent: bool = False  # it is in what was already sent
    had_no_room: bool = False  # the last fold had no room for its key, so none is made because of it

    def outcome(self, band: ContextMessageTarget) -> NoteOutcome:
        """The outcome that is reported if it is shown in a band."""
        return NoteOutcome(self.note.key, band, self.decision, self.tokens)

    def shown(self, band: ContextMessageTarget, after: int = 0) -> NoteShown:
        """The record that is written if it is shown in a band."""
        return NoteShown(self.note.key, self.digest, band, after)


class NoteRequests(NamedTuple):
    """The notes that should be in the next context, before it is known whether there is room."""

    # Every system and session note that is shown in each turn, in the order of their bands.
    lasting: tuple[Wanted, ...] = ()
    passing: tuple[Wanted, ...] = ()  # in this context only
    sent: tuple[NoteOutcome, ...] = ()  # in what was sent, while no fold is made
    gone: tuple[NoteOutcome, ...] = ()  # what a fold removes permanently
    apart: tuple[NoteOutcome, ...] = ()  # not shown in any case
    is_first: bool = False  # whether nothing was sent yet
    is_leaving: bool = False  # whether the next fold removes what was shown once

    @property
    def fresh(self) -> Iterator[Wanted]:
        """The notes that are new or changed since the last context."""
        return (wanted for wanted in (*self.lasting, *self.passing) if not wanted.was_sent)

    @property
    def tokens(self) -> int:
        """The tokens of notes to add, with a fold if necessary."""
        return sum(wanted.tokens for wanted in self.fresh if not wanted.had_no_room)

    def outcomes(self, placed_notes: "PlacedNotes", *, is_folded: bool) -> tuple[NoteOutcome, ...]:
        """The outcome of every note, once it is known which of them are shown."""
        front = tuple(wanted.outcome(wanted.note.target) for wanted in placed_notes.front)
        tail = (wanted.outcome(_CONVERSATION) for wanted in placed_notes.tail)
        suffix = (wanted.outcome(_SUFFIX) for wanted in placed_notes.suffix)
        left_out = (_apart(wanted.note.key, NoteDecision.OVER_BUDGET) for wanted in placed_notes.left_out)
        return (
            *(front if is_folded else front + self.sent),
            *tail,
            *suffix,
            *left_out,
            *(self.gone if is_folded else ()),
            *self.apart,
        )


class PlacedNotes(NamedTuple):
    """The notes that a context adds to what was sent, and those without room."""

    front: tuple[Wanted, ...] = ()  # in their bands
    tail: tuple[Wanted, ...] = ()  # after the history, to stay
    suffix: tuple[Wanted, ...] = ()
    left_out: tuple[Wanted, ...] = ()

    @property
    def tokens(self) -> int:
        """The tokens of the notes that are shown."""
        return sum(wanted.tokens for wanted in (*self.front, *self.tail, *self.suffix))

    def shown(self, base: int, upto: int) -> tuple[NoteShown, ...]:
        """The records of them, with the last page of the base prompt and the last page of all."""
        return (
            *(wanted.shown(wanted.note.target, base) for wanted in self.front),
            *(wanted.shown(_CONVERSATION, upto) for wanted in self.tail),
            *(wanted.shown(_SUFFIX) for wanted in self.suffix),
        )

    @property
    def digests(self) -> Iterator[str]:
        """The digests of their texts, in order."""
        return (wanted.digest for wanted in (*self.front, *self.tail, *self.suffix))

    @property
    def notices(self) -> tuple[str, ...]:
        """The notices about them."""
        if self is NO_PLACED_NOTES:
            return ()
        moved = [wanted.note for wanted in self.suffix if wanted.note.is_of_prefix]
        texts = (
            ("no room for note(s): {}", [wanted.note for wanted in self.left_out]),
            (_ONCE, [note for note in moved if note.consume_after_emit]),
            (_COOLING, [note for note in moved if not note.consume_after_emit]),
        )
        return tuple(text.format(", ".join(note.key for note in notes)) for text, notes in texts if notes)

    def in_bands(self) -> "PlacedNotes":
        """The same, with notes that are shown once moved into their bands."""
        once = [wanted for wanted in self.suffix if wanted.note.is_of_prefix and wanted.note.consume_after_emit]
        if not once:
            return self
        front = sorted((*self.front, *once), key=_place)
        return self._replace(front=tuple(front), suffix=tuple(each for each in self.suffix if each not in once))

    def into(self, messages: tuple[Message, ...], opening: int) -> tuple[Message, ...]:
        """The messages with these notes added, after the `opening` messages of the base prompt and at the end."""
        end = tuple(wanted.message for wanted in (*self.tail, *self.suffix))
        return put_into(messages, opening, [wanted.message for wanted in self.front]) + end


_ELSEWHERE = "are at the end of the prompt and not in their band: "
_ONCE = "the notes {}, which are shown once, " + _ELSEWHERE + "removing them again would rewrite the cached prompt"
_COOLING = (
    "the notes {}, which have a cooldown, "
    + _ELSEWHERE
    + "coming and going there would rewrite the cached prompt each time"
)
NO_NOTES = NoteRequests()
NO_PLACED_NOTES = PlacedNotes()


class NotePlacer:
    """Decides which notes of one session should be shown, and caches their messages."""

    def __init__(self, session: str, count: Callable[[Message], int]) -> None:
        self._session = session  # the root of a chain of forks, so that all of them have the same messages
        self._count = count
        self._made: dict[str, Wanted] = {}  # the durable notes, by key
        self._messages: dict[tuple[str, str], tuple[Message, int]] = {}  # by key and digest
        self._last: tuple[int, NoteRequests] = (0, NO_NOTES)  # the last result, and the entry up to which it is valid

    def message(self, note: ContextMessage, digest: str) -> tuple[Message, int]:
        """A note as the model gets it, with its tokens."""
        name = (note.key, digest)
        if name not in self._messages:
            message = note.to_message(self._session)
            self._messages[name] = (message, self._count(lowered(message)))  # the longest form for any vendor
        return self._messages[name]

    def requests(self, state: SessionState) -> NoteRequests:
        """The notes that should be in the next context."""
        if state.note_state.is_empty:
            return NO_NOTES
        if self._last[0] != state.head:
            self._last = (state.head, self._requests_of(state))
        return self._last[1]

    def _requests_of(self, state: SessionState) -> NoteRequests:
        board = state.note_state
        if len(self._messages) > _MOST_KEPT + 2 * len(board.notes):
            self._messages.clear()
        notes = [note for note in board.notes.values() if note.is_prompt_injected]
        self._made = {note.key: self._make(note, order) for order, note in enumerate(notes)}
        # The last of each key, without notes shown once: the fold that removes those comes first.
        sent = {each.note.key: each for each in board.standing if not each.note.consume_after_emit}
        wanted = [_compared(each, sent, board) for each in self._made.values() if each.note.content.strip()]
        due, held = _throttled([each for each in wanted if not each.note.is_lasting], sent, board)
        silent = (each for each in self._made.values() if not each.note.content.strip())
        return NoteRequests(
            lasting=tuple(sorted((each for each in wanted if each.note.is_lasting), key=_place)),
            passing=tuple(sorted(due, key=_place)),
            sent=tuple(self._sent(board, sent)),
            gone=(
                *(_apart(key, NoteDecision.RETRACTED) for key in sent if key not in board.notes),
                *(_apart(each.note.key, NoteDecision.COOLDOWN) for each in held if each.was_sent),
            ),
            apart=(
                *(_apart(each.note.key, NoteDecision.EMPTY) for each in silent),
                *(_apart(each.note.key, NoteDecision.COOLDOWN) for each in held if not each.was_sent),
                *_lost(board, sent),
            ),
            is_first=state.shown is None,
            is_leaving=board.is_leaving,
        )

    def _make(self, note: ContextMessage, order: int) -> Wanted:
        made = self._made.get(note.key)
        if made is not None and made.note is note:
            return made if made.order == order else made._replace(order=order)
        digest = note.digest
        return Wanted(note, digest, *self.message(note, digest), order)

    def _sent(self, board: NoteState, last: Mapping[str, StandingNote]) -> Iterator[NoteOutcome]:
        for each in board.standing:
            key, now = each.note.key, self._made.get(each.note.key)
            if each.note.consume_after_emit:
                continue
            if now is None:
                decision = NoteDecision.RETRACTED
            else:
                is_now = last[key] is each and now.digest == each.digest
                decision = NoteDecision.STICKY if is_now else NoteDecision.SUPERSEDED
            yield NoteOutcome(key, each.band, decision, self.message(each.note, each.digest)[1])


def _compared(wanted: Wanted, sent: Mapping[str, StandingNote], board: NoteState) -> Wanted:
    """A note, with whether it is in what was sent."""
    key = wanted.note.key
    last = sent.get(key)
    if last is not None and last.digest == wanted.digest:
        is_there = wanted.note.is_lasting and last.band is wanted.note.target
        return wanted._replace(decision=NoteDecision.STICKY if is_there else NoteDecision.PROMOTED, was_sent=True)
    had_no_room = key in board.left_out
    if not wanted.note.is_lasting:
        return wanted._replace(had_no_room=had_no_room) if had_no_room else wanted
    return wanted._replace(decision=_why(wanted.note, board.last_emission(key)), had_no_room=had_no_room)


def _throttled(
    passing: Sequence[Wanted], sent: Mapping[str, StandingNote], board: NoteState
) -> tuple[list[Wanted], list[Wanted]]:
    """The notes that are due in this turn, and those that have turns to skip.

    A note that is in what was sent, because it had no cooldown then, is not repeated; the fold that removes it decides again.
    """
    keys = (wanted.note.key for wanted in passing)  # not of all keys ever used
    before = {key: last for key in keys if (last := board.last_emission(key, sent.get(key))) is not None}
    throttled = throttle([wanted.note for wanted in passing], before, board.answered)
    held = {note.key for note in throttled.suppressed}
    due = []
    for wanted in passing:
        key = wanted.note.key
        if key not in held:
            decision = _why(wanted.note, before.get(key), throttled.ledger[key])
            due.append(wanted if wanted.was_sent else wanted._replace(decision=decision))
    return due, [wanted for wanted in passing if wanted.note.key in held]


def _why(note: ContextMessage, last: Emission | None, now: Emission | None = None) -> NoteDecision:
    """Why a due note is shown."""
    if last is None:
        return NoteDecision.FIRST_EMIT
    if last.digest != (now or emission(note, last.turn)).digest:
        return NoteDecision.CONTENT_CHANGED
    return NoteDecision.COOLDOWN_ELAPSED if note.cooldown_turns else NoteDecision.ALWAYS


def _lost(board: NoteState, sent: Mapping[str, StandingNote]) -> Iterator[NoteOutcome]:
    """The outcomes of notes that are no longer durable, except those that are still shown."""
    for each in board.lost:
        is_reported = each.decision is NoteDecision.RETRACTED and each.note.key in sent
        if each.decision is not NoteDecision.SUPERSEDED and not is_reported:
            yield _apart(each.note.key, each.decision)


def _apart(key: str, decision: NoteDecision) -> NoteOutcome:
    return NoteOutcome(key, None, decision, 0)


def _place(wanted: Wanted) -> tuple[int, int]:
    return _ORDER[wanted.note.target], wanted.order


# -- room


def fold_in(requests: NoteRequests, room: int) -> PlacedNotes:
    """The notes for a new layout, with `room` tokens above what the laws demand.

    The first bands come first. A system note may take all of that room; the others are left out if notes would take more than half.
    """
    front: list[Wanted] = []
    suffix: list[Wanted] = []
    left_out: list[Wanted] = []
    taken = 0
    for wanted in (*requests.lasting, *requests.passing):
        is_lasting = wanted.note.is_lasting
        most = room if is_lasting and wanted.note.target is _SYSTEM else room // 2
        if taken + wanted.tokens > most:
            left_out.append(wanted)
            continue
        taken += wanted.tokens
        (front if is_lasting else suffix).append(wanted)
    return PlacedNotes(front=tuple(front), suffix=tuple(suffix), left_out=tuple(left_out))


def settle(requests: NoteRequests, placed_notes: PlacedNotes, behind: int) -> PlacedNotes:
    """The notes of a fold with `behind` tokens after their bands; notes shown once are in their band if that is cheap.

    The fold that removes such a note adds no other, so that a note in every turn does not cause a fold in every turn.
    """
    is_cheap = behind <= _MOST_WRITTEN_AGAIN and not requests.is_leaving
    return placed_notes.in_bands() if requests.is_first or is_cheap else placed_notes


def add(requests: NoteRequests, room: int, left_out: Mapping[str, str]) -> PlacedNotes:
    """The notes to add to what was sent; in their bands if nothing was sent yet.

    Notes that the last fold had no room for come last, and a lasting one only if its text has changed: otherwise it would appear
    and disappear with every fold.
    """
    if requests is NO_NOTES:
        return NO_PLACED_NOTES
    taken: set[str] = set()
    for wanted in sorted(requests.fresh, key=lambda wanted: wanted.had_no_room):
        is_refused = wanted.note.is_lasting and left_out.get(wanted.note.key) == wanted.digest
        if not is_refused and wanted.tokens <= room:
            room -= wanted.tokens
            taken.add(wanted.note.key)
    lasting = _among(taken, (wanted for wanted in requests.lasting if not wanted.was_sent))
    missing = tuple(wanted for wanted in requests.fresh if wanted.note.key not in taken)
    suffix = _among(taken, requests.passing)
    return (
        PlacedNotes(lasting, (), suffix, missing).in_bands()
        if requests.is_first
        else PlacedNotes((), lasting, suffix, missing)
    )


def put_into(messages: tuple[Message, ...], opening: int, notes: Sequence[Message]) -> tuple[Message, ...]:
    """The messages with notes after the base prompt."""
    return (*messages[:opening], *notes, *messages[opening:]) if notes else messages


def _among(keys: set[str], wanted: Iterable[Wanted]) -> tuple[Wanted, ...]:
    return tuple(each for each in wanted if each.note.key in keys)


def base_of(state: SessionState) -> int:
    """The last page of the base prompt: of the rules at the beginning of a session."""
    base = 0
    for page in state.pages:
        if page.counts and not page.kind.is_rule:
            break
        base = page.seq
    return base
