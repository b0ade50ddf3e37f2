"""Replay: a recorded session, once more, with something else that says what the model sees; and what came of it."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, pairwise, takewhile
from typing import NamedTuple

from pageturn.lab.billing import STUDY, Prices, Sent, Vendor, cached, floor, refetches
from pageturn.lab.demand import Wanted, demand, lines_of
from pageturn.lab.repeated import repeated
from pageturn.lab.results import Form, ReplayedTurn, Score, rounded
from pageturn.lab.traces import Trace, study_tokens, text_of
from pageturn.messages import Message, Role
from pageturn.wire import to_json

__all__ = ["Recording", "Replay", "Score", "Seen", "Shown", "Shows"]


class Shown(NamedTuple):
    """The messages of one request, with what their maker knows of them."""

    messages: Sequence[Message]
    forms: Mapping[Form, int] | None = None  # tokens by what they stand as; what is not told is full
    faults: Mapping[str, int] | None = None  # what was recorded at this turn, by code; counted where nobody did
    breakpoints: Sequence[int] = ()  # the messages after which the cache should keep the prompt


Seen = Shown | Sequence[Message] | None
"""What one request shows, or None where there was no way to make one."""

Shows = Callable[[Trace], Iterable[Seen]]
"""What the model sees of a session, turn by turn, in the order of its turns."""

_OPENING = (Role.SYSTEM, Role.DEVELOPER)
_NOTHING = Wanted(-1, frozenset(), frozenset())


class Replay(NamedTuple):
    """What one way of showing a session came to, in sum and turn by turn."""

    score: Score
    turns: tuple[ReplayedTurn, ...]

    @property
    def faults(self) -> dict[str, int]:
        """How often each fault came."""
        return dict(sorted(sum((Counter(turn.faults) for turn in self.turns), Counter()).items()))


class _Read:
    """A message as it is measured; what is asked often is worked out once."""

    def __init__(self, message: Message, sent: Sent, *, is_recorded: bool) -> None:
        self.message = message
        self.text = text_of(message)
        self.sent = sent
        self.is_recorded = is_recorded

    @property
    def blocks(self) -> int:
        """As a vendor counts them: the parts of a message."""
        return max(1, len(self.message.content))

    @cached_property
    def lines(self) -> set[str]:
        return lines_of(self.message)


class Recording:
    """A recorded session with all that does not depend on what is shown: make one, and score many ways with it.

    Nothing is charged for a turn that is refused, but all that it demands is missed. A vendor that never forgets has no use for times:
    whoever folds when the cache is gone must not be told of a silence that the bill knows nothing of.
    """

    def __init__(
        self,
        trace: Trace,
        *,
        tokens: Callable[[Message], int] = study_tokens,
        prices: Prices | None = None,
        vendor: Vendor = STUDY,
    ) -> None:
        self.trace = trace if vendor.ttl_seconds is not None else trace._replace(times=())
        self.vendor = vendor if prices is None else vendor._replace(prices=prices)
        self._prices = self.vendor.prices
        self._wanted = {wanted.turn: wanted for wanted in demand(trace)}
        self._again = repeated(trace)
        self._count = tokens
        self._read: dict[Hashable, _Read] = {}
        self._known: dict[int, tuple[Message, _Read]] = {}  # by identity, since requests share most of their messages
        self._pages = self._reads(trace.messages, are_recorded=True)
        self._holders: dict[tuple[str, int], int] = {}
        self._cold = cold_turns(trace, self.vendor.ttl_seconds)

    def score(self, shows: Shows) -> Score:
        """What this way of showing the session comes to."""
        return self.replay(shows).score

    def replay(self, shows: Shows) -> Replay:
        """What this way of showing the session comes to, turn by turn."""
        turns: list[ReplayedTurn] = []
        self._known.clear()
        largest = 0
        before = _Request([], (), [0])
        for at, seen in zip(self.trace.turns, shows(self.trace), strict=True):
            turn, before = self._turn(at, seen, before, number=len(turns))
            turns.append(turn)
            largest = max(largest, turn.tokens)
        score = Score(
            billed=rounded(sum(turn.billed for turn in turns)),
            whole=rounded(sum(self._wholes)),
            floor=self._floor,
            demanded=sum(turn.demanded for turn in turns),
            covered=sum(turn.demanded - len(turn.missed) for turn in turns),
            lines_wanted=sum(turn.lines_wanted for turn in turns),
            lines_shown=sum(turn.lines_shown for turn in turns),
            refetched=rounded(sum(turn.refetched for turn in turns)),
            turns=len(turns),
            refused=sum(turn.refused for turn in turns),
            rewritten=sum(turn.folded for turn in turns),
            largest=largest,
            output=self._output,
        )
        return Replay(score, tuple(turns))

    def _turn(self, at: int, seen: Seen, before: "_Request", *, number: int) -> tuple[ReplayedTurn, "_Request"]:
        """One request, and the request whose prompt is remembered after it."""
        shown = seen if isinstance(seen, Shown) or seen is None else Shown(seen)
        reads = self._reads(shown.messages) if shown is not None else []
        request = _Request(
            [read.sent for read in reads], self._marks(shown, reads), [0, *accumulate(read.blocks for read in reads)]
        )
        tokens = sum(sent.tokens for sent in request.sent)
        is_cold = number in self._cold
        hit = 0 if is_cold else self._cached(request, before)
        _, names, lines = self._wanted.get(at, _NOTHING)
        missed = _missed(names, reads)
        pages = {self._holder(name, at) for name in missed}
        turn = ReplayedTurn(
            tokens=tokens,
            billed=rounded(self._prices.read * hit + self._prices.write * (tokens - hit)),
            floor=rounded(self._floors[number]),
            whole=rounded(self._wholes[number]),
            demanded=len(names),
            missed=tuple(sorted(missed)),
            lines_wanted=len(lines),
            lines_shown=sum(any(line in read.lines for read in reversed(reads)) for line in lines),
            refetched=rounded(refetches([self._pages[page].sent.tokens for page in pages], tokens, self._prices)),
            folded=shown is not None and request.sent[: len(before.sent)] != before.sent,
            refused=shown is None,
            cold=is_cold,
            forms=_forms(shown, reads, tokens),
            faults=self._faults(at, shown, request),
        )
        return turn, request if shown is not None else before

    def _faults(self, at: int, shown: Shown | None, request: "_Request") -> dict[str, int]:
        """The faults of a turn, as its maker counts them, or else results that it brought again and that did not stand there."""
        if shown is not None and shown.faults is not None:
            return dict(sorted(shown.faults.items()))
        again = self._again.get(at, ()) if shown is not None else ()
        lost = Counter(one.code for one in again if self._pages[one.before].sent not in request.sent)
        return dict(sorted(lost.items()))

    def _marks(self, shown: Shown | None, reads: Sequence[_Read]) -> tuple[int, ...]:
        """Where the cache keeps the prompt: as its maker says, or else after the opening and at the end."""
        most = self.vendor.breakpoints
        if shown is None or most is None:
            return ()
        opening = sum(1 for _ in takewhile(lambda read: read.message.role in _OPENING, reads))
        marks = shown.breakpoints or [mark for mark in (opening - 1, len(reads) - 1) if mark >= 0]
        return tuple(sorted(set(marks))[-most:])

    def _cached(self, request: "_Request", before: "_Request") -> int:
        """The tokens of a request that are read from the cache."""
        if self.vendor.breakpoints is None:
            return self.vendor.kept(cached(request.sent, before.sent))
        found = (end for end in before.marks if any(self._finds(request.blocks, end, mark) for mark in request.marks))
        return self.vendor.kept(cached(request.sent, before.sent, found))

    def _finds(self, blocks: Sequence[int], end: int, mark: int) -> bool:
        """Whether the end of an earlier request is found from a mark at or behind it."""
        most = self.vendor.lookback_blocks
        return end <= mark and (most is None or blocks[mark + 1] - blocks[end + 1] <= most)

    def _holder(self, name: str, turn: int) -> int:
        """The latest page before a turn that held a name."""
        if (name, turn) not in self._holders:
            before = range(turn - 1, -1, -1)
            self._holders[name, turn] = next(page for page in before if name in self._pages[page].text)
        return self._holders[name, turn]

    def _reads(self, messages: Iterable[Message], *, are_recorded: bool = False) -> list[_Read]:
        known = self._known
        return [
            known[id(message)][1] if id(message) in known else self._new(message, is_recorded=are_recorded)
            for message in messages
        ]

    def _new(self, message: Message, *, is_recorded: bool) -> _Read:
        value = _value(message)
        read = self._read.get(value)
        if read is None:
            # Equal messages are read once, so a number says which one it is.
            sent = Sent(len(self._read), self._count(message))
            read = self._read[value] = _Read(message, sent, is_recorded=is_recorded)
        self._known[id(message)] = (message, read)  # the message is kept, so that nothing else can have its identity
        return read

    @cached_property
    def _wholes(self) -> list[float]:
        """The bill of sending everything, turn by turn."""
        sizes = [0, *accumulate(page.sent.tokens for page in self._pages)]
        blocks = [0, *accumulate(page.blocks for page in self._pages)]
        bills = []
        before = 0
        for number, turn in enumerate(self.trace.turns):
            is_found = self.vendor.breakpoints is None or (before and self._finds(blocks, before - 1, turn - 1))
            hit = self.vendor.kept(sizes[before] if is_found else min(self._opening_tokens, sizes[before]))
            hit = 0 if number in self._cold else hit
            bills.append(self._prices.read * hit + self._prices.write * (sizes[turn] - hit))
            before = turn
        return bills

    @cached_property
    def _floor(self) -> float:
        turns = self.trace.turns
        sizes = [page.sent.tokens for page in self._pages[: max(turns, default=0)]]  # what comes later is never sent
        return rounded(floor(sum(sizes), self._opening_tokens, len(turns), self._prices))

    @cached_property
    def _floors(self) -> list[float]:
        """The floor turn by turn: what came since the last one is written, and the opening is read."""
        read = self._prices.read * self._opening_tokens
        starts = [0, *self.trace.turns]
        fresh = [
            sum(page.sent.tokens for page in self._pages[start:end])
            for start, end in zip(starts, self.trace.turns, strict=False)
        ]
        return [self._prices.write * tokens + (read if at else 0) for at, tokens in enumerate(fresh)]

    @cached_property
    def _opening_tokens(self) -> int:
        opening = takewhile(lambda page: page.message.role in _OPENING, self._pages[: max(self.trace.turns, default=0)])
        return sum(page.sent.tokens for page in opening)

    @cached_property
    def _output(self) -> float:
        written = sum(self._pages[turn].sent.tokens for turn in self.trace.turns)
        return rounded(self.vendor.output * written)


class _Request(NamedTuple):
    sent: list[Sent]
    marks: tuple[int, ...]
    blocks: list[int]  # how many there are before each message, and in all


def cold_turns(trace: Trace, ttl_seconds: float | None) -> frozenset[int]:
    """The numbers of the turns that came so long after the one before that the cache was gone."""
    if not trace.times or ttl_seconds is None:
        return frozenset()
    asked = [trace.times[max(turn - 1, 0)] for turn in trace.turns]  # a request goes out when its last message is there
    gaps = ((number, now - then) for number, (then, now) in enumerate(pairwise(asked), start=1))
    return frozenset(number for number, gap in gaps if gap > ttl_seconds)


def _missed(names: frozenset[str], reads: Sequence[_Read]) -> list[str]:
    if not names:
        return []
    context = "\n".join([read.text for read in reads])
    return [name for name in names if name not in context]


def _forms(shown: Shown | None, reads: Iterable[_Read], tokens: int) -> dict[Form, int]:
    """What the tokens stand as; where nobody says so, recorded messages are full and everything else is not a page."""
    if shown is None:
        return {}
    if shown.forms is None:
        full = sum(read.sent.tokens for read in reads if read.is_recorded)
        told = {Form.FULL: full, Form.OTHER: tokens - full}
    else:
        rest = tokens - sum(shown.forms.values())
        told = {**shown.forms, Form.FULL: shown.forms.get(Form.FULL, 0) + rest}
    return {form: told[form] for form in Form if told.get(form)}


def _value(message: Message) -> Hashable:
    value = (message.role, message.content)
    try:
        hash(value)
    except TypeError:  # a part that holds a vendor's own item
        return to_json(message)
    return value
