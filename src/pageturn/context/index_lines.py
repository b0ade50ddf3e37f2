"""Makes the text of index lines: one line for each run of pages, made without reading the pages.

A sealed line does not change. Adjacent lines of similar size are merged, as in a log-structured merge tree, so that their number
grows with the logarithm of the history, and the old ones, at the start of the prompt, rarely change.
"""

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from functools import reduce

import msgspec

from pageturn.context.renditions import Counted, Effect, Ledger, Run, index, missing, summed_up, summed_up_only
from pageturn.journal.journal import Journal
from pageturn.tokens.counters import TokenCounter
from pageturn.values.digests import digest_of
from pageturn.values.errors import StoreError
from pageturn.values.fencing import fenced
from pageturn.values.handles import HANDLE
from pageturn.values.layout import Changes, IndexLine
from pageturn.values.messages import Message, user
from pageturn.values.units import units_of

_MOST_FOLDERS = 24
_MOST_STEPS = 8_888_888  # the largest number that is shown
_HANDLES = re.compile(rf"^{HANDLE} ", re.MULTILINE)
_NAMED = re.compile(rf"(?<![A-Za-z0-9]){HANDLE}(?:\.\.{HANDLE})?(?![A-Za-z0-9])")
_MOST_COUNTED = 4_000  # effects whose tokens are kept from one fold to the next
_ALIKE = 2  # a line is merged with the one before it, if that has at most twice its pages


