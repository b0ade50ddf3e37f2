"""The commands for proposals that wait for a person: to list, approve and reject them."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click
import msgspec
from rich.console import Console

from pageturn.apps.cli import journals
from pageturn.apps.cli.answers import Decided, ProposalLine, Proposals
from pageturn.apps.cli.default_command import DefaultGroup
from pageturn.apps.cli.documented import Documented
from pageturn.apps.cli.options import GATEWAYS_STORE, StoreAndId, store_and_id
from pageturn.apps.cli.prefixes import one_of
from pageturn.apps.cli.terminal import answered, complain, hint, say, terminal
from pageturn.apps.gateway.config import usual_store
from pageturn.journal.journal import Journal
from pageturn.journal.lookup import page_of
from pageturn.session import Session
from pageturn.stores import Store
from pageturn.values.entries import Committed
from pageturn.values.errors import InvalidInput, StoreError, show
from pageturn.values.json import to_json
from pageturn.values.proposals import ProposalForReview
from pageturn.values.search_text import search_text

_IN_WORDS = {"destructive_op": "what it would replace has changed since it was proposed"}
_MOST_SHOWN = 600  # shown characters of a page that supports a proposal


@click.group(cls=DefaultGroup, default="list")
def proposals() -> None:
    """What models proposed and a person must decide: rules, plans, rewordings of the host's text.

    \b
    pageturn proposals agent.db
    pageturn proposals approve agent.db login-bug:3
    pageturn proposals reject agent.db login-bug:3 --reason "the web page said so, not I"

    Without a store, the gateway's is used.
    """  # noqa: D301 - the character that tells click to leave the lines as they are


@proposals.command("list", cls=Documented, example="proposals list agent.db", prints=Proposals)
@GATEWAYS_STORE
def list_(store: str | None) -> None:
    """List waiting proposals, oldest first, with the pages that support each. `pageturn proposals agent.db` is enough."""
    console, found = terminal(), []
    with _opened(store) as opened:
        for row in opened.sessions()[::-1]:
            try:
                journal = Journal(opened, row)
                reviews = Session(journal).waiting()
            except StoreError as error:
                complain(f"pageturn: session {row.id!r} cannot be read: {error}")
                continue
            for review in reviews:
                found.append(_line(journal, review))
                _show(console, journal, found[-1])
    if answered(Proposals(tuple(found))):
        return
    if not found:
        console.print("nothing waits")
    else:
        hint(console, "approve or reject: pageturn proposals approve [STORE] ID, pageturn proposals reject [STORE] ID")


@proposals.command(
    cls=Documented,
    example="proposals approve agent.db login-bug:3",
    prints=Decided,
    acts=True,
    fails="it has become invalid, and is rejected",
)
@store_and_id
def approve(wanted: StoreAndId) -> None:
    """Let a proposal take effect. It is checked again. The beginning of its session's id is enough, as in login:3."""
    with _opened(wanted.store) as opened:
        session, number, id_ = _session_of(opened, wanted.id)
        outcome = session.approve(number)
    if isinstance(outcome, Committed):
        if not answered(Decided(id_, is_approved=True)):
            say(f"{id_} is approved; it applies from the next context on")
        return
    reason = getattr(outcome.reason, "detail", _IN_WORDS.get(outcome.reason.code, outcome.reason.code))
    if not answered(Decided(id_, is_approved=False, reason=reason)):
        complain(f"pageturn: {id_} is rejected: {reason}")
    sys.exit(1)


@proposals.command(
    cls=Documented,
    example='proposals reject agent.db login-bug:3 --reason "the web page said so, not I"',
    prints=Decided,
    acts=True,
)
@store_and_id
@click.option("--reason", required=True, help="The reason; it is stored, and the model is told.")
def reject(wanted: StoreAndId, reason: str) -> None:
    """Reject a proposal permanently. The beginning of its session's id is enough, as in login:3."""
    with _opened(wanted.store) as opened:
        session, number, id_ = _session_of(opened, wanted.id)
        outcome = session.reject(number, reason)
    is_approved = isinstance(outcome, Committed)
    if not answered(Decided(id_, is_approved=is_approved, reason=None if is_approved else reason)):
        say(f"{id_} is {'approved, by another' if is_approved else 'rejected'}")


@contextmanager
def _opened(store: str | None) -> Iterator[Store]:
    with journals.opened(store if store is not None else str(usual_store())) as opened:
        yield opened


def _session_of(store: Store, typed: str) -> tuple[Session, int, str]:
    """The session of a proposal, the proposal's number, and its whole id. The session is not closed: only its user should write
    a boundary.
    """
    name, _, number = typed.rpartition(":")
    expected = "one that `pageturn proposals` lists, as login-bug:3"
    rows = {row.id: row for row in store.sessions()}
    if not name or not (number.isascii() and number.isdigit()):
        raise InvalidInput("ID", expected=expected, got=show(typed))
    row = rows[one_of("ID", name, rows, expected=expected)]
    return Session.open(store, id=row.id, scope=row.scope), int(number), f"{row.id}:{number}"


def _line(journal: Journal, review: ProposalForReview) -> ProposalLine:
    proposal = review.proposal
    value = "(erased)" if proposal.value is None or proposal.value is msgspec.UNSET else proposal.value
    return ProposalLine(
        id=f"{journal.row.id}:{review.id}",
        field=proposal.field,
        value=value,
        rests_on=tuple(dict.fromkeys(proposal.evidence)),
        instead_of=review.handle if review.handle not in proposal.evidence else None,
        objection=_IN_WORDS.get(review.objection, review.objection) if review.objection is not None else None,
    )


def _show(console: Console, journal: Journal, line: ProposalLine) -> None:
    value = line.value if isinstance(line.value, str) else to_json(line.value).decode()
    _print(console, f"{line.id}  {line.field}")
    _print(console, f"  {value}".replace("\n", "\n  "))
    for handle in line.rests_on:
        _print(console, f"  rests on {_page(journal, handle)}")
    if line.instead_of is not None:
        _print(console, f"  instead of {_page(journal, line.instead_of)}")
    if line.objection is not None:
        _print(console, f"  cannot be approved now: {line.objection}")


def _page(journal: Journal, handle: str) -> str:
    """A page on one line: the role and the beginning of its text."""
    page = page_of(journal.state, handle)
    if page is None:
        return f"{handle}, which is no page"
    tool = journal.state.tool_of(page)
    try:
        message = journal.message(page)
    except StoreError as error:
        return f"{handle} {page.role}: cannot be read: {error}"
    words = " ".join(search_text(message).split()) if message is not None else "(erased)"
    words = words if len(words) <= _MOST_SHOWN else f"{words[:_MOST_SHOWN]} ..."
    return f"{handle} {page.role}{f' {tool}' if tool else ''}: {words}"


def _print(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)
