"""One turn: the messages that were sent, where each of them comes from, and what differs from the turn before."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import takewhile
from typing import NamedTuple

from pageturn.apps.inspector.bills import bills_of
from pageturn.apps.inspector.history import Taken
from pageturn.apps.inspector.opened import ViewedSession
from pageturn.apps.inspector.past_contexts import past_context
from pageturn.apps.inspector.views.texts import PartView, parts_of
from pageturn.apps.overview.facts import model_of
from pageturn.journal.journal import Journal
from pageturn.tokens.counters import TokenCounter, counter_for
from pageturn.values.context import REASONS, Context
from pageturn.values.errors import StoreError
from pageturn.values.json import Closed, to_json
from pageturn.values.layout import Placement
from pageturn.values.messages import Message, Role
from pageturn.values.pages import PageKind

_MOST_MESSAGES = 200  # in one answer
_MOST_COMPARED = 4_000  # messages after the common beginning of two requests
_RECORDING = "a recording does not say what was sent; this is all of the history until then"
_OPENING = (Role.SYSTEM, Role.DEVELOPER)


class MessageView(Closed):
    """A message as it was sent."""

    role: str
    parts: tuple[PartView, ...]
    tokens: int
    handles: tuple[str, ...]  # of the pages that it replaces; of an index line, its ends
    kind: str
    level: str
    why: str
    since: int | None  # the turn of the fold that put it there
    is_new: bool  # the request before did not have it


class ShareView(Closed):
    """What the tokens of a request are: tools, instructions, people's words, and so on."""

    name: str
    tokens: int


class GoneView(Closed):
    """A message of the request before that this one does not have."""

    role: str
    tokens: int
    handles: tuple[str, ...]
    begins: str


class ChangeView(Closed):
    """How a request differs from the one before: the cache can have the messages that both begin with."""

    before: int | None  # the turn before; None at the first
    same: int  # messages that both begin with
    same_tokens: int
    new: int
    gone: tuple[GoneView, ...]
    gone_tokens: int


class ClientView(Closed):
    """What the client of a gateway sent, of which this request was made."""

    endpoint: str
    messages: int
    bytes: int | None
    sent_bytes: int | None  # that went on in their place; None: its own body
    tools_tokens: int


class UsageView(Closed):
    """What the turn took: as the provider said, or by our estimate."""

    fresh: int
    cached: int
    written: int
    output: int
    cost: float  # in tokens of fresh input
    is_reported: bool


class TurnView(Closed):
    """A turn."""

    session: str
    number: int
    last: int  # the number of the last turn
    at: int
    answer: str  # the handle of the answer
    model: str
    tokens: int | None  # by our count
    budget: int | None
    fold: str | None  # why it folded, and what that cost
    flaw: str  # why the messages may differ from what was sent; empty where they are exact
    usage: UsageView
    shares: tuple[ShareView, ...]
    change: ChangeView
    notices: tuple[str, ...]
    client: ClientView | None
    start: int  # the place of the first message that is here
    total: int  # messages in the request
    messages: tuple[MessageView, ...]


class _Sent(NamedTuple):
    """A message, its tokens, and where it comes from."""

    message: Message
    tokens: int
    handles: tuple[str, ...]
    kind: str
    level: str
    why: str
    since: int | None


class _Request(NamedTuple):
    """All that was sent in a turn."""

    sent: tuple[_Sent, ...]
    fixed_tokens: int = 0
    flaw: str = ""
    context: Context | None = None


