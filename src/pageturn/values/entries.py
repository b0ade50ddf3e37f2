"""Entries: one struct for each kind of fact that a journal holds.

An entry keeps fields that it does not know, so that a journal written by a newer pageturn survives an older one. Pages are
named by their number. Wire tags are frozen: a class may be renamed, its tag may not.
"""

from collections.abc import Mapping
from enum import StrEnum

from pageturn.values.chosen_policy import ChosenPolicy
from pageturn.values.faults import AnyFault
from pageturn.values.json import Closed, Open
from pageturn.values.layout import FoldCost, IndexLine, Why
from pageturn.values.notes import ContextMessage, ContextMessageTarget
from pageturn.values.pages import Page, ResidencyLevel
from pageturn.values.proposals import AnyRejection, Proposal
from pageturn.values.usage import Usage


class Entry(Open, tag_field="entry"):
    """A fact."""


class MessageAdded(Entry, tag="message"):
    """A message was appended; its content is the blob that the page names."""

    page: Page


class Imported(Entry, tag="import"):
    """The session was started by an import; names the tool that recorded it, and the file."""

    tool: str
    file: str


class ModelChosen(Entry, tag="model"):
    """The session uses this model unless a call names another."""

    model: str


class SystemReplaced(Entry, tag="system"):
    """The opening prompt is now the one on this page; earlier ones stay in the journal."""

    page: int


class FoldReason(StrEnum):
    """Why the layout of old pages changed."""

    FULL = "full"
    PAYS = "pays"
    COLD = "cold"  # a pause, another model, other tools
    CHANGED = "changed"  # undone, erased, reset, another policy

    @property
    def because(self) -> str:
        """The reason, worded to follow "folded because"."""
        return _BECAUSE[self]


class Placed(Closed, omit_defaults=True):
    """The level of a unit, why, and since the fold of which turn."""

    level: ResidencyLevel
    why: Why
    turn: int
    whole_from: int = 0  # in a compressed unit, pages from this one on are shown in full because they were new


class Fold(Closed, omit_defaults=True):
    """A new layout: what differs from the last one, by the number of each unit's first page, and all index lines."""

    upto: int  # the last page that it placed
    reason: FoldReason
    placed: Mapping[int, Placed]
    forms: int = 0  # how many forms admitted by writeback it took into account
    gone: tuple[int, ...] = ()  # units that no longer have a level of their own
    lines: tuple[IndexLine, ...] = ()
    left_out: Mapping[str, str] = {}  # notes without room: the digest of each, by key
    has_handles: bool = True  # whether its texts name pages, which a model without the recall tool could not fetch
    unreasoned: tuple[int, int] | None = None  # all reasoning after the first page, up to the second, was removed
    # How many changes of shown content it took into account; None in old journals: all of them.
    changes: int | None = None
    cost: FoldCost | None = None  # None in old journals

    def __str__(self) -> str:
        text = f"folded because {self.reason.because}"
        if self.cost is None:
            return text
        cost = self.cost
        removed = f", {cost.unreasoned_tokens:,} of reasoning are removed" if cost.unreasoned_tokens else ""
        text += f"; {cost.rewritten_tokens:,} tokens are written again{removed}, which costs {cost.price_tokens:,}"
        if cost.forecast is None or not cost.freed_tokens:
            return text
        saved = f"save {cost.saved_tokens:,}" if cost.saved_tokens >= 0 else f"cost {-cost.saved_tokens:,} more"
        return (
            f"{text}; the context is {cost.freed_tokens:,} tokens smaller, which is expected to {saved} over the next "
            f"{cost.forecast.turns} turns, with {cost.forecast.risk_tokens:,} for re-fetches (all in tokens of fresh input)"
        )


_BECAUSE = {
    FoldReason.FULL: "the context had outgrown its budget",
    FoldReason.PAYS: "keeping the old context would cost more than folding",
    FoldReason.COLD: "the provider's prompt cache was lost anyway (a pause, another model, other tools)",
    FoldReason.CHANGED: "something that was shown is no longer valid",
}


class NoteShown(Closed, omit_defaults=True):
    """A note that was shown in the prompt: the digest of its text, its band, and the page before it."""

    key: str
    digest: str
    band: ContextMessageTarget
    after: int = 0


class Shown(Closed, omit_defaults=True):
    """What a model was shown: everything up to an entry, its tokens by our count, and the budget."""

    upto: int
    model: str
    tokens: int
    budget_tokens: int
    tools: str  # the digest of the tool definitions
    layout: str  # the digest of all placements
    fold: Fold | None = None
    notes: tuple[NoteShown, ...] = ()  # the pages added since; after a fold, all of them
    # A fold was tried because it would have paid, and had nothing to change: its cost. The wait for the next one begins here.
    kept: FoldCost | None = None
    is_outdated: bool = False  # its fold is not kept, because what it was based on changed before the answer arrived


