"""Folding: the moment when the layout of old pages changes. The units of a session, at the levels that its policy chooses.

A fold looks at the pages that no sealed line covers, and of those only at the newest few thousand; so its cost does not grow with the
history, except where there is no recall tool and nothing may be sealed.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from itertools import islice, takewhile
from typing import NamedTuple

import msgspec

from pageturn.derivation.candidates import Wanted, candidates_of, near, people_of
from pageturn.derivation.forms import Form, FormMaker, Forms
from pageturn.derivation.index_lines import IndexLines
from pageturn.derivation.laws import enforce, lowest_levels, most_of_people, promised, room_above_laws
from pageturn.derivation.sealing import outside, still_sealed, units_within
from pageturn.derivation.task import tasks_of
from pageturn.derivation.telling import AdmittedSummaries, changes
from pageturn.derivation.weaving import NO_NOTES, NOTHING_WOVEN, Weave, Woven, base_of, fold_in, settle
from pageturn.entries import Fold, FoldReason, Placed
from pageturn.errors import StoreError
from pageturn.journal import Journal
from pageturn.layout import NEVER, Candidate, Changes, Frame, IndexLine, Layout, Placement, Why, lay_out
from pageturn.messages import Message
from pageturn.pages import Page, ResidencyLevel
from pageturn.policies.guarding import Guarded
from pageturn.reasoning import has_reasoning
from pageturn.renditions import Renderers, folder_of, missing
from pageturn.state import SessionState
from pageturn.tokens import TokenCounter
from pageturn.units import Unit, entangled

_LOOKED_AT = 256  # messages of people among which the task is looked for
_SEALED_FROM = 8  # units that stand in a line for the second time
_FULL, _COMPRESSED, _STRUCTURED, _POINTER = ResidencyLevel


class Terms(NamedTuple):
    """What a fold must fit into."""

    policy: Guarded
    budget_tokens: int
    fixed_tokens: int
    can_point: bool


class Standing(NamedTuple):
    """What a fold left standing: the frozen beginning of every context until the next fold."""

    messages: tuple[Message, ...] = ()
    tokens: int = 0
    placements: tuple[Placement, ...] = ()
    opening: int = 0  # how many of the messages are the base prompt
    ends: tuple[int, ...] = ()  # where the messages of each placement end
    notices: tuple[str, ...] = ()  # what must be said of it in every context

    @property
    def digest(self) -> str:
        """A name for what stands where."""
        told = "".join(f"{each.first}-{each.last}:{each.level}{_told(each.line)};" for each in self.placements)
        return blake2b(told.encode(), digest_size=16).hexdigest()


class Sent(NamedTuple):
    """What a model would be sent if nothing were folded, by which a fold knows what it changes."""

    messages: Sequence[Message] = ()
    head_holds: bool = False  # whether tools and model are those of the last call
    loop: int | None = (
        None  # the first page of the open tool loop, where the model asks for its reasoning whatever changes
    )


NOTHING_SENT = Sent()


class Folded(NamedTuple):
    """A fold that was made, but that nobody has acknowledged yet."""

    fold: Fold
    layout: Layout
    standing: Standing
    blobs: Mapping[str, bytes]
    woven: Woven = NOTHING_WOVEN


class FoldMaker:
    """Makes the folds of one journal."""

    def __init__(self, journal: Journal, counter: TokenCounter, renderers: Renderers, *, shows_handles: bool) -> None:
        self._journal = journal
        self._shows_handles = shows_handles
        self.forms = FormMaker(journal, counter, renderers, shows_handles=shows_handles)
        self._lines = IndexLines(journal, counter, shows_handles=shows_handles)
        self._summaries = AdmittedSummaries(journal.state)
        self._changed: Callable[[int, int], Changes | None] | None = None  # what runs of the fold at hand changed
        self._stood: dict[Hashable, IndexLine] = {}  # the lines of the last fold, by what they tell

    @property
    def damaged(self) -> dict[int, StoreError]:
        """What the store could not give, by page."""
        return self._lines.damaged | self.forms.damaged

    def forget(self) -> None:
        """Forget everything that was made: the past is not what it was."""
        self.forms.forget()
        self._lines.forget()

    def standing(self) -> Standing:
        """What the last fold that was acknowledged left standing; raises `LevelGone` where that can no longer be shown."""
        state = self._journal.state
        self.forms.given.among = state.forms_folded
        pages = (page for page in outside(state, state.lines) if page.seq <= state.folded)
        placements = [_of_line(line) for line in state.lines]
        forms: dict[int, Forms] = {}
        for unit in sorted(units_within(state, pages), key=lambda unit: unit[-1].seq):
            if (placed := state.placed.get(unit[0].seq)) is not None:  # else only a summary stands for it
                placement = Placement(unit[0].seq, unit[-1].seq, placed.level, 0, placed.why, turn=placed.turn)
                placements.append(placement)
                forms[unit[0].seq] = self.forms.of(unit, placed.whole_from)
        return self._stand(placements, forms)

    def tasks(self, upto: int = NEVER) -> frozenset[int]:
        """The pages that hold what the agent was last asked to do, up to one of them."""
        state = self._journal.state
        asked = (state.page(seq) for seq in islice(reversed(state.people), _LOOKED_AT) if seq <= upto)
        said = ((page, self.forms.message(page)) for page in asked if page is not None and page.counts)
        return tasks_of((page, message) for page, message in said if message is not None)

    def forms_of(self, unit: Unit) -> Forms:
        """What a unit offers to a fold that is made now."""
        return self.forms.of(unit, _new_part(self._journal.state, unit))

    def needed(self, terms: Terms, tasks: frozenset[int]) -> int:
        """The tokens that a context takes at least, tools and all, with the task verbatim where it may stand so."""
        frame = self._ground(terms, self._wanted(tasks), FoldReason.FULL).frame
        return frame.budget_tokens - room_above_laws(frame)

    def fold(
        self,
        terms: Terms,
        tasks: frozenset[int],
        reason: FoldReason,
        notes: Weave = NO_NOTES,
        sent: Sent = NOTHING_SENT,
    ) -> Folded:
        """A new layout of everything that there is. Writes nothing."""
        wanted = self._wanted(tasks)
        ground = self._ground(terms, wanted, reason)
        hidden = self._behind_lines(self._people(terms.budget_tokens))
        if hidden and ground.frame.needed_tokens <= terms.budget_tokens:
            opened = self._ground(terms, wanted, reason, opened=hidden)
            if opened.frame.needed_tokens + sum(map(self._size, hidden)) <= terms.budget_tokens:
                ground = opened
        frame, forms, folders = ground.frame, ground.forms, ground.folders
        woven = fold_in(notes, room_above_laws(frame)) if notes is not NO_NOTES else NOTHING_WOVEN
        terms = terms._replace(fixed_tokens=terms.fixed_tokens + woven.tokens)
        frame = frame._replace(fixed_tokens=terms.fixed_tokens, needed_tokens=frame.needed_tokens + woven.tokens)
        layout, standing = self._planned(terms, self._thrifty(frame, forms), forms, folders)
        if layout.tokens > terms.budget_tokens:  # names that a sunken unit told are told by others, which grow
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
        woven = settle(notes, woven, sum(each.tokens for each in standing.placements if each.first > base))
        left_out = {wanted.note.key: wanted.digest for wanted in woven.left_out}
        fold = msgspec.structs.replace(fold, left_out=left_out, has_handles=terms.can_point)
        folded = Folded(fold, layout, standing, self._blobs(layout), woven)
        return self._without_stale_reasoning(folded, forms, sent)

    def _wanted(self, tasks: frozenset[int]) -> Wanted:
        """The pages that no distance and no reset keeps out of sight: the task, and what people said that may stand verbatim.

        For any budget, so that what is needed does not depend on what is there.
        """
        return Wanted(tasks, self._people(NEVER))

    def _people(self, budget_tokens: int) -> frozenset[int]:
        return people_of(self._journal.state, self.forms.sizes, most_of_people(budget_tokens))

    def _ground(
        self, terms: Terms, wanted: Wanted, reason: FoldReason, opened: frozenset[int] = frozenset()
    ) -> "_Ground":
        """The units of the session in a frame for the policy, with what they take at least; sealed lines opened around some pages."""
        state = self._journal.state
        self.forms.given.among = len(state.renditions)
        self._stood = {_told_of(line): line for line in state.lines}
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
        """Those of these pages that sealed lines cover."""
        sealed = [line for line in self._journal.state.lines if line.sealed]
        return frozenset(seq for seq in people if any(line.first <= seq <= line.last for line in sealed))

    def _size(self, seq: int) -> int:
        return self.forms.sizes.of(_page(self._journal.state, seq))

    def _without_stale_reasoning(self, folded: Folded, forms: Mapping[int, Forms], sent: Sent) -> Folded:
        """The same fold without the reasoning that was made on something else than what now stands before it."""
        standing = folded.standing
        if not any(map(has_reasoning, standing.messages)):
            return folded
        shown = folded.woven.into(standing.messages, standing.opening)
        same = _common(shown, sent.messages) - len(folded.woven.front) if sent.head_holds else 0
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
        """What the journal keeps of a fold: what differs from the last one."""
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
        """The layout that the policy wants and the laws allow, and what then stands."""
        draft = promised(frame)
        wanted = terms.policy.plan(frame, dict(draft.levels), draft.tokens())
        layout = enforce(draft, wanted)
        for seal in (True, False):  # a line that is cut in two is longer
            lines = self._with_lines(layout.placements, [*frame.candidates], folders, seal=seal)
            standing = self._stand(lines, forms)
            if terms.fixed_tokens + standing.tokens <= terms.budget_tokens:
                break
        return layout._replace(placements=standing.placements, tokens=terms.fixed_tokens + standing.tokens), standing

    def _placed(self, first: int, level: ResidencyLevel, why: Why, whole_from: int = 0) -> Placed:
        """The place of a unit, with the turn since which it is so."""
        state = self._journal.state
        before = state.placed.get(first)
        is_same = before is not None and (before.level, before.why) == (level, why)
        turn = before.turn if before is not None and is_same else state.turn + 1
        return Placed(level, why, turn, whole_from if level is _COMPRESSED else 0)

    def _thrifty(self, frame: Frame, forms: Mapping[int, Forms]) -> Frame:
        """The same units with structured forms that leave out what units before them tell, if all of those tell it."""
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
        """Keep what the next fold will need of one that was acknowledged."""
        state = self._journal.state
        sealed = [line for line in folded.fold.lines if line.sealed]
        self.forms.let_go(units_within(state, outside(state, sealed)), folded.fold.upto)
        self._lines.keep(frozenset(folded.fold.lines))

    # -- lines

    def _with_folders(self, line: IndexLine, folders: "_Folders") -> IndexLine:
        """A line as it will stand: as it did, if it is not new."""
        state = self._journal.state
        before = self._stood.get(_told_of(line))
        if before is not None:
            return msgspec.structs.replace(before, sealed=line.sealed)
        if line.turn:
            return line
        line = msgspec.structs.replace(line, turn=state.turn + 1)
        return self._lines.with_folders(line, folders.between(line.first, line.last))

    def _with_lines(
        self, placements: Sequence[Placement], candidates: Sequence[Candidate], folders: "_Folders", *, seal: bool
    ) -> list[Placement]:
        """The placements with their lines as they will stand: told, sealed where they have come to rest, and merged."""
        lines: list[IndexLine] = []  # the last first, since what follows a line says whether it can still grow
        units = _Units(candidates)
        for placement in reversed(placements):
            if placement.line is not None:
                is_open = seal and not placement.line.sealed
                after = lines[-1] if lines else None
                cut = self._cut_where_resting(placement.line, units, after) if is_open else [placement.line]
                lines += [self._with_folders(line, folders) for line in reversed(cut)]
        merged = self._lines.merged(lines[::-1])
        others = [placement for placement in placements if placement.line is None]
        return others + [_of_line(line) for line in merged]

    def _cut_where_resting(self, line: IndexLine, units: "_Units", after: IndexLine | None) -> list[IndexLine]:
        """A line, cut behind the units that stood as pointers already: no fold needs to look at those again.

        A few are not worth a line of their own yet, except where the line that comes after them keeps theirs from growing.
        """
        waiting = units.waiting if units.waiting is not None else line.last + 1
        inside = units.inside(line)
        groups = entangled(inside, lambda unit: (unit.first, unit.last))
        # What came after an open call is not sealed: its result may still join it across them.
        before = takewhile(lambda group: group[0].first < waiting, groups)
        resting = [unit for group in takewhile(self._rests, before) for unit in group]
        if line.summary is not None:  # it stands as a whole or not at all
            return [msgspec.structs.replace(line, sealed=len(resting) == len(inside))]
        is_enclosed = len(resting) == len(inside) and after is not None and self._is_closed_by(line, after)
        if len(resting) < _SEALED_FROM and not is_enclosed:
            return [line]
        last = max(unit.last for unit in resting)
        rest = [unit.first for unit in inside if unit.first > last]
        parts = [msgspec.structs.replace(line, last=last, sealed=True)]
        parts += [msgspec.structs.replace(line, first=rest[0])] if rest else []
        return [self._lines.part_of(line, part, self._changed) for part in parts]

    def _is_closed_by(self, line: IndexLine, after: IndexLine) -> bool:
        return after.sealed and not self._journal.state.between(line.last + 1, after.first - 1)

    def _rests(self, group: Sequence[Candidate]) -> bool:
        placed = self._journal.state.placed
        return all(not unit.sizes or (unit.first in placed and placed[unit.first].level is _POINTER) for unit in group)

    def _stand(
        self, placements: Iterable[Placement], forms: Mapping[int, Forms], unreasoned: tuple[int, int] = (0, 0)
    ) -> Standing:
        """What stands at these places, in order, each name told once; without the reasoning of pages in a span."""
        state = self._journal.state
        messages: list[Message] = []
        stood: list[Placement] = []
        ends: list[int] = []
        known: set[str] = set()
        opening, is_opening = 0, True
        # A prompt that took the place of the first stands where that stood.
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

    def _notices(self, placements: Sequence[Placement], forms: Mapping[int, Forms]) -> Iterator[str]:
        """What a user must know: that the task, or what people said, is not shown verbatim, or that steps are missing for good."""
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
        """How many steps are told of by their number alone, to a model that cannot ask for them."""
        if self._shows_handles:
            return 0
        return sum(
            self._lines.steps(each.line) if each.line is not None else 1 for each in placements if each.is_missing
        )


def _is_verbatim(placement: Placement, forms: Mapping[int, Forms]) -> bool:
    """Whether a person's words stand as they are, be it beside an outline of a harness's."""
    has_own = placement.line is None and forms[placement.first].own_tokens is not None
    return placement.level is _FULL or (has_own and placement.level is _COMPRESSED)


def _new_part(state: SessionState, unit: Unit) -> int:
    """Of a unit some of whose results were seen, the number from which on its pages are new; 0 of any other."""
    if unit[-1].seq <= state.seen or not any(page.results and page.seq <= state.seen for page in unit):
        return 0
    return state.seen + 1


class _Ground(NamedTuple):
    """What a fold has to lay out."""

    frame: Frame
    forms: Mapping[int, Forms]
    folders: "_Folders"


def _common(one: Sequence[Message], other: Sequence[Message]) -> int:
    """How many messages both begin with."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _shrunk(sizes: Mapping[ResidencyLevel, int], structured: int) -> dict[ResidencyLevel, int]:
    """The sizes with a shorter structured form; a pointer that is no longer shorter is not offered."""
    shrunk = {**sizes, _STRUCTURED: structured}
    if structured <= shrunk.get(_POINTER, -1):
        del shrunk[_POINTER]
    return shrunk


