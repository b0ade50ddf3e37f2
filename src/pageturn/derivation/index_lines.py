"""Index lines: runs of pages as one line each, made without reading the pages.

A sealed line stays as it is. Lines that lie beside each other are merged when they have grown alike, as in a log-structured
store, so that their number grows with the logarithm of the history, and the old ones, at the head of the prompt, rarely change.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import reduce

import msgspec

from pageturn.bodies import digest_of
from pageturn.errors import StoreError
from pageturn.journal import Journal
from pageturn.layout import IndexLine
from pageturn.messages import Message, user
from pageturn.renditions import Effect, Run, index, ledger, missing, summed_up, summed_up_only
from pageturn.renditions.fencing import fenced
from pageturn.tokens import TokenCounter
from pageturn.units import units_of

_MOST_FOLDERS = 24
_MOST_EFFECTS = 100  # what a ledger keeps, though it shows fewer
_MOST_STEPS = 8_888_888  # that anybody counts
_HANDLE = re.compile(r"^p[1-9][0-9]{0,14}-[a-z2-7]{4} ")
_ALIKE = 2  # a line takes in the one before it, if that has at most so many times its pages


class IndexLines:
    """The lines of one journal, as text."""

    def __init__(self, journal: Journal, counter: TokenCounter, *, shows_handles: bool = True) -> None:
        self._journal = journal
        self._counter = counter
        self._shows_handles = shows_handles
        self._runs: dict[IndexLine, Run] = {}
        self._tokens: dict[IndexLine, int] = {}
        self._unwritten: dict[str, bytes] = {}  # folders of lines that nobody has acknowledged yet
        self.damaged: dict[
            int, StoreError
        ] = {}  # the first pages of lines of which the store could not tell everything

    def message(self, line: IndexLine, missing_steps: int = 0) -> Message | None:
        """What stands in the context for the run: its counts or its summary, and what was changed in it.

        A model that cannot ask for pages is told of one number for all runs, `missing_steps`; a run that tells nothing else is None.
        """
        summary = self._told(line, line.summary)
        if self._shows_handles:
            told = summed_up(self._run(line), summary) if summary is not None else index(self._run(line))
        else:
            told = summed_up_only(summary) if summary is not None else missing(missing_steps) if missing_steps else ""
        changed = ledger(self._effects_told(line)) if line.tells_changes else ""
        text = f"{told}\n{changed}".strip()
        return user(fenced(text), synthetic=True) if text else None

    def tokens(self, line: IndexLine) -> int:
        """What that takes, beside the number of steps."""
        if line not in self._tokens:
            message = self.message(line)
            self._tokens[line] = self._counter.message(message) if message is not None else 0
        return self._tokens[line]

    @property
    def counted_tokens(self) -> int:
        """What the number of missing steps takes at most, where that is all that is told."""
        if self._shows_handles:
            return 0
        return self._counter.message(user(fenced(missing(_MOST_STEPS)), synthetic=True))

    def steps(self, line: IndexLine) -> int:
        """The calls with their results, and the lone messages, that a line stands for."""
        return self._run(line).steps

    def _effects_told(self, line: IndexLine) -> Iterator[Effect]:
        """What was changed, without the handles that were written with it where the model cannot use them."""
        for effect in self.effects(line):
            yield effect if self._shows_handles else effect._replace(told=_HANDLE.sub("", effect.told))

    def with_folders(self, line: IndexLine, folders: Mapping[str, int]) -> IndexLine:
        """The line with the folders that its calls were about."""
        most = dict(Counter(folders).most_common(_MOST_FOLDERS))
        data = msgspec.json.encode(most)
        digest = digest_of(data)
        self._unwritten[digest] = data
        return msgspec.structs.replace(line, folders=digest if most else None)

    def ledger(self, effects: Iterable[Effect]) -> str | None:
        """The name of a ledger of these effects; None where there are none."""
        newest = {effect.target: effect for effect in sorted(effects, key=lambda effect: effect.page)}
        kept = sorted(newest.values(), key=lambda effect: effect.page)[-_MOST_EFFECTS:]
        data = msgspec.json.encode(kept)
        digest = digest_of(data)
        self._unwritten[digest] = data
        return digest if kept else None

    def narrowed(self, line: IndexLine) -> IndexLine:
        """The line with what was changed by pages of its own run that count, where its ledger has more."""
        if line.ledger is None:
            return line
        pages = {page.seq for page in self._journal.state.between(line.first, line.last)}
        inside = (effect for effect in self.effects(line) if effect.page in pages)
        return msgspec.structs.replace(line, ledger=self.ledger(inside))

    def blob(self, line: IndexLine) -> dict[str, bytes]:
        """What has to be written with a line."""
        return {name: self._unwritten[name] for name in (line.folders, line.ledger) if name in self._unwritten}

    def forget(self) -> None:
        """Forget everything that was counted: the past is not what it was."""
        self._runs.clear()
        self._tokens.clear()
        self.damaged.clear()

    def keep(self, lines: AbstractSet[IndexLine]) -> None:
        """Forget everything about other lines."""
        self._runs = {line: run for line, run in self._runs.items() if line in lines}
        self._tokens = {line: tokens for line, tokens in self._tokens.items() if line in lines}
        self._unwritten.clear()

    def merged(self, lines: list[IndexLine]) -> list[IndexLine]:
        """The lines, with those made one that are sealed, lie beside each other, and are alike in size."""
        result: list[IndexLine] = []
        for line in lines:
            result.append(line)
            while len(result) > 1 and self._are_alike(result[-2], result[-1]):
                after, before = result.pop(), result.pop()
                result.append(self._one(before, after))
        return result

    def spanning(self, lines: Iterable[IndexLine]) -> IndexLine:
        """One sealed line for a row of runs."""
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
        changes = self.ledger([*self.effects(before), *self.effects(after)])
        # Only if each told all that it knew: else the one might be longer than both.
        is_told = changes is not None and all(each.tells_changes or each.ledger is None for each in (before, after))
        line = IndexLine(before.first, after.last, after.turn, sealed=True, ledger=changes, tells_changes=is_told)
        return self.with_folders(line, folders)

    def _run(self, line: IndexLine) -> Run:
        if line not in self._runs:
            self._runs[line] = self._count(line)
        return self._runs[line]

    def _count(self, line: IndexLine) -> Run:
        state = self._journal.state
        pages = state.between(line.first, line.last)
        return Run(
            first=pages[0].handle,
            last=pages[-1].handle,
            pages=len(pages),
            size=sum(page.size for page in pages),
            steps=len(units_of(pages)),
            tools=Counter(call.name for page in pages for call in page.calls),
            folders=self._folders(line),
            began=pages[0].at,
            ended=pages[-1].at,
        )

    def _folders(self, line: IndexLine) -> dict[str, int]:
        text = self._told(line, line.folders)
        return msgspec.json.decode(text, type=dict[str, int]) if text is not None else {}

    def effects(self, line: IndexLine) -> list[Effect]:
        """What was changed in the run of a line, as far as its ledger says."""
        text = self._told(line, line.ledger)
        return msgspec.json.decode(text, type=list[Effect]) if text is not None else []

    def _told(self, line: IndexLine, digest: str | None) -> str | None:
        """A blob that was written with a line, or that is still to be written; None where the store cannot give it."""
        if digest is None:
            return None
        if digest in self._unwritten:
            return self._unwritten[digest].decode()
        try:
            return self._journal.text(digest)
        except StoreError as error:
            self.damaged[line.first] = error
            return None
