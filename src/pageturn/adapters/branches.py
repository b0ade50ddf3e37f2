"""Keeps sessions in step with the histories of an agent framework.

A framework keeps the history of a thread itself, sends all of it with every call, and may rewrite it: after time travel, an edit, a
regenerated answer. A session only grows. So a thread has a session for each branch of its history, named `thread`, `thread.1`,
`thread.2` and so on. A history continues the branch that it begins with; if there is none, the branch with the longest common beginning
is forked just before the first page that differs. What was said in a branch stays in it, and a fork shares what came before.

Nothing but the store says which branches there are, so a new process goes on where the last one ended.
"""

import os
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import NamedTuple, TypeVar

import msgspec

from pageturn.policies import DerivePolicy
from pageturn.session import Session
from pageturn.stores import Store, open_store, path_of
from pageturn.values.checks import require_several
from pageturn.values.digests import digest_of, digest_of_text
from pageturn.values.errors import Conflict
from pageturn.values.ids import fitting_session_id
from pageturn.values.json import to_json
from pageturn.values.messages import Message
from pageturn.values.pages import Page, PageKind
from pageturn.values.recall_tool import RecallTool

Result = TypeVar("Result")

_ID = "framework id"  # of a message, in its metadata: what has none was not said through the framework
_MOST_OPEN = 256  # threads whose sessions stay open
_ATTEMPTS = 5  # when other processes write to the same session
_LONGEST_NAME = 110  # which leaves room for the number of a branch
_NUMBERED = re.compile(r"\.[0-9]+\Z")


class Said(NamedTuple):
    """A message of a history, and its mark: messages with the same mark are the same to a model, whatever their ids."""

    message: Message
    mark: str


class History(NamedTuple):
    """What a framework sends: the name of the thread, its messages, and what is beside them."""

    thread: str
    said: Sequence[Said]
    system: str | None = None
    model: str | None = None


def said(message: Message, id: str | None) -> Said:  # noqa: A002
    """A message with the id that the framework has for it."""
    return Said(msgspec.structs.replace(message, metadata={_ID: id}), mark_of(message))


def mark_of(message: Message) -> str:
    """The mark of a message: the digest of its role and content."""
    return digest_of(to_json([message.role, message.content]))


def id_of(message: Message) -> str | None:
    """The framework's id of a message; None if it has none, or if a session wrote it."""
    id_ = (message.metadata or {}).get(_ID)
    return id_ if isinstance(id_, str) else None


def session_name(thread: str) -> str:
    """The id of the first session of a thread. No thread is named like a branch of another."""
    name = fitting_session_id(thread)
    if len(name) <= _LONGEST_NAME and not _NUMBERED.search(name):
        return name
    return fitting_session_id(f"{thread[:60]} {digest_of_text(thread)}")


class _Line(NamedTuple):
    """A page that came from the history, and the mark of its message; None if it was erased, which is like any message."""

    page: int
    mark: str | None


class _Match(NamedTuple):
    """How far a branch and a history are the same, in lines of the branch; and the messages that are new."""

    lines: int
    new: Sequence[Message]


class _Branch:
    """A session, and which of its pages came from the framework."""

    def __init__(self, session: Session, recall: RecallTool | None) -> None:
        self.session = session
        self._recall = recall.name if recall is not None else None
        self._lines: list[_Line] = []
        self._answered: set[str] = set()  # calls of the recall tool whose results the session wrote itself
        self._read = 0  # the number of the last page that was read
        self.catch_up()

    def catch_up(self) -> None:
        """Read the pages that are new."""
        for page in self.session.reader.pages(uncounted=True):
            if page.seq > self._read:
                self._read = page.seq
                self._take(page)

    def _take(self, page: Page) -> None:
        message = None if page.erased else self.session.reader.message(page)
        if message is not None and _ID in (message.metadata or {}):
            self._lines += [_Line(page.seq, mark_of(message))] if page.counts else []
        elif page.results and self.session.reader.tool_of(page) == self._recall:
            self._answered.update(result.call for result in page.results)
        elif page.erased and page.kind in (PageKind.CONVERSATION, PageKind.EVIDENCE):
            self._lines.append(_Line(page.seq, None))

    def match(self, history: History) -> _Match:
        """How far the history is the same. Results of the recall tool may be wherever the framework puts them."""
        at = 0
        new: list[Message] = []
        called: dict[str, str] = {}  # the tool of each call; some models use an id again
        for message, mark in history.said:
            called.update((call.id, call.name) for call in message.tool_calls)
            if self._has_answered(message, called):
                continue
            if new or at == len(self._lines) or self._lines[at].mark not in (None, mark):
                new.append(message)
            else:
                at += 1
        return _Match(at, new)

    def is_continued(self, match: _Match) -> bool:
        """Whether the history has all of this branch."""
        return match.lines == len(self._lines)

    def extend(self, history: History, new: Sequence[Message]) -> None:
        """Append what is new: the system prompt, and messages."""
        if history.system is not None:
            self.session.set_system(history.system)
        self.session.extend(new)
        self.catch_up()

    def rules(self) -> list[str]:
        """The texts that are pinned now."""
        reader = self.session.reader
        added = (page for page in reader.pages() if page.kind is PageKind.CONSTRAINT)
        pinned = (reader.message(page) for page in added if reader.kind(page) is PageKind.CONSTRAINT)
        return [message.text for message in pinned if message is not None]

    def pin(self, rules: Iterable[str]) -> None:
        """Pin the rules that are not pinned yet."""
        known = set(self.rules())
        for rule in dict.fromkeys(rules):
            if rule not in known:
                self.session.pin(rule)

    def fork(self, name: str, match: _Match) -> Session:
        """A new session with all entries before the first page that differs."""
        return self.session.fork(name, upto=self._lines[match.lines].page - 1)

    def _has_answered(self, message: Message, called: Mapping[str, str]) -> bool:
        """Whether it is a result that the session has already, since it gave it."""
        ids = [result.tool_call_id for result in message.tool_results]
        return any(id_ in self._answered and called.get(id_) == self._recall for id_ in ids)


