"""Turns pages that could not be read into the faults of a context; without a rule there is no context."""

from collections.abc import Iterator, Mapping

from pageturn.journal.state import SessionState
from pageturn.values.errors import RuleUnreadable, StoreError
from pageturn.values.faults import AnyFault, BackendError, PinnedInvariantMiss, PostCompactionBootstrap
from pageturn.values.pages import PageKind


def page_faults(state: SessionState, damaged: Mapping[int, StoreError]) -> Iterator[tuple[int, AnyFault]]:
    """Faults for pages that could not be read, by page. A missing rule has a fault class of its own."""
    for seq, what in state.restored.items():
        yield seq, BackendError(what)
    for seq, error in damaged.items():
        page = state.page(seq)
        kind = state.kind(page) if page is not None else None
        if kind is PageKind.CONSTRAINT:
            yield seq, PinnedInvariantMiss()
        elif kind is PageKind.BOOTSTRAP:
            yield seq, PostCompactionBootstrap() if state.folds else PinnedInvariantMiss()
        else:
            yield seq, BackendError.of(error)


def faults_of_context(state: SessionState, damaged: Mapping[int, StoreError]) -> tuple[AnyFault, ...]:
    """The same for a context; raises if a rule cannot be read: a model that does not see it may break it."""
    found = tuple(page_faults(state, damaged))
    for seq, fault in found:
        if isinstance(fault, PinnedInvariantMiss | PostCompactionBootstrap):
            page = state.page(seq)
            handle = page.handle if page is not None else f"page {seq}"
            raise RuleUnreadable(
                f"{handle} is a rule, and its content cannot be read: {fault} (docs/session.md, A rule that cannot be read)",
                page=seq,
                fault=fault,
            )
    return tuple(fault for _, fault in found)
