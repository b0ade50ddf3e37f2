"""The commands for proposals that wait for a person: to list, approve and reject them."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click
import msgspec
from rich.console import Console

from pageturn.apps.cli import journals
from pageturn.apps.cli.default_command import DefaultGroup
from pageturn.apps.cli.terminal import complain, terminal
from pageturn.apps.gateway.config import usual_store
from pageturn.journal.journal import Journal
from pageturn.journal.lookup import page_of
from pageturn.session import Session
from pageturn.stores import Store
from pageturn.values.entries import Committed, Rejected
from pageturn.values.errors import InvalidInput, StoreError, show
from pageturn.values.json import to_json
from pageturn.values.proposals import ProposalForReview
from pageturn.values.search_text import search_text

_IN_WORDS = {"destructive_op": "what it would replace has changed since it was proposed"}
_MOST_SHOWN = 600  # shown characters of a page that supports a proposal
_STORE = click.argument("store", required=False)
_ID = click.argument("id_", metavar="ID")


@click.group(cls=DefaultGroup, default="list")
def proposals() -> None:
    """What models proposed and a person must decide: rules, plans, rewordings of the host's text.

    \b
    pageturn proposals agent.db
    pageturn proposals approve login-bug:3 agent.db
    pageturn proposals reject login-bug:3 agent.db --reason "the web page said so, not I"

    Without a store, the gateway's is used.
    """  # noqa: D301 - the character that tells click to leave the lines as they are


@proposals.command("list")
@_STORE
def list_(store: str | None) -> None:
    """List waiting proposals, oldest first, with the pages that support each. `pageturn proposals agent.db` is enough."""
    console = terminal()
    with _opened(store) as opened:
        count = 0
        for row in opened.sessions()[::-1]:
            try:
                journal = Journal(opened, row)
                reviews = Session(journal).waiting()
            except StoreError as error:
                complain(f"pageturn: session {row.id!r} cannot be read: {error}")
                continue
            count += len(reviews)
            for review in reviews:
                _show(console, journal, review)
    if not count:
        console.print("nothing waits")
    else:
        _print(
            console, "approve or reject: pageturn proposals approve ID [STORE], pageturn proposals reject ID [STORE]"
        )


@proposals.command()
@_ID
@_STORE
def approve(id_: str, store: str | None) -> None:
    """Let a proposal take effect. It is checked again; exits with 1 if it has become invalid."""
    with _opened(store) as opened:
        session, number = _session_of(opened, id_)
        sys.exit(_told(id_, session.approve(number)))


@proposals.command()
@_ID
@_STORE
@click.option("--reason", required=True, help="The reason; it is stored, and the model is told.")
def reject(id_: str, store: str | None, reason: str) -> None:
    """Reject a proposal permanently."""
    with _opened(store) as opened:
        session, number = _session_of(opened, id_)
        outcome = session.reject(number, reason)
    complain(f"pageturn: {id_} is {'approved, by another' if isinstance(outcome, Committed) else 'rejected'}")


@contextmanager
def _opened(store: str | None) -> Iterator[Store]:
    with journals.opened(store if store is not None else str(usual_store())) as opened:
        yield opened


def _session_of(store: Store, id_: str) -> tuple[Session, int]:
    """The session of a proposal, and the proposal's number. The session is not closed: only its user should write a boundary."""
    name, _, number = id_.rpartition(":")
    row = store.session(name) if name else None
    if row is None or not (number.isascii() and number.isdigit()):
        raise InvalidInput("ID", expected="one that `pageturn proposals` lists, as login-bug:3", got=show(id_))
    return Session.open(store, id=row.id, scope=row.scope), int(number)


def _told(id_: str, outcome: Committed | Rejected) -> int:
    if isinstance(outcome, Committed):
        complain(f"pageturn: {id_} is approved; it applies from the next context on")
        return 0
    reason = outcome.reason
    complain(f"pageturn: {id_} is rejected: {getattr(reason, 'detail', _IN_WORDS.get(reason.code, reason.code))}")
    return 1


def _show(console: Console, journal: Journal, review: ProposalForReview) -> None:
    proposal = review.proposal
    value = proposal.value
    if value is None or value is msgspec.UNSET:
        value = "(erased)"
    _print(console, f"{journal.row.id}:{review.id}  {proposal.field}")
    _print(console, f"  {value if isinstance(value, str) else to_json(value).decode()}".replace("\n", "\n  "))
    for handle in dict.fromkeys((*proposal.evidence, review.handle)):
        _print(console, f"  {'instead of' if handle not in proposal.evidence else 'rests on'} {_page(journal, handle)}")
    if review.objection is not None:
        _print(console, f"  cannot be approved now: {_IN_WORDS.get(review.objection, review.objection)}")


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