@dataclass
class _Thread:
    """The open branches of a thread by name, oldest first, and how many calls use them."""

    lock: Lock = field(default_factory=Lock)
    branches: dict[str, _Branch] = field(default_factory=dict)
    users: int = 0

    def close(self) -> None:
        for branch in self.branches.values():
            branch.session.close()


class Branches:
    """The sessions of a store that follow a framework's threads. Any number of threads may use it; calls for one thread take turns."""

    def __init__(
        self,
        url: str | os.PathLike[str] | Store,
        *,
        policy: DerivePolicy | None = None,
        recall: RecallTool | None = None,
        scope: str | None = None,
        rules: Sequence[str] = (),
    ) -> None:
        require_several("rules", rules, "texts")
        with Session.open(policy=policy, recall=recall, scope=scope) as trial:  # so that mistakes are named now
            for rule in rules:
                trial.pin(rule)
        self._owns_store = not isinstance(url, Store)
        self._store = url if isinstance(url, Store) else open_store(path_of(url))
        self._policy, self._recall, self._scope, self._rules = policy, recall, scope, tuple(rules)
        self._threads: OrderedDict[str, _Thread] = OrderedDict()
        self._lock = Lock()  # of the threads' table

    def follow(self, history: History, work: Callable[[Session], Result]) -> Result:
        """The result of `work` with the session that has exactly this history.

        If another process writes to the session meanwhile, its entries are read and the work is done again.
        """
        with self._thread(history.thread) as thread:
            for _ in range(_ATTEMPTS - 1):
                try:
                    return work(self._branch(thread, history).session)
                except Conflict:
                    thread.branches.clear()
            return work(self._branch(thread, history).session)

    def close(self) -> None:
        """Close the sessions, and the store if it was opened here."""
        with self._lock:
            for thread in self._threads.values():
                thread.close()
            self._threads.clear()
            if self._owns_store:
                self._store.close()

    @contextmanager
    def _thread(self, name: str) -> Iterator[_Thread]:
        """The thread of a name, which belongs to this call alone."""
        with self._lock:
            thread = self._threads.setdefault(name, _Thread())
            self._threads.move_to_end(name)
            thread.users += 1
            idle = [each for each in self._threads if not self._threads[each].users]
            for each in idle[: max(0, len(self._threads) - _MOST_OPEN)]:
                self._threads.pop(each).close()
        try:
            with thread.lock:
                yield thread
        finally:
            with self._lock:
                thread.users -= 1

    def _branch(self, thread: _Thread, history: History) -> _Branch:
        """The branch that has this history now: the one that it continues, or a new one."""
        self._read_store(thread, history)
        matches = {name: branch.match(history) for name, branch in thread.branches.items()}
        continued = [name for name, match in matches.items() if thread.branches[name].is_continued(match)]
        name = max(continued or matches, key=lambda each: matches[each].lines)
        branch, match = thread.branches[name], matches[name]
        if not continued:
            parent, name = branch, _name(history, len(thread.branches))
            branch = thread.branches[name] = _Branch(parent.fork(name, match), self._recall)
            match = branch.match(history)
            branch.pin(parent.rules())  # a rule holds in every branch, though it was pinned later than the fork
        branch.extend(history, match.new)
        return branch

    def _read_store(self, thread: _Thread, history: History) -> None:
        """Open the branches that are new in the store, and those again that another process wrote to."""
        for name, branch in thread.branches.items():
            if branch.session.refresh():
                thread.branches[name] = self._open(name, history.model)
            else:
                branch.catch_up()
        while not thread.branches or self._store.session(_name(history, len(thread.branches))) is not None:
            name = _name(history, len(thread.branches))
            thread.branches[name] = self._open(name, history.model)

    def _open(self, name: str, model: str | None) -> _Branch:
        session = Session.open(
            self._store, id=name, policy=self._policy, model=model, recall=self._recall, scope=self._scope
        )
        branch = _Branch(session, self._recall)
        branch.pin(self._rules)
        return branch


def _name(history: History, number: int) -> str:
    name = session_name(history.thread)
    return f"{name}.{number}" if number else name
