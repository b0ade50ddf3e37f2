"""Makes the context of a past turn again, from the journal alone and without writing: what the model was sent, message by message.

The journal keeps the levels of every fold and a digest of what was where. So the session is taken as it was before the answer, the
fold that was recorded is applied, and what comes out is compared with the digest: either it is exact, or the page says that it is not.
"""

from typing import NamedTuple

import msgspec

from pageturn.apps.inspector.history import Taken
from pageturn.context.fold import Terms
from pageturn.context.renditions import BUILT_IN
from pageturn.context.working_set import ContextRequest, Derived, WorkingSet
from pageturn.journal.journal import Fresh, Journal
from pageturn.policies.checked import CheckedPolicy
from pageturn.policies.legacy import Legacy
from pageturn.stores import SessionRow
from pageturn.tokens.counters import counter_for
from pageturn.values.context import Context
from pageturn.values.entries import MessageAdded, Shown, TurnTaken
from pageturn.values.errors import PageturnError
from pageturn.values.layout import Frame, Growth, Levels
from pageturn.values.recall_tool import RecallTool

_ROOM = 2**40  # tokens: no limit makes it fold anew


class PastContext(NamedTuple):
    """The context of a turn; `flaw` says why it may differ from what was sent, and is empty where it is exact."""

    context: Context | None
    flaw: str = ""
    fixed_tokens: int = 0  # of the tools and what opens every request, which the journal does not keep


class _AsItStands(Legacy):
    """Never folds. Not a policy of its own, which journals and settings would know by name."""

    def is_full(self, growth: Growth, budget_tokens: int) -> bool:  # noqa: ARG002
        return False

    def plan(self, frame: Frame, least: Levels, tokens: int) -> Levels:  # noqa: ARG002
        return least


def past_context(journal: Journal, taken: Taken) -> PastContext:
    """What was sent in a turn whose context was derived."""
    shown = taken.shown
    assert shown is not None, "a turn without a context was sent all of the history"
    try:
        past = _as_of(journal, _last_entry_before(journal, taken))
        if shown.fold is None:
            derived = _derived(past, shown)
        else:
            with past.supposing(_answered(journal, past, taken)):
                derived = _derived(past, shown)
    except (PageturnError, AssertionError, LookupError) as error:
        return PastContext(None, f"what was sent cannot be made again: {error or type(error).__name__}")
    fixed = max(0, shown.tokens - derived.shown.tokens)
    if derived.shown.layout == shown.layout:
        return PastContext(derived.context, "", fixed)
    return PastContext(derived.context, _reason(past, shown, derived), fixed)


def _as_of(journal: Journal, head: int) -> Journal:
    """The session as it was after an entry: a fork that is never written."""
    row = journal.row
    fork = SessionRow("as-it-was", row.key, row.created_at, row.scope, row.id, head, head)
    past = Journal(journal.store, fork)
    past.notice_erased()
    return past


def _last_entry_before(journal: Journal, taken: Taken) -> int:
    """The last entry that the context can have known: before the answer, and before pages that came while the model answered."""
    assert taken.shown is not None
    pages = journal.state.pages
    at = journal.state.after(taken.shown.upto)
    late = pages[at].seq if at < len(pages) else taken.page
    return min(late, taken.page) - 1


def _answered(journal: Journal, past: Journal, taken: Taken) -> list[Fresh]:
    """The entries of the turn, so that its fold holds, with an answer that is not shown."""
    answer = journal.state.known_page(taken.page)
    hidden = msgspec.structs.replace(answer, seq=past.head + 1, undone=True)
    return [Fresh(MessageAdded(page=hidden)), Fresh(TurnTaken(page=hidden.seq, shown=taken.shown))]


def _derived(past: Journal, shown: Shown) -> Derived:
    has_handles = shown.fold.has_handles if shown.fold is not None else past.state.has_handles
    tool = RecallTool() if has_handles else None
    working_set = WorkingSet(past, counter_for(shown.model), BUILT_IN, shows_handles=has_handles)
    terms = Terms(CheckedPolicy(_AsItStands()), _ROOM, 0, has_handles)
    return working_set.derive(ContextRequest(terms, shown.model, (), tool, shown.tools))


def _reason(past: Journal, shown: Shown, derived: Derived) -> str:
    if shown.is_outdated:
        return "its fold was not kept, since something in it changed before the answer came"
    if any(page.erased for page in past.state.pages):
        return "words that it had were erased since"
    if [note.key for note in shown.notes] != [note.key for note in derived.shown.notes]:
        return "notes that were shown once are not repeated here"
    return "it was made with other renderers, another counter or another version of pageturn"
