"""Reads a session without being able to write; used by the command line, the lab, adapters and tests.

What it returns is frozen. The reader of an open session sees what that session sees; a reader opened by itself sees the session as it
was at that moment.
"""

import os
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any, Self

from pageturn.journal.journal import Journal, copy_of, require_scope
from pageturn.journal.lookup import Damage, page_of, pages_between
from pageturn.journal.memory_fields import field_value
from pageturn.journal.paging import plan_in_force
from pageturn.journal.state import FaultRecord, SessionState
from pageturn.policies import DerivePolicy, restored
from pageturn.stores import SessionRow, Store, open_store, path_of
from pageturn.tokens.windows import DEFAULT_MODEL
from pageturn.values import entries as e
from pageturn.values.checks import require_text, require_whole
from pageturn.values.errors import Damaged, InvalidInput, PageturnError, show
from pageturn.values.faults import BackendError, NoMatch
from pageturn.values.ids import require_session_id
from pageturn.values.layout import IndexLine, Why
from pageturn.values.messages import Message, Visibility
from pageturn.values.notes import ContextMessage
from pageturn.values.pages import Page, PageKind, ResidencyLevel
from pageturn.values.plans import Plan
from pageturn.values.proposals import MEMORY, Proposal
from pageturn.values.relevance import RelevanceMeta
from pageturn.values.session_records import JournalEntry, LastShown, SessionInfo, Turn
from pageturn.values.usage import Usage

