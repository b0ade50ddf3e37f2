"""Importing: recorded sessions into a store. What is there already is not taken again, so an import can be repeated.

A message is known by the id that its reader gives it, which becomes the id of its page. What was imported while the other
tool was still writing is completed the next time.

A file says itself which session it tells of, and whoever wrote it may say anything. So an import goes on only with a session that
the same tool and file began in the same scope; otherwise it takes another id, and the report says so.
"""

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from pageturn.bodies import digest_of, pack
from pageturn.checks import require_instance, require_text
from pageturn.entries import Rejected
from pageturn.errors import Conflict, InvalidInput
from pageturn.ids import fitting_session_id
from pageturn.imports import claude_code, codex, gemini_cli, opencode, openhands, pi, requests, swe_agent
from pageturn.imports.contract import Compacted, Reader, Said, Skipped
from pageturn.imports.origins import Origin, as_text
from pageturn.imports.source import Source
from pageturn.messages import Message, Part, Role
from pageturn.pages import Page
from pageturn.policies import Paged
from pageturn.proposals import Proposal
from pageturn.session import Session
from pageturn.stores import Store
from pageturn.wire import to_json

READERS: tuple[Reader, ...] = (codex, pi, openhands, claude_code, gemini_cli, opencode, swe_agent, requests)
ENDINGS = (".jsonl", ".json", ".traj", ".jsonl.gz", ".json.gz")

_BATCH = 200
_INSTRUCTIONS = (Role.SYSTEM, Role.DEVELOPER)


class Renamed(NamedTuple):
    """A session that a file told of under a name that is another's, and the name that it has instead."""

    wanted: str
    taken: str
    file: Path

    def __str__(self) -> str:
        return f"{self.wanted!r} was not begun by {self.file}: what the file says is in {self.taken!r}"


class Report:
    """What an import did: what it took, what was there already, what it left out and why."""

    def __init__(self) -> None:
        self.tools: Counter[str] = Counter()  # files of each tool
        self.sessions: set[str] = set()
        self.messages = 0
        self.known = 0
        self.calls = 0
        self.results = 0
        self.compactions = 0
        self.skipped: Counter[str] = Counter()
        self.examples: dict[str, str] = {}  # where each reason first occurred
        self.failed: dict[Path, str] = {}
        self.renamed: list[Renamed] = []

    def skip(self, reason: str, path: Path, line: int = 0, detail: str = "") -> None:
        """Note that something was left out."""
        self.skipped[reason] += 1
        self.examples.setdefault(reason, f"{path}{f':{line}' if line else ''}{f' ({detail})' if detail else ''}")


def files_in(paths: Iterable[Path], report: Report) -> Iterator[Path]:
    """The files that are given, and those in folders that are given, if they may be logs."""
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        for inside in sorted(path.rglob("*")):
            if inside.is_file() and not inside.name.endswith(ENDINGS):
                report.skip(f"a file that ends in {inside.suffix or 'nothing'}", inside)
            elif inside.is_file():
                yield inside


def import_file(
    store: Store,
    path: Path,
    report: Report,
    *,
    scope: str | None = None,
    on_read: Callable[[int], None] = lambda _: None,
) -> None:
    """Take the sessions of one file into a scope. A file that cannot be read, or is of no known kind, is noted and left alone."""
    require_instance("path", path, Path)
    if scope is not None:
        require_text("scope", scope)
    try:
        first = Source(path).first()
        reader = next((reader for reader in READERS if reader.recognises(first)), None)
        if reader is None:
            report.failed[path] = "not a recorded session of a known tool"
            return
        report.tools[reader.NAME] += 1
        _take(store, reader, Origin(reader.NAME, path, scope), report, on_read)
    except (OSError, EOFError, zlib.error) as error:  # the last two come of a packed file that is damaged
        report.failed[path] = getattr(error, "strerror", None) or str(error)


def _take(store: Store, reader: Reader, origin: Origin, report: Report, on_read: Callable[[int], None]) -> None:
    path = origin.path
    takers: dict[str, _Taker] = {}
    for step in reader.read(Source(path, on_read)):
        if isinstance(step, Skipped):
            report.skip(step.reason, path, step.line, step.detail)
            continue
        taker = takers.get(step.session)
        if taker is None:
            taker = takers[step.session] = _Taker(store, step.session, origin, report)
        if isinstance(step, Said):
            taker.take(step)
        else:
            taker.compact(step)
    for taker in takers.values():
        taker.finish()


