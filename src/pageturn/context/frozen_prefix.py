"""Makes the frozen prefix: the messages of a fold's placements in order, and an explanation of each.

Every context begins with it until the next fold, and it can be made again from the journal alone.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import islice, takewhile
from typing import NamedTuple

from pageturn.context.forms import FormMaker
from pageturn.context.index_lines import IndexLines
from pageturn.context.placed_lines import details_key, of_line
from pageturn.context.renditions import missing
from pageturn.context.sealed_runs import outside, units_within
from pageturn.context.task import tasks_of
from pageturn.context.unit_forms import Form, Forms
from pageturn.journal.journal import Journal
from pageturn.values.layout import NEVER, Placement, Why
from pageturn.values.messages import Message
from pageturn.values.pages import ResidencyLevel

_LOOKED_AT = 256  # messages of people that are searched for the task
_FULL, _COMPRESSED, _, _POINTER = ResidencyLevel


class FrozenPrefix(NamedTuple):
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
        parts = "".join(f"{each.first}-{each.last}:{each.level}{details_key(each.line)};" for each in self.placements)
        return blake2b(parts.encode(), digest_size=16).hexdigest()


class FrozenPrefixMaker:
    """Makes the frozen prefixes of one journal."""

    def __init__(self, journal: Journal, forms: FormMaker, lines: IndexLines, *, shows_handles: bool) -> None:
        self._journal = journal
        self._forms = forms
        self._lines = lines
        self._shows_handles = shows_handles
        # The changes of the journal, how many messages of people were looked at, and how many of them count.
        self._people = (-1, 0, 0)

    def last(self) -> FrozenPrefix:
        """The result of the last acknowledged fold; raises `LevelGone` if it can no longer be shown."""
        state = self._journal.state
        self._forms.given.among = state.forms_folded
        pages = (page for page in outside(state, state.lines) if page.seq <= state.folded)
        placements = [of_line(line) for line in state.lines]
        forms: dict[int, Forms] = {}
        for unit in sorted(units_within(state, pages), key=lambda unit: unit[-1].seq):
            if (placed := state.placed.get(unit[0].seq)) is not None:  # else only a summary replaces it
                placement = Placement(unit[0].seq, unit[-1].seq, placed.level, 0, placed.why, turn=placed.turn)
                placements.append(placement)
                forms[unit[0].seq] = self._forms.of(unit, placed.whole_from)
        return self.explained(self.made_of(placements, forms), forms)

    def tasks(self, upto: int = NEVER) -> frozenset[int]:
        """The pages that hold what the agent was last asked to do, up to a page."""
        state = self._journal.state
        asked = (state.page(seq) for seq in islice(reversed(state.people), _LOOKED_AT) if seq <= upto)
        said = ((page, self._forms.message(page)) for page in asked if page is not None and page.counts)
        return tasks_of((page, message) for page, message in said if message is not None)

    def made_of(
        self, placements: Iterable[Placement], forms: Mapping[int, Forms], unreasoned: tuple[int, int] = (0, 0)
    ) -> FrozenPrefix:
        """The messages of these placements in order, each name shown once; without the reasoning of pages in a span."""
        state = self._journal.state
        messages: list[Message] = []
        sized: list[Placement] = []
        ends: list[int] = []
        known: set[str] = set()
        opening, is_opening = 0, True
        # A system prompt that replaced the first one takes its place.
        ordered = sorted(placements, key=lambda each: 0 if each.first == state.system else each.first)
        steps = self._missing_steps(ordered)
        for placement in ordered:
            if steps and placement.is_missing:
                form, steps = self._forms.formed([self._lines.missing(steps, placement.line)]), 0
            elif placement.line is not None:
                message = self._lines.message(placement.line)
                form = Form((message,), self._lines.tokens(placement.line)) if message is not None else Form((), 0)
            else:
                form = self._forms.at(forms[placement.first], placement.level, known)
                if unreasoned[0] < placement.first <= unreasoned[1]:
                    form = self._forms.without_reasoning(form)
            messages += form.messages
            sized.append(placement if placement.tokens == form.tokens else placement._replace(tokens=form.tokens))
            ends.append(len(messages))
            if is_opening:
                is_opening = not placement.line and state.known_page(placement.first).kind.is_rule
                opening = len(messages) if is_opening else opening
        tokens = sum([placement.tokens for placement in sized])
        return FrozenPrefix(tuple(messages), tokens, tuple(sized), opening, tuple(ends))

    def explained(self, prefix: FrozenPrefix, forms: Mapping[int, Forms]) -> FrozenPrefix:
        """The same with notices, the handles of all pages, the tokens of their other levels, and pages that are not shown."""
        state = self._journal.state
        explained = [*self._out_of_scope(prefix.placements)]
        for each in prefix.placements:
            first, last, level, tokens, why, line, turn, *_ = each
            made = forms.get(first) if line is None else None
            if made is not None:
                explained.append(Placement(first, last, level, tokens, why, None, turn, made.handles, made.sizes))
            else:
                ends = (state.known_page(each.first).handle, state.known_page(each.last).handle)
                explained.append(each._replace(handles=ends))
        if state.last_reset:
            summary = state.known_page(state.last_reset)
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
        notices = tuple(self._notices(prefix.placements, forms))
        return prefix._replace(notices=notices, explained=tuple(explained))

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
        """Notices for the user: the task or human messages are not shown verbatim, or steps are permanently missing."""
        state = self._journal.state
        last = max((each.last for each in placements), default=0)
        tasks = self.tasks(upto=last)
        shown = {each.first: each for each in placements if each.line is None}
        for seq in sorted(tasks - {first for first, each in shown.items() if each.level is _FULL}):
            whole = self._forms.sizes.of(state.known_page(seq))
            is_missing = seq not in shown or (shown[seq].is_missing and not self._shows_handles)
            how = "not shown" if is_missing else f"shown {shown[seq].level}"
            yield f"the task is {how}: whole it takes {whole:,} tokens"
        verbatim = (each.first for each in placements if each.line is None and _is_verbatim(each, forms[each.first]))
        short = self._people_upto(last) - len(tasks.union(first for first in verbatim if forms[first].unit[0].is_human))
        if short:
            yield (
                "1 human message is not shown verbatim"
                if short == 1
                else f"{short:,} human messages are not shown verbatim"
            )
        if steps := self._missing_steps(placements):
            yield missing(steps)

    def _people_upto(self, last: int) -> int:
        """How many messages of people there are up to a page."""
        state = self._journal.state
        changes, taken, count = self._people
        if changes != state.changes:
            taken = count = 0
        count += sum(1 for seq in state.people[taken:] if state.known_page(seq).counts)
        self._people = (state.changes, len(state.people), count)
        later = takewhile(lambda seq: seq > last, reversed(state.people))
        return count - sum(1 for seq in later if state.known_page(seq).counts)

    def _missing_steps(self, placements: Sequence[Placement]) -> int:
        """How many steps are shown only as a number, to a model without the recall tool."""
        if self._shows_handles:
            return 0
        return sum(
            self._lines.steps(each.line) if each.line is not None else 1 for each in placements if each.is_missing
        )


def _is_verbatim(placement: Placement, forms: Forms) -> bool:
    """Whether a person's words are shown verbatim, even if the harness's text beside them is shortened."""
    return placement.level is _FULL or (placement.level is _COMPRESSED and forms.own_tokens is not None)
