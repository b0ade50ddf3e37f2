"""Makes folds: new layouts of a session, with each unit at the level that the policy chooses within the laws.

A fold considers the pages that no sealed line covers, and of those only the newest few thousand; so its cost does not grow with the
history, unless there is no recall tool and nothing may be sealed.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import islice
from typing import NamedTuple

import msgspec

from pageturn.context.candidates import Wanted, candidates_of, near, people_of
from pageturn.context.draft import lowest_levels
from pageturn.context.forms import FormMaker
from pageturn.context.frozen_prefix import FrozenPrefix, FrozenPrefixMaker
from pageturn.context.index_lines import IndexLines
from pageturn.context.laws import enforce, most_needed, most_of_people, promised, room_above_laws
from pageturn.context.layouts import lay_out
from pageturn.context.notes import NO_NOTES, NO_PLACED_NOTES, NoteRequests, PlacedNotes, base_of, fold_in, settle
from pageturn.context.placed_lines import Folders, PlacedLines, Units
from pageturn.context.renditions import Renderers
from pageturn.context.run_details import AdmittedSummaries, changes
from pageturn.context.sealed_runs import outside, still_sealed, units_within
from pageturn.context.unit_forms import Forms
from pageturn.context.unsealed_units import UnsealedUnits
from pageturn.journal.journal import Journal
from pageturn.journal.state import SessionState
from pageturn.policies.checked import CheckedPolicy
from pageturn.tokens.counters import TokenCounter
from pageturn.values.entries import Fold, FoldReason, Placed
from pageturn.values.errors import StoreError
from pageturn.values.layout import NEVER, Candidate, FoldCost, Frame, Growth, IndexLine, Layout, Placement, Why
from pageturn.values.messages import Message
from pageturn.values.pages import ResidencyLevel
from pageturn.values.reasoning import has_reasoning
from pageturn.values.units import Unit, entangled, unanswered

_AT_ONCE, _MOST_AT_ONCE = 2, 8  # units whose forms are made ahead of a fold after a message, at least and at most
_FULL, _COMPRESSED, _STRUCTURED, _POINTER = ResidencyLevel


class Terms(NamedTuple):
    """The policy and the token limits of a fold."""

    policy: CheckedPolicy
    budget_tokens: int
    fixed_tokens: int
    can_point: bool


class Needed(NamedTuple):
    """The tokens that a context takes at least, and an upper bound of them for any budget, without tools."""

    tokens: int
    upper_bound: int


class Sent(NamedTuple):
    """What a model would be sent without a fold; shows what the fold changes."""

    messages: Sequence[Message] = ()
    tokens: int = 0
    head_holds: bool = False  # whether tools and model are those of the last call
    # The first page of the open tool loop, where the model asks for its reasoning whatever changes.
    loop: int | None = None


NOTHING_SENT = Sent()


class Folded(NamedTuple):
    """A fold that is made but not yet acknowledged."""

    fold: Fold
    layout: Layout
    prefix: FrozenPrefix
    blobs: Mapping[str, bytes]
    placed_notes: PlacedNotes = NO_PLACED_NOTES


class FoldMaker:
    """Makes the folds of one journal."""

    def __init__(self, journal: Journal, counter: TokenCounter, renderers: Renderers, *, shows_handles: bool) -> None:
        self._journal = journal
        self.forms = FormMaker(journal, counter, renderers, shows_handles=shows_handles)
        self._lines = IndexLines(journal, counter, shows_handles=shows_handles)
        self._summaries = AdmittedSummaries(journal.state)
        self._units = UnsealedUnits(journal.state)
        self._unprepared: dict[int, Unit] = {}  # units whose forms may still have to be made, by their first page
        self._prefixes = FrozenPrefixMaker(journal, self.forms, self._lines, shows_handles=shows_handles)

    @property
    def is_damaged(self) -> bool:
        """Whether any page could not be read."""
        return bool(self._lines.damaged or self.forms.damaged)

    @property
    def damaged(self) -> dict[int, StoreError]:
        """The errors of pages that could not be read, by page."""
        return self._lines.damaged | self.forms.damaged

    def forget(self) -> None:
        """Drop all cached forms and lines, because the history has changed."""
        self.forms.forget()
        self._lines.forget()
        self._unprepared.clear()

    def prefix(self) -> FrozenPrefix:
        """The result of the last acknowledged fold; raises `LevelGone` if it can no longer be shown."""
        return self._prefixes.last()

    def tasks(self) -> frozenset[int]:
        """The pages that hold what the agent was last asked to do."""
        return self._prefixes.tasks()

    def forms_of(self, unit: Unit) -> Forms:
        """The forms that a unit offers to a fold made now."""
        return self.forms.of_each([unit])[unit[0].seq]

    def needed(self, terms: Terms, tasks: frozenset[int]) -> Needed:
        """The tokens that a context takes at least, including tools, with the task verbatim where that is allowed."""
        state = self._journal.state
        sealed = self._sealed(tasks)
        # Not the units that are kept: a rule may be under test by `pin`.
        units = units_within(state, outside(state, sealed))
        frame = self._inputs(terms, self._wanted(tasks), FoldReason.FULL, sealed, units).frame
        return Needed(frame.budget_tokens - room_above_laws(frame), most_needed(frame))

    def fold(
        self,
        terms: Terms,
        tasks: frozenset[int],
        reason: FoldReason,
        notes: NoteRequests = NO_NOTES,
        sent: Sent = NOTHING_SENT,
    ) -> Folded:
        """A new layout of the whole session. Writes nothing."""
        wanted = self._wanted(tasks)
        sealed = self._sealed(tasks)
        inputs = self._inputs(terms, wanted, reason, sealed, self._units_outside(sealed))
        hidden = self._behind_lines(self._people(tasks, terms.budget_tokens))
        if hidden and inputs.frame.needed_tokens <= terms.budget_tokens:
            sealed = self._sealed(tasks | hidden)
            unsealed = self._inputs(terms, wanted, reason, sealed, self._units_outside(sealed))
            if unsealed.frame.needed_tokens + sum(map(self._size, hidden)) <= terms.budget_tokens:
                inputs = unsealed
        frame, forms, lines = inputs
        placed_notes = fold_in(notes, room_above_laws(frame)) if notes is not NO_NOTES else NO_PLACED_NOTES
        terms = terms._replace(fixed_tokens=terms.fixed_tokens + placed_notes.tokens)
        frame = frame._replace(fixed_tokens=terms.fixed_tokens, needed_tokens=frame.needed_tokens + placed_notes.tokens)
        layout, prefix = self._planned(terms, self._with_names_once(frame, forms), forms, lines)
        if layout.tokens > terms.budget_tokens:  # names that a lowered unit no longer shows move to others, which grow
            layout, prefix = self._planned(terms, frame, forms, lines)
        placed = {
            each.first: self._placed(each.first, each.level, each.why, forms[each.first].whole_from)
            for each in layout.placements
            if not each.line
        }
        dated = [
            Placement(each.first, each.last, each.level, each.tokens, each.why, None, placed[each.first].turn)
            if each.line is None
            else each
            for each in layout.placements
        ]
        layout, prefix = layout._replace(placements=tuple(dated)), prefix._replace(placements=tuple(dated))
        fold = self._recorded(reason, layout, placed, [*frame.candidates])
        base = base_of(self._journal.state)
        placed_notes = settle(notes, placed_notes, sum(each.tokens for each in prefix.placements if each.first > base))
        left_out = {wanted.note.key: wanted.digest for wanted in placed_notes.left_out}
        fold = msgspec.structs.replace(fold, left_out=left_out, has_handles=terms.can_point)
        folded = Folded(fold, layout, prefix, self._blobs(layout), placed_notes)
        reasoned = folded.prefix.tokens
        folded = self._without_stale_reasoning(folded, forms, sent)
        cost = self._cost(folded, sent, reasoned - folded.prefix.tokens)
        levels = {each.first: each.level for each in folded.prefix.placements if each.line is None}
        cost = msgspec.structs.replace(cost, forecast=terms.policy.forecast(frame, levels))
        folded = folded._replace(fold=msgspec.structs.replace(folded.fold, cost=cost))
        return folded._replace(prefix=self._prefixes.explained(folded.prefix, forms))

    def _cost(self, folded: Folded, sent: Sent, unreasoned: int) -> FoldCost:
        """The cost of a fold: everything that it shows after its first change and that the provider has read before."""
        prefix, seen = folded.prefix, self._journal.state.seen
        same = _common(folded.prefix.messages, sent.messages) if sent.head_holds else 0
        behind = (each for each, end in zip(prefix.placements, prefix.ends, strict=True) if end > same)
        rewritten = sum(each.tokens for each in behind if each.first <= seen)
        return FoldCost(rewritten, unreasoned, sent.tokens - folded.layout.tokens if sent.head_holds else 0)

    def _wanted(self, tasks: frozenset[int]) -> Wanted:
        """The pages considered regardless of age and resets: the task, and human messages that may be shown verbatim.

        The same for any budget, so that the needed tokens do not depend on it.
        """
        return Wanted(tasks, self._people(tasks, NEVER))

    def _people(self, tasks: frozenset[int], budget_tokens: int) -> frozenset[int]:
        return people_of(self._journal.state, self.forms.sizes, tasks, most_of_people(budget_tokens))

    def _sealed(self, unsealed: frozenset[int]) -> list[IndexLine]:
        """The sealed lines, split around these pages."""
        return [self._lines.narrowed(line) for line in still_sealed(self._journal.state, unsealed)]

    def _units_outside(self, sealed: Sequence[IndexLine]) -> list[Unit]:
        """The units that these lines do not cover."""
        units = self._units.now()
        return (
            units
            if self._units.are_outside(sealed)
            else units_within(state := self._journal.state, outside(state, sealed))
        )

    def _inputs(
        self, terms: Terms, wanted: Wanted, reason: FoldReason, sealed: Sequence[IndexLine], units: Sequence[Unit]
    ) -> "_FoldInputs":
        """The units of the session in a frame for the policy, with the tokens they need."""
        state = self._journal.state
        if state.preferences:
            units = [unit for unit in units if not self._journal.is_out_of_scope(unit[0])]
        forms = self.forms.of_each(near(state, units, wanted))
        candidates = list(candidates_of(state, units, forms, wanted, self.forms.sizes, can_point=terms.can_point))
        folders = Folders({first: made.folder for first, made in forms.items()})
        changed = changes(self._lines, self.forms, forms, sealed) if terms.policy.keeps_ledger else None
        lines = PlacedLines(state, self._lines, folders, changed)
        frame = Frame(
            items=sorted([*candidates, *sealed], key=lambda item: item.first),
            budget_tokens=terms.budget_tokens,
            fixed_tokens=terms.fixed_tokens,
            needed_tokens=0,
            line_tokens=cache(lines.tokens),
            handle=lambda first: state.known_page(first).handle,
            can_point=terms.can_point,
            is_pressed=reason is not FoldReason.CHANGED or _whole(candidates) > terms.budget_tokens,
            groups=_groups(candidates),
            is_running=state.shown is not None,
            is_warm=state.shown is not None and reason is not FoldReason.COLD,
            summaries=self._summaries.by_first(),
            ledger=changed,
            merged=cache(lambda row: self._lines.merged([*row])),
            spanned=cache(lambda row: self._lines.spanning(map(lines.shown, row))),
            relevance=lambda first: self.forms.relevance(forms[first]),
            counted_tokens=self._lines.counted_tokens,
            turn=len(state.turns),
            growth=growth_of(state),
        )
        placements = lines.place(lay_out(frame, lowest_levels(frame)), candidates, seal=False)
        lowest = self._prefixes.made_of(placements, forms)
        return _FoldInputs(frame._replace(needed_tokens=terms.fixed_tokens + lowest.tokens), forms, lines)

    def _behind_lines(self, people: frozenset[int]) -> frozenset[int]:
        """Those of these pages that are covered by sealed lines."""
        sealed = [line for line in self._journal.state.lines if line.sealed]
        return frozenset(seq for seq in people if any(line.first <= seq <= line.last for line in sealed))

    def _size(self, seq: int) -> int:
        return self.forms.sizes.of(self._journal.state.known_page(seq))

    def _without_stale_reasoning(self, folded: Folded, forms: Mapping[int, Forms], sent: Sent) -> Folded:
        """The same fold without reasoning whose preceding messages have changed."""
        prefix = folded.prefix
        if not any(made.has_reasoning for made in forms.values()) or not any(map(has_reasoning, prefix.messages)):
            return folded
        shown = folded.placed_notes.into(prefix.messages, prefix.opening)
        same = _common(shown, sent.messages) - len(folded.placed_notes.front) if sent.head_holds else 0
        last = folded.fold.upto
        changed = (each for each, end in zip(prefix.placements, prefix.ends, strict=True) if end > same)
        first = min((each.first for each in changed if each.first != self._journal.state.system), default=last + 1)
        span = (first - 1, sent.loop - 1 if sent.loop is not None else last)
        stripped = self._prefixes.made_of(prefix.placements, forms, span)
        if stripped.messages == prefix.messages:
            return folded
        tokens = folded.layout.tokens - prefix.tokens + stripped.tokens
        return folded._replace(
            fold=msgspec.structs.replace(folded.fold, unreasoned=span),
            layout=folded.layout._replace(placements=stripped.placements, tokens=tokens),
            prefix=stripped,
        )

    def _recorded(
        self, reason: FoldReason, layout: Layout, alone: Mapping[int, Placed], candidates: Sequence[Candidate]
    ) -> Fold:
        """The entry that records a fold: what differs from the last one."""
        state = self._journal.state
        lines = tuple(placement.line for placement in layout.placements if placement.line is not None)
        placed = dict(alone)
        units = Units(candidates)
        for line in lines:
            inside = units.inside(line) if not line.sealed else ()
            placed |= {unit.first: self._placed(unit.first, _POINTER, Why.ROOM) for unit in inside}
        return Fold(
            upto=state.pages[-1].seq if state.pages else 0,
            reason=reason,
            placed={first: each for first, each in placed.items() if state.placed.get(first) != each},
            forms=len(state.renditions),
            gone=tuple(first for first in state.placed if first not in placed),
            lines=lines,
            changes=state.changes,
        )

    def _blobs(self, layout: Layout) -> dict[str, bytes]:
        lines = (placement.line for placement in layout.placements if placement.line is not None)
        return {digest: data for line in lines for digest, data in self._lines.blob(line).items()}

    def _planned(
        self, terms: Terms, frame: Frame, forms: Mapping[int, Forms], lines: PlacedLines
    ) -> tuple[Layout, FrozenPrefix]:
        """The layout that the policy wants and the laws allow, and its messages."""
        draft = promised(frame)
        wanted = terms.policy.plan(frame, dict(draft.levels), draft.tokens())
        layout = enforce(draft, wanted)
        for seal in (True, False):  # a line cut in two takes more tokens
            placements = lines.place(layout.placements, draft.units, seal=seal)
            prefix = self._prefixes.made_of(placements, forms)
            if terms.fixed_tokens + prefix.tokens <= terms.budget_tokens:
                break
        return layout._replace(placements=prefix.placements, tokens=terms.fixed_tokens + prefix.tokens), prefix

    def _placed(self, first: int, level: ResidencyLevel, why: Why, whole_from: int = 0) -> Placed:
        """The level of a unit, with the turn since which it has it."""
        state = self._journal.state
        before = state.placed.get(first)
        is_same = before is not None and before.level is level and before.why is why
        turn = before.turn if before is not None and is_same else state.turn + 1
        return Placed(level, why, turn, whole_from if level is _COMPRESSED else 0)

    def _with_names_once(self, frame: Frame, forms: Mapping[int, Forms]) -> Frame:
        """The same units with structured forms that omit names already shown by earlier units."""
        known: set[str] = set()
        items: list[Candidate | IndexLine] = []
        for item in frame.items:
            shrunk = item
            if isinstance(item, Candidate) and _STRUCTURED in item.sizes:
                tokens = self.forms.at(forms[item.first], _STRUCTURED, known).tokens
                if tokens != item.sizes[_STRUCTURED]:
                    shrunk = item._replace(sizes=_shrunk(item.sizes, tokens))
            elif isinstance(item, Candidate) and item.why is Why.RULE:
                self.forms.at(forms[item.first], _FULL, known)
            items.append(shrunk)
        return frame._replace(items=items)

    def prepare(self, *, forms: bool) -> None:
        """Take in the units of new pages, and make their `forms`, so that the next fold need not. A few at a time, oldest first."""
        fresh = self._units.take_in()
        for unit in fresh:
            self._unprepared.pop(unit[0].seq, None)
            self._unprepared[unit[0].seq] = unit
        if forms:
            due = [*islice(self._unprepared, min(max(len(fresh), _AT_ONCE), _MOST_AT_ONCE))]
            units = [self._unprepared.pop(first) for first in due]
            self.forms.of_each(unit for unit in units if not unanswered(unit))

    def adopt(self, folded: Folded) -> None:
        """Keep the cached forms and lines that the next fold needs after an acknowledged one."""
        whole = {each.first for each in folded.prefix.placements if each.level is _FULL}
        self._unprepared.clear()
        self.forms.release(self._units.now(), folded.fold.upto, whole)
        self._lines.keep(frozenset(folded.fold.lines))


class _FoldInputs(NamedTuple):
    """The input of a fold: the frame, the forms of units, and the index lines that were there before."""

    frame: Frame
    forms: Mapping[int, Forms]
    lines: PlacedLines


def growth_of(state: SessionState) -> Growth:
    """How the context had grown by the last turn, from the journal alone, so that a reopened session plans the same."""
    tokens = state.shown.tokens if state.shown is not None else 0
    return Growth(
        tokens,
        standing_tokens=state.fold_tokens,
        grown_tokens=max(0, tokens - state.fold_tokens),
        turns=state.turn - state.tried,
        read_tokens=state.read_since_fold,
        last_fold=state.fold_cost,
    )


def _common(one: Sequence[Message], other: Sequence[Message]) -> int:
    """The length of the common prefix."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _shrunk(sizes: Mapping[ResidencyLevel, int], structured: int) -> dict[ResidencyLevel, int]:
    """The sizes with a shorter structured form; without the pointer if that is no longer shorter."""
    shrunk = {**sizes, _STRUCTURED: structured}
    if structured <= shrunk.get(_POINTER, -1):
        del shrunk[_POINTER]
    return shrunk


def _whole(candidates: Sequence[Candidate]) -> int:
    """The tokens of all candidates if shown in full."""
    return sum(unit.sizes[_FULL] for unit in candidates if unit.sizes)


def _groups(candidates: Sequence[Candidate]) -> dict[int, tuple[int, ...]]:
    """The units whose pages interleave, each with its whole group: a line that spans one spans all."""
    groups = entangled(sorted(candidates), lambda unit: (unit.first, unit.last))
    tangled = (tuple(unit.first for unit in group) for group in groups if len(group) > 1)
    return {first: group for group in tangled for first in group}