def turn_view(viewed: ViewedSession, number: int, start: int = 0, *, by_client: bool = False) -> TurnView:
    """A turn, and its messages from a place on; with `by_client` all of the history, as a gateway's client sent it."""
    taken = viewed.turn(number)
    request = _request(viewed, taken, whole=by_client)
    before = viewed.history.turn(number - 1) if number > 1 else None
    earlier = _request(viewed, before, whole=by_client) if before is not None else _Request(())
    shown = taken.shown
    answer = viewed.journal.state.known_page(taken.page)
    keys, keys_before = ([to_json(each.message) for each in those.sent] for those in (request, earlier))
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(keys, keys_before, strict=False)))
    kept, kept_before = _matched(keys, keys_before, same)
    gone = [each for at, each in enumerate(earlier.sent) if at not in kept_before]
    internal = viewed.is_internal_shown
    return TurnView(
        session=viewed.reader.id,
        number=number,
        last=len(viewed.history.turns),
        at=viewed.history.time_of(answer) // 1_000,
        answer=answer.handle,
        model=_model(viewed, taken),
        tokens=shown.tokens if shown is not None else None,
        budget=shown.budget_tokens if shown is not None else None,
        fold=str(shown.fold) if shown is not None and shown.fold is not None else None,
        flaw=request.flaw,
        usage=_usage(viewed, taken),
        shares=tuple(_shares(request)),
        change=ChangeView(
            before=before.number if before is not None else None,
            same=same,
            same_tokens=sum(each.tokens for each in request.sent[:same]),
            new=len(keys) - len(kept),
            gone=tuple(_gone(each, internal=internal) for each in gone[:_MOST_MESSAGES]),
            gone_tokens=sum(each.tokens for each in gone),
        ),
        notices=request.context.notices if request.context is not None else (),
        client=_client(viewed, taken),
        start=start,
        total=len(request.sent),
        messages=tuple(
            _message(each, internal=internal, is_new=at not in kept)
            for at, each in enumerate(request.sent[start : start + _MOST_MESSAGES], start)
        ),
    )


def _message(sent: _Sent, *, internal: bool, is_new: bool) -> MessageView:
    return MessageView(
        role=str(sent.message.role),
        parts=parts_of(sent.message, internal=internal),
        tokens=sent.tokens,
        handles=sent.handles,
        kind=sent.kind,
        level=sent.level,
        why=sent.why,
        since=sent.since,
        is_new=is_new,
    )


def _model(viewed: ViewedSession, taken: Taken) -> str:
    """The model that answered: as the provider says, or the one that the context was for."""
    reported = taken.usage.model if taken.usage is not None else None
    return reported or (taken.shown.model if taken.shown is not None else model_of(viewed.journal))


def _matched(keys: Sequence[bytes], before: Sequence[bytes], same: int) -> tuple[set[int], set[int]]:
    """The places of messages that both have, in either, in the same order."""
    kept, kept_before = set(range(same)), set(range(same))
    rest, rest_before = keys[same : same + _MOST_COMPARED], before[same : same + _MOST_COMPARED]
    for ours, theirs, size in SequenceMatcher(None, rest, rest_before, autojunk=False).get_matching_blocks():
        kept.update(range(same + ours, same + ours + size))
        kept_before.update(range(same + theirs, same + theirs + size))
    return kept, kept_before


def _request(viewed: ViewedSession, taken: Taken, *, whole: bool) -> _Request:
    counter = counter_for(taken.shown.model if taken.shown is not None else viewed.reader.model)
    if taken.shown is None or whole:
        is_recording = viewed.history.client is not None and taken.shown is None
        return _Request(tuple(_everything(viewed, taken)), flaw=_RECORDING if is_recording else "")
    past = past_context(viewed.journal, taken)
    if past.context is None:
        return _Request((), flaw=past.flaw)
    sent = tuple(_placed(viewed.journal, past.context, counter))
    return _Request(sent, past.fixed_tokens, past.flaw, past.context)


def _everything(viewed: ViewedSession, taken: Taken) -> Iterator[_Sent]:
    """All of the history before an answer."""
    state = viewed.journal.state
    for page in state.pages:
        if page.seq >= taken.page:
            return
        if not page.counts:
            continue
        try:
            message = viewed.journal.message(page, asks_again=False)
        except StoreError:
            continue
        if message is not None:
            yield _Sent(
                message, page.tokens, (page.handle,), str(state.kind(page)), "full", "no context was derived", None
            )


