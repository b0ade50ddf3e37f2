"""Finds the short forms written for a page by the author of a rule, by a model, or by a model with approval.

Text that a model wrote is fenced and labelled as such, whatever the role of the page, and never replaces a rule without approval.
"""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from pageturn.journal.journal import Journal
from pageturn.values.entries import RenditionAdmitted
from pageturn.values.errors import StoreError
from pageturn.values.fencing import fenced, labelled
from pageturn.values.messages import Message, Role, system, user
from pageturn.values.pages import Page, ResidencyLevel
from pageturn.values.units import Unit

_WRITTEN = (ResidencyLevel.COMPRESSED, ResidencyLevel.STRUCTURED)


class Given(NamedTuple):
    """A text written for a page, and whether a model wrote it."""

    text: str
    is_model_written: bool

    def quoted(self, handle: str) -> str:
        """The text as a line of a rendition."""
        return labelled(handle, f"in a model's own words: {self.text}" if self.is_model_written else self.text)

    def in_place(self, handle: str) -> str:
        """The text in place of the result that it shortens."""
        whole = f"; {handle} is the whole" if handle else ""
        return f"{self.text}\n[in {'a model' if self.is_model_written else 'its author'}'s own words{whole}]"

    def message(self, page: Page, handle: str) -> Message:
        """The text as a message of its own; with the role of the page if a person wrote or approved it."""
        if self.is_model_written:
            labelled_text = f"a model's short form of a message by the {page.role}:\n{self.text}"
            return user(fenced(labelled(handle, labelled_text)), synthetic=True)
        speak = system if page.role in (Role.SYSTEM, Role.DEVELOPER) else user
        return speak(self.text, synthetic=True)


class GivenForms:
    """The texts written for the pages of one journal."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.among = 0  # how many of the forms that writeback admitted are considered
        self._renditions: Sequence[RenditionAdmitted] = ()
        self._taken = 0
        # A lookup, since every fold asks for each page and most have none.
        self._by_page: dict[int, list[tuple[int, RenditionAdmitted]]] = {}

    def of(self, page: Page, level: ResidencyLevel) -> Given | None:
        """The text for a page at a level; None if there is none, or if it cannot be read."""
        own = self._journal.state.pins.get(page.seq)
        if level is ResidencyLevel.STRUCTURED and own is not None:
            return self._read(own.digest, is_model_written=False)
        admitted = self._admitted(page, level)
        return self._read(admitted.digest, is_model_written=not admitted.approved) if admitted is not None else None

    def key(self, unit: Unit) -> Hashable:
        """A key that changes when the texts for a unit change."""
        state = self._journal.state
        pinned = tuple([state.pins.get(page.seq) for page in unit]) if state.pins else ()
        written = [self._admitted(page, level) for page in unit for level in _WRITTEN] if state.renditions else ()
        return pinned, tuple(written)

    def _admitted(self, page: Page, level: ResidencyLevel) -> RenditionAdmitted | None:
        """The newest considered form of a page for a level; for text of the host only one that a person approved."""
        renditions = self._journal.state.renditions
        if renditions is not self._renditions:  # some were removed with their pages
            self._renditions, self._taken, self._by_page = renditions, 0, {}
        for at in range(self._taken, len(renditions)):
            if renditions[at].first == renditions[at].last:
                self._by_page.setdefault(renditions[at].first, []).append((at, renditions[at]))
        self._taken = len(renditions)
        ours = [each for at, each in self._by_page.get(page.seq, ()) if at < self.among and each.level is level]
        if ours and self._journal.state.is_authoritative(page):
            ours = [each for each in ours if each.approved]
        return max(ours, key=lambda each: each.txn, default=None)

    def _read(self, digest: str, *, is_model_written: bool) -> Given | None:
        try:
            text = self._journal.text(digest)
        except StoreError:
            return None
        return Given(text, is_model_written) if text is not None else None
