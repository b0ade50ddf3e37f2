"""Turns messages into pages, and pins and plans into entries, before they are written to the journal."""

import sys
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from pageturn.journal.blobs import pack
from pageturn.journal.journal import Fresh, Journal
from pageturn.journal.references import calls_of, results_of
from pageturn.tokens.counters import TokenCounter
from pageturn.values.checks import require_text
from pageturn.values.digests import digest_of
from pageturn.values.entries import MessageAdded, Pinned, PlanSet, Preferred, SystemReplaced, TextReference
from pageturn.values.fencing import noted
from pageturn.values.handles import check_of
from pageturn.values.json import from_json, to_json
from pageturn.values.messages import Message, Role, require_sound, system, user
from pageturn.values.notes import ContextMessage
from pageturn.values.pages import Page, PageKind
from pageturn.values.plans import Plan
from pageturn.values.relevance import NOTHING, extract
from pageturn.values.search_text import search_text


class Pager(NamedTuple):
    """Makes entries for a journal; ids come from the session."""

    journal: Journal
    counter: TokenCounter
    new_id: Callable[[], str]
    now: Callable[[], int]

    def page(self, message: Message, kind: PageKind, *, ahead: int = 0) -> Fresh:
        """The entry that makes a message a page, with `ahead` other entries before it."""
        if message.id is not None:
            require_text("$.id", message.id)
        require_sound(message)
        seq = self.journal.head + 1 + ahead
        digest, size, blobs, read = pack(message)
        about, found = _relevance(message)
        page = Page(
            seq=seq,
            check=check_of(self.journal.row.key, seq, digest),
            id=message.id or self.new_id(),
            role=message.role,
            kind=kind,
            digest=digest,
            size=size,
            tokens=self.counter.message(message),
            counter=sys.intern(self.counter.name),
            at=self.now(),
            visibility=message.visibility,
            synthetic=message.is_synthetic,
            calls=calls_of(message),
            results=results_of(message),
            relevance=about,
        )
        return Fresh(MessageAdded(page=page), {**blobs, **found}, search_text(message), read)

    def conversation(self, note: ContextMessage) -> Fresh:
        """A note of the conversation as a page: ordinary conversation, whatever its role, with an id of its own."""
        message = msgspec.structs.replace(note.to_message(""), id=None, metadata={"note": note.key})
        return self.page(message, PageKind.CONVERSATION)

    def constraint(
        self, text: str, structured: str | None, source: str | None = None, *, ahead: int = 0
    ) -> list[Fresh]:
        """A text as a pinned page, with `ahead` other entries before it."""
        require_text("text", text)
        page = self.page(system(text), PageKind.CONSTRAINT, ahead=ahead)
        return [page, self.pin(self.journal.head + 1 + ahead, structured, source)]

    def opening(self, text: str) -> list[Fresh]:
        """A text as the prompt that opens the session, replacing the earlier one."""
        require_text("text", text)
        return [self.page(system(text), PageKind.BOOTSTRAP), Fresh(SystemReplaced(page=self.journal.head + 1))]

    def pin(self, page: int, structured: str | None, source: str | None = None) -> Fresh:
        """Pin a page."""
        if structured is None:
            return Fresh(Pinned(page=page, source=source))
        require_text("structured", structured)
        data = structured.encode()
        form = TextReference(digest_of(data), self.counter.message(system(structured)))
        return Fresh(Pinned(page=page, structured=form, source=source), {form.digest: data})

    def plan(
        self, plan: Plan | None, *, by_model: bool = False, source: str | None = None, ahead: int = 0
    ) -> list[Fresh]:
        """A plan as a page, which counts as the next version; None clears the one in force, and a page that follows says so."""
        now = self.journal.state.plan
        shown = plan if plan is not None else _NO_PLAN
        metadata = {"plan": msgspec.json.decode(to_json(shown))}
        message = (
            user(noted("plan", shown.text), synthetic=True, metadata=metadata)
            if by_model
            else system(shown.text, metadata=metadata)
        )
        version = now.version + 1 if now else 1
        if plan is None:
            cleared = Fresh(PlanSet(page=0, version=version, source=source))
            return [cleared, self.page(message, PageKind.PLAN, ahead=ahead + 1)]
        set_ = PlanSet(page=self.journal.head + 1 + ahead, version=version, source=source)
        return [self.page(message, PageKind.PLAN, ahead=ahead), Fresh(set_)]

    def preference(self, text: str, scope: str | None, *, by_model: bool = False) -> list[Fresh]:
        """A preference as a page."""
        require_text("text", text)
        message = user(noted("preference", text), synthetic=True) if by_model else system(text)
        return [self.page(message, PageKind.PREFERENCE), Fresh(Preferred(page=self.journal.head + 1, scope=scope))]


_NO_PLAN = Plan(goal="none; the plan that stood before was cleared")


def _relevance(message: Message) -> tuple[str, dict[str, bytes]]:
    """The blob with what a message is about, and its name: stored beside the page, so that it can be erased."""
    meta = extract(message)
    if meta is NOTHING:
        return "", {}
    data = to_json(meta)
    return (digest := digest_of(data)), {digest: data}


def plan_on(message: Message) -> Plan:
    """The plan on a plan page."""
    return from_json(Plan, to_json((message.metadata or {}).get("plan")))


def plan_in_force(journal: Journal) -> Plan | None:
    """The plan in force."""
    now = journal.state.plan
    page = journal.state.page(now.page) if now is not None else None
    message = journal.message(page) if page is not None and not page.erased else None
    return plan_on(message) if message is not None else None


def plan_in_short(message: Message) -> Message:
    """The structured form of a plan page, with the role of its author."""
    short = plan_on(message).structured
    if message.role is Role.SYSTEM:
        return system(short, synthetic=True)
    return user(noted("plan", short), synthetic=True)
