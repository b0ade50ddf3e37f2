"""Context: what the next call gets, and why each page stands as it does."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from pageturn.derivation.folding import Standing
from pageturn.derivation.forms import FormMaker
from pageturn.derivation.sealing import has_place, units_within
from pageturn.derivation.weaving import NoteOutcome
from pageturn.entries import Fold
from pageturn.errors import InvalidInput, show
from pageturn.faults import AnyFault
from pageturn.journal import Journal
from pageturn.layout import IndexLine, Layout, Placement, Why
from pageturn.messages import Message
from pageturn.pages import Page, ResidencyLevel
from pageturn.recall import page_of
from pageturn.recall_tool import RecallTool
from pageturn.state import SessionState
from pageturn.units import Unit


class Wish(msgspec.Struct, frozen=True):
    """A form that would have been used, had somebody written it: of a page, or the summary of a range of them, `p3-abcd..p9-efgh`."""

    handle: str
    level: ResidencyLevel
    reason: str


class Explanation(msgspec.Struct, frozen=True):
    """Why a page stands as it does."""

    handle: str
    level: ResidencyLevel
    why: Why
    tokens: int  # of the unit or the line that it stands in
    since_turn: int | None  # of the fold that put it there; None if it stands there since it came
    line: str | None  # the range of the index line that it stands in
    raising: Mapping[ResidencyLevel, int]  # the tokens that each higher level would take more

    def __str__(self) -> str:
        if self.why in _NOWHERE and self.line is None:
            return f"{self.handle} stands nowhere by itself: {_REASONS[self.why]}"
        place = f"in the index line {self.line}" if self.line else f"at {self.level}, {self.tokens:,} tokens"
        since = f" since the fold of turn {self.since_turn}" if self.since_turn is not None else " since it came"
        dearer = ", ".join(f"{level} +{tokens:,}" for level, tokens in self.raising.items())
        return f"{self.handle} stands {place}{since}: {_REASONS[self.why]}{f'; raising it: {dearer}' if dearer else ''}"


_MOST_BREAKPOINTS = 4  # as many as Anthropic takes
_REASONS = {
    Why.RULE: "it is a rule",
    Why.PLAN: "it is the plan in force",
    Why.TASK: "it is the task",
    Why.UNSEEN: "the model had not seen it yet",
    Why.OPEN: "its call waits for a result",
    Why.PERSON: "a person said it",
    Why.WORTH: "it is worth its tokens",
    Why.ROOM: "others were worth the room more",
    Why.NEW: "it came after the last fold",
    Why.COVERED: "a summary stands for it",
    Why.SCOPE: "it is a preference for another scope",
}
_NOWHERE = (Why.COVERED, Why.SCOPE)


class View(NamedTuple):
    """What a context was made of, to say later why."""

    journal: Journal
    forms: FormMaker
    standing: Standing
    folded: int  # the last page that stands in the frozen part
    upto: int  # the last page that stands at all
    needed_tokens: int = 0

    def placement(self, page: Page) -> Placement:
        """Where a page stands."""
        if self.journal.is_out_of_scope(page):
            return self._out_of_scope(page)
        if page.seq > self.folded:
            return Placement(page.seq, page.seq, ResidencyLevel.FULL, self.forms.sizes.of(page), Why.NEW)
        return placement_of(self.journal.state, self.standing.placements, page)

    def _out_of_scope(self, page: Page) -> Placement:
        """Where a preference for another scope is: nowhere, or among the pages that an index line counts."""
        lines = (each for each in self.standing.placements if each.line is not None)
        line = next((each for each in lines if each.first <= page.seq <= each.last), None)
        if line is not None:
            return line._replace(why=Why.SCOPE)
        return Placement(page.seq, page.seq, ResidencyLevel.POINTER, 0, Why.SCOPE)

    def layout(self, tokens: int, budget_tokens: int) -> Layout:
        """Where everything stands."""
        came = self.journal.state.between(self.folded + 1, self.upto)
        new = [self.placement(page) for page in came if not self.journal.is_out_of_scope(page)]
        return Layout((*self.standing.placements, *new), tokens, budget_tokens, self.needed_tokens)


class Bands(NamedTuple):
    """Where the bands of a context end, in messages: the base prompt, the notes behind it, and the history before the suffix."""

    base: int
    notes: int
    history: int


class Context(msgspec.Struct, frozen=True):
    """What the next call gets. `layout` and `explain` look into the journal, so they hold until something is undone or erased."""

    messages: tuple[Message, ...]
    tools: tuple[Mapping[str, Any] | RecallTool, ...]
    tokens: int
    budget_tokens: int
    model: str
    fold: Fold | None
    faults: tuple[AnyFault, ...]
    wanted: tuple[Wish, ...]
    notices: tuple[str, ...]  # what is not as it should be, and why
    frozen: int  # how many messages stay as they are until the next fold
    notes: tuple[NoteOutcome, ...]  # what became of every note
    bands: Bands
    view: View

    @property
    def layout(self) -> Layout:
        """The level of every unit."""
        return self.view.layout(self.tokens, self.budget_tokens)

    @property
    def breakpoints(self) -> tuple[int, ...]:
        """The messages up to which a vendor's cache should keep the prompt, four at most."""
        return self.breakpoints_within(_MOST_BREAKPOINTS)

    def breakpoints_within(self, most: int) -> tuple[int, ...]:
        """So many of them: the history, the instructions, the notes, and the rest spread over what is frozen.

        There the next fold may leave a beginning as it stands, which is found again as far as one of them. The suffix is never
        among them, since it stands in one context only.
        """
        base, notes, history = self.bands
        ends = [end for end in dict.fromkeys((history, base, notes)) if end > 0][:most]
        left = most - len(ends)
        frozen = max(self.frozen - notes, 0)
        ends += [notes + frozen * each // (left + 1) for each in range(1, left + 1)]
        return tuple(sorted({end - 1 for end in ends if end > 0}))

    def explain(self, handle: str) -> Explanation:
        """Why a page stands as it does, since when, and what it would cost to raise it."""
        state = self.view.journal.state
        page = page_of(state, handle)
        if page is None or not page.counts or page.seq > self.view.upto:
            raise InvalidInput("handle", expected="the handle of a page that this context is made of", got=show(handle))
        placement = self.view.placement(page)
        line = placement.line
        raising: dict[ResidencyLevel, int] = {}
        if line is None and placement.why not in (Why.NEW, *_NOWHERE):
            unit = unit_of(state, placement)
            sizes = self.view.forms.of(unit).sizes
            raising = {level: size - placement.tokens for level, size in sizes.items() if level > placement.level}
        return Explanation(
            handle=handle,
            level=placement.level,
            why=placement.why,
            tokens=placement.tokens,
            since_turn=placement.turn or None,
            line=range_of(state, line) if line is not None else None,
            raising=raising,
        )


def placement_of(state: SessionState, placements: Sequence[Placement], page: Page) -> Placement:
    """Where a page stands among these."""
    for placement in placements:
        if placement.first <= page.seq <= placement.last:
            unit = unit_of(state, placement) if placement.line is None else ()
            if placement.line is not None or any(each.seq == page.seq for each in unit):
                return placement
    summary = state.page(state.resets[-1]) if state.resets and page.seq < state.resets[-1] else None
    if summary is None:
        raise InvalidInput("handle", expected="a page of a context that still holds", got=page.handle)
    # Without pointers, only the summary stands for what it covers.
    covering = placement_of(state, placements, summary)
    return covering._replace(level=ResidencyLevel.POINTER, why=Why.COVERED, line=None)


def range_of(state: SessionState, line: IndexLine) -> str:
    """The handles of the first and the last page of a line."""
    pages = state.between(line.first, line.last)
    return f"{pages[0].handle}..{pages[-1].handle}"


def unit_of(state: SessionState, placement: Placement) -> Unit:
    """The unit that a placement is for."""
    inside = state.pages[state.after(placement.first - 1) : state.after(placement.last)]
    units = units_within(state, filter(has_place, inside))
    unit = next((unit for unit in units if unit[0].seq == placement.first), None)
    if unit is None:
        raise InvalidInput(
            "context", expected="one whose pages still count", got=f"a unit at {placement.first} that is gone"
        )
    return unit