class TurnTaken(Entry, tag="turn"):
    """A model call was answered by the message of this page."""

    page: int
    usage: Usage | None = None
    shown: Shown | None = None
    unreasoned: bool = False  # its reasoning is not sent back, because the prompt before it will be different


class UsageReported(Entry, tag="usage"):
    """A provider reported the tokens of a call outside of a turn, or rejected it as too long; then also the limit from now on."""

    usage: Usage
    most_tokens: int | None = None
    refused_tokens: int | None = None  # our own count


class OverflowForgotten(Entry, tag="overflow_forgotten"):
    """What was learned from prompts that a model rejected no longer applies."""

    model: str


class TextReference(Closed):
    """A text that is stored as a blob, so that it can be erased."""

    digest: str
    tokens: int


TASK_LOG = "task_log"  # the task log that it was taken from, which may withdraw it again


class Pinned(Entry, tag="pin"):
    """A page became a constraint; its author may have given its structured form."""

    page: int
    structured: TextReference | None = None
    source: str | None = None  # None: the host itself


class Unpinned(Entry, tag="unpin"):
    """A page is what it was before it was pinned; or it is withdrawn, and no longer counts at all."""

    page: int
    withdrawn: bool = False


class PlanSet(Entry, tag="plan"):
    """The plan is now the one on this page. Page 0: there is no plan any more, and earlier ones no longer count."""

    page: int
    version: int
    source: str | None = None  # None: the host itself, or a model


def sets_plan(entry: Entry) -> bool:
    """Whether this entry puts a plan into force."""
    return isinstance(entry, PlanSet) and entry.page > 0


class Preferred(Entry, tag="preference"):
    """A preference was stated; its text is on this page."""

    page: int
    scope: str | None = None


class NoteAdded(Entry, tag="note"):
    """A durable note was added; it replaces an earlier one with its key."""

    note: ContextMessage


class NoteRetracted(Entry, tag="retraction"):
    """The note with this key was removed; `now` asks to remove it from the prompt at once."""

    key: str
    now: bool = False


class RenditionAdmitted(Entry, tag="rendition"):
    """A text replaces the pages from first to last at this level."""

    first: int
    last: int
    level: ResidencyLevel
    digest: str
    tokens: int
    txn: int
    approved: bool = False  # approved by a person: only then may it replace what the host said


class Staged(Entry, tag="staged"):
    """A proposal was stored, with its value as a blob; nothing has changed yet."""

    txn: int
    proposal: Proposal
    value: str


class Waiting(Entry, tag="waiting"):
    """A staged proposal passed every check and waits for a person; nothing has changed yet."""

    txn: int

    @property
    def id(self) -> int:
        """The id for `Session.approve` and `Session.reject`."""
        return self.txn


class Committed(Entry, tag="committed"):
    """A proposal took effect."""

    txn: int


class Rejected(Entry, tag="rejected"):
    """A proposal was rejected, and why."""

    txn: int
    reason: AnyRejection


class Faulted(Entry, tag="fault"):
    """A fault happened: in which turn, about which page, with details."""

    fault: AnyFault
    turn: int
    page: int | None = None
    detail: str = ""


class BoundaryKind(StrEnum):
    """The moments before which everything must be written."""

    COMPACTION = "compaction"
    RESET = "reset"
    SAVE = "save"
    CLOSE = "close"
    COLD_CACHE = "cold_cache"


class BoundaryCrossed(Entry, tag="boundary"):
    """The session passed a boundary with everything written."""

    kind: BoundaryKind


class SessionReset(Entry, tag="reset"):
    """The summary on this page replaces everything before it."""

    page: int


class PolicyChosen(Entry, tag="policy"):
    """The session derives by this policy from here on."""

    policy: ChosenPolicy


class ScopeGranted(Entry, tag="grant"):
    """Recall and writeback may access this scope, or may no longer."""

    scope: str
    allowed: bool = True


class TurnsUndone(Entry, tag="tombstone"):
    """The messages from first to last no longer count."""

    first: int
    last: int


class EntryLost(Entry, tag="lost"):
    """The entries from here up to `last` cannot be read any more, and their content is unknown.

    Until somebody accepts the loss, no context is derived, because a lost entry may have been a rule. Accepting it also records a fault.
    """

    last: int
    what: str
    is_accepted: bool = True


class PageErased(Entry, tag="erasure"):
    """The content of a page was destroyed; its digest stays."""

    page: int
    digest: str
    also: tuple[int, ...] = ()  # summaries of resets that were based on it, and were erased with it
