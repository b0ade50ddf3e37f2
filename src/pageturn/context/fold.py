"""Makes folds: new layouts of a session, with each unit at the level that the policy chooses within the laws.

A fold considers the pages that no sealed line covers, and of those only the newest few thousand; so its cost does not grow with the
history, unless there is no recall tool and nothing may be sealed.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from itertools import islice, takewhile
from typing import NamedTuple

import msgspec

from pageturn.context.candidates import Wanted, candidates_of, near, people_of
from pageturn.context.forms import Form, FormMaker, Forms
from pageturn.context.index_details import AdmittedSummaries, changes
from pageturn.context.index_lines import IndexLines
from pageturn.context.laws import enforce, lowest_levels, most_needed, most_of_people, promised, room_above_laws
from pageturn.context.notes import NO_NOTES, NO_PLACED_NOTES, NoteRequests, PlacedNotes, base_of, fold_in, settle
from pageturn.context.renditions import Renderers, folder_of, missing
from pageturn.context.sealed_runs import outside, still_sealed, units_within
from pageturn.context.task import tasks_of
from pageturn.journal.journal import Journal
from pageturn.journal.state import SessionState
from pageturn.policies.checked import Guarded
from pageturn.tokens.counters import TokenCounter
from pageturn.values.entries import Fold, FoldReason, Placed
from pageturn.values.errors import StoreError
from pageturn.values.layout import NEVER, Candidate, Changes, Frame, IndexLine, Layout, Placement, Why, lay_out
from pageturn.values.messages import Message
from pageturn.values.pages import Page, ResidencyLevel
from pageturn.values.reasoning import has_reasoning
from pageturn.values.units import Unit, entangled

_LOOKED_AT = 256  # messages of people that are searched for the task
_SEALED_FROM = 8  # units that are in a line for the second time
_FULL, _COMPRESSED, _STRUCTURED, _POINTER = ResidencyLevel


class Terms(NamedTuple):
    """The policy and the token limits of a fold."""

    policy: Guarded
    budget_tokens: int
    fixed_tokens: int
    can_point: bool


class Needed(NamedTuple):
    """The tokens that a context takes at least, and an upper bound of them for any budget, without tools."""

    tokens: int
    at_most: int


class Standing(NamedTuple):
    """The result of a fold: the frozen beginning of every context until the next fold."""

    messages: tuple[Message, ...] = ()
    tokens: int = 0
    placements: tuple[Placement, ...] = ()
    opening: int = 0  # how many of the messages are the base prompt
    ends: tuple[int, ...] = ()  # where the messages of each placement end
    notices: tuple[str, ...] = ()  # shown with every context
    explained: tuple[Placement, ...] = ()  # where every page is, including those not shown

    @property
    def digest(self) -> str:
        """A digest of the placements."""
        parts = "".join(f"{each.first}-{each.last}:{each.level}{_details_key(each.line)};" for each in self.placements)
        return blake2b(parts.encode(), digest_size=16).hexdigest()


class Sent(NamedTuple):
    """What a model would be sent without a fold; shows what the fold changes."""

    messages: Sequence[Message] = ()
    head_holds: bool = False  # whether tools and model are those of the last call
    loop: int | None = (
        None  # the first page of the open tool loop, where the model asks for its reasoning whatever changes
    )


NOTHING_SENT = Sent()


class Folded(NamedTuple):
    """A fold that is made but not yet acknowledged."""

    fold: Fold
    layout: Layout
    standing: Standing
    blobs: Mapping[str, bytes]
    placed_notes: PlacedNotes = NO_PLACED_NOTES


class FoldMaker:
    """Makes the folds of one journal."""

    def __init__(self, journal: Journal, counter: TokenCounter, renderers: Renderers, *, shows_handles: bool) -> None:
        self._journal = journal
        self._shows_handles = shows_handles
        self.forms = FormMaker(journal, counter, renderers, shows_handles=shows_handles)
        self._lines = IndexLines(journal, counter, shows_handles=shows_handles)
        self._summaries = AdmittedSummaries(journal.state)
        self._changed: Callable[[int, int], Changes | None] | None = (
            None  # what was changed in runs of the current fold
        )
        self._last_lines: dict[Hashable, IndexLine] = {}  # the lines of the last fold, by their content

    @property
    def damaged(self) -> dict[int, StoreError]:
        """The errors of pages that could not be read, by page."""
        return self._lines.damaged | self.forms.damaged

    def forget(self) -> None:
        """Drop all cached forms and lines, because the history has changed."""
        self.forms.forget()
        self._lines.forget()

    def standing(self) -> Standing:
        """The result of the last acknowledged fold; raises `LevelGone` if it can no longer be shown."""
        state = self._journal.state
        self.forms.given.among = state.forms_folded
        pages = (page for page in outside(state, state.lines) if page.seq <= state.folded)
        placements = [_of_line(line) for line in state.lines]
        forms: dict[int, Forms] = {}
        for unit in sorted(units_within(state, pages), key=lambda unit: unit[-1].seq):
            if (placed := state.placed.get(unit[0].seq)) is not None:  # else only a summary replaces it
                placement = Placement(unit[0].seq, unit[-1].seq, placed.level, 0, placed.why, turn=placed.turn)
                placements.append(placement)
                forms[unit[0].seq] = self.forms.of(unit, placed.whole_from)
        return self._explained(self._stand(placements, forms), forms)

    def tasks(self, upto: int = NEVER) -> frozenset[int]:
        """The pages that hold what the agent was last asked to do, up to a page."""
        state = self._journal.state
        asked = (state.page(seq) for seq in islice(reversed(state.people), _LOOKED_AT) if seq <= upto)
        said = ((page, self.forms.message(page)) for page in asked if page is not None and page.counts)
        return tasks_of((page, message) for page, message in said if message is not None)

    def forms_of(self, unit: Unit) -> Forms:
        """The forms that a unit offers to a fold made now."""
        return self.forms.of(unit, _new_part(self._journal.state, unit))

    def needed(self, terms: Terms, tasks: frozenset[int]) -> Needed:
        """The tokens that a context takes at least, including tools, with the task verbatim where that is allowed."""
        frame = self._ground(terms, self._wanted(tasks), FoldReason.FULL).frame
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
        ground = self._ground(terms, wanted, reason)
        hidden = self._behind_lines(self._people(terms.budget_tokens))
        if hidden and ground.frame.needed_tokens <= terms.budget_tokens:
            opened = self._ground(terms, wanted, reason, opened=hidden)
            if opened.frame.needed_tokens + sum(map(self._size, hidden)) <= terms.budget_tokens:
                ground = opened
        frame, forms, folders = ground.frame, ground.forms, ground.folders
        placed_notes = fold_in(notes, room_above_laws(frame)) if notes is not NO_NOTES else NO_PLACED_NOTES
        terms = terms._replace(fixed_tokens=terms.fixed_tokens + placed_notes.tokens)
        frame = frame._replace(fixed_tokens=terms.fixed_tokens, needed_tokens=frame.needed_tokens + placed_notes.tokens)
        layout, standing = self._planned(terms, self._with_names_once(frame, forms), forms, folders)
        if layout.tokens > terms.budget_tokens:  # names that a lowered unit no longer shows move to others, which grow
            layout, standing = self._planned(terms, frame, forms, folders)
        placed = {
            each.first: self._placed(each.first, each.level, each.why, forms[each.first].whole_from)
            for each in layout.placements
            if not each.line
        }
        dated = [each._replace(turn=placed[each.first].turn) if not each.line else each for each in layout.placements]
        layout, standing = layout._replace(placements=tuple(dated)), standing._replace(placements=tuple(dated))
        fold = self._recorded(reason, layout, placed, [*frame.candidates])
        base = base_of(self._journal.state)
        placed_notes = settle(
            notes, placed_notes, sum(each.tokens for each in standing.placements if each.first > base)
        )
        left_out = {wanted.note.key: wanted.digest for wanted in placed_notes.left_out}
        fold = msgspec.structs.replace(fold, left_out=left_out, has_handles=terms.can_point)
        folded = Folded(fold, layout, standing, self._blobs(layout), placed_notes)
        folded = self._without_stale_reasoning(folded, forms, sent)
        return folded._replace(standing=self._explained(folded.standing, forms))

    def _wanted(self, tasks: frozenset[int]) -> Wanted:
        """The pages considered regardless of age and resets: the task, and human messages that may be shown verbatim.

        The same for any budget, so that the needed tokens do not depend on it.
        """
        return Wanted(tasks, self._people(NEVER))

    def _people(self, budget_tokens: int) -> frozenset[int]:
        return people_of(self._journal.state, self.forms.sizes, most_of_people(budget_tokens))

    def _ground(
        self, terms: Terms, wanted: Wanted, reason: FoldReason, opened: frozenset[int] = frozenset()
    ) -> "_Ground":
        """The units of the session in a frame for the policy, with the tokens they need; sealed lines are split around `opened`."""
        state = self._journal.state
        self.forms.given.among = len(state.renditions)
        self._last_lines = {_line_key(line): line for line in state.lines}
        sealed = [self._lines.narrowed(line) for line in still_sealed(state, wanted.tasks | opened)]
        shown = (page for page in outside(state, sealed) if not self._journal.is_out_of_scope(page))
        units = units_within(state, shown)
        forms = {unit[0].seq: self.forms_of(unit) for unit in near(state, units, wanted)}
        candidates = list(candidates_of(state, units, forms, wanted, self.forms.sizes, can_point=terms.can_point))
        folders = _Folders({first: folder_of(made.path) for first, made in forms.items()})
        self._changed = changes(self._lines, self.forms, forms, sealed) if terms.policy.keeps_ledger else None
        frame = Frame(
            items=sorted([*candidates, *sealed], key=lambda item: item.first),
            budget_tokens=terms.budget_tokens,
            fixed_tokens=terms.fixed_tokens,
            needed_tokens=0,
            line_tokens=cache(lambda line: self._lines.tokens(self._with_folders(line, folders))),
            handle=lambda first: _page(state, first).handle,
            can_point=terms.can_point,
            is_pressed=reason is not FoldReason.CHANGED or _whole(candidates) > terms.budget_tokens,
            groups=_groups(candidates),
            is_running=state.shown is not None,
            is_warm=state.shown is not None and reason is not FoldReason.COLD,
            summaries=self._summaries.by_first(),
            ledger=self._changed,
            merged=cache(lambda lines: self._lines.merged([*lines])),
            spanned=cache(lambda lines: self._lines.spanning(self._with_folders(line, folders) for line in lines)),
            relevance=lambda first: self.forms.relevance(forms[first]),
            counted_tokens=self._lines.counted_tokens,
        )
        lowest = self._stand(
            self._with_lines(lay_out(frame, lowest_levels(frame)), candidates, folders, seal=False), forms
        )
        return _Ground(frame._replace(needed_tokens=terms.fixed_tokens + lowest.tokens), forms, folders)

    def _behind_lines(self, people: frozenset[int]) -> frozenset[int]:
        """Those of these pages that are covered by sealed lines."""
        sealed = [line for line in self._journal.state.lines if line.sealed]
        return frozenset(seq for seq in people if any(line.first <= seq <= line.last for line in sealed))

    def _size(self, seq: int) -> int:
        return self.forms.sizes.of(_page(self._journal.state, seq))

    def _without_stale_reasoning(self, folded: Folded, forms: Mapping[int, Forms], sent: Sent) -> Folded:
        """The same fold without reasoning whose preceding messages have changed."""
        standing = folded.standing
        if not any(map(has_reasoning, standing.messages)):
            return folded
        shown = folded.placed_notes.into(standing.messages, standing.opening)
        same = _common(shown, sent.messages) - len(folded.placed_notes.front) if sent.head_holds else 0
        last = folded.fold.upto
        changed = (each for each, end in zip(standing.placements, standing.ends, strict=True) if end > same)
        first = min((each.first for each in changed if each.first != self._journal.state.system), default=last + 1)
        span = (first - 1, sent.loop - 1 if sent.loop is not None else last)
        stripped = self._stand(standing.placements, forms, span)
        if stripped.messages == standing.messages:
            return folded
        tokens = folded.layout.tokens - standing.tokens + stripped.tokens
        return folded._replace(
            fold=msgspec.structs.replace(folded.fold, unreasoned=span),
            layout=folded.layout._replace(placements=stripped.placements, tokens=tokens),
            standing=stripped,
        )

    def _recorded(
        self, reason: FoldReason, layout: Layout, alone: Mapping[int, Placed], candidates: Sequence[Candidate]
    ) -> Fold:
        """The entry that records a fold: what differs from the last one."""
        state = self._journal.state
        lines = tuple(placement.line for placement in layout.placements if placement.line is not None)
        placed = dict(alone)
        units = _Units(candidates)
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
        self, terms: Terms, frame: Frame, forms: Mapping[int, Forms], folders: "_Folders"
    ) -> tuple[Layout, Standing]:
        """The layout that the policy wants and the laws allow, and its messages."""
        draft = promised(frame)
        wanted = terms.policy.plan(frame, dict(draft.levels), draft.tokens())
        layout = enforce(draft, wanted)
        for seal in (True, False):  # a line cut in two takes more tokens
            lines = self._with_lines(layout.placements, [*frame.candidates], folders, seal=seal)
            standing = self._stand(lines, forms)
            if terms.fixed_tokens + standing.tokens <= terms.budget_tokens:
                break
        return layout._replace(placements=standing.placements, tokens=terms.fixed_tokens + standing.tokens), standing

    def _placed(self, first: int, level: ResidencyLevel, why: Why, whole_from: int = 0) -> Placed:
        """The level of a unit, with the turn since which it has it."""
        state = self._journal.state
        before = state.placed.get(first)
        is_same = before is not None and (before.level, before.why) == (level, why)
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
                shrunk = item._replace(sizes=_shrunk(item.sizes, tokens))
            elif isinstance(item, Candidate) and item.why is Why.RULE:
                self.forms.at(forms[item.first], _FULL, known)
            items.append(shrunk)
        return frame._replace(items=items)

    def adopt(self, folded: Folded) -> None:
        """Keep the cached forms and lines that the next fold needs after an acknowledged one."""
        state = self._journal.state
        sealed = [line for line in folded.fold.lines if line.sealed]
        self.forms.release(units_within(state, outside(state, sealed)), folded.fold.upto)
        self._lines.keep(frozenset(folded.fold.lines))

    # -- lines

    def _with_folders(self, line: IndexLine, folders: "_Folders") -> IndexLine:
        """A line as it will be shown: unchanged, if it is not new."""
        state = self._journal.state
        before = self._last_lines.get(_line_key(line))
        if before is not None:
            return msgspec.structs.replace(before, sealed=line.sealed)
        if line.turn:
            return line
        line = msgspec.structs.replace(line, turn=state.turn + 1)
        return self._lines.with_folders(line, folders.between(line.first, line.last))

    def _with_lines(
        self, placements: Sequence[Placement], candidates: Sequence[Candidate], folders: "_Folders", *, seal: bool
    ) -> list[Placement]:
        """The placements with their lines as they will be shown: with folders, sealed where they are settled, and merged."""
        lines: list[IndexLine] = []  # last first: the line after one decides whether it can still grow
        units = _Units(candidates)
        for placement in reversed(placements):
            if placement.line is not None:
                is_open = seal and not placement.line.sealed
                after = lines[-1] if lines else None
                cut = self._cut_where_settled(placement.line, units, after) if is_open else [placement.line]
                lines += [self._with_folders(line, folders) for line in reversed(cut)]
        merged = self._lines.merged(lines[::-1])
        others = [placement for placement in placements if placement.line is None]
        return others + [_of_line(line) for line in merged]

    def _cut_where_settled(self, line: IndexLine, units: "_Units", after: IndexLine | None) -> list[IndexLine]:
        """A line, cut after the units that were pointers already: no fold needs to consider those again.

        A few units do not get a sealed line yet, unless the next line is sealed and keeps theirs from growing.
        """
        waiting = units.waiting if units.waiting is not None else line.last + 1
        inside = units.inside(line)
        groups = entangled(inside, lambda unit: (unit.first, unit.last))
        # What came after an open call is not sealed: its result may still join it across them.
        before = takewhile(lambda group: group[0].first < waiting, groups)
        settled = [unit for group in takewhile(self._is_settled, before) for unit in group]
        if line.summary is not None:  # a summary is shown whole or not at all
            return [msgspec.structs.replace(line, sealed=len(settled) == len(inside))]
        is_enclosed = len(settled) == len(inside) and after is not None and self._is_closed_by(line, after)
        if len(settled) < _SEALED_FROM and not is_enclosed:
            return [line]
        last = max(unit.last for unit in settled)
        rest = [unit.first for unit in inside if unit.first > last]
        parts = [msgspec.structs.replace(line, last=last, sealed=True)]
        parts += [msgspec.structs.replace(line, first=rest[0])] if rest else []
        return [self._lines.part_of(line, part, self._changed) for part in parts]

    def _is_closed_by(self, line: IndexLine, after: IndexLine) -> bool:
        return after.sealed and not self._journal.state.between(line.last + 1, after.first - 1)

    def _is_settled(self, group: Sequence[Candidate]) -> bool:
        placed = self._journal.state.placed
        return all(not unit.sizes or (unit.first in placed and placed[unit.first].level is _POINTER) for unit in group)

    def _stand(
        self, placements: Iterable[Placement], forms: Mapping[int, Forms], unreasoned: tuple[int, int] = (0, 0)
    ) -> Standing:
        """The messages of these placements in order, each name shown once; without the reasoning of pages in a span."""
        state = self._journal.state
        messages: list[Message] = []
        stood: list[Placement] = []
        ends: list[int] = []
        known: set[str] = set()
        opening, is_opening = 0, True
        # A system prompt that replaced the first one takes its place.
        ordered = sorted(placements, key=lambda each: 0 if each.first == state.system else each.first)
        steps = self._missing_steps(ordered)
        for placement in ordered:
            if steps and placement.is_missing:
                form, steps = self.forms.formed([self._lines.missing(steps, placement.line)]), 0
            elif placement.line is not None:
                message = self._lines.message(placement.line)
                form = Form((message,), self._lines.tokens(placement.line)) if message is not None else Form((), 0)
            else:
                form = self.forms.at(forms[placement.first], placement.level, known)
                if unreasoned[0] < placement.first <= unreasoned[1]:
                    form = self.forms.without_reasoning(form)
            messages += form.messages
            stood.append(placement._replace(tokens=form.tokens))
            ends.append(len(messages))
            is_opening = is_opening and not placement.line and _page(state, placement.first).kind.is_rule
            opening = len(messages) if is_opening else opening
        tokens = sum(placement.tokens for placement in stood)
        return Standing(tuple(messages), tokens, tuple(stood), opening, tuple(ends), tuple(self._notices(stood, forms)))

    def _explained(self, standing: Standing, forms: Mapping[int, Forms]) -> Standing:
        """The same with the handles of all pages, the tokens of their other levels, and pages that are not shown."""
        state = self._journal.state
        explained = [*self._out_of_scope(standing.placements)]
        for each in standing.placements:
            made = forms.get(each.first) if each.line is None else None
            if made is not None:
                handles = tuple([page.handle for page in made.unit])
                explained.append(each._replace(handles=handles, sizes=made.sizes))
            else:
                ends = (_page(state, each.first).handle, _page(state, each.last).handle)
                explained.append(each._replace(handles=ends))
        if state.last_reset:
            summary = _page(state, state.last_reset)
            covering = next((each for each in explained if each.first <= summary.seq <= each.last), None)
            if covering is not None and summary.seq > 1:  # without pointers, only the summary replaces what it covers
                explained.append(
                    covering._replace(
                        first=1,
                        last=summary.seq - 1,
                        level=_POINTER,
                        why=Why.COVERED,
                        line=None,
                        handles=(summary.handle,),
                        sizes={},
                    )
                )
        return standing._replace(explained=tuple(explained))

    def _out_of_scope(self, placements: Sequence[Placement]) -> Iterator[Placement]:
        """Placements of preferences for another scope: not shown, or counted in an index line."""
        state = self._journal.state
        for seq in state.preferences:
            page = state.page(seq)
            if page is None or not page.counts or not self._journal.is_out_of_scope(page):
                continue
            within = (each for each in placements if each.line is not None and each.first <= seq <= each.last)
            line = next(within, Placement(seq, seq, _POINTER, 0))
            yield line._replace(first=seq, last=seq, why=Why.SCOPE, handles=(page.handle,))

    def _notices(self, placements: Sequence[Placement], forms: Mapping[int, Forms]) -> Iterator[str]:
        """Notices for the user: the task or human messages are not shown verbatim, or steps are missing for good."""
        state = self._journal.state
        last = max((each.last for each in placements), default=0)
        tasks = self.tasks(upto=last)
        shown = {each.first: each for each in placements if each.line is None}
        for seq in sorted(tasks - {first for first, each in shown.items() if each.level is _FULL}):
            whole = self._size(seq)
            is_missing = seq not in shown or (shown[seq].is_missing and not self._shows_handles)
            how = "not shown" if is_missing else f"shown {shown[seq].level}"
            yield f"the task is {how}: whole it takes {whole:,} tokens"
        whole_ones = tasks | {each.first for each in placements if _is_verbatim(each, forms)}
        pages = (state.page(seq) for seq in state.people if seq <= last and seq not in whole_ones)
        short = sum(1 for page in pages if page is not None and page.counts)
        if short:
            yield (
                "1 human message is not shown verbatim"
                if short == 1
                else f"{short:,} human messages are not shown verbatim"
            )
        if steps := self._missing_steps(placements):
            yield missing(steps)

    def _missing_steps(self, placements: Sequence[Placement]) -> int:
        """How many steps are shown only as a number, to a model without the recall tool."""
        if self._shows_handles:
            return 0
        return sum(
            self._lines.steps(each.line) if each.line is not None else 1 for each in placements if each.is_missing
        )


def _is_verbatim(placement: Placement, forms: Mapping[int, Forms]) -> bool:
    """Whether a person's words are shown verbatim, even if the harness's text beside them is shortened."""
    has_own = placement.line is None and forms[placement.first].own_tokens is not None
    return placement.level is _FULL or (has_own and placement.level is _COMPRESSED)


def _new_part(state: SessionState, unit: Unit) -> int:
    """The first new page of a unit whose results were seen in part; 0 for any other unit."""
    if unit[-1].seq <= state.seen or not any(page.results and page.seq <= state.seen for page in unit):
        return 0
    return state.seen + 1


class _Ground(NamedTuple):
    """The input of a fold: the frame, the forms of units, and their folders."""

    frame: Frame
    forms: Mapping[int, Forms]
    folders: "_Folders"


def _common(one: Sequence[Message], other: Sequence[Message]) -> int:
    """The length of the common prefix."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _shrunk(sizes: Mapping[ResidencyLevel, int], structured: int) -> dict[ResidencyLevel, int]:
    """The sizes with a shorter structured form; without the pointer if that is no longer shorter."""
    shrunk = {**sizes, _STRUCTURED: structured}
    if structured <= shrunk.get(_POINTER, -1):
        del shrunk[_POINTER]
    return shrunk


