"""Reads a session without being able to write; used by the command line, the lab, adapters and tests.

What it returns is frozen. A reader of an open session sees what that session sees; one that was opened by itself sees the
session as it was then.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, nullcontext
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any, Self

from pageturn.journal.fields import field_value
from pageturn.journal.journal import Journal, copy_of, require_scope
from pageturn.journal.lookup import Damage, page_of, pages_between
from pageturn.journal.paging import plan_on
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

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class SessionReader:
    """What a session is and was. `session.reader`, or `SessionReader.open` where nobody is to write."""

    def __init__(
        self, journal: Journal, unwritten: Callable[[], Sequence[e.Faulted]] = tuple, *, owned: Store | None = None
    ) -> None:
        self._journal = journal
        self._unwritten = unwritten  # faults that a session has not been able to write down yet
        self._owned = owned  # the store that goes with the reader

    @classmethod
    def open(cls, url: str | os.PathLike[str] | Store, id: str, scope: str | None = None) -> Self:  # noqa: A002
        """A reader of a stored session; like `Session.open`, it has to name the scope of a session that has one."""
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
        """The other scopes that it may reach into."""
        return frozenset(self._state.grants)

    @property
    def head(self) -> int:
        """The number of the last entry."""
        return self._journal.head

    @property
    def model(self) -> str:
        """The model that the session talks to, unless a call says otherwise."""
        return self._state.model or DEFAULT_MODEL

    @property
    def policy(self) -> DerivePolicy:
        """How the session chooses what is in the context; `UnknownPolicy` where it is a user's own and not registered here."""
        return restored(self._state.policy)

    @property
    def usage(self) -> Usage | None:
        """The last usage that was reported."""
        return self._state.usage

    # -- its words

    def messages(self, *, internal: bool = False) -> Iterator[Message]:
        """The messages that count, for people or for another agent: without internal ones unless asked.

        One that cannot be read is left out, and `damages` tells of it; it is an error only if there is no other.
        """
        given, damaged = 0, None
        for page in self.pages():
            if internal or page.visibility == Visibility.ALL:
                try:
                    message = self._journal.message(page)
                except Damaged as error:
                    damaged = error
                    continue
                if message is not None:
                    given += 1
                    yield message
        if damaged is not None and not given:
            raise damaged

    def message(self, which: str | Page) -> Message | None:
        """The message of a page; None where its words were erased. `Damaged` where they are not those that were written."""
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
        """The pages that count, in order; with `uncounted` those too that were undone, erased or replaced."""
        return tuple(self._state.pages if uncounted else self._state.live_pages())

    def page(self, which: str | int) -> Page | None:
        """The page of a handle or of a number; None where there is no such page."""
        return self._state.page(which) if isinstance(which, int) else page_of(self._state, which)

    def pages_between(self, handles: str, start: int = 0) -> tuple[Page, ...] | NoMatch:
        """The pages of a range, `p3-abcd..p9-efgh`, that count, but for the first `start`."""
        return pages_between(self._state, handles, start)

    def kind(self, which: str | Page) -> PageKind:
        """What a page is for now: a constraint while it is pinned."""
        return self._state.kind(self._page(which))

    def level(self, which: str | Page) -> ResidencyLevel:
        """The level at which a model was last shown a page, or will be first."""
        return self._state.level_of(self._page(which))

    def turn_of(self, which: str | Page) -> int:
        """The turn, counted from 1, that a page belongs to."""
        return self._state.turn_of(self._page(which))

    def tool_of(self, which: str | Page) -> str | None:
        """The name of the tool that a page calls, or whose result it holds."""
        return self._state.tool_of(self._page(which))

    def relevance(self, which: str | Page) -> RelevanceMeta | None:
        """What a page is about; None where nobody read that off, or where it was erased."""
        return self._journal.relevance(self._page(which))

    def text(self, digest: str) -> str | None:
        """A text that the journal keeps by its digest, as of an admitted form; None where it was erased."""
        return self._journal.text(digest)

    # -- what happened

    def entries(self, after: int = 0) -> Iterator[JournalEntry]:
        """Every fact in order, those of its parents too; raises `Damaged` at the first that cannot be read."""
        require_whole("after", after)
        for record, entry in self._journal.entries(after):
            yield JournalEntry(record.seq, _time(record.at), entry)

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
        """How many turns there were, the undone ones too."""
        return self._state.turn

    @property
    def answers(self) -> tuple[int, ...]:
        """The number of the page that ended each turn, but for those that were undone."""
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
        """The last context that was answered: up to which page, for which model, and how large."""
        return self._state.shown

    def explain(self, handle: str) -> LastShown:
        """How a page was shown in the last context that was answered, since when and why.

        The journal keeps levels and not sizes: what it would cost to raise a page is for `Context.explain` to say.
        """
        page, shown = self._page(handle), self._state.shown
        if shown is None or page.seq > shown.upto:
            got = "a session of which no context was answered yet" if shown is None else f"{handle}, which came later"
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
        """Every fault of the session, the oldest first; the number 0 is for those that are not written down yet."""
        return (*self._state.faults, *(FaultRecord(0, entry) for entry in self._unwritten()))

    def fault_counts(self) -> Counter[str]:
        """How often each fault happened."""
        return Counter(record.entry.fault.code for record in self.faults())

    # -- what holds now

    @property
    def plan(self) -> Plan | None:
        """The plan in force."""
        now = self._state.plan
        page = self._state.page(now.page) if now else None
        message = self._journal.message(page) if page is not None and not page.erased else None
        return plan_on(message) if message is not None else None

    @property
    def pins(self) -> tuple[Page, ...]:
        """The pages that are pinned, in order."""
        return tuple(page for page in self._state.pages if page.seq in self._state.pins)

    @property
    def notes(self) -> tuple[ContextMessage, ...]:
        """The durable notes."""
        return tuple(self._state.notes.values())

    def memory(self, name: str) -> Any:
        """What writeback has put into the field `memory.NAME`, or None."""
        require_text("name", name)
        field = self._state.fields.get(MEMORY + name)
        return field_value(field, self._journal.value) if field else None

    @property
    def renditions(self) -> tuple[e.RenditionAdmitted, ...]:
        """The forms of pages that writeback admitted; `text` gives the words of each."""
        return tuple(self._state.renditions)

    @property
    def staged(self) -> tuple[Proposal, ...]:
        """The proposals that are neither settled nor wait for a person."""
        return tuple(each.proposal for each in self._state.staged.values())

    def state(self, head: int | None = None) -> SessionState:
        """A copy of all that the entries come to, now or when `head` was the last; `pageturn.journal.state` describes it."""
        if head is not None:
            require_whole("head", head)
            return self._journal.past(head)
        return copy_of(self._state) or deepcopy(self._state)

    # -- being done

    def close(self) -> None:
        """Let go of the store that was opened for the reader; a reader of an open session leaves that open."""
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
        """The present form of a page."""
        handle = which.handle if isinstance(which, Page) else which
        page = page_of(self._state, handle)
        if page is None:
            raise InvalidInput("handle", expected="the handle of a page of this session", got=show(handle))
        return page

    def _ends(self, line: IndexLine) -> str:
        """The range that an index line stands for, as its ends name it."""
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
    """A time as stores keep it; the first of all where a damaged store has none that could be."""
    try:
        return _EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        return _EPOCH
