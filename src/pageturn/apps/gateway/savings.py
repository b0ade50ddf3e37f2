"""Savings: what the sessions of a gateway cost, and an estimate of what they would have cost otherwise.

What was sent is billed by the usage that the provider reported. The alternative is a replay: the same session, managed if it was
watched, whole if it was managed, counted with our counter, which is calibrated by the reports. A request reads from the provider's
cache what it shares with the one before, wherever the reports show that the cache was there. For each folded text that is named or
quoted later, one more call is priced that fetches it: the range is without these calls and with them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from statistics import fmean, linear_regression, pstdev
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from pageturn.journal.journal import Journal
from pageturn.lab.replay import Recording, Shown
from pageturn.lab.traces import Trace
from pageturn.policies import Paged
from pageturn.session import Session
from pageturn.stores import Store
from pageturn.tokens.calibration import Calibration
from pageturn.tokens.counters import TokenCounter, counter_for
from pageturn.tokens.windows import DEFAULT_MODEL
from pageturn.values.entries import TurnTaken
from pageturn.values.errors import UnknownPrice
from pageturn.values.messages import Message, Part, Role, Text, ToolCall, ToolResult
from pageturn.values.model_prices import ModelPrice, money, price_of
from pageturn.values.pages import Page
from pageturn.values.usage import Usage, total_usage
from pageturn.values.vendors import profile_of

_MICROS = 1_000_000
_CHARACTERS = 4  # of a token, about
_AROUND = 40  # characters around a call or a result
_LEAST_READ = 0.2  # of all input; with a cache that works it is most of it
_FEWEST = 8  # reports that tell how a provider counts

Measure = Callable[[Message], int]


class Account(NamedTuple):
    """What a session cost, and what it would have cost otherwise."""

    session: str
    model: str
    turns: int
    used: Usage  # as the provider reported it
    price: ModelPrice | None  # None where nobody knows it
    is_managed: bool  # or else it was watched
    is_subscription: bool  # who used it pays by the month
    otherwise: Usage  # estimated
    fetching: float  # tokens of fresh input that bringing things back would cost
    folds: int
    client_bytes: int  # of the bodies that the client sent
    sent_bytes: int  # of those that went on

    @property
    def is_uncached(self) -> bool:
        """Whether the provider's cache is known, and hardly ever read: something changes the beginning of the requests."""
        return (
            self.turns >= _FEWEST
            and self.used.cache_write_tokens > 0
            and self.used.cache_read_tokens < _LEAST_READ * self.used.input_tokens
        )

    @property
    def dollars(self) -> float | None:
        """What was paid, at list price; None where no price is known."""
        return self.price.dollars(self.used) if self.price is not None else None

    @property
    def least(self) -> float | None:
        """The lower end of the estimate."""
        return self.price.dollars(self.otherwise) if self.price is not None else None

    @property
    def most(self) -> float | None:
        """The upper end: with everything fetched that was named or quoted later."""
        return (
            self.least + self.price.of_input(self.fetching)
            if self.price is not None and self.least is not None
            else None
        )


class _Asked(NamedTuple):
    """One request as it would have been: its messages, each with its tokens."""

    sizes: tuple[tuple[Message, int], ...]
    tools_tokens: int
    is_folded: bool = False

    @property
    def tokens(self) -> int:
        return self.tools_tokens + sum(tokens for _, tokens in self.sizes)

    def shared(self, before: "_Asked | None") -> int:
        """The tokens that it begins with, as the one before did."""
        if before is None:
            return 0
        count = self.tools_tokens if self.tools_tokens == before.tools_tokens else 0
        for (ours, tokens), (theirs, _) in zip(self.sizes, before.sizes, strict=False):
            if ours != theirs:
                break
            count += tokens
        return count


class _Turn(NamedTuple):
    """A turn that was taken: the place of its answer among the messages, and what was reported."""

    place: int
    usage: Usage
    tools_tokens: int
    is_own: bool  # or else the session that it was forked from has it


