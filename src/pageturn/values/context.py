"""Context: what the next call gets, and why each page is shown as it is. A frozen value that holds no live session."""

from collections.abc import Mapping

from pageturn.values.entries import Fold
from pageturn.values.errors import InvalidInput, show
from pageturn.values.faults import AnyFault
from pageturn.values.handles import parse
from pageturn.values.json import Closed
from pageturn.values.layout import Layout, Placement, Why
from pageturn.values.notes import ContextMessageTarget, NoteDecision
from pageturn.values.pages import ResidencyLevel
from pageturn.values.prompt import Prompt


class Wish(Closed):
    """A shorter form that the policy would have used if it existed: of a page, or a summary of a range of pages, `p3-abcd..p9-efgh`."""

    handle: str
    level: ResidencyLevel
    reason: str


class NoteOutcome(Closed):
    """What happened to a note in a context: the band it is in, or None, and its tokens there."""

    key: str
    band: ContextMessageTarget | None
    decision: NoteDecision
    tokens: int


class Explanation(Closed):
    """Why a page is shown as it is."""

    handle: str
    level: ResidencyLevel
    why: Why
    tokens: int  # of the unit or line that contains it
    since_turn: int | None  # of the fold that put it there; None if it has been there since it was added
    line: str | None  # the range of the index line that contains it
    raising: Mapping[ResidencyLevel, int]  # the extra tokens of each higher level
    needed: Mapping[ResidencyLevel, int] = {}  # what it would have to save until the next fold to justify each

    def __str__(self) -> str:
        if self.why in _NOWHERE and self.line is None:
            return f"{self.handle} is not shown by itself: {REASONS[self.why]}"
        place = f"in the index line {self.line}" if self.line else f"at {self.level}, {self.tokens:,} tokens"
        since = f" since the fold of turn {self.since_turn}" if self.since_turn is not None else " since it was added"
        higher = ", ".join(f"{level} +{tokens:,}{self._if_it_saved(level)}" for level, tokens in self.raising.items())
        more = f"; raising it: {higher}" if higher else ""
        return f"{self.handle} is shown {place}{since}: {REASONS[self.why]}{more}"

    def _if_it_saved(self, level: ResidencyLevel) -> str:
        return f" if it saved {self.needed[level]:,} until the next fold" if level in self.needed else ""


REASONS = {
    Why.RULE: "it is a rule",
    Why.PLAN: "it is the plan in force",
    Why.TASK: "it is the task",
    Why.UNSEEN: "the model had not seen it yet",
    Why.OPEN: "its call waits for a result",
    Why.PERSON: "a person said it",
    Why.WORTH: "it is worth its tokens",
    Why.ROOM: "other units were worth more",
    Why.NEW: "it came after the last fold",
    Why.COVERED: "a summary replaces it",
    Why.SCOPE: "it is a preference for another scope",
}
_NOWHERE = (Why.COVERED, Why.SCOPE)


class Context(Prompt, kw_only=True):
    """The prompt of the next call, with its layout, tokens, notices and faults.

    It is frozen and holds no session: `explain` says what was true when it was derived, also on a copy.
    """

    model: str
    tokens: int
    budget_tokens: int
    fold: Fold | None = None  # the fold that this context makes, once it is answered
    faults: tuple[AnyFault, ...] = ()
    wanted: tuple[Wish, ...] = ()
    notices: tuple[str, ...] = ()  # what is shortened or missing, and why
    notes: tuple[NoteOutcome, ...] = ()  # the outcome of every note
    folded: tuple[Placement, ...] = ()  # what the last fold placed
    recent: tuple[Placement, ...] = ()  # what was added since, one page each
    needed_tokens: int = 0  # with every unit at its lowest level; known if there is a fold
    token_price: float = 0.0  # what a token must save until the next fold to stay; 0 if the policy does not say

    @property
    def layout(self) -> Layout:
        """The level of every unit."""
        shown = tuple(
            each for each in (*self.folded, *self.recent) if each.line is not None or each.why not in _NOWHERE
        )
        return Layout(shown, self.tokens, self.budget_tokens, self.needed_tokens)

    @property
    def upto(self) -> int:
        """The number of the last page included."""
        return max((each.last for each in (*self.folded, *self.recent)), default=0)

    def placement(self, handle: str) -> Placement:
        """How a page is shown; raises `InvalidInput` if it is not a page of this context.

        For a run behind an index line only the two end handles can be checked; pages between them are found by number.
        """
        parsed = parse(handle)
        seq = parsed[0] if parsed is not None else 0
        within = [each for each in (*self.folded, *self.recent) if each.first <= seq <= each.last]
        named = next((each for each in within if handle in each.handles), None)
        if named is None:
            named = next((each for each in within if each.is_run and not _is_impostor(handle, seq, each)), None)
        if named is None:
            raise InvalidInput("handle", expected="the handle of a page that this context is made of", got=show(handle))
        return named

    def explain(self, handle: str) -> Explanation:
        """Why a page is shown as it is, since when, and what it would cost to raise it."""
        placement = self.placement(handle)
        line = placement.line
        raising = {level: size - placement.tokens for level, size in placement.sizes.items() if level > placement.level}
        return Explanation(
            handle=handle,
            level=placement.level,
            why=placement.why,
            tokens=placement.tokens,
            since_turn=placement.turn or None,
            line="..".join(placement.handles) if line is not None else None,
            raising=raising,
            needed={level: round(tokens * self.token_price) for level, tokens in raising.items() if self.token_price},
        )


def _is_impostor(handle: str, seq: int, run: Placement) -> bool:
    """Whether a handle has the page number of the end of a run, but a wrong check."""
    return seq in (run.first, run.last) and handle not in run.handles
