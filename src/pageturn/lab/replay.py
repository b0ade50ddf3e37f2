"""Replay: a recorded session, once more, with something else that says what the model sees; and what came of it."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cached_property
from itertools import takewhile
from typing import NamedTuple

from pageturn.lab.billing import Prices, Sent, bill, floor, refetches
from pageturn.lab.demand import demand, lines_of
from pageturn.lab.traces import Trace, study_tokens, text_of
from pageturn.messages import Message, Role
from pageturn.wire import to_json

Seen = Sequence[Message] | None
"""The messages of one request, or None where there was no way to make one."""

Shows = Callable[[Trace], Iterable[Seen]]
"""What the model sees of a session, turn by turn, in the order of its turns."""

_OPENING = (Role.SYSTEM, Role.DEVELOPER)


class Score(NamedTuple):
    """What one way of showing a session came to. The scores of several sessions add up to the pooled one."""

    billed: float = 0.0
    whole: float = 0.0  # the bill of sending everything at every turn
    floor: float = 0.0  # the least that the bill can be
    demanded: int = 0
    covered: int = 0
    lines_wanted: int = 0
    lines_shown: int = 0
    refetched: float = 0.0  # the bill of reading again what was missed
    turns: int = 0
    refused: int = 0
    rewritten: int = 0  # turns whose request did not begin with the one before: folds, by whatever name
    largest: int = 0  # tokens of the largest request

    def __add__(self, other: "Score") -> "Score":  # type: ignore[override]
        sums = Score._make(ours + theirs for ours, theirs in zip(self, other, strict=True))
        return sums._replace(largest=max(self.largest, other.largest))

    @property
    def cost(self) -> float:
        """The bill, relative to sending everything."""
        return _share(self.billed, self.whole)

    @property
    def cost_with_refetches(self) -> float:
        """The bill with reading again what was missed, relative to sending everything."""
        return _share(self.billed + self.refetched, self.whole)

    @property
    def over_floor(self) -> float:
        """How many times the least possible bill this one is."""
        return _share(self.billed, self.floor)

    @property
    def coverage(self) -> float:
        """The share of demanded identifiers that stood in the request."""
        return _share(self.covered, self.demanded)

    @property
    def verbatim_coverage(self) -> float:
        """The share of the lines that edits had to match which stood in the request."""
        return _share(self.lines_shown, self.lines_wanted)


def _share(part: float, whole: float) -> float:
    """A part of the whole; of nothing it is all."""
    return part / whole if whole else 1.0


class _Read:
    """A message as it is measured; what is asked often is worked out once."""

    def __init__(self, message: Message, sent: Sent) -> None:
        self.text = text_of(message)
        self.sent = sent
        self._message = message

    @cached_property
    def lines(self) -> set[str]:
        return lines_of(self._message)


class Recording:
    """A recorded session with all that does not depend on what is shown: make one, and score many ways with it.

    Nothing is charged for a turn that is refused, but all that it demands is missed.
    """

    def __init__(
        self,
        trace: Trace,
        *,
        tokens: Callable[[Message], int] = study_tokens,
        prices: Prices = Prices(),  # noqa: B008
    ) -> None:
        self.trace = trace
        self._wanted = {wanted.turn: wanted for wanted in demand(trace)}
        self._count = tokens
        self._prices = prices
        self._read: dict[Hashable, _Read] = {}
        self._pages = self._reads(trace.messages)
        self._holders: dict[tuple[str, int], int] = {}

    def score(self, shows: Shows) -> Score:
        """What this way of showing the session comes to."""
        score = Score(whole=self._whole, floor=self._floor)
        requests: list[list[Sent]] = []
        for turn, seen in zip(self.trace.turns, shows(self.trace), strict=True):
            reads = self._reads(seen or ())
            sent = [read.sent for read in reads]
            score += self._turn(turn, reads, sum(one.tokens for one in sent))._replace(refused=int(seen is None))
            if seen is not None:
                is_rewritten = bool(requests) and sent[: len(requests[-1])] != requests[-1]
                score = score._replace(rewritten=score.rewritten + is_rewritten)
                requests.append(sent)
        return score._replace(billed=bill(requests, self._prices))

    def _turn(self, turn: int, reads: list[_Read], tokens: int) -> Score:
        """What one request shows of what its turn demands."""
        if turn not in self._wanted:
            return Score(turns=1, largest=tokens)
        _, names, lines = self._wanted[turn]
        context = "\n".join(read.text for read in reads)
        missed = [name for name in names if name not in context]
        pages = {self._holder(name, turn) for name in missed}
        return Score(
            demanded=len(names),
            covered=len(names) - len(missed),
            lines_wanted=len(lines),
            lines_shown=sum(any(line in read.lines for read in reversed(reads)) for line in lines),
            refetched=refetches([self._pages[page].sent.tokens for page in pages], tokens, self._prices),
            turns=1,
            largest=tokens,
        )

    def _holder(self, name: str, turn: int) -> int:
        """The latest page before a turn that held a name."""
        if (name, turn) not in self._holders:
            before = range(turn - 1, -1, -1)
            self._holders[name, turn] = next(page for page in before if name in self._pages[page].text)
        return self._holders[name, turn]

    def _reads(self, messages: Iterable[Message]) -> list[_Read]:
        reads = []
        for message in messages:
            value = _value(message)
            read = self._read.get(value)
            if read is None:
                # Equal messages are read once, so a number says which one it is.
                read = self._read[value] = _Read(message, Sent(len(self._read), self._count(message)))
            reads.append(read)
        return reads

    @cached_property
    def _whole(self) -> float:
        sent = [page.sent for page in self._pages]
        return bill((sent[:turn] for turn in self.trace.turns), self._prices)

    @cached_property
    def _floor(self) -> float:
        turns = self.trace.turns
        sizes = [page.sent.tokens for page in self._pages[: max(turns, default=0)]]  # what comes later is never sent
        opening = sum(1 for _ in takewhile(lambda message: message.role in _OPENING, self.trace.messages))
        return floor(sum(sizes), sum(sizes[:opening]), len(turns), self._prices)


def _value(message: Message) -> Hashable:
    value = (message.role, message.content)
    try:
        hash(value)
    except TypeError:  # a part that holds a vendor's own item
        return to_json(message)
    return value