class _Recorded(NamedTuple):
    """A session as it was."""

    id: str
    said: list[tuple[Page, Message]]
    turns: list[_Turn]
    model: str
    counter: TokenCounter
    size: Measure | None = None  # by which its provider's reports go; None is our count

    def sized(self, page: Page, message: Message) -> int:
        """What a message takes, before calibration."""
        return page.tokens if self.size is None else self.size(message)

    def tools(self, turn: _Turn) -> int:
        """What the tools take, which are known by our count alone; with another measure, calibration finds out."""
        return turn.tools_tokens if self.size is None else 0


def account_of(
    store: Store,
    session: str,
    *,
    room: int,
    own: Mapping[str, ModelPrice] | None = None,
    price: ModelPrice | None = None,
) -> Account | None:
    """What a session cost and would have cost; None if no provider reported anything."""
    journal = Journal.open(store, session)
    if journal is None:
        return None
    said = [(page, message) for page in journal.state.live_pages() if (message := journal.message(page)) is not None]
    turns = [*_turns(journal, said)]
    if not any(turn.is_own for turn in turns):
        return None
    model = journal.state.model or DEFAULT_MODEL
    recorded = _Recorded(session, said, turns, model, counter_for(model))
    is_managed = bool(journal.state.folds)
    if not is_managed:
        recorded = recorded._replace(size=_measure_of(recorded))
    whole = [*_whole(recorded)]
    calibration: _Scale | Calibration | None = journal.state.calibrations.get(model) if is_managed else None
    if calibration is None:
        calibration = _Scale.of(turns, whole)
    replayed = whole if is_managed else [*_managed(recorded, room, calibration)]
    fetching = 0.0 if is_managed else _fetching(recorded, replayed)
    told = (_told(said[turn.place][1]) for turn in turns if turn.is_own)
    bodies = [(size := int(each.get("request_bytes", 0)), int(each.get("sent_bytes", size))) for each in told]
    return Account(
        session=session,
        model=model,
        turns=sum(turn.is_own for turn in turns),
        used=total_usage(turn.usage for turn in turns if turn.is_own),
        price=price or _price(model, own),
        is_managed=is_managed,
        is_subscription=any(_told(message).get("subscription") for _, message in said),
        otherwise=total_usage(_billed(turns, replayed, calibration)),
        fetching=fetching * calibration.factor,
        folds=sum(request.is_folded for request in replayed),
        client_bytes=sum(client for client, _ in bodies),
        sent_bytes=sum(sent for _, sent in bodies),
    )


def lines(accounts: Sequence[Account]) -> Iterator[str]:
    """What to say of several sessions: what they took, and what they would have taken."""
    for is_managed in (False, True):
        some = [each for each in accounts if each.is_managed is is_managed]
        if some:
            yield from _lines(some, is_managed=is_managed)


def in_short(accounts: Sequence[Account]) -> Iterator[str]:
    """The same in short, for those who know the tokens: what was paid, and the estimate."""
    for told in (each for each in (False, True) if any(account.is_managed is each for account in accounts)):
        some = [account for account in accounts if account.is_managed is told]
        paid = [account.dollars for account in some if account.dollars is not None]
        if paid:
            yield f"{money(sum(paid))}{_at_list(some)}"
        yield [*_lines(some, is_managed=told)][1]


def _at_list(accounts: Sequence[Account]) -> str:
    return " at list price" if any(each.is_subscription for each in accounts) else ""


def _lines(accounts: Sequence[Account], *, is_managed: bool) -> Iterator[str]:
    used, otherwise = total_usage(each.used for each in accounts), total_usage(each.otherwise for each in accounts)
    at_list = _at_list(accounts)
    known = [each for each in accounts if each.price is not None]
    cost = sum(each.dollars or 0.0 for each in known)
    least, most = sum(each.least or 0.0 for each in known), sum(each.most or 0.0 for each in known)
    unknown = sorted({each.model for each in accounts if each.price is None})
    turns = sum(each.turns for each in accounts)
    paid = f", {money(cost)}{at_list}" if known else ""
    many = "turn" if turns == 1 else "turns"
    yield f"{turns:,} {'managed' if is_managed else 'watched'} {many} took {used.input_tokens:,} tokens in and {used.output_tokens:,} out{paid}"
    between = money(least) if money(least) == money(most) else f"{money(least)} to {money(most)}"
    would = f", {between}{at_list}" if known else ""
    way = "whole" if is_managed else "managed"
    yield f"{way} {'it' if turns == 1 else 'they'} would have taken about {otherwise.input_tokens:,} tokens in{would} (an estimate)"
    client, sent = sum(each.client_bytes for each in accounts), sum(each.sent_bytes for each in accounts)
    if is_managed and client:
        yield f"their client sent {client:,} bytes, of which {sent:,} went on"
    for each in accounts:
        if each.is_uncached:
            share = each.used.cache_read_tokens / each.used.input_tokens
            yield f"{each.session}: only {share:.0%} of its input came from the provider's cache; does something change its beginning at every request?"
    if unknown:
        yield f"no price is known of {', '.join(unknown)}: --price or --prices gives one"


