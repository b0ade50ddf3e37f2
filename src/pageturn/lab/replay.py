"""Replays a recorded session with another method choosing what the model sees, and measures the outcome."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from itertools import accumulate, pairwise, takewhile
from typing import NamedTuple

from pageturn.journal.references import results_of
from pageturn.lab.billing import Sent, cached, fetching, floor, refetches, shared
from pageturn.lab.demand import Wanted, demand
from pageturn.lab.measured_messages import Read, Reader
from pageturn.lab.rereads import repeated
from pageturn.lab.results import FETCHED_AGAIN, Form, ReplayedTurn, Score, rounded
from pageturn.lab.traces import Trace, estimated_tokens
from pageturn.values.messages import Message, Role
from pageturn.values.vendors import IDEAL_CACHE, Prices, Vendor

__all__ = ["Recording", "Replay", "Score", "Seen", "Shown", "Shows"]


class Shown(NamedTuple):
    """The messages of one request, with what their method knows about them."""

    messages: Sequence[Message]
    forms: Mapping[Form, int] | None = None  # tokens by level or kind; the rest is full
    # Recorded at this turn, by code; re-fetches are counted for all methods alike.
    faults: Mapping[str, int] | None = None
    breakpoints: Sequence[int] = ()  # the messages after which the cache should keep the prompt
    tools_tokens: int = 0  # of tools that this method adds to those of the session, such as a recall tool


Seen = Shown | Sequence[Message] | None
"""What one request shows, or None where there was no way to make one."""

Shows = Callable[[Trace], Iterable[Seen]]
"""What the model sees of a session, turn by turn, in the order of its turns."""

_OPENING = (Role.SYSTEM, Role.DEVELOPER)
_NOTHING = Wanted(-1, frozenset(), frozenset())


class Replay(NamedTuple):
    """The figures of one method in a session, in total and turn by turn."""

    score: Score
    turns: tuple[ReplayedTurn, ...]

    @property
    def faults(self) -> dict[str, int]:
        """How often each fault occurred."""
        return dict(sorted(sum((Counter(turn.faults) for turn in self.turns), Counter()).items()))


class Recording:
    """A recorded session with everything that does not depend on what is shown: make one, and score many methods with it.

    A refused turn costs nothing, but everything that it needs counts as missed. Times are ignored for a vendor whose cache never
    expires: a method that folds when the cache is cold must not see a pause that the bill ignores.
    """

    def __init__(
        self,
        trace: Trace,
        *,
        tokens: Callable[[Message], int] = estimated_tokens,
        prices: Prices | None = None,
        vendor: Vendor = IDEAL_CACHE,
    ) -> None:
        self.trace = trace if vendor.ttl_seconds is not None else trace._replace(times=())
        self.vendor = vendor if prices is None else vendor._replace(prices=prices)
        self._prices = self.vendor.prices
        self._wanted = {wanted.turn: wanted for wanted in demand(trace)}
        self._again = repeated(trace)
        self._reader = Reader(tokens)
        self._pages = self._reader.read(trace.messages, are_recorded=True)
        self._holders: dict[tuple[str, int], int] = {}
        self._line_holders: dict[tuple[str, int], int] = {}
        self._cold = cold_turns(trace, self.vendor.ttl_seconds)

    def score(self, shows: Shows) -> Score:
        """The figures of a method."""
        return self.replay(shows).score

    def replay(self, shows: Shows) -> Replay:
        """The figures of a method, turn by turn."""
        turns: list[ReplayedTurn] = []
        self._reader.forget()
        largest = 0
        before = _Request([], ())
        fetched: set[int] = set()  # pages that were fetched since the last fold
        for at, seen in zip(self.trace.turns, shows(self.trace), strict=True):
            turn, before = self._turn(at, seen, before, fetched, number=len(turns))
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
            folds=sum(turn.folded for turn in turns),
            largest=largest,
            output=self._output,
            fetching=rounded(sum(turn.fetching for turn in turns)),
            fetching_once=rounded(sum(turn.fetching_once for turn in turns)),
            missing=sum(turn.misses for turn in turns),
            judged=len(turns),
        )
        return Replay(score, tuple(turns))

    def _turn(
        self, at: int, seen: Seen, before: "_Request", fetched: set[int], *, number: int
    ) -> tuple[ReplayedTurn, "_Request"]:
        """One request, and the request whose prompt is cached after it."""
        shown = seen if isinstance(seen, Shown) or seen is None else Shown(seen)
        reads = self._reader.read(shown.messages) if shown is not None else []
        tools = [Sent(("tools", shown.tools_tokens), shown.tools_tokens)] if shown and shown.tools_tokens else []
        marks = tuple(len(tools) + mark for mark in self._marks(shown, reads))
        request = _Request([*tools, *(block for read in reads for block in read.blocks)], marks)
        tokens = sum(sent.tokens for sent in request.sent)
        is_cold = number in self._cold
        is_folded = shown is not None and shared(request.sent, before.sent) < len(before.sent)
        hit = 0 if is_cold else self._cached(request, before)
        _, names, lines = self._wanted.get(at, _NOTHING)
        missed = _missed(names, reads)
        pages = {self._holder(name, at) for name in missed}
        lost = [line for line in lines if not any(line in read.lines for read in reversed(reads))]
        gone = pages | {self._line_holder(line, at) for line in lost}
        if is_folded:
            fetched.clear()
        turn = ReplayedTurn(
            tokens=tokens,
            billed=rounded(self._prices.read * hit + self._prices.write * (tokens - hit)),
            floor=rounded(self._floors[number]),
            whole=rounded(self._wholes[number]),
            demanded=len(names),
            missed=tuple(sorted(missed)),
            lines_wanted=len(lines),
            lines_shown=len(lines) - len(lost),
            refetched=rounded(refetches([self._pages[page].tokens for page in pages], tokens, self._prices)),
            folded=is_folded,
            refused=shown is None,
            cold=is_cold,
            forms=_forms(shown, reads, tokens),
            faults=self._faults(at, shown),
            fetching=self._fetching(gone, tokens),
            fetching_once=self._fetching(gone - fetched, tokens),
        )
        fetched |= gone
        return turn, request if shown is not None else before

    def _fetching(self, pages: AbstractSet[int], request_tokens: int) -> float:
        """The bill of the call that fetches pages; None if there are none."""
        sizes = [self._pages[page].tokens for page in pages]
        return rounded(fetching(sizes, request_tokens, self.vendor)) if sizes else 0

    def _faults(self, at: int, shown: Shown | None) -> dict[str, int]:
        """The faults of a turn: those that its method reports, and repeated results that were not in the request in full."""
        if shown is None:
            return {}
        counted = {code: count for code, count in (shown.faults or {}).items() if code not in FETCHED_AGAIN}
        again = self._again.get(at, ())
        stand = {result.content for message in shown.messages for result in results_of(message)} if again else ()
        lost = Counter(one.fault.code for one in again if one.content not in stand)
        return dict(sorted({**counted, **lost}.items()))

    def _marks(self, shown: Shown | None, reads: Sequence[Read]) -> tuple[int, ...]:
        """Where the cache keeps the prompt: as the method says, or else after the opening and at the end."""
        most = self.vendor.breakpoints
        if shown is None or most is None:
            return ()
        opening = sum(1 for _ in takewhile(lambda read: read.message.role in _OPENING, reads))
        marks = shown.breakpoints or [mark for mark in (opening - 1, len(reads) - 1) if mark >= 0]
        ends = list(accumulate(len(read.blocks) for read in reads))
        return tuple(ends[mark] - 1 for mark in sorted(set(marks))[-most:])

    def _cached(self, request: "_Request", before: "_Request") -> int:
        """The tokens of a request that are read from the cache."""
        if self.vendor.breakpoints is None:
            return self.vendor.kept(cached(request.sent, before.sent))
        found = (end for end in before.marks if any(self._finds(end, mark) for mark in request.marks))
        return self.vendor.kept(cached(request.sent, before.sent, found))

    def _finds(self, end: int, mark: int) -> bool:
        """Whether a mark at or after the end of an earlier request finds it; both are numbers of blocks."""
        most = self.vendor.lookback_blocks
        return end <= mark and (most is None or mark - end <= most)

    def _holder(self, name: str, turn: int) -> int:
        """The latest page before a turn with a name."""
        if (name, turn) not in self._holders:
            before = range(turn - 1, -1, -1)
            self._holders[name, turn] = next(page for page in before if name in self._pages[page].text)
        return self._holders[name, turn]

    def _line_holder(self, line: str, turn: int) -> int:
        """The latest page before a turn with a line."""
        if (line, turn) not in self._line_holders:
            before = range(turn - 1, -1, -1)
            self._line_holders[line, turn] = next(page for page in before if line in self._pages[page].lines)
        return self._line_holders[line, turn]

    @cached_property
    def _wholes(self) -> list[float]:
        """The bill of sending everything, turn by turn."""
        sizes = [0, *accumulate(page.tokens for page in self._pages)]
        blocks = [0, *accumulate(len(page.blocks) for page in self._pages)]
        bills = []
        before = 0
        for number, turn in enumerate(self.trace.turns):
            is_found = self.vendor.breakpoints is None or (before and self._finds(blocks[before] - 1, blocks[turn] - 1))
            hit = self.vendor.kept(sizes[before] if is_found else min(self._opening_tokens, sizes[before]))
            hit = 0 if number in self._cold else hit
            bills.append(self._prices.read * hit + self._prices.write * (sizes[turn] - hit))
            before = turn
        return bills

    @cached_property
    def _floor(self) -> float:
        turns = self.trace.turns
        sizes = [page.tokens for page in self._pages[: max(turns, default=0)]]  # later messages are never sent
        return rounded(floor(sum(sizes), self._opening_tokens, len(turns), self._prices))

    @cached_property
    def _floors(self) -> list[float]:
        """The lower bound turn by turn: new content is written, and the opening is read."""
        read = self._prices.read * self._opening_tokens
        starts = [0, *self.trace.turns]
        fresh = [
            sum(page.tokens for page in self._pages[start:end])
            for start, end in zip(starts, self.trace.turns, strict=False)
        ]
        return [self._prices.write * tokens + (read if at else 0) for at, tokens in enumerate(fresh)]

    @cached_property
    def _opening_tokens(self) -> int:
        opening = takewhile(lambda page: page.message.role in _OPENING, self._pages[: max(self.trace.turns, default=0)])
        return sum(page.tokens for page in opening)

    @cached_property
    def _output(self) -> float:
        written = sum(self._pages[turn].tokens for turn in self.trace.turns)
        return rounded(self.vendor.output * written)


class _Request(NamedTuple):
    sent: list[Sent]  # block by block
    marks: tuple[int, ...]  # the blocks after which the cache keeps the prompt


def cold_turns(trace: Trace, ttl_seconds: float | None) -> frozenset[int]:
    """The numbers of the turns that came so long after the one before that the cache had expired."""
    if not trace.times or ttl_seconds is None:
        return frozenset()
    asked = [trace.times[max(turn - 1, 0)] for turn in trace.turns]  # a request is sent when its last message is there
    gaps = ((number, now - then) for number, (then, now) in enumerate(pairwise(asked), start=1))
    return frozenset(number for number, gap in gaps if gap > ttl_seconds)


def _missed(names: frozenset[str], reads: Sequence[Read]) -> list[str]:
    if not names:
        return []
    context = "\n".join([read.text for read in reads])
    return [name for name in names if name not in context]


def _forms(shown: Shown | None, reads: Iterable[Read], tokens: int) -> dict[Form, int]:
    """Tokens by level or kind; if the method does not say, recorded messages are full and everything else is not a page."""
    if shown is None:
        return {}
    if shown.forms is None:
        full = sum(read.tokens for read in reads if read.is_recorded)
        tokens_of = {Form.FULL: full, Form.OTHER: tokens - full}
    else:
        rest = tokens - shown.tools_tokens - sum(shown.forms.values())
        tokens_of = {**shown.forms, Form.FULL: shown.forms.get(Form.FULL, 0) + rest}
        tokens_of[Form.OTHER] = tokens_of.get(Form.OTHER, 0) + shown.tools_tokens
    return {form: tokens_of[form] for form in Form if tokens_of.get(form)}
