"""Keeps an upper bound of the tokens that a context takes at least, updated page by page.

The exact value needs a whole layout. A rule that fits beside the bound fits; only for one that does not, the exact value is computed.
So adding many rules among many other pages costs no more than adding the pages.
"""

from collections.abc import Sequence
from typing import NamedTuple

from pageturn.context.sizes import PageSizes
from pageturn.journal.journal import Fresh, Journal
from pageturn.values.entries import Pinned
from pageturn.values.pages import Page

_AROUND = 96  # tokens; more than an index line grows by one page, or by being cut in two
_BYTES = 16  # of a page for one token more: it moves other pages out of reach, which are then shown in lines
_LOOKED_BACK = 64  # pages between a call and its result, or after a page that becomes a rule


class _Least(NamedTuple):
    """An upper bound of the tokens with every page at its lowest level, without tools and notes, and its basis."""

    tokens: int
    pages: int  # how many there were
    promises: int  # how often a page had become a rule, or stopped being one
    basis: tuple[int, ...]


class MinimumBound:
    """The bound of one journal by one token counter."""

    def __init__(self, journal: Journal, sizes: PageSizes) -> None:
        self._journal = journal
        self._sizes = sizes
        self._least: _Least | None = None
        self._heard = 0  # pages
        self._places: dict[str, int] = {}  # by the id of a call, the newest page that made it

    def keep(self, tokens: int) -> None:
        """Set the bound for the present state."""
        state = self._journal.state
        self._least = _Least(tokens, len(state.pages), state.promises, self._basis())

    def unpinned(self) -> None:
        """Note that a page is no longer a rule: it takes no more than it did as one."""
        if self._least is not None:
            tokens, promises = self._least.tokens + _AROUND, self._least.promises + 1
            self._least = self._least._replace(tokens=tokens, promises=promises)

    def with_rule(self, rule: Sequence[Fresh], rule_tokens: int) -> int | None:
        """The bound with one more rule, a new text of `rule_tokens` or a page; None if it must be computed exactly."""
        now = self._now()
        if now is None:
            return None
        if rule_tokens:
            return now + rule_tokens + _AROUND
        page = self._lone_page(rule[0])
        return now + self._sizes.of(page) + 2 * _AROUND if page is not None else None

    def _basis(self) -> tuple[int, ...]:
        """Counts that change when anything but new pages could raise the needed tokens."""
        state = self._journal.state
        return state.changes, len(state.folds), len(state.renditions), len(state.fetched_since_fold), len(state.lost)

    def _now(self) -> int | None:
        state, least = self._journal.state, self._least
        self._hear()
        if least is None or least.basis != self._basis():
            return None
        tokens, rules = least.tokens, 0
        for at in range(least.pages, len(state.pages)):
            page = state.pages[at]
            parted = self._parted(at, least.pages) if page.results else 0
            if parted is None:
                return None
            tokens += self._sizes.of(page) + page.size // _BYTES + _AROUND + parted
            rules += page.seq in state.pins
        return tokens if state.promises == least.promises + rules else None

    def _hear(self) -> None:
        """Remember where calls were made."""
        pages = self._journal.state.pages
        for at in range(self._heard, len(pages)):
            for call in pages[at].calls:
                self._places[call.id] = at
        self._heard = len(pages)

    def _first(self, at: int) -> int:
        """The position of the call whose result is at a position."""
        places = (self._places.get(result.call, at) for result in self._journal.state.pages[at].results)
        return min(places, default=at)

    def _parted(self, at: int, known: int) -> int | None:
        """The tokens of earlier pages that no line can replace any more, since a call and its result span them."""
        first, place = self._first(at), at - 1
        while first < known and place >= first:
            if at - first > _LOOKED_BACK:
                return None
            first = min(first, self._first(place))
            place -= 1
        return sum(self._sizes.of(page) + _AROUND for page in self._journal.state.pages[first:known])

    def _lone_page(self, rule: Fresh) -> Page | None:
        """The page that becomes a rule, if no fold has placed it and it is not part of or between a call and its result."""
        state = self._journal.state
        at = state.index(rule.entry.page) if isinstance(rule.entry, Pinned) else None
        if at is None or len(state.pages) - at > _LOOKED_BACK:
            return None
        page = state.pages[at]
        is_alone = page.seq > state.folded and not page.calls and not page.results
        return page if is_alone and all(self._first(place) > at for place in range(at + 1, len(state.pages))) else None