_BESIDE = (PageKind.CONSTRAINT, PageKind.PLAN, PageKind.PREFERENCE)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class SessionReader:
    """A read-only view of a session: `session.reader`, or `SessionReader.open` for a stored one."""

    def __init__(
        self, journal: Journal, unwritten: Callable[[], Sequence[e.Faulted]] = tuple, *, owned: Store | None = None
    ) -> None:
        self._journal = journal
        self._unwritten = unwritten  # faults that a session could not write yet
        self._owned = owned  # the store that the reader must close

    @classmethod
    def open(cls, url: str | os.PathLike[str] | Store, id: str, scope: str | None = None) -> Self:  # noqa: A002
        """A reader of a stored session. As with `Session.open`, the scope of a session that has one must be named."""
        require_session_id(id)
        if scope is not None:
            require_text("scope", scope)
        owned = None if isinstance(url, Store) else open_store(path_of(url), create=False)
        store = url if isinstance(url, Store) else owned
        assert store is not None
        try:
            journal = Journal.open(store, id)
            if journal is None:
                raise InvalidInput("id", expected="the id of a session of the store", got=show(id))
            require_scope(journal.row, scope)
        except PageturnError:
            if owned is not None:
                owned.close()
            raise
        return cls(journal, owned=owned)

    # -- what the session is

    @property
    def info(self) -> SessionInfo:
        """Its id, scope, time and parent, as the store lists it."""
        return _info(self._journal.row, self.head)

    @property
    def id(self) -> str:
        """The name of the session in its store."""
        return self._journal.row.id

    @property
    def scope(self) -> str | None:
        """The scope that the session belongs to."""
        return self._journal.row.scope

    @property
    def grants(self) -> frozenset[str]:
        """The other scopes that it may access."""
        return frozenset(self._state.grants)

    @property
    def head(self) -> int:
        """The number of the last entry."""
        return self._journal.head

    @property
    def model(self) -> str:
        """The model that the session uses unless a call names another."""
        return self._state.model or DEFAULT_MODEL

    @property
    def policy(self) -> DerivePolicy:
        """The policy of the session; raises `UnknownPolicy` if it is a user's own and not registered here."""
        return restored(self._state.policy)

    @property
    def usage(self) -> Usage | None:
        """The last reported usage."""
        return self._state.usage

    # -- its content

    def messages(self, *, internal: bool = False) -> tuple[Message, ...]:
        """The messages that count, for people or for another agent; internal ones only if asked for.

        Unreadable ones are left out and listed by `damages`; it is an error only if none can be read.
        """
        found, damaged = [], None
        for page in self.pages():
            if internal or page.visibility == Visibility.ALL:
                try:
                    message = self._journal.message(page)
                except Damaged as error:
                    damaged = error
                    continue
                found += [message] if message is not None else []
        if damaged is not None and not found:
            raise damaged
        return tuple(found)

    def message(self, which: str | Page) -> Message | None:
        """The message of a page; None if it was erased. Raises `Damaged` if the stored bytes are not what was written."""
        return self._journal.message(self._page(which))

    def damages(self) -> tuple[Damage, ...]:
        """The pages that count and cannot be read, each with what is wrong with it."""
        found = []
        for page in self.pages():
            try:
                self._journal.message(page)
            except Damaged as error:
                found.append(Damage(self.id, page, BackendError.of(error)))
        return tuple(found)

    def pages(self, *, uncounted: bool = False) -> tuple[Page, ...]:
        """The pages that count, in order; with `uncounted` also those that were undone, erased or replaced."""
        return tuple(self._state.pages if uncounted else self._state.live_pages())

    @property
    def page_count(self) -> int:
        """How many pages the conversation has, including those that no longer count.

        Rules, plans and preferences added beside it, by whichever program, are not included: they do not change where the conversation
        continues.
        """
        return sum(page.kind not in _BESIDE for page in self._state.pages)

    def page(self, which: str | int) -> Page | None:
        """The page of a handle or of a number; None if there is no such page."""
        return self._state.page(which) if isinstance(which, int) else page_of(self._state, which)

    def pages_between(self, handles: str, start: int = 0) -> tuple[Page, ...] | NoMatch:
        """The pages of a range, `p3-abcd..p9-efgh`, that count, without the first `start`."""
        return pages_between(self._state, handles, start)

    def kind(self, which: str | Page) -> PageKind:
        """What a page is for now: a constraint while it is pinned."""
        return self._state.kind(self._page(which))

    def level(self, which: str | Page) -> ResidencyLevel:
        """The level at which a model was last shown a page, or will be shown it first."""
        return self._state.level_of(self._page(which))

    def turn_of(self, which: str | Page) -> int:
        """The turn, counted from 1, that a page belongs to."""
        return self._state.turn_of(self._page(which))

    def tool_of(self, which: str | Page) -> str | None:
        """The name of the tool that a page calls, or whose result it holds."""
        return self._state.tool_of(self._page(which))

    def relevance(self, which: str | Page) -> RelevanceMeta | None:
        """What a page is about; None if nothing was extracted from it, or if it was erased."""
        return self._journal.relevance(self._page(which))

    def text(self, digest: str) -> str | None:
        """A stored text by its digest, such as an admitted form; None if it was erased."""
        return self._journal.text(digest)

    # -- what happened

    def entries(self, after: int = 0) -> tuple[JournalEntry, ...]:
        """Every fact in order, those of its parents too; raises `Damaged` at the first that cannot be read."""
        require_whole("after", after)
        return tuple(
            JournalEntry(record.seq, _time(record.at), entry) for record, entry in self._journal.entries(after)
        )

    def turns(self) -> tuple[Turn, ...]:
        """The turns in order, each with the context that was answered."""
        standing = set(self._state.turns)
        taken = ((each.seq, each.at, each.entry) for each in self.entries() if isinstance(each.entry, e.TurnTaken))
        return tuple(
            Turn(number, seq, entry.page, at, entry.usage, entry.shown, entry.page not in standing)
            for number, (seq, at, entry) in enumerate(taken, start=1)
            if isinstance(entry, e.TurnTaken)
        )

    @property
    def turn(self) -> int:
        """The number of turns, including undone ones."""
        return self._state.turn

    @property
    def answers(self) -> tuple[int, ...]:
        """The number of the page that ended each turn, without undone turns."""
        return tuple(self._state.turns)

    @property
    def folds(self) -> tuple[int, ...]:
        """The turn of each fold."""
        return tuple(self._state.folds)

    @property
    def lines(self) -> tuple[IndexLine, ...]:
        """The index lines of the last fold."""
        return tuple(self._state.lines)

    @property
    def resets(self) -> tuple[int, ...]:
        """The number of the page of each reset that was not undone."""
        return tuple(self._state.resets)

    @property
    def shown(self) -> e.Shown | None:
        """The last context that was answered: up to which page, for which model, and its size."""
        return self._state.shown

    def explain(self, handle: str) -> LastShown:
        """How a page was shown in the last context that was answered, since when and why.

        The journal stores levels and no sizes; `Context.explain` also says what raising a page would cost.
        """
        page, shown = self._page(handle), self._state.shown
        if shown is None or page.seq > shown.upto:
            got = "a session with no answered context yet" if shown is None else f"{handle}, which came later"
            raise InvalidInput("handle", expected="a page of the last context that was answered", got=got)
        line = next((each for each in self._state.lines if each.first <= page.seq <= each.last), None)
        caller = self._state.caller(page) if page.results else None
        placed = self._state.placed.get(caller.seq if caller is not None else page.seq)
        why, since = Why.COVERED, None
        if self._journal.is_out_of_scope(page):
            why = Why.SCOPE
        elif line is not None:
            why, since = Why.ROOM, line.turn or None
        elif page.seq > self._state.folded:
            why = Why.NEW
        elif placed is not None:
            why, since = placed.why, placed.turn or None
        return LastShown(
            handle=page.handle,
            level=ResidencyLevel.POINTER if why is Why.SCOPE else self._state.level_of(page),
            why=why,
            since_turn=since,
            line=self._ends(line) if line is not None else None,
        )

    def faults(self) -> tuple[FaultRecord, ...]:
        """Every fault of the session, oldest first; those that are not stored yet have the number 0."""
        return (*self._state.faults, *(FaultRecord(0, entry) for entry in self._unwritten()))

    def fault_counts(self) -> Counter[str]:
        """How often each fault happened."""
        return Counter(record.entry.fault.code for record in self.faults())

    # -- what holds now

    @property
    def plan(self) -> Plan | None:
        """The plan in force."""
        return plan_in_force(self._journal)

    @property
    def pins(self) -> tuple[Page, ...]:
        """The pages that are pinned, in order."""
        return tuple(page for page in self._state.pages if page.seq in self._state.pins)

    @property
    def notes(self) -> tuple[ContextMessage, ...]:
        """The durable notes."""
        return tuple(self._state.notes.values())

    def memory(self, name: str) -> Any:
        """The value that writeback stored in the field `memory.NAME`, or None."""
        require_text("name", name)
        field = self._state.fields.get(MEMORY + name)
        return field_value(field, self._journal.value) if field else None

    @property
    def renditions(self) -> tuple[e.RenditionAdmitted, ...]:
        """The forms of pages that writeback admitted; `text` gives the content of each."""
        return tuple(self._state.renditions)

    @property
    def staged(self) -> tuple[Proposal, ...]:
        """The proposals that are neither settled nor waiting for a person."""
        return tuple(each.proposal for each in self._state.staged.values())

    def state(self, head: int | None = None) -> SessionState:
        """A copy of the state, now or after entry `head`; see `pageturn.journal.state`."""
        if head is not None:
            require_whole("head", head)
            return self._journal.past(head)
        return copy_of(self._state) or deepcopy(self._state)

    # -- closing

    def close(self) -> None:
        """Close the store that was opened for the reader; the reader of an open session leaves it open."""
        if self._owned is not None:
            self._owned.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def _state(self) -> SessionState:
        return self._journal.state

    def _page(self, which: str | Page) -> Page:
        """The present state of a page."""
        handle = which.handle if isinstance(which, Page) else which
        page = page_of(self._state, handle)
        if page is None:
            raise InvalidInput("handle", expected="the handle of a page of this session", got=show(handle))
        return page

    def _ends(self, line: IndexLine) -> str:
        """The range of an index line, by the handles of its ends."""
        between = self._state.between(line.first, line.last)
        return "..".join(page.handle for page in (between[0], between[-1])) if between else ""


def sessions(url: str | os.PathLike[str] | Store) -> tuple[SessionInfo, ...]:
    """The sessions of a store, the newest first."""
    opened = nullcontext(url) if isinstance(url, Store) else closing(open_store(path_of(url), create=False))
    with opened as store:
        return tuple(_info(row, row.head) for row in store.sessions())


def _info(row: SessionRow, entries: int) -> SessionInfo:
    return SessionInfo(row.id, row.scope, _time(row.created_at), row.parent, entries, row.flaw)


def _time(micros: int) -> datetime:
    """A stored time; the earliest possible one if a damaged store has an impossible value."""
    try:
        return _EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        return _EPOCH