class _Taker:
    """One session on its way into the store."""

    def __init__(self, store: Store, name: str, origin: Origin, report: Report) -> None:
        self._store, self._origin, self._path, self._report = store, origin, origin.path, report
        wanted = fitting_session_id(name)
        self._id, self._stored = origin.session(store, wanted)  # as it was before
        if self._id != wanted:
            report.renamed.append(Renamed(wanted, self._id, origin.path))
        self._is_opening = True  # whether only instructions were told so far
        self._known = {page.id: page for page in self._stored.state.pages} if self._stored is not None else {}
        self._session: Session | None = None  # opened when there is something new
        self._batch: list[Message] = []
        self._batch_lines: list[int] = []
        self._times: Counter[str] = Counter()  # how often each id was given in this file
        report.sessions.add(self._id)

    def take(self, said: Said) -> None:
        """Take a message, unless it is there."""
        message = self._ranked(said)
        if message.id in self._known:
            rest = self._rest(message)
            if rest is None:
                self._report.known += 1
                return
            message = rest
        self._batch.append(message)
        self._batch_lines.append(said.line)
        if len(self._batch) >= _BATCH:
            self._write()

    def compact(self, step: Compacted) -> None:
        """Offer the other tool's summary as a rendition of what it stood for; the history stays."""
        self._write()
        self._report.compactions += 1
        if step.summary is None:
            self._report.skip("summary that only its vendor can read", self._path, step.line)
            return
        key = f"import:{self._origin.tool}:{step.line}:{digest_of(step.summary.encode())}"
        if self._stored is not None and key in self._stored.state.settled:
            return
        covered = _covered(self._opened().pages(), step.kept_from)
        if not covered:
            self._report.skip("summary of nothing", self._path, step.line)
            return
        proposal = Proposal(
            field="summary",
            value=step.summary,
            evidence=(covered[0].handle, covered[-1].handle),
            key=key,
            extra={"source": self._source(step.line, trigger=step.trigger, before_tokens=step.before_tokens)},
        )
        outcome = self._opened().write_back(proposal)
        if isinstance(outcome, Rejected):
            self._report.skip(f"summary rejected: {outcome.reason.code}", self._path, step.line, str(outcome.reason))

    def finish(self) -> None:
        """Write what is left."""
        self._write()
        if self._session is not None:
            self._session.checkpoint()

    def _opened(self) -> Session:
        if self._session is None:
            is_new = self._stored is None
            if is_new:
                self._origin.begin(self._store, self._id)
            policy = Paged() if is_new else None
            self._session = Session.open(self._store, id=self._id, scope=self._origin.scope, policy=policy)
        return self._session

    def _write(self) -> None:
        batch, lines = self._batch, self._batch_lines
        self._batch, self._batch_lines = [], []
        if not batch:
            return
        try:
            self._append(batch)
        except InvalidInput:  # one of them cannot be kept; the others can
            for message, line in zip(batch, lines, strict=True):
                try:
                    self._append([message])
                except InvalidInput as error:
                    self._report.skip("message that cannot be kept", self._path, line, str(error))

    def _append(self, messages: list[Message]) -> None:
        session = self._opened()
        while True:
            try:
                session.append(messages)
                break
            except Conflict:
                if not session.refresh():  # nobody wrote: the store is damaged
                    raise
        self._report.messages += len(messages)
        self._report.calls += sum(len(message.tool_calls) for message in messages)
        self._report.results += sum(len(message.tool_results) for message in messages)

    def _ranked(self, said: Said) -> Message:
        """The message as it is kept. Instructions open the session; later ones are a file's word, and nobody's rule here."""
        given = said.message
        self._is_opening = self._is_opening and given.role in _INSTRUCTIONS
        is_lowered = given.role in _INSTRUCTIONS and not self._is_opening
        told = {"role": str(given.role)} if is_lowered else {}
        return msgspec.structs.replace(
            given,
            id=self._named(said.id),
            role=Role.USER if is_lowered else given.role,
            synthetic=given.synthetic or is_lowered,
            metadata=self._with_source(said, **told),
        )

    def _named(self, id_: str | None) -> str:
        """The id of a message in our session: the tool's own, told apart where it repeats, or its place."""
        given = id_ if isinstance(id_, str) and id_.strip() else "#"
        self._times[given] += 1
        again = self._times[given]
        return f"#{again}" if given == "#" else given if again == 1 else f"{given}~{again}"

    def _rest(self, message: Message) -> Message | None:
        """What a message has beyond what was imported of it; None where it was imported whole."""
        assert message.id is not None
        if pack(message).digest == self._known[message.id].digest:
            return None
        before = self._imported(message.id)
        if before is None or before == message.content:
            return None
        length = len(before)
        if message.content[:length] == before:  # the other tool was still writing
            more = message.content[length:]
            return msgspec.structs.replace(message, id=f"{message.id}+{length}", content=more, joined=True)
        words = digest_of(b"".join(map(to_json, message.content)))
        other = f"{message.id}~{words[:8]}"  # another message that claims the same id
        return None if other in self._known else msgspec.structs.replace(message, id=other)

    def _imported(self, id_: str) -> tuple[Part, ...] | None:
        """What was imported of a message, at once or in pieces; None where a piece of it was erased."""
        parts: tuple[Part, ...] = ()
        name = id_
        while name in self._known:
            stored = self._stored.message(self._known[name]) if self._stored is not None else None
            if stored is None or not stored.content:
                return None
            parts += stored.content
            name = f"{id_}+{len(parts)}"
        return parts

    def _with_source(self, said: Said, **more: str) -> dict[str, Any]:
        source = self._source(said.line, id=said.id, at=said.at, **more)
        return {**(said.message.metadata or {}), "source": source}

    def _source(self, line: int, **more: Any) -> dict[str, Any]:
        told = {"tool": self._origin.tool, "file": as_text(self._path), "line": line or None, **more}
        return {name: value for name, value in told.items() if value is not None}


def _covered(pages: Iterable[Page], kept_from: str | None) -> list[Page]:
    """The pages that a summary stands for: those before what was kept, and after the last rule among them."""
    covered: list[Page] = []
    for page in pages:
        if page.id == kept_from:
            break
        if page.kind.is_rule:
            covered.clear()
        else:
            covered.append(page)
    return covered