# -- reading


def _turns(journal: Journal, said: Sequence[tuple[Page, Message]]) -> Iterator[_Turn]:
    places = {page.seq: place for place, (page, _) in enumerate(said)}
    for record, entry in journal.entries():
        if isinstance(entry, TurnTaken) and entry.usage is not None and entry.page in places:
            place = places[entry.page]
            tools = _told(said[place][1]).get("tools_tokens", 0)
            yield _Turn(place, entry.usage, int(tools), record.seq > journal.row.parent_seq)


def _told(message: Message) -> dict[str, Any]:
    told = (message.metadata or {}).get("gateway")
    return dict(told) if isinstance(told, dict) else {}


def _price(model: str, own: Mapping[str, ModelPrice] | None) -> ModelPrice | None:
    try:
        return price_of(model, own)
    except UnknownPrice:
        return None


# -- the other side


class _Scale(NamedTuple):
    """How a provider counts: so much for what nobody sees, and so much for each token of ours."""

    hidden: float
    factor: float

    @classmethod
    def of(cls, turns: Sequence[_Turn], whole: Sequence[_Asked]) -> "_Scale":
        """The line through all that was reported of requests with everything."""
        seen = [(request.tokens, turn.usage.input_tokens) for turn, request in zip(turns, whole, strict=True)]
        seen = [(counted, reported) for counted, reported in seen if counted and reported]
        if len({counted for counted, _ in seen}) < _FEWEST:
            counted, reported = (sum(each) for each in zip(*seen, strict=True)) if seen else (1, 1)
            return cls(0.0, reported / counted)
        factor, hidden = linear_regression(*zip(*seen, strict=True))
        return cls(hidden, factor)

    def expected(self, counted: int) -> int:
        """What the provider would report for so many of our tokens."""
        return max(1, round(self.hidden + self.factor * counted))


def _measure_of(recorded: _Recorded) -> Measure | None:
    """What a provider's reports go by: None is our count, else it counts characters, as some servers do.

    Both may fit the words of one agent. What was folded consists of other words, on which they differ.
    """
    turns = recorded.turns
    if len(turns) < _FEWEST:
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


def _whole(recorded: _Recorded) -> Iterator[_Asked]:
    """Every request with everything."""
    sizes = tuple((message, recorded.sized(page, message)) for page, message in recorded.said)
    for turn in recorded.turns:
        yield _Asked(sizes[: turn.place], recorded.tools(turn))


def _managed(recorded: _Recorded, room: int, calibration: _Scale | Calibration) -> Iterator[_Asked]:
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
            request = _Asked(
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
    """A tool definition that takes about so many tokens, in place of those that nobody wrote down."""
    if not tokens:
        return []
    made = [{"name": "tools", "description": "a " * tokens, "parameters": {}}]
    counted = max(1, counter.tools(made))
    return [{"name": "tools", "description": "a " * (tokens * tokens // counted), "parameters": {}}]


def _billed(turns: Sequence[_Turn], requests: Sequence[_Asked], calibration: _Scale | Calibration) -> Iterator[Usage]:
    """What the requests would have been reported as, those of the session itself."""
    before: _Asked | None = None
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


def _fetching(recorded: _Recorded, requests: Sequence[_Asked]) -> float:
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
    return sum(turn.fetching_once for place, turn in zip(places, replay.turns, strict=True) if place in own)
