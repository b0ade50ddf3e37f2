"""Given forms: words that somebody wrote for a page. The author of a rule, a person who approved them, or a model.

What a model wrote is fenced and named as its own, whoever spoke on the page, and never stands for a rule that nobody approved it for.
"""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from pageturn.entries import RenditionAdmitted
from pageturn.errors import StoreError
from pageturn.journal import Journal
from pageturn.messages import Message, Role, system, user
from pageturn.pages import Page, ResidencyLevel
from pageturn.renditions.fencing import fenced, labelled
from pageturn.units import Unit

_WRITTEN = (ResidencyLevel.COMPRESSED, ResidencyLevel.STRUCTURED)


class Given(NamedTuple):
    """Words for a page, and whether a model wrote them."""

    text: str
    is_model_written: bool

    def quoted(self, handle: str) -> str:
        """The words as a line of a text of ours."""
        return labelled(handle, f"in a model's own words: {self.text}" if self.is_model_written else self.text)

    def in_place(self, handle: str) -> str:
        """The words in the place of what they are a short form of."""
        whole = f"; {handle} is the whole" if handle else ""
        return f"{self.text}\n[in {'a model' if self.is_model_written else 'its author'}'s own words{whole}]"

    def message(self, page: Page, handle: str) -> Message:
        """The words as a message of their own; those of a person speak in the voice of the page."""
        if self.is_model_written:
            told = f"a model's short form of a message by the {page.role}:\n{self.text}"
            return user(fenced(labelled(handle, told)), synthetic=True)
        speak = system if page.role in (Role.SYSTEM, Role.DEVELOPER) else user
        return speak(self.text, synthetic=True)


class GivenForms:
    """The words that were given for the pages of one journal."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.among = 0  # how many of the forms that writeback admitted count
        self._renditions: Sequence[RenditionAdmitted] = ()
        self._taken = 0
        self._by_page: dict[
            int, list[tuple[int, RenditionAdmitted]]
        ] = {}  # most pages have none, and every fold asks of each

    def of(self, page: Page, level: ResidencyLevel) -> Given | None:
        """The words for a page at a level; None where there are none, or where the store cannot give them."""
        own = self._journal.state.pins.get(page.seq)
        if level is ResidencyLevel.STRUCTURED and own is not None:
            return self._read(own.digest, is_model_written=False)
        admitted = self._admitted(page, level)
        return self._read(admitted.digest, is_model_written=not admitted.approved) if admitted is not None else None

    def key(self, unit: Unit) -> Hashable:
        """What tells whether the words for a unit have changed."""
        state = self._journal.state
        pinned = tuple([state.pins.get(page.seq) for page in unit]) if state.pins else ()
        written = [self._admitted(page, level) for page in unit for level in _WRITTEN] if state.renditions else ()
        return pinned, tuple(written)

    def _admitted(self, page: Page, level: ResidencyLevel) -> RenditionAdmitted | None:
        """The newest form of a page for a level among those that count; for what the host said only one that a person approved."""
        renditions = self._journal.state.renditions
        if renditions is not self._renditions:  # some are gone with their pages
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
