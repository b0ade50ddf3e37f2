"""Keeps an upper bound of the tokens that a context takes at least, updated page by page.

The exact value needs a whole layout. A rule that fits beside the bound fits; only for one that does not, the exact value is computed.
So adding many rules among many other pages costs no more than adding the pages.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from pageturn.context.sizes import PageSizes
from pageturn.journal.journal import Fresh, Journal
from pageturn.values.entries import Pinned
from pageturn.values.pages import Page
from pageturn.values.units import unanswered

_AROUND = 96  # tokens; more than an index line grows by one page, or by being cut in two
_BYTES = 16  # of a page for one token more: it moves other pages out of reach, which are then shown in lines
_CUT = 4 * _AROUND  # tokens; more than a line of many tools and folders grows by when it is cut in two around a page
_LOOKED_BACK = 64  # pages between a call and its result


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
        self._starts: list[int] = []  # the first pages of runs that stay together, as a call and its results do

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
        pages = self._pages_with(rule[0])
        if not pages:
            return None
        return now + _CUT + sum(self._sizes.of(page) + page.size // _BYTES + _AROUND for page in pages)

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
        """Remember where calls were made, and which pages they and their results span."""
        pages, starts = self._journal.state.pages, self._starts
        for at in range(self._heard, len(pages)):
            starts.append(at)
            first = self._first(at)
            while starts[-1] > first:
                starts.pop()
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

    def _pages_with(self, rule: Fresh) -> Sequence[Page]:
        """The pages that get a level of their own if one of them becomes a rule; none if they are too many, or a call is still open."""
        state = self._journal.state
        at = state.index(rule.entry.page) if isinstance(rule.entry, Pinned) else None
        if at is None:
            return ()
        after = bisect_right(self._starts, at)
        end = self._starts[after] if after < len(self._starts) else len(state.pages)
        pages = state.pages[self._starts[after - 1] : end]
        return pages if len(pages) <= _LOOKED_BACK and not unanswered(tuple(pages)) else ()
