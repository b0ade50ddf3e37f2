"""Weaving: keyed notes in a context. Which stand where, which wait, and which have no room.

The bands, in order: the base prompt, system notes, session notes, the history, and a suffix that stands in one context only. What is
shown in every turn stands in the cached part of the prompt, so it holds still between folds: a new text comes behind the history and
moves into its band at the next fold. What comes and goes by a cooldown stands in the suffix, whatever its band, and so costs no cache.
What is shown once stands in its band if that was not sent yet, and the fold of the next context takes it out; else in the suffix too.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from pageturn.entries import NoteShown
from pageturn.injection import ContextMessage, ContextMessageTarget, Emission, NoteDecision, emission, throttle
from pageturn.messages import Message
from pageturn.noteboard import NoteBoard, StandingNote
from pageturn.reminders import lowered
from pageturn.state import SessionState

_SYSTEM, _SESSION, _CONVERSATION, _SUFFIX = ContextMessageTarget
_MOST_KEPT = 256  # messages of notes, beside those of the present ones
_MOST_WRITTEN_AGAIN = 4_000  # tokens; what it may cost to take a note out of its band that was shown there once
_ORDER = {band: place for place, band in enumerate(ContextMessageTarget)}


class NoteOutcome(msgspec.Struct, frozen=True):
    """What became of a note in a context: the band that it stands in, or None, and what it takes there."""

    key: str
    band: ContextMessageTarget | None
    decision: NoteDecision
    tokens: int


class Wanted(NamedTuple):
    """A note that is to stand in the context."""

    note: ContextMessage
    digest: str
    message: Message
    tokens: int
    order: int = 0  # when its key came, among the others
    decision: NoteDecision = NoteDecision.STICKY  # if it stands
    stands: bool = False  # it is in what was sent
    is_humble: bool = False  # the last fold had no room for its key, so no fold is made for its sake

    def outcome(self, band: ContextMessageTarget) -> NoteOutcome:
        """What is told if it stands there."""
        return NoteOutcome(self.note.key, band, self.decision, self.tokens)

    def shown(self, band: ContextMessageTarget, after: int = 0) -> NoteShown:
        """What is written down if it stands there."""
        return NoteShown(self.note.key, self.digest, band, after)


class Weave(NamedTuple):
    """What the notes of a session want of the next context, before anybody knows whether there is room."""

    lasting: tuple[
        Wanted, ...
    ] = ()  # every system and session note that is shown in each turn, in the order of their bands
    passing: tuple[Wanted, ...] = ()  # what stands in this context only
    sent: tuple[NoteOutcome, ...] = ()  # what stands in what was sent, while no fold is made
    gone: tuple[NoteOutcome, ...] = ()  # what a fold takes away for good
    apart: tuple[NoteOutcome, ...] = ()  # what does not stand in any case
    is_first: bool = False  # nothing was sent yet
    is_leaving: bool = False  # the fold that comes takes out what was shown once

    @property
    def fresh(self) -> Iterator[Wanted]:
        """What came or changed since something was sent."""
        return (wanted for wanted in (*self.lasting, *self.passing) if not wanted.stands)

    @property
    def tokens(self) -> int:
        """What has to be added, be it by a fold."""
        return sum(wanted.tokens for wanted in self.fresh if not wanted.is_humble)

    def outcomes(self, woven: "Woven", *, is_folded: bool) -> tuple[NoteOutcome, ...]:
        """What is told of every note, once it is known which of them stand."""
        front = tuple(wanted.outcome(wanted.note.target) for wanted in woven.front)
        tail = (wanted.outcome(_CONVERSATION) for wanted in woven.tail)
        suffix = (wanted.outcome(_SUFFIX) for wanted in woven.suffix)
        left_out = (_apart(wanted.note.key, NoteDecision.OVER_BUDGET) for wanted in woven.left_out)
        return (
            *(front if is_folded else front + self.sent),
            *tail,
            *suffix,
            *left_out,
            *(self.gone if is_folded else ()),
            *self.apart,
        )


class Woven(NamedTuple):
    """The notes that a context adds to what was sent, and those that it has no room for."""

    front: tuple[Wanted, ...] = ()  # in their bands
    tail: tuple[Wanted, ...] = ()  # behind the history, to stay
    suffix: tuple[Wanted, ...] = ()
    left_out: tuple[Wanted, ...] = ()

    @property
    def tokens(self) -> int:
        """What those take that stand."""
        return sum(wanted.tokens for wanted in (*self.front, *self.tail, *self.suffix))

    def shown(self, base: int, upto: int) -> tuple[NoteShown, ...]:
        """What is written down of them, with the last page of the base prompt and the last of all."""
        return (
            *(wanted.shown(wanted.note.target, base) for wanted in self.front),
            *(wanted.shown(_CONVERSATION, upto) for wanted in self.tail),
            *(wanted.shown(_SUFFIX) for wanted in self.suffix),
        )

    @property
    def digests(self) -> Iterator[str]:
        """Names for what they say, in order."""
        return (wanted.digest for wanted in (*self.front, *self.tail, *self.suffix))

    @property
    def notices(self) -> tuple[str, ...]:
        """What has to be said of them."""
        moved = [wanted.note for wanted in self.suffix if wanted.note.is_of_prefix]
        told = (
            ("no room for the notes {}", [wanted.note for wanted in self.left_out]),
            (_ONCE, [note for note in moved if note.consume_after_emit]),
            (_COOLING, [note for note in moved if not note.consume_after_emit]),
        )
        return tuple(text.format(", ".join(note.key for note in notes)) for text, notes in told if notes)

    def in_bands(self) -> "Woven":
        """The same with those in their bands that are shown once."""
        once = [wanted for wanted in self.suffix if wanted.note.is_of_prefix and wanted.note.consume_after_emit]
        if not once:
            return self
        front = sorted((*self.front, *once), key=_place)
        return self._replace(front=tuple(front), suffix=tuple(each for each in self.suffix if each not in once))

    def into(self, messages: tuple[Message, ...], opening: int) -> tuple[Message, ...]:
        """A context's messages with these notes, behind so many that are the base prompt, and at the end."""
        end = tuple(wanted.message for wanted in (*self.tail, *self.suffix))
        return put_into(messages, opening, [wanted.message for wanted in self.front]) + end


