"""Makes the entries of appended messages: their pages, and for an answer the turn that it ends."""

from collections.abc import Sequence

from pageturn.context.derive import Deriver
from pageturn.context.working_set import Derived
from pageturn.journal.journal import Fresh
from pageturn.journal.paging import Pager
from pageturn.values.entries import TurnTaken, UsageReported
from pageturn.values.messages import Message, Role
from pageturn.values.pages import PageKind, classify
from pageturn.values.reasoning import has_reasoning
from pageturn.values.usage import Usage


def message_entries(
    deriver: Deriver,
    pager: Pager,
    messages: Sequence[Message],
    usage: Usage | None,
    *,
    derived: Derived | None,
    boundary: Sequence[Fresh],
    ahead: int,
) -> list[Fresh]:
    """The entries of messages, after `ahead` others. The first answer acknowledges `derived`; the usage is that of the last one.

    `boundary` is written after the turn that was shown the context.
    """
    turns = [index for index, message in enumerate(messages) if message.role is Role.ASSISTANT]
    is_opening = pager.journal.state.is_opening
    fresh: list[Fresh] = []
    for index, message in enumerate(messages):
        kind = classify(message, is_opening=is_opening)
        is_opening = is_opening and kind is PageKind.BOOTSTRAP
        fresh.append(pager.page(message, kind, ahead=ahead + len(fresh)))
        if message.role is Role.ASSISTANT:
            reported = usage if usage is not None and index == turns[-1] else message.usage
            shown = derived.shown if derived is not None and index == turns[0] else None
            is_stale = shown is not None and has_reasoning(message) and deriver.is_overtaken(shown, by=index)
            page = pager.journal.head + ahead + len(fresh)
            turn = TurnTaken(page=page, usage=reported, shown=shown, unreasoned=is_stale)
            fresh.append(Fresh(turn, derived.blobs if derived is not None and shown is not None else {}))
            fresh += boundary if shown is not None else ()
        elif message.usage is not None:
            fresh.append(Fresh(UsageReported(usage=message.usage)))
    if usage is not None and not turns:
        fresh.append(Fresh(UsageReported(usage=usage)))
    return fresh