class _Units:
    """The units of a fold in order, to find those of a line."""

    def __init__(self, candidates: Iterable[Candidate]) -> None:
        self._units = sorted(candidates)
        self._firsts = [unit.first for unit in self._units]
        self.waiting = next((unit.first for unit in self._units if unit.why is Why.OPEN), None)

    def inside(self, line: IndexLine) -> list[Candidate]:
        """Those that begin in the run of a line."""
        return self._units[bisect_left(self._firsts, line.first) : bisect_right(self._firsts, line.last)]


class _Folders:
    """The folders that units are about."""

    def __init__(self, folders: Mapping[int, str | None]) -> None:
        self._firsts = sorted(folders)
        self._folders = folders

    def between(self, first: int, last: int) -> Counter[str]:
        """How often each was, from unit to unit."""
        inside = self._firsts[bisect_left(self._firsts, first) : bisect_right(self._firsts, last)]
        return Counter(folder for at in inside if (folder := self._folders[at]) is not None)


def _whole(candidates: Sequence[Candidate]) -> int:
    """The tokens of all units that are near, were they to stand whole."""
    return sum(unit.sizes[_FULL] for unit in candidates if unit.sizes)


def _groups(candidates: Sequence[Candidate]) -> dict[int, tuple[int, ...]]:
    """The units that lie between the pages of others, each with all of them: a line that spans one spans all."""
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


def _told(line: IndexLine | None) -> str:
    """What a line tells beside its counts, by name."""
    if line is None:
        return ""
    changes = f"{line.ledger}:{line.changes_shown}" if line.tells_changes else None
    return ",".join(filter(None, (line.summary, changes)))


def _told_of(line: IndexLine) -> Hashable:
    """A run and what a line tells of it: the same for lines that stand in the same words."""
    return line.first, line.last, line.ledger, _told(line)
