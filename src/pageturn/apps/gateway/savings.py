"""Savings: what the sessions of a gateway cost, and an estimate of what they would have cost otherwise.

What was sent is billed by the usage that the provider reported. The alternative is a replay: managed if the session was watched, whole if
it was managed. The two ends of its range are without, and with, one more call for everything that was folded and named or quoted later.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pageturn.apps.gateway.estimates import (
    FEWEST,
    Recorded,
    Scale,
    Turn,
    billed,
    fetching_tokens,
    managed_requests,
    measure_of,
    whole_requests,
)
from pageturn.journal.journal import Journal
from pageturn.stores import Store
from pageturn.tokens.calibration import Calibration
from pageturn.tokens.counters import counter_for
from pageturn.tokens.windows import DEFAULT_MODEL
from pageturn.values.entries import TurnTaken
from pageturn.values.errors import UnknownPrice
from pageturn.values.messages import Message
from pageturn.values.model_prices import ModelPrice, money, price_of
from pageturn.values.pages import Page
from pageturn.values.usage import Usage, total_usage

_LEAST_READ = 0.2  # of all input; with a cache that works it is most of it


class Account(NamedTuple):
    """What a session cost, and what it would have cost otherwise."""

    session: str
    model: str
    turns: int
    used: Usage  # as the provider reported it
    price: ModelPrice | None  # None if it is unknown
    is_managed: bool  # or else watched
    is_subscription: bool  # its user pays by the month
    otherwise: Usage  # estimated
    fetching: float  # tokens of fresh input that bringing things back would cost
    folds: int
    client_bytes: int  # of the bodies that the client sent
    sent_bytes: int  # of those that were sent on

    @property
    def is_uncached(self) -> bool:
        """Whether the provider's cache is known, and hardly ever read: something changes the beginning of the requests."""
        return (
            self.turns >= FEWEST
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
    recorded = Recorded(session, said, turns, model, counter_for(model))
    is_managed = bool(journal.state.folds)
    if not is_managed:
        recorded = recorded._replace(size=measure_of(recorded))
    whole = [*whole_requests(recorded)]
    calibration: Scale | Calibration | None = journal.state.calibrations.get(model) if is_managed else None
    if calibration is None:
        calibration = Scale.of(turns, whole)
    replayed = whole if is_managed else [*managed_requests(recorded, room, calibration)]
    fetching = 0.0 if is_managed else fetching_tokens(recorded, replayed)
    notes = (_recorded(said[turn.place][1]) for turn in turns if turn.is_own)
    bodies = [(size := int(each.get("request_bytes", 0)), int(each.get("sent_bytes", size))) for each in notes]
    return Account(
        session=session,
        model=model,
        turns=sum(turn.is_own for turn in turns),
        used=total_usage(turn.usage for turn in turns if turn.is_own),
        price=price or _price(model, own),
        is_managed=is_managed,
        is_subscription=any(_recorded(message).get("subscription") for _, message in said),
        otherwise=total_usage(billed(turns, replayed, calibration)),
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
    for is_managed in (each for each in (False, True) if any(account.is_managed is each for account in accounts)):
        some = [account for account in accounts if account.is_managed == is_managed]
        paid = [account.dollars for account in some if account.dollars is not None]
        if paid:
            yield f"{money(sum(paid))}{_at_list(some)}"
        yield [*_lines(some, is_managed=is_managed)][1]


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


def _turns(journal: Journal, said: Sequence[tuple[Page, Message]]) -> Iterator[Turn]:
    places = {page.seq: place for place, (page, _) in enumerate(said)}
    for record, entry in journal.entries():
        if isinstance(entry, TurnTaken) and entry.usage is not None and entry.page in places:
            place = places[entry.page]
            tools = _recorded(said[place][1]).get("tools_tokens", 0)
            yield Turn(place, entry.usage, int(tools), record.seq > journal.row.parent_seq)


def _recorded(message: Message) -> dict[str, Any]:
    recorded = (message.metadata or {}).get("gateway")
    return dict(recorded) if isinstance(recorded, dict) else {}


def _price(model: str, own: Mapping[str, ModelPrice] | None) -> ModelPrice | None:
    try:
        return price_of(model, own)
    except UnknownPrice:
        return None