def _placed(journal: Journal, context: Context, counter: TokenCounter) -> Iterator[_Sent]:
    """The messages of a context, each with its placement: those of pages have their ids, and ours come in the order of the placements."""
    state = journal.state
    pages = {page.id: page for page in state.pages if page.counts}
    placements = sorted(
        (each for each in (*context.folded, *context.recent) if each.tokens),
        key=lambda each: 0 if each.first == state.system else each.first,
    )
    firsts = {seq: each for each in placements for seq in _pages_of(journal, each)}
    with_pages = {
        firsts[page.seq].first
        for message in context.messages
        if (page := pages.get(message.id or "")) and page.seq in firsts
    }
    ours = iter([each for each in placements if each.first not in with_pages])
    base, notes, history = context.bands if context.bands is not None else (0, 0, len(context.messages))
    for at, message in enumerate(context.messages):
        tokens = counter.message(message)
        page = pages.get(message.id or "")
        placement = firsts.get(page.seq) if page is not None else None
        if page is None and base <= at < notes:
            yield _Sent(message, tokens, (), "note", "", "a note of the host", None)
            continue
        if page is None and at >= history:
            yield _Sent(message, tokens, (), "note", "", "a note of the host, behind the history", None)
            continue
        if page is None:
            placement = next(ours, None)
        handles = placement.handles if placement is not None else ()
        kind = "index line" if placement is not None and placement.line is not None else _kind(journal, placement)
        yield _Sent(
            message,
            tokens,
            (page.handle,) if page is not None else handles,
            str(state.kind(page)) if page is not None else kind,
            str(placement.level) if placement is not None else "",
            REASONS[placement.why] if placement is not None else "it stands for what is not shown",
            (placement.turn or None) if placement is not None else None,
        )


def _pages_of(journal: Journal, placement: Placement) -> list[int]:
    if placement.line is not None:
        return []
    if len(placement.handles) <= 1:
        return [placement.first]
    numbers = (int(handle[1:].partition("-")[0]) for handle in placement.handles)
    return [number for number in numbers if journal.state.page(number) is not None]


def _kind(journal: Journal, placement: Placement | None) -> str:
    if placement is None:
        return ""
    if placement.first != placement.last:
        return str(PageKind.EVIDENCE)
    page = journal.state.page(placement.first)
    return str(journal.state.kind(page)) if page is not None else ""


def _shares(request: _Request) -> Iterator[ShareView]:
    sums: dict[str, int] = {"tools and framing": request.fixed_tokens}
    for each in request.sent:
        name = _share_of(each)
        sums[name] = sums.get(name, 0) + each.tokens
    yield from (ShareView(name, tokens) for name, tokens in sorted(sums.items(), key=lambda each: -each[1]) if tokens)


_SHORT: Mapping[str, str] = {
    "compressed": "compressed",
    "structured": "structured extracts",
    "pointer": "pointers",
}


def _share_of(sent: _Sent) -> str:
    if sent.kind in ("index line", "note"):
        return f"{sent.kind}s"
    if sent.message.role in _OPENING or sent.kind in (PageKind.BOOTSTRAP, PageKind.CONSTRAINT):
        return "instructions and rules"
    if sent.level in _SHORT:
        return _SHORT[sent.level]
    if sent.message.tool_results:
        return "tool results"
    return "words of people" if sent.message.role is Role.USER else "words and calls of the model"


def _gone(sent: _Sent, *, internal: bool) -> GoneView:
    parts = parts_of(sent.message, internal=internal, piece=400)
    begins = " ".join(" ".join(part.text for part in parts).split())[:160]
    return GoneView(str(sent.message.role), sent.tokens, sent.handles, begins)


def _usage(viewed: ViewedSession, taken: Taken) -> UsageView:
    bills = bills_of(viewed.history, 1)
    bill = bills.sent[taken.number - 1]
    return UsageView(
        bill.fresh, bill.cached, bill.written, bill.output, bill.cost, is_reported=bills.is_reported[taken.number - 1]
    )


def _client(viewed: ViewedSession, taken: Taken) -> ClientView | None:
    """What a gateway recorded, with the answer, about the request of its client."""
    state = viewed.journal.state
    try:
        message = viewed.journal.message(state.known_page(taken.page))
    except StoreError:
        return None
    recorded = (message.metadata or {}).get("gateway") if message is not None else None
    if not isinstance(recorded, dict):
        return None
    before = sum(1 for page in state.pages if page.counts and page.seq < taken.page)
    return ClientView(
        endpoint=str(recorded.get("endpoint", "")),
        messages=before,
        bytes=recorded.get("request_bytes"),
        sent_bytes=recorded.get("sent_bytes"),
        tools_tokens=int(recorded.get("tools_tokens", 0)),
    )
