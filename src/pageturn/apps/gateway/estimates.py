"""Estimates what a session would have cost in the other mode: a replay, counted as its provider counts.

A request reads from the provider's cache what it shares with the one before, wherever the reports say that the cache was there. Where
something that was folded is named or quoted later, bringing it back is priced as one more call.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from statistics import fmean, linear_regression, pstdev
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from pageturn.lab.billing import fetching
from pageturn.lab.replay import Recording, Shown
from pageturn.lab.traces import Trace, text_of
from pageturn.policies import Paged
from pageturn.session import Session
from pageturn.tokens.calibration import Calibration
from pageturn.tokens.counters import TokenCounter
from pageturn.values.identifiers import names_in
from pageturn.values.messages import Message, Part, Role, Text, ToolCall, ToolResult
from pageturn.values.pages import Page
from pageturn.values.usage import Usage
from pageturn.values.vendors import Vendor, profile_of

_MICROS = 1_000_000
_CHARACTERS = 4  # of a token, about
_BETWEEN_PARTS = re.compile(r"[/.@~#-]+")
_AROUND = 40  # characters around a call or a result
FEWEST = 8  # reports that show how a provider counts, or whether its cache works

Measure = Callable[[Message], int]


class Request(NamedTuple):
    """One request as it would have been: its messages, each with its tokens."""

    sizes: tuple[tuple[Message, int], ...]
    tools_tokens: int
    is_folded: bool = False

    @property
    def tokens(self) -> int:
        return self.tools_tokens + sum(tokens for _, tokens in self.sizes)

    def shared(self, before: "Request | None") -> int:
        """The tokens that it begins with, as the one before did."""
        if before is None:
            return 0
        count = self.tools_tokens if self.tools_tokens == before.tools_tokens else 0
        for (ours, tokens), (theirs, _) in zip(self.sizes, before.sizes, strict=False):
            if ours != theirs:
                break
            count += tokens
        return count


class Turn(NamedTuple):
    """A turn that was taken: the place of its answer among the messages, and what was reported."""

    place: int
    usage: Usage
    tools_tokens: int
    is_own: bool  # or else the session that it was forked from has it


class Recorded(NamedTuple):
    """A session as it was."""

    id: str
    said: list[tuple[Page, Message]]
    turns: list[Turn]
    model: str
    counter: TokenCounter
    size: Measure | None = None  # what its provider counts; None is our count

    def sized(self, page: Page, message: Message) -> int:
        """What a message takes, before calibration."""
        return page.tokens if self.size is None else self.size(message)

    def tools(self, turn: Turn) -> int:
        """What the tools take, which are known by our count alone; with another measure, calibration finds out."""
        return turn.tools_tokens if self.size is None else 0


class Scale(NamedTuple):
    """How a provider counts: a fixed amount for what is in no message, and so much for each token of ours."""

    hidden: float
    factor: float

    @classmethod
    def of(cls, turns: Sequence[Turn], whole: Sequence[Request]) -> "Scale":
        """The line through all that was reported of requests with everything."""
        seen = [(request.tokens, turn.usage.input_tokens) for turn, request in zip(turns, whole, strict=True)]
        seen = [(counted, reported) for counted, reported in seen if counted and reported]
        if len({counted for counted, _ in seen}) < FEWEST:
            counted, reported = (sum(each) for each in zip(*seen, strict=True)) if seen else (1, 1)
            return cls(0.0, reported / counted)
        factor, hidden = linear_regression(*zip(*seen, strict=True))
        return cls(hidden, factor)

    def expected(self, counted: int) -> int:
        """What the provider would report for so many of our tokens."""
        return max(1, round(self.hidden + self.factor * counted))


def measure_of(recorded: Recorded) -> Measure | None:
    """What a provider counts: None is tokens by our count, else characters, as some servers do.

    Both may fit the words of one agent. What was folded consists of other words, on which they differ.
    """
    turns = recorded.turns
    if len(turns) < FEWEST:
        return None
    parts = [recorded.said[before.place : after.place] for before, after in pairwise(turns)]
    grown = [after.usage.input_tokens - before.usage.input_tokens for before, after in pairwise(turns)]
    ours = [sum(page.tokens for page, _ in part) for part in parts]
    theirs = [sum(_characters(message) for _, message in part) for part in parts]
    return _characters if _unsteadiness(grown, theirs) < _unsteadiness(grown, ours) else None


def _unsteadiness(grown: Sequence[int], counted: Sequence[int]) -> float:
    """How much the tokens that were reported for one of ours differ from turn to turn."""
    shares = [tokens / count for tokens, count in zip(grown, counted, strict=True) if count and tokens > 0]
    return pstdev(shares) / fmean(shares) if shares else 0.0


def _characters(message: Message) -> int:
    """What a message takes by its characters, as they are written in a request."""
    return sum(map(_characters_of, message.content)) // _CHARACTERS


def _characters_of(part: Part) -> int:
    match part:
        case Text(text=text):
            return len(msgspec.json.encode(text)) + _AROUND // 2
        case ToolCall(id=id_, name=name, arguments=arguments):
            return len(id_) + len(name) + len(arguments) + _AROUND
        case ToolResult(tool_call_id=id_):
            return len(id_) + _AROUND + sum(map(_characters_of, part.parts))
        case _:
            return len(msgspec.json.encode(part))


def whole_requests(recorded: Recorded) -> Iterator[Request]:
    """Every request with everything."""
    sizes = tuple((message, recorded.sized(page, message)) for page, message in recorded.said)
    for turn in recorded.turns:
        yield Request(sizes[: turn.place], recorded.tools(turn))


def managed_requests(recorded: Recorded, room: int, calibration: Scale | Calibration) -> Iterator[Request]:
    """Every request as the gateway would have derived it, by the clock of the session."""
    said, counter = recorded.said, recorded.counter
    now = [said[0][0].at]
    session = Session.open(
        policy=Paged(), model=recorded.model, recall=None, clock=lambda: datetime.fromtimestamp(now[0] / _MICROS, UTC)
    )
    sizes: dict[int, tuple[Message, int]] = {}  # of messages, most of which are in many requests
    done = 0
    with session:
        for turn in recorded.turns:
            for page, message in said[done : turn.place]:
                now[0] = max(now[0], page.at)
                session.append(replace(message, id=None, usage=None))
            context = session.derive(_tools(counter, turn.tools_tokens), room_tokens=room)
            page, message = said[turn.place]
            now[0] = max(now[0], page.at)
            for each in context.messages:
                if id(each) not in sizes:
                    size = counter.message(each) if recorded.size is None else recorded.size(each)
                    sizes[id(each)] = (each, size)  # which is held, so that its id stays its own
            request = Request(
                tuple(sizes[id(each)] for each in context.messages),
                recorded.tools(turn),
                is_folded=context.fold is not None,
            )
            counted = context.tokens if recorded.size is None else request.tokens
            reported = Usage(input_tokens=calibration.expected(counted), model=recorded.model)
            session.append(replace(message, id=None, usage=None), usage=reported)
            done = turn.place + 1
            yield request


def _tools(counter: TokenCounter, tokens: int) -> list[dict[str, Any]]:
    """A tool definition that takes about so many tokens, in place of definitions that were not recorded."""
    if not tokens:
        return []
    made = [{"name": "tools", "description": "a " * tokens, "parameters": {}}]
    counted = max(1, counter.tools(made))
    return [{"name": "tools", "description": "a " * (tokens * tokens // counted), "parameters": {}}]


def billed(turns: Sequence[Turn], requests: Sequence[Request], calibration: Scale | Calibration) -> Iterator[Usage]:
    """What the requests would have been reported as, those of the session itself."""
    before: Request | None = None
    for turn, request in zip(turns, requests, strict=True):
        reported = turn.usage
        tokens = calibration.expected(request.tokens)
        read = 0
        if reported.cache_read_tokens:
            shared = request.shared(before)
            read = min(tokens, calibration.expected(shared) if shared else reported.cache_read_tokens)
        written = tokens - read if reported.cache_write_tokens else 0
        before = request
        if turn.is_own:
            yield Usage(
                input_tokens=tokens,
                output_tokens=reported.output_tokens,
                cache_read_tokens=read,
                cache_write_tokens=written,
            )


def fetching_tokens(recorded: Recorded, requests: Sequence[Request]) -> float:
    """The cost of bringing back what was named or quoted later and was not shown, in tokens of fresh input."""
    if not any(request.is_folded for request in requests):
        return 0.0
    messages = tuple(message for _, message in recorded.said)
    vendor = profile_of(recorded.model).billing
    recording = Recording(Trace(recorded.id, "gateway", messages), tokens=recorded.counter.message, vendor=vendor)
    by_place = {turn.place: request for turn, request in zip(recorded.turns, requests, strict=True)}
    own = {turn.place for turn in recorded.turns if turn.is_own}
    places = [place for place, message in enumerate(messages) if message.role is Role.ASSISTANT]
    shown = [
        Shown([message for message, _ in by_place[place].sizes]) if place in by_place else Shown(messages[:place])
        for place in places
    ]
    replay = recording.replay(lambda _: iter(shown))
    named = sum(turn.fetching_once for place, turn in zip(places, replay.turns, strict=True) if place in own)
    return named + sum(_fetching_parts(recorded, requests, vendor))


def _fetching_parts(recorded: Recorded, requests: Sequence[Request], vendor: Vendor) -> Iterator[float]:
    """The same for names that a model made of something that it had read: a path, say, with an id in it."""
    texts = [text_of(message) for _, message in recorded.said]
    fetched: set[int] = set()  # messages, since the last fold
    for turn, request in zip(recorded.turns, requests, strict=True):
        if request.is_folded:
            fetched.clear()
        holders = {
            next((at for at in range(turn.place - 1, -1, -1) if part in texts[at]), None)
            for part in _parts_made_of(recorded.said[turn.place][1], texts[: turn.place])
            if not any(part in text_of(message) for message, _ in request.sizes)
        }
        lost = {at for at in holders if at is not None} - fetched
        fetched |= lost
        if lost and turn.is_own:
            yield fetching([recorded.said[at][0].tokens for at in lost], request.tokens, vendor)


def _parts_made_of(message: Message, before: Sequence[str]) -> set[str]:
    """The names within those names of a message's calls that nobody had said before."""
    named = {name for call in message.tool_calls for name in names_in(call.arguments)}
    new = (name for name in named if not any(name in text for text in before))
    return {part for name in new for piece in _BETWEEN_PARTS.split(name) if piece != name for part in names_in(piece)}