class _Units:
    """The units of a fold in order; finds those of a line."""

    def __init__(self, candidates: Iterable[Candidate]) -> None:
        self._units = sorted(candidates)
        self._firsts = [unit.first for unit in self._units]
        self.waiting = next((unit.first for unit in self._units if unit.why is Why.OPEN), None)

    def inside(self, line: IndexLine) -> list[Candidate]:
        """The units that begin in the run of a line."""
        return self._units[bisect_left(self._firsts, line.first) : bisect_right(self._firsts, line.last)]


class _Folders:
    """The folders that units are about."""

    def __init__(self, folders: Mapping[int, str | None]) -> None:
        self._firsts = sorted(folders)
        self._folders = folders

    def between(self, first: int, last: int) -> Counter[str]:
        """How many units are about each folder, from page to page."""
        inside = self._firsts[bisect_left(self._firsts, first) : bisect_right(self._firsts, last)]
        return Counter(folder for at in inside if (folder := self._folders[at]) is not None)


def _whole(candidates: Sequence[Candidate]) -> int:
    """The tokens of all candidates if shown in full."""
    return sum(unit.sizes[_FULL] for unit in candidates if unit.sizes)


def _groups(candidates: Sequence[Candidate]) -> dict[int, tuple[int, ...]]:
    """The units whose pages interleave, each with its whole group: a line that spans one spans all."""
    groups = entangled(sorted(candidates), lambda unit: (unit.first, unit.last))
    tangled = (tuple(unit.first for unit in group) for group in groups if len(group) > 1)
    return {first: group for group in tangled for first in group}


def _page(state: SessionState, seq: int) -> Page:
    page = state.page(seq)
    assert page is not None, f"no page {seq}"
    return page


def _of_line(line: IndexLine) -> Placement:
    why = Why.COVERED if line.summary is not None else Why.ROOM
    return Placement(line.first, line.last, _POINTER, 0, why, line=line, turn=line.turn)


def _details_key(line: IndexLine | None) -> str:
    """A key for what a line shows besides its counts."""
    if line is None:
        return ""
    changes = f"{line.ledger}:{line.changes_shown}" if line.tells_changes else None
    return ",".join(filter(None, (line.summary, changes)))


def _line_key(line: IndexLine) -> Hashable:
    """A key for a run and what its line shows: equal for lines with the same text."""
    return line.first, line.last, line.ledger, _details_key(line)