class IndexLines:
    """The lines of one journal, as text."""

    def __init__(self, journal: Journal, counter: TokenCounter, *, shows_handles: bool = True) -> None:
        self._journal = journal
        self._counter = counter
        self._shows_handles = shows_handles
        self._runs: dict[IndexLine, Run] = {}
        self._tokens: dict[IndexLine, int] = {}
        self._run_tokens: dict[Hashable, int] = {}  # of runs that this fold tried, by their ends and their folders
        self._tried_before: dict[Hashable, int] = {}  # and the last one, since many are tried again
        self._effect_line_tokens: dict[str, int] = {}  # of the lines of effects
        self._unwritten: dict[str, bytes] = {}  # blobs of lines that are not acknowledged yet
        self.damaged: dict[int, StoreError] = {}  # by the first page of a line whose blobs could not be read

    def message(self, line: IndexLine) -> Message | None:
        """The message that replaces the run: its counts or its summary, and what was changed in it.

        For a model without the recall tool the counts are omitted; None if nothing else is left.
        """
        summary = self._blob_text(line, line.summary)
        if self._shows_handles:
            shown = summed_up(self._run(line), summary) if summary is not None else index(self._run(line))
        else:
            shown = summed_up_only(_without_handles(summary)) if summary is not None else ""
        text = f"{shown}\n{self._changed(line)}".strip()
        return user(fenced(text), synthetic=True) if text else None

    def missing(self, steps: int, line: IndexLine | None) -> Message:
        """A message for a model without the recall tool: how many steps are missing, and the changes in their first run."""
        changed = self._changed(line) if line is not None else ""
        return user(fenced(f"{missing(steps)}\n{changed}".strip()), synthetic=True)

    def _changed(self, line: IndexLine) -> str:
        changed = self.changes(line).text(line.changes_shown) if line.tells_changes else ""
        return changed if self._shows_handles else _without_handles(changed)  # from when there was a recall tool

    def tokens(self, line: IndexLine) -> int:
        """The tokens of the message of a line."""
        if line not in self._tokens:
            message = self.message(line)
            self._tokens[line] = self._counter.message(message) if message is not None else 0
        return self._tokens[line]

    def run_tokens(self, line: IndexLine, folders: Mapping[str, int]) -> int:
        """The tokens of a line that has no details, and whose folders are not written yet. Most of those are only asked about."""
        if not self._shows_handles:
            return 0
        run = (line.first, line.last, *folders.items())
        if (tokens := self._run_tokens.get(run)) is None:
            tokens = self._tried_before.get(run)
            if tokens is None:
                text = fenced(index(self._count(line, _most(folders))))
                tokens = self._counter.message(user(text, synthetic=True))
            self._run_tokens[run] = tokens
        return tokens

    @property
    def counted_tokens(self) -> int:
        """An upper bound of the tokens of the message with the number of missing steps; 0 with the recall tool."""
        if self._shows_handles:
            return 0
        return self._counter.message(user(fenced(missing(_MOST_STEPS)), synthetic=True))

    def steps(self, line: IndexLine) -> int:
        """The number of units that a line replaces."""
        state = self._journal.state
        return len(units_of(state.between(line.first, line.last), state.turns))

    def with_folders(self, line: IndexLine, folders: Mapping[str, int]) -> IndexLine:
        """The line with the folders that its calls were about."""
        most = _most(folders)
        data = msgspec.json.encode(most)
        digest = digest_of(data)
        self._unwritten[digest] = data
        return msgspec.structs.replace(line, folders=digest if most else None)

    def ledger(self, effects: Iterable[Effect], counted: Iterable[Counted] = ()) -> Changes | None:
        """A ledger of these effects, to be written with a line; None where there are none."""
        kept = Ledger.of(effects, counted)
        if not kept.effects and not kept.counted:
            return None
        data = msgspec.json.encode(kept)
        digest = digest_of(data)
        self._unwritten[digest] = data
        return Changes(digest, tuple(kept.pages), tuple(self._effect_tokens(effect) for effect in kept.effects))

    def _effect_tokens(self, effect: Effect) -> int:
        """The approximate tokens that a line takes more if it shows this effect."""
        line = effect.line
        if line not in self._effect_line_tokens:
            self._effect_line_tokens[line] = self._counter.text(line) + 1
        return self._effect_line_tokens[line]

    def narrowed(self, line: IndexLine) -> IndexLine:
        """The line with its ledger reduced to changes by pages of its own run that are not undone or erased."""
        if line.ledger is None:
            return line
        every = self.changes(line)
        inside = [self._is_inside(effect.page, line) for effect in every.effects]
        if all(inside) and all(self._is_inside(each.last, line) for each in every.counted):
            return line
        effects = [effect for effect, is_inside in zip(every.effects, inside, strict=True) if is_inside]
        # A count goes to the part with its newest change, so that the parts of a line add up to the whole.
        changes = self.ledger(effects, (each for each in every.counted if self._is_inside(each.last, line)))
        shown = sum(inside[max(0, len(inside) - line.changes_shown) :])
        return msgspec.structs.replace(
            line,
            ledger=changes.digest if changes is not None else None,
            tells_changes=line.tells_changes and changes is not None,
            changes_shown=shown if line.tells_changes and changes is not None else line.plain.changes_shown,
        )

    def part_of(
        self, whole: IndexLine, part: IndexLine, changed: Callable[[int, int], Changes | None] | None
    ) -> IndexLine:
        """A part of a line that was cut, with the changes in it, shown in the same detail as before."""
        changes = changed(part.first, part.last) if changed is not None else None
        if changes is None:
            return msgspec.structs.replace(part, ledger=None, tells_changes=False)
        if not whole.tells_changes:
            return msgspec.structs.replace(part, ledger=changes.digest)
        pages = self.changes(whole).pages[-whole.changes_shown :] if whole.changes_shown else []
        shown = changes.since(pages[0]) if pages else 0
        return msgspec.structs.replace(part, ledger=changes.digest, changes_shown=shown)

    def _is_inside(self, page: int, line: IndexLine) -> bool:
        known = self._journal.state.page(page) if line.first <= page <= line.last else None
        return known is not None and known.counts

    def blob(self, line: IndexLine) -> dict[str, bytes]:
        """The blobs that must be written with a line."""
        return {name: self._unwritten[name] for name in (line.folders, line.ledger) if name in self._unwritten}

    def forget(self) -> None:
        """Drop everything cached, because the history has changed."""
        self._runs.clear()
        self._tokens.clear()
        self._run_tokens.clear()
        self._tried_before.clear()
        self.damaged.clear()

    def keep(self, lines: AbstractSet[IndexLine]) -> None:
        """Drop everything cached about other lines."""
        self._runs = {line: run for line, run in self._runs.items() if line in lines}
        self._tokens = {line: tokens for line, tokens in self._tokens.items() if line in lines}
        self._tried_before, self._run_tokens = self._run_tokens, {}
        self._unwritten.clear()
        if len(self._effect_line_tokens) > _MOST_COUNTED:
            self._effect_line_tokens.clear()

    def merged(self, lines: list[IndexLine]) -> list[IndexLine]:
        """The lines, with adjacent sealed lines of similar size merged."""
        result: list[IndexLine] = []
        for line in lines:
            result.append(line)
            while len(result) > 1 and self._are_alike(result[-2], result[-1]):
                after, before = result.pop(), result.pop()
                result.append(self._one(before, after))
        return result

    def spanning(self, lines: Iterable[IndexLine]) -> IndexLine:
        """One sealed line for a sequence of runs."""
        return reduce(self._one, lines)

    def _are_alike(self, before: IndexLine, after: IndexLine) -> bool:
        if not (before.sealed and after.sealed) or before.summary is not None or after.summary is not None:
            return False
        state = self._journal.state
        if state.between(before.last + 1, after.first - 1):
            return False
        return self._run(before).pages <= _ALIKE * self._run(after).pages

    def _one(self, before: IndexLine, after: IndexLine) -> IndexLine:
        folders = Counter(self._run(before).folders) + Counter(self._run(after).folders)
        line = self.with_folders(IndexLine(before.first, after.last, after.turn, sealed=True), folders)
        both = self.changes(before), self.changes(after)
        changes = self.ledger(
            [effect for each in both for effect in each.effects],
            [counted for each in both for counted in each.counted],
        )
        if changes is None:
            return line
        line = msgspec.structs.replace(line, ledger=changes.digest)
        if not all(each.tells_changes or each.ledger is None for each in (before, after)):
            return line  # the merged line might be longer than both
        shown = min(len(changes.pages), sum(each.changes_shown for each in (before, after) if each.tells_changes))
        most = self.tokens(before) + self.tokens(after)
        while True:
            line = msgspec.structs.replace(line, tells_changes=True, changes_shown=shown)
            if self.tokens(line) <= most or not shown:
                return line
            shown = shown * 7 // 8

    def _run(self, line: IndexLine) -> Run:
        if line not in self._runs:
            self._runs[line] = self._count(line, self._folders(line))
        return self._runs[line]

    def _count(self, line: IndexLine, folders: Mapping[str, int]) -> Run:
        state = self._journal.state
        pages = state.between(line.first, line.last)
        return Run(
            first=pages[0].handle,
            last=pages[-1].handle,
            pages=len(pages),
            size=sum([page.size for page in pages]),
            tools=Counter([call.name for page in pages for call in page.calls]),
            folders=folders,
            began=pages[0].at,
            ended=pages[-1].at,
        )

    def _folders(self, line: IndexLine) -> dict[str, int]:
        text = self._blob_text(line, line.folders)
        return msgspec.json.decode(text, type=dict[str, int]) if text is not None else {}

    def changes(self, line: IndexLine) -> Ledger:
        """What was changed in the run of a line, as far as its ledger says."""
        text = self._blob_text(line, line.ledger)
        if text is None:
            return Ledger()
        if text.startswith("["):  # an older format, without counts
            return Ledger.of(msgspec.json.decode(text, type=list[Effect]))
        return msgspec.json.decode(text, type=Ledger)

    def _blob_text(self, line: IndexLine, digest: str | None) -> str | None:
        """The text of a blob of a line, written already or not; None if the store cannot read it."""
        if digest is None:
            return None
        if digest in self._unwritten:
            return self._unwritten[digest].decode()
        try:
            return self._journal.text(digest)
        except StoreError as error:
            self.damaged[line.first] = error
            return None


def _most(folders: Mapping[str, int]) -> dict[str, int]:
    """The folders that a line keeps."""
    return dict(Counter(folders).most_common(_MOST_FOLDERS)) if folders else {}


def _without_handles(text: str) -> str:
    """A text for a model that cannot ask for the pages that it names."""
    return _NAMED.sub("an earlier page", _HANDLES.sub("", text))
