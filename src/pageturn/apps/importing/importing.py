"""Imports recorded sessions into a store; what was already imported is skipped, so an import can be repeated.

A message is identified by the id that its reader gives it, which becomes the id of its page. What was imported while the other
tool was still writing is completed the next time.

A file names its own session, and may name any. So an import only continues a session that the same tool and file started in the
same scope; otherwise it uses a new id, and the report says so.
"""

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from pageturn.apps.importing.files import FileSource
from pageturn.apps.importing.origins import Origin, as_text
from pageturn.formats.transcripts import claude_code, codex, gemini_cli, opencode, openhands, pi, requests, swe_agent
from pageturn.formats.transcripts.steps import Compacted, Reader, Said, Skipped
from pageturn.journal.blobs import pack
from pageturn.policies import Paged
from pageturn.session import Session
from pageturn.stores import Store
from pageturn.values.checks import require_instance, require_text
from pageturn.values.digests import digest_of
from pageturn.values.entries import Rejected
from pageturn.values.errors import Conflict, InvalidInput
from pageturn.values.ids import fitting_session_id
from pageturn.values.json import to_json
from pageturn.values.messages import Message, Part, Role
from pageturn.values.pages import Page
from pageturn.values.proposals import Proposal

READERS: tuple[Reader, ...] = (codex, pi, openhands, claude_code, gemini_cli, opencode, swe_agent, requests)
ENDINGS = (".jsonl", ".json", ".traj", ".jsonl.gz", ".json.gz")

_BATCH = 200
_INSTRUCTIONS = (Role.SYSTEM, Role.DEVELOPER)


class Renamed(NamedTuple):
    """A session whose id was already in use, and the id under which it was imported instead."""

    wanted: str
    taken: str
    file: Path

    def __str__(self) -> str:
        return f"{self.wanted!r} was not imported from {self.file}: the content of this file is in {self.taken!r}"


class Report:
    """What an import did: what it imported, what it already had, what it skipped and why."""

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
        """Count something that was skipped."""
        self.skipped[reason] += 1
        self.examples.setdefault(reason, f"{path}{f':{line}' if line else ''}{f' ({detail})' if detail else ''}")


def files_in(paths: Iterable[Path], report: Report) -> Iterator[Path]:
    """The given files, and those files in given folders whose ending is that of a log."""
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        for inside in sorted(path.rglob("*")):
            if inside.is_file() and not inside.name.endswith(ENDINGS):
                report.skip(f"file with ending {inside.suffix}" if inside.suffix else "file without an ending", inside)
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
    """Import the sessions of one file into a scope. A file that cannot be read or recognised is reported as failed."""
    require_instance("path", path, Path)
    if scope is not None:
        require_text("scope", scope)
    try:
        if path.exists() and not path.is_file():  # reading a pipe would wait for whoever writes to it
            report.failed[path] = "not a regular file"
            return
        source = FileSource(path)
        first = source.first()
        reader = next((reader for reader in READERS if reader.recognises(first)), None)
        if reader is None:
            is_unread = first is msgspec.UNSET and source.excess is not None
            unknown = "not a recorded session of a known tool"
            report.failed[path] = f"too large to be recognised: {source.excess}" if is_unread else unknown
            return
        report.tools[reader.NAME] += 1
        _import(store, reader, Origin(reader.NAME, path, scope), report, on_read)
    except (OSError, EOFError, zlib.error) as error:  # the last two are raised for a damaged compressed file
        report.failed[path] = getattr(error, "strerror", None) or str(error)


def _import(store: Store, reader: Reader, origin: Origin, report: Report, on_read: Callable[[int], None]) -> None:
    path = origin.path
    writers: dict[str, _Writer] = {}
    for step in reader.read(FileSource(path, on_read)):
        if isinstance(step, Skipped):
            report.skip(step.reason, path, step.line, step.detail)
            continue
        writer = writers.get(step.session)
        if writer is None:
            writer = writers[step.session] = _Writer(store, step.session, origin, report)
        if isinstance(step, Said):
            writer.write(step)
        else:
            writer.compact(step)
    for writer in writers.values():
        writer.finish()