_ELSEWHERE = "stand at the end of the prompt, and not in their band: "
_ONCE = (
    "the notes {}, which are shown once, "
    + _ELSEWHERE
    + "to take them out of it again would write the cached prompt anew"
)
_COOLING = (
    "the notes {}, which have a cooldown, "
    + _ELSEWHERE
    + "to come and go there would write the cached prompt anew each time"
)
NO_NOTES = Weave()
NOTHING_WOVEN = Woven()


class Weaver:
    """Looks at the notes of one session, and keeps their messages at hand."""

    def __init__(self, session: str, count: Callable[[Message], int]) -> None:
        self._session = session  # the first of a line of forks, so that the messages are the same in all of them
        self._count = count
        self._made: dict[str, Wanted] = {}  # the durable notes, by key
        self._messages: dict[tuple[str, str], tuple[Message, int]] = {}  # by key and digest
        self._woven: tuple[int, Weave] = (0, NO_NOTES)  # the last answer, and the entry up to which it holds

    def message(self, note: ContextMessage, digest: str) -> tuple[Message, int]:
        """A note as the model gets it, with its tokens."""
        name = (note.key, digest)
        if name not in self._messages:
            message = note.to_message(self._session)
            self._messages[name] = (message, self._count(lowered(message)))  # the longest that a vendor gets
        return self._messages[name]

    def weave(self, state: SessionState) -> Weave:
        """What the notes want of the next context."""
        if state.noteboard.is_empty:
            return NO_NOTES
        if self._woven[0] != state.head:
            self._woven = (state.head, self._weave(state))
        return self._woven[1]

    def _weave(self, state: SessionState) -> Weave:
        board = state.noteboard
        if len(self._messages) > _MOST_KEPT + 2 * len(board.notes):
            self._messages.clear()
        notes = [note for note in board.notes.values() if note.is_prompt_injected]
        self._made = {note.key: self._make(note, order) for order, note in enumerate(notes)}
        # The last of each key; what was shown once is not among them, since the fold that takes it out comes before anything else.
        sent = {each.note.key: each for each in board.standing if not each.note.consume_after_emit}
        wanted = [_compared(each, sent, board) for each in self._made.values() if each.note.content.strip()]
        due, held = _throttled([each for each in wanted if not each.note.is_lasting], sent, board)
        silent = (each for each in self._made.values() if not each.note.content.strip())
        return Weave(
            lasting=tuple(sorted((each for each in wanted if each.note.is_lasting), key=_place)),
            passing=tuple(sorted(due, key=_place)),
            sent=tuple(self._sent(board, sent)),
            gone=(
                *(_apart(key, NoteDecision.RETRACTED) for key in sent if key not in board.notes),
                *(_apart(each.note.key, NoteDecision.COOLDOWN) for each in held if each.stands),
            ),
            apart=(
                *(_apart(each.note.key, NoteDecision.EMPTY) for each in silent),
                *(_apart(each.note.key, NoteDecision.COOLDOWN) for each in held if not each.stands),
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

    def _sent(self, board: NoteBoard, last: Mapping[str, StandingNote]) -> Iterator[NoteOutcome]:
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


def _compared(wanted: Wanted, sent: Mapping[str, StandingNote], board: NoteBoard) -> Wanted:
    """A note, and whether it is in what was sent."""
    key = wanted.note.key
    last = sent.get(key)
    if last is not None and last.digest == wanted.digest:
        is_there = wanted.note.is_lasting and last.band is wanted.note.target
        return wanted._replace(decision=NoteDecision.STICKY if is_there else NoteDecision.PROMOTED, stands=True)
    is_humble = key in board.left_out
    if not wanted.note.is_lasting:
        return wanted._replace(is_humble=is_humble) if is_humble else wanted
    return wanted._replace(decision=_why(wanted.note, board.last_emission(key)), is_humble=is_humble)


def _throttled(
    passing: Sequence[Wanted], sent: Mapping[str, StandingNote], board: NoteBoard
) -> tuple[list[Wanted], list[Wanted]]:
    """The notes that are due in this turn, and those that have turns to skip.

    One that stands in what was sent, because it had no cooldown then, is not said again behind it; the fold that takes it away asks.
    """
    keys = (wanted.note.key for wanted in passing)  # not of all that ever came
    before = {key: last for key in keys if (last := board.last_emission(key, sent.get(key))) is not None}
    throttled = throttle([wanted.note for wanted in passing], before, board.answered)
    held = {note.key for note in throttled.suppressed}
    due = []
    for wanted in passing:
        key = wanted.note.key
        if key not in held:
            decision = _why(wanted.note, before.get(key), throttled.ledger[key])
            due.append(wanted if wanted.stands else wanted._replace(decision=decision))
    return due, [wanted for wanted in passing if wanted.note.key in held]


def _why(note: ContextMessage, last: Emission | None, now: Emission | None = None) -> NoteDecision:
    """Why a note comes that is due."""
    if last is None:
        return NoteDecision.FIRST_EMIT
    if last.digest != (now or emission(note, last.turn)).digest:
        return NoteDecision.CONTENT_CHANGED
    return NoteDecision.COOLDOWN_ELAPSED if note.cooldown_turns else NoteDecision.ALWAYS


def _lost(board: NoteBoard, sent: Mapping[str, StandingNote]) -> Iterator[NoteOutcome]:
    """What is told of notes that are not durable any more: one that stands is told where it stands."""
    for each in board.lost:
        is_told_there = each.decision is NoteDecision.RETRACTED and each.note.key in sent
        if each.decision is not NoteDecision.SUPERSEDED and not is_told_there:
            yield _apart(each.note.key, each.decision)


def _apart(key: str, decision: NoteDecision) -> NoteOutcome:
    return NoteOutcome(key, None, decision, 0)


def _place(wanted: Wanted) -> tuple[int, int]:
    return _ORDER[wanted.note.target], wanted.order


# -- room


def fold_in(weave: Weave, room: int) -> Woven:
    """The notes for a new layout, with so many tokens above what the laws demand.

    The first bands come first. A system note may take all of that room; the others give way where notes would take more than half.
    """
    front: list[Wanted] = []
    suffix: list[Wanted] = []
    left_out: list[Wanted] = []
    taken = 0
    for wanted in (*weave.lasting, *weave.passing):
        is_lasting = wanted.note.is_lasting
        most = room if is_lasting and wanted.note.target is _SYSTEM else room // 2
        if taken + wanted.tokens > most:
            left_out.append(wanted)
            continue
        taken += wanted.tokens
        (front if is_lasting else suffix).append(wanted)
    return Woven(front=tuple(front), suffix=tuple(suffix), left_out=tuple(left_out))


def settle(weave: Weave, woven: Woven, behind: int) -> Woven:
    """The notes of a fold, with so many tokens behind their bands: what is shown once stands in its band where that costs little.

    The fold that takes it out again takes no other in, so that a note in every turn is not a fold in every turn.
    """
    is_cheap = behind <= _MOST_WRITTEN_AGAIN and not weave.is_leaving
    return woven.in_bands() if weave.is_first or is_cheap else woven


def add(weave: Weave, room: int, left_out: Mapping[str, str]) -> Woven:
    """The notes that come beside what was sent; before anything was sent, in their bands.

    What the last fold had no room for comes last, and a lasting note only if it says something else now: otherwise it would come
    and go with every fold.
    """
    taken: set[str] = set()
    for wanted in sorted(weave.fresh, key=lambda wanted: wanted.is_humble):
        is_refused = wanted.note.is_lasting and left_out.get(wanted.note.key) == wanted.digest
        if not is_refused and wanted.tokens <= room:
            room -= wanted.tokens
            taken.add(wanted.note.key)
    lasting = _among(taken, (wanted for wanted in weave.lasting if not wanted.stands))
    missing = tuple(wanted for wanted in weave.fresh if wanted.note.key not in taken)
    suffix = _among(taken, weave.passing)
    return Woven(lasting, (), suffix, missing).in_bands() if weave.is_first else Woven((), lasting, suffix, missing)


def put_into(messages: tuple[Message, ...], opening: int, notes: Sequence[Message]) -> tuple[Message, ...]:
    """The messages with notes behind the base prompt."""
    return (*messages[:opening], *notes, *messages[opening:]) if notes else messages


def _among(keys: set[str], wanted: Iterable[Wanted]) -> tuple[Wanted, ...]:
    return tuple(each for each in wanted if each.note.key in keys)


def base_of(state: SessionState) -> int:
    """The last page of the base prompt: of the rules that a session began with, before anything else was said."""
    base = 0
    for page in state.pages:
        if page.counts and not page.kind.is_rule:
            break
        base = page.seq
    return base