class _Writer:
    """Writes one session of a file into the store."""

    def __init__(self, store: Store, name: str, origin: Origin, report: Report) -> None:
        self._store, self._origin, self._path, self._report = store, origin, origin.path, report
        wanted = fitting_session_id(name)
        self._id, self._stored = origin.session(store, wanted)  # before this import
        if self._id != wanted:
            report.renamed.append(Renamed(wanted, self._id, origin.path))
        self._is_opening = True  # whether there were only instructions so far
        self._known = {page.id: page for page in self._stored.state.pages} if self._stored is not None else {}
        self._session: Session | None = None  # opened when there is something new to write
        self._batch: list[Message] = []
        self._batch_lines: list[int] = []
        self._times: Counter[str] = Counter()  # how often each id was given in this file
        report.sessions.add(self._id)

    def write(self, said: Said) -> None:
        """Write a message, unless it was imported before."""
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
            self._flush()

    def compact(self, step: Compacted) -> None:
        """Store the other tool's summary as a rendition of the pages it replaced; the pages stay."""
        self._flush()
        self._report.compactions += 1
        if step.summary is None:
            self._report.skip("encrypted summary, readable only by its vendor", self._path, step.line)
            return
        key = f"import:{self._origin.tool}:{step.line}:{digest_of(step.summary.encode())}"
        if self._stored is not None and key in self._stored.state.settled:
            return
        covered = _covered(self._opened().reader.pages(), step.kept_from)
        if not covered:
            self._report.skip("summary that covers no page", self._path, step.line)
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
        """Write the remaining messages."""
        self._flush()
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

    def _flush(self) -> None:
        batch, lines = self._batch, self._batch_lines
        self._batch, self._batch_lines = [], []
        if not batch:
            return
        try:
            self._append(batch)
        except InvalidInput:  # one of them cannot be stored; the others can
            for message, line in zip(batch, lines, strict=True):
                try:
                    self._append([message])
                except InvalidInput as error:
                    self._report.skip("message that cannot be stored", self._path, line, str(error))

    def _append(self, messages: list[Message]) -> None:
        session = self._opened()
        while True:
            try:
                session.extend(messages)
                break
            except Conflict:
                if not session.refresh():  # no other writer: the store is damaged
                    raise
        self._report.messages += len(messages)
        self._report.calls += sum(len(message.tool_calls) for message in messages)
        self._report.results += sum(len(message.tool_results) for message in messages)

    def _ranked(self, said: Said) -> Message:
        """The message as it is stored. Instructions after the opening become user messages: a file must not set rules."""
        given = said.message
        self._is_opening = self._is_opening and given.role in _INSTRUCTIONS
        is_lowered = given.role in _INSTRUCTIONS and not self._is_opening
        original = {"role": str(given.role)} if is_lowered else {}
        return msgspec.structs.replace(
            given,
            id=self._named(said.id),
            role=Role.USER if is_lowered else given.role,
            synthetic=given.synthetic or is_lowered,
            metadata=self._with_source(said, **original),
        )

    def _named(self, id_: str | None) -> str:
        """The id of a message in our session: the tool's own, made unique if it repeats, or its position."""
        given = id_ if isinstance(id_, str) and id_.strip() else "#"
        self._times[given] += 1
        again = self._times[given]
        return f"#{again}" if given == "#" else given if again == 1 else f"{given}~{again}"

    def _rest(self, message: Message) -> Message | None:
        """The part of a message that was not imported yet; None if all of it was."""
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
        """The content already imported for a message, joined; None if a piece of it was erased."""
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
        fields = {"tool": self._origin.tool, "file": as_text(self._path), "line": line or None, **more}
        return {name: value for name, value in fields.items() if value is not None}


def _covered(pages: Iterable[Page], kept_from: str | None) -> list[Page]:
    """The pages that a summary replaces: those before what was kept, and after the last rule among them."""
    covered: list[Page] = []
    for page in pages:
        if page.id == kept_from:
            break
        if page.kind.is_rule:
            covered.clear()
        else:
            covered.append(page)
    return covered
