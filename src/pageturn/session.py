"""Session: one agent's work, and the one object that a user holds.

It assigns ids and times, writes facts to the journal, and leaves every decision to the rooms below. It is synchronous and belongs to one
thread at a time.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from types import TracebackType
from typing import Any, Self, overload

from pageturn.context.derive import Deriver
from pageturn.context.renditions import BUILT_IN, Renderers
from pageturn.context.turns import message_entries
from pageturn.formats.task_log import TaskLog
from pageturn.journal.erasing import Erased, erase
from pageturn.journal.journal import Fresh, Journal, require_scope
from pageturn.journal.lookup import handle_name, page_named, page_of, pending_calls, query_name
from pageturn.journal.opening import begin, open_or_begin
from pageturn.journal.paging import Pager, plan_in_force
from pageturn.journal.reader import SessionReader
from pageturn.journal.task_logs import plan_of, prohibitions_of
from pageturn.journal.writing import Recorder
from pageturn.policies import DerivePolicy, Paged, as_chosen, require_online, require_registered, restored
from pageturn.recall import search as recalling
from pageturn.recall.embedders import Embedder
from pageturn.recall.embedders.embedding import embedding
from pageturn.recall.filters import Where, where_of
from pageturn.recall.hits import Recalled, within
from pageturn.recall.reach import journal_beside, reach
from pageturn.recall.resolving import Resolved, resolve
from pageturn.recall.search import Reranker, session_ids
from pageturn.recall.tool import RecallRequest, answer, last_calls
from pageturn.stores import SessionRow, Store, open_store, path_of
from pageturn.tokens.counters import TokenCounter, counter_for, require_counter
from pageturn.values import entries as e
from pageturn.values.checks import (
    require_bool,
    require_callable,
    require_instance,
    require_methods,
    require_text,
    require_whole,
)
from pageturn.values.chosen_policy import ChosenPolicy
from pageturn.values.context import Context
from pageturn.values.entries import BoundaryKind, Committed, Rejected, Waiting
from pageturn.values.errors import InvalidInput, PageturnError, StoreError, UnknownPolicy, show
from pageturn.values.faults import AnyFault, Fault, FlushMiss
from pageturn.values.ids import micros, require_session_id, uuid7
from pageturn.values.json import from_json, to_json
from pageturn.values.messages import Message, Role, ToolCall, require_speaker, system, tool_result
from pageturn.values.notes import ContextMessage
from pageturn.values.pages import Page
from pageturn.values.plans import Plan
from pageturn.values.proposals import Proposal, ProposalForReview
from pageturn.values.recall_tool import RecallTool
from pageturn.values.usage import Usage
from pageturn.writeback.summaries import Summaries, Summarizer, require_summarizer
from pageturn.writeback.writeback import Writeback

_MOST_HITS = 1_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Parts:
    """What a session works with besides its journal. Each part can be replaced by the host's own."""

    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    entropy: Callable[[int], bytes] = os.urandom
    recall: RecallTool | None = RecallTool()  # noqa: RUF009
    renderers: Renderers = BUILT_IN
    counter: TokenCounter | None = None
    summarizer: Summarizer | None = None
    embedder: Embedder | None = None
    reranker: Reranker | None = None

    def require_sound(self) -> None:
        """Raise `InvalidInput` for a part that would otherwise only fail when it is first used."""
        for path, function in (("clock", self.clock), ("entropy", self.entropy)):
            require_callable(path, function)
        if self.recall is not None and not isinstance(self.recall, RecallTool):
            expected = "a RecallTool, or None for a session without one"
            raise InvalidInput("recall", expected=expected, got=show(self.recall))
        require_instance("renderers", self.renderers, Renderers)
        if self.counter is not None:
            require_counter(self.counter)
        if self.summarizer is not None:
            require_summarizer(self.summarizer)
        if self.reranker is not None:
            require_methods("reranker", self.reranker, "score")


class Session:
    """A durable, append-only session. Make one with `Session.open`."""

    def __init__(
        self,
        journal: Journal,
        parts: Parts = Parts(),  # noqa: B008
        *,
        policy: DerivePolicy | None = None,  # for read-only use: derive with this one, whatever the journal says
        model: str | None = None,  # likewise
        owns_store: bool = False,
    ) -> None:
        clock, entropy = parts.clock, parts.entropy
        self._journal = journal
        self._parts = parts
        self._policy = policy
        # The stored form of the policy in use, and the policy.
        self._chosen: tuple[ChosenPolicy, DerivePolicy] | None = None
        self._owns_store = owns_store
        self._model = model
        self._embedding = embedding(journal, parts.embedder, clock) if parts.embedder is not None else None
        self._counter = self._counter_of(self._model_of(None))
        self._pager = Pager(journal, self._counter, lambda: uuid7(clock(), entropy), lambda: micros(clock()))
        self._recorder = Recorder(self._pager, clock)
        self._deriver = Deriver(self._recorder, self._counter_of, parts.recall, parts.renderers)
        self._writeback = Writeback(self._recorder, self._require_room_for_proposal)
        self._summaries: Summaries | None = None
        if parts.summarizer is not None:
            self._summaries = Summaries(self._recorder, self._counter.text, self.write_back, parts.summarizer)

    @classmethod
    def open(
        cls,
        url: str | os.PathLike[str] | Store = ":memory:",
        *,
        id: str | None = None,  # noqa: A002
        policy: DerivePolicy | None = None,
        model: str | None = None,
        recall: RecallTool | None = RecallTool(),  # noqa: B008
        scope: str | None = None,
        renderers: Renderers = BUILT_IN,
        counter: TokenCounter | None = None,
        summarizer: Summarizer | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        entropy: Callable[[int], bytes] = os.urandom,
        embedder: Embedder | None = None,
        reranker: Reranker | None = None,
        wait_seconds: float | None = None,
    ) -> Self:
        """Open a session, or create it if the store has none with that id.

        Reads never wait for another writer. A write waits for at most `wait_seconds` (5 unless the URL says otherwise; 0: not at all)
        and then raises `StoreError`. A session that was created with a scope can only be opened with that scope.
        """
        parts = Parts(
            clock=clock,
            entropy=entropy,
            recall=recall,
            renderers=renderers,
            counter=counter,
            summarizer=summarizer,
            embedder=embedder,
            reranker=reranker,
        )
        parts.require_sound()
        _require_choices(policy, model, scope)
        if id is None:
            id = uuid7(clock(), entropy)  # noqa: A001
        require_session_id(id)
        owns_store = not isinstance(url, Store)
        if wait_seconds is not None and not owns_store:
            none = "none with a store object, which has its own"
            raise InvalidInput("wait_seconds", expected=none, got=show(wait_seconds))
        store = url if isinstance(url, Store) else open_store(path_of(url), wait_seconds=wait_seconds)
        try:
            journal = open_or_begin(store, SessionRow(id, entropy(16), micros(clock()), scope))
            require_scope(journal.row, scope)
        except PageturnError:
            if owns_store:
                store.close()
            raise
        session = cls(journal, parts, model=model, owns_store=owns_store)
        with suppress(StoreError), store.at_once():  # what a crash left staged can also be settled at the next boundary
            session._recorder.insist(session._writeback.settle_all)
        session._recorder.insist(lambda: session._begin_with(policy, model))
        return session

    # -- what it is

    @property
    def id(self) -> str:
        """The name of the session in its store."""
        return self._journal.row.id

    @cached_property
    def reader(self) -> SessionReader:
        """A read-only view of the session."""
        return SessionReader(self._journal, lambda: self._recorder.unwritten)

    @property
    def summaries(self) -> Summaries | None:
        """The summaries that are prepared in the background; None without a summarizer."""
        return self._summaries

    # -- facts

    def append(self, message: Message, usage: Usage | None = None) -> Page:
        """Append a message. An assistant message ends a turn, and its usage belongs to that turn.

        A person's words in the same message as tool results shrink with the results; in a message of their own they stay.
        """
        return self._extend({"message": message}, usage)[0]

    def extend(self, messages: Iterable[Message]) -> tuple[Page, ...]:
        """Append messages, all of them or none."""
        if isinstance(messages, Message | str | bytes) or not isinstance(messages, Iterable):
            raise InvalidInput("messages", expected="a list of messages", got=show(messages))
        return self._extend({f"messages[{index}]": message for index, message in enumerate(messages)})

    def _extend(self, named: Mapping[str, Message], usage: Usage | None = None) -> tuple[Page, ...]:
        """Append messages, each with the name that an error uses for it."""
        for path, message in named.items():
            require_instance(path, message, Message)
            require_speaker(path, message)
        messages = tuple(named.values())
        if not messages:
            return ()
        derived = self._deriver.answered() if any(each.role is Role.ASSISTANT for each in messages) else None
        is_fold = derived is not None and derived.folded is not None
        boundary = self._writeback.before_compaction() if is_fold else []
        fresh = self._deriver.before_messages(self._parts.clock)
        fresh += message_entries(
            self._deriver, self._pager, messages, usage, derived=derived, boundary=boundary, ahead=len(fresh)
        )
        self._recorder.write(fresh)
        pages = tuple(each.entry.page for each in fresh if isinstance(each.entry, e.MessageAdded))
        self._deriver.take_in(pages, [each.message for each in fresh if each.message is not None], derived)
        if self._summaries is not None:
            self._summaries.tend()
        return pages

    def derive(
        self,
        tools: Iterable[Mapping[str, Any]] = (),
        *,
        model: str | None = None,
        budget_tokens: int | None = None,
        room_tokens: int | None = None,
    ) -> Context:
        """The context of the next call, within the smallest of this budget, the policy's limit and the model's capacity. Writes nothing.

        `room_tokens` is a budget for everything but the tools and the opening prompt, which no policy can shorten.
        """
        self._recorder.require_open()
        context = self._deriver.derive(self._policy_now, tools, self._model_of(model), budget_tokens, room_tokens)
        if self._summaries is not None:
            self._summaries.wish(context.wanted)
        if self._embedding is not None:
            self._embedding.wake()
        return context

    def answer(self, sessions: Iterable[str] = ()) -> bool:
        """Answer the model's calls of the recall tool. True if it called nothing else, so that the next call can be made at once.

        A query also searches the other `sessions`, and a handle that it found there opens its page there.
        """
        if self._parts.recall is None:
            return False
        calls = last_calls(self._journal, self._parts.recall)
        results = []
        source = _Source(self, sessions)
        for call in calls.ours:
            answered = answer(self._parts.recall, RecallRequest.of(call), source, self._deriver.most_answered)
            results.append(tool_result(call, answered.text, is_error=answered.is_error))
            self._deriver.note_fetched(answered.given)
        self.extend(results)
        return bool(calls.ours) and not calls.others

    def overflow(self, error: object, *, model: str | None = None) -> bool:
        """Report that a provider rejected the last context. If it was too long, the next one is smaller; False if the error is about
        something else.

        `None` instead of an error forgets what earlier rejections taught about a model.
        """
        if error is None:
            return self._deriver.forget_overflow(self._model_of(model))
        if model is not None:
            raise InvalidInput("model", expected="none with an error, which is about the last context", got=show(model))
        return self._deriver.overflow(error)

    def undo(self, turns: int = 1) -> None:
        """Undo the last turns: their messages no longer count, but stay in the journal."""
        first = self._journal.state.start_of_turns(turns) if type(turns) is int else None
        if first is None:
            have = len(self._journal.state.turns)
            raise InvalidInput(
                "turns", expected=f"1 to {have}" if have else "at least one turn to undo", got=show(turns)
            )
        self._recorder.append(e.TurnsUndone(first=first, last=self._journal.head))

    def fork(self, id: str | None = None, *, upto: int | None = None) -> "Session":  # noqa: A002
        """A new session that shares this one's past: all of it, or its entries up to a number."""
        row = self._journal.row
        name = id if id is not None else uuid7(self._parts.clock(), self._parts.entropy)
        require_session_id(name)
        self._recorder.require_open()
        head = self._journal.head
        if upto is not None:
            require_whole("upto", upto, below=head + 1)
        at = head if upto is None else upto
        child = SessionRow(name, row.key, micros(self._parts.clock()), row.scope, row.id, at, at)
        journal = begin(self._journal.store, child, parent=self._journal if at == head else None)
        return Session(journal, self._parts, model=self._model)

    def reset(self, summary: str, *, force: bool = False) -> Page:
        """Start over with the host's summary. It replaces everything before it in the context; all of that can still be recalled.

        The summary must pass the same checks as a model's, against everything since the last reset; `force` skips them.
        """
        require_text("summary", summary)
        require_bool("force", force)
        self._recorder.require_open()
        return self._writeback.reset(summary, force=force)

    def choose(self, policy: DerivePolicy) -> None:
        """Use another policy from now on."""
        require_instance("policy", policy, DerivePolicy)
        require_online(policy)
        self._recorder.append(e.PolicyChosen(policy=as_chosen(policy)))

    def grant(self, scope: str, *, allowed: bool = True) -> None:
        """Allow recall and writeback to access another scope, or revoke that."""
        self._recorder.append(e.ScopeGranted(scope=scope, allowed=allowed))

    # -- promises

    def pin(self, what: str | Page, structured: str | None = None) -> Page:
        """Make a text or a page a rule, which is never shown below its structured form."""
        page = page_named(self._journal.state, what)
        if page is None:
            require_text("what", what)
            fresh = self._pager.constraint(str(what), structured)
        else:
            if not page.counts or self._journal.message(page) is None:
                raise InvalidInput(
                    "handle",
                    expected="the handle of a page that counts (not undone, erased or replaced)",
                    got=show(page.handle),
                )
            fresh = [self._pager.pin(page.seq, structured)]
        name = page.handle if page is not None else "the new pin"
        self._require_room(fresh, name)
        self._recorder.write(fresh)
        self._deriver.accept_rule()
        return page or _added(fresh[0])

    def set_system(self, text: str) -> Page:
        """Replace the system prompt. The old one stays in the journal, and the next context is a fold.

        The next `derive` reports if it does not fit; nothing is checked here.
        """
        state = self._journal.state
        now = state.page(state.system) if state.system is not None else None
        message = self._journal.message(now) if now is not None and now.counts else None
        if now is not None and message is not None and message.content == system(text).content:
            return now
        self._recorder.write(self._pager.opening(text))
        return self._journal.state.pages[-1]

    def pending(self) -> tuple[ToolCall, ...]:
        """The tool calls without a result that the host has to run, oldest first; after a crash, those to run again."""
        ours = self._parts.recall.name if self._parts.recall is not None else None
        return pending_calls(self._journal, besides=ours)

    def unpin(self, what: str | Page) -> None:
        """Unpin a page."""
        page = page_named(self._journal.state, what)
        if page is None or page.seq not in self._journal.state.pins:
            raise InvalidInput("handle", expected="the handle of a pinned page", got=show(what))
        self._recorder.append(e.Unpinned(page=page.seq))
        self._deriver.unpinned()

    @overload
    def plan(self, goal: str | Plan | None, steps: Sequence[str] = (), current: int = 0) -> Page: ...

    @overload
    def plan(self, goal: TaskLog) -> Page | None: ...

    def plan(self, goal: str | Plan | TaskLog | None, steps: Sequence[str] = (), current: int = 0) -> Page | None:
        """Set the plan; the previous one stays in the journal. `None` clears it, and the returned page says so.

        A plan that would no longer fit is refused (`BudgetTooSmall`), like a pin: its goal and current step are in every context.

        A task log (`pageturn.formats.task_log.read_task_log`) sets its plan and its prohibitions, which replace those of an earlier task
        log; nothing is added twice. It returns the page of the current plan, if there is one. All of it is written or nothing: if a
        prohibition has no room (`BudgetTooSmall`), the earlier ones stay.
        """
        if isinstance(steps, str) or not isinstance(steps, Sequence):
            raise InvalidInput("steps", expected="a list of texts", got=show(steps))
        if isinstance(goal, TaskLog):
            return self._plan_by(goal)
        if goal is None:
            if steps or current or plan_in_force(self._journal) is None:
                got = "None with steps" if steps or current else "None, though no plan is in force"
                raise InvalidInput("goal", expected="a goal, or None to clear the plan in force", got=got)
            plan = None
        else:
            plan = goal if isinstance(goal, Plan) else Plan(goal=goal, steps=tuple(steps), current=current)
        fresh = self._pager.plan(plan)
        if plan is not None:
            self._require_room(fresh, "the new plan")
        self._recorder.write(fresh)
        if plan is not None:
            self._deriver.accept_rule()
        return self._journal.state.pages[-1]

    def prefer(self, text: str, scope: str | None = None) -> Page:
        """Store a preference of the user or the project.

        With a scope it is shown only in sessions of that scope or with access to it; in others it can be recalled.
        """
        if scope is not None:
            require_text("scope", scope)
        self._recorder.write(self._pager.preference(text, scope))
        return self._journal.state.pages[-1]

    def _plan_by(self, log: TaskLog) -> Page | None:
        if log.speaks_of_goals:
            fresh = prohibitions_of(self._pager, log)
            fresh += plan_of(self._pager, log, ahead=len(fresh))
            if any(isinstance(each.entry, e.Pinned) or e.sets_plan(each.entry) for each in fresh):
                self._require_room(fresh, "the task log")
            if fresh:
                self._recorder.write(fresh)
        now = self._journal.state.plan
        return self._journal.state.page(now.page) if now is not None else None

    def _require_room(self, fresh: Sequence[Fresh], name: str) -> None:
        """Raise `BudgetTooSmall` for a promise that no context would have room for."""
        self._deriver.require_room(self._policy_now, self._model_of(None), fresh, name)

    def _require_room_for_proposal(self, fresh: Sequence[Fresh]) -> None:
        name = "the new pin" if any(isinstance(each.entry, e.Pinned) for each in fresh) else "the new plan"
        with suppress(UnknownPolicy):  # such a session derives nothing either
            self._require_room(fresh, name)

    def inject(self, note: ContextMessage) -> Page | None:
        """Add a durable note, which replaces an earlier one with its key. A note of the conversation only becomes a page.

        A system or session note that is not in every turn (because of a cooldown, or because it is shown once) is placed at the end of
        the prompt, where it does not invalidate the cache; `context.notes` and `context.notices` say so.
        """
        require_instance("note", note, ContextMessage)
        if note.is_prompt_injected:
            self._recorder.append(e.NoteAdded(note=note))
            return None
        require_text("$.content", note.content)
        fresh = self._pager.conversation(note)
        self._recorder.write([fresh])
        page = _added(fresh)
        self._deriver.take_in([page], [fresh.message] if fresh.message is not None else [], None)
        return page

    def retract(self, key: str, *, now: bool = False) -> None:
        """Remove a durable note: at the next fold, or at once if that costs nothing or `now` is true."""
        board = self._journal.state.note_state
        if not isinstance(key, str) or not (key in board.notes or (now and board.stands(key))):
            raise InvalidInput("key", expected="the key of a durable note", got=show(key))
        self._recorder.append(e.NoteRetracted(key=key, now=now))

    # -- reading and erasing

    def recall(
        self,
        query: str,
        limit: int = 5,
        *,
        where: Where | Mapping[str, object] | None = None,
        sessions: Iterable[str] | None = None,
        budget_tokens: int | None = None,
        scope: str | None = None,
        internal: bool = False,
    ) -> Recalled | AnyFault:
        """Search everything that was ever appended to this session, to other named sessions, or to all sessions of a scope.

        `where` filters by role, kind, tool, turns, path and times. The excerpts take at most `budget_tokens` together.
        """
        require_instance("query", query, str)
        if type(limit) is not int or not 1 <= limit <= _MOST_HITS:
            raise InvalidInput("limit", expected=f"1 to {_MOST_HITS:,}", got=show(limit))
        if scope is not None:
            require_text("scope", scope)
        if budget_tokens is not None:
            require_whole("budget_tokens", budget_tokens)
        wanted = where_of(where)
        named = session_ids(sessions)
        name = query_name(self._journal, query)
        reached = reach(self._journal, scope, named)
        if isinstance(reached, Fault):
            return self._recorder.fault(reached, detail=name)
        found = recalling.recall(
            reached.journals,
            query,
            limit,
            see_internal=lambda journal: internal or journal is self._journal,
            where=wanted,
            recall_tool=self._parts.recall.name if self._parts.recall is not None else None,
            meaning=self._embedding.meaning if self._embedding is not None else None,
            reranker=self._parts.reranker,
            unread=reached.unread,
        )
        outcome = self._recorder.with_faults(found.outcome, found.damages, name)
        if budget_tokens is None or not isinstance(outcome, Recalled):
            return outcome
        return within(outcome, budget_tokens, self._counter.text)

    def resolve(self, handle: str | Page, *, start: int = 0, length: int | None = None) -> Resolved | AnyFault:
        """The original text of a page, or a byte range of it; an empty range is a fault."""
        handle = handle.handle if isinstance(handle, Page) else handle
        require_whole("start", start)
        require_whole("length", 0 if length is None else length)
        outcome = resolve(self._journal, handle, start=start, length=length)
        if not isinstance(outcome, Fault):
            return outcome
        page = page_of(self._journal.state, handle)
        name = handle_name(self._journal, handle)
        return self._recorder.fault(outcome, page=page.seq if page is not None else None, detail=name)

    def erase(self, what: str | Page) -> Erased:
        """Destroy the text of a page and everything derived from it; its digest stays.

        Returns what was freed, which summaries were removed with it, and which other pages and notes repeat the text. Those stay until
        you erase them.

        Raises `NotScrubbed` if the text was erased but the file could not be rewritten while others read it: the bytes stay in the
        file until `pageturn vacuum --yes`.
        """
        page = page_named(self._journal.state, what)
        if page is None or page.erased:
            raise InvalidInput("handle", expected="the handle of a page that has text", got=show(what))
        self._recorder.require_open()
        erased = erase(self._journal, page, at=micros(self._parts.clock()))
        self._journal.store.scrub()
        return erased

    # -- writeback and boundaries

    def write_back(self, proposal: Proposal) -> Committed | Waiting | Rejected:
        """Stage and validate a model's proposal, then commit it, reject it, or let it wait for a person. A key is processed once."""
        require_instance("proposal", proposal, Proposal)
        proposal = from_json(Proposal, to_json(proposal))  # constructors check nothing
        return self._writeback.propose(proposal)

    def waiting(self) -> tuple[ProposalForReview, ...]:
        """The proposals that wait for a person, oldest first: rules, rewordings of the host's text, replacements of its plan."""
        return self._writeback.waiting()

    def approve(self, id: int) -> Committed | Rejected:  # noqa: A002
        """Commit a waiting proposal. It is checked again, and rejected if it has become invalid, for instance because its evidence was
        erased.
        """
        return self._writeback.approve(id)

    def reject(self, id: int, reason: str) -> Committed | Rejected:  # noqa: A002
        """Reject a waiting proposal and keep the reason. If another person has just approved it, that outcome is returned."""
        return self._writeback.reject(id, reason)

    def checkpoint(self) -> FlushMiss | None:
        """Write everything to disk; returns a fault if that failed."""
        if self._summaries is not None:
            self._summaries.tend()
        return self._writeback.cross(BoundaryKind.SAVE)

    def refresh(self) -> int:
        """Read what other writers appended, after a `Conflict`; returns the number of entries."""
        return self._journal.catch_up()

    def close(self) -> FlushMiss | None:
        """Write everything to disk and close the store; returns a fault if something could not be written."""
        if self._recorder.is_closed:
            return None
        if self._summaries is not None:
            self._summaries.close()
        if self._embedding is not None:
            self._embedding.close()
        fault = self._writeback.cross(BoundaryKind.CLOSE)
        self._recorder.is_closed = True
        if self._owns_store:
            self._journal.store.close()
        return fault

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        fault = self.close()
        if fault is not None and error is None:
            raise StoreError(f"session {self.id!r}: {fault} ({self.reader.faults()[-1].entry.detail})")

    # -- inside

    def _pages_between(self, handles: str, start: int = 0) -> Sequence[Page] | AnyFault:
        """The pages of a range without the first `start`; their text is not read."""
        found = self.reader.pages_between(handles, start)
        return self._recorder.with_faults(found, (), handle_name(self._journal, handles))

    @property
    def _policy_now(self) -> DerivePolicy:
        """The policy in use; raises `UnknownPolicy` if it is a user's own and not registered here."""
        if self._policy is not None:
            return self._policy
        chosen = self._journal.state.policy
        if self._chosen is None or self._chosen[0] is not chosen:
            self._chosen = (chosen, restored(chosen))
        return self._chosen[1]

    def _model_of(self, model: str | None) -> str:
        """The model of a call: the one given, or the session's."""
        return model if model is not None else self._model or self.reader.model

    def _counter_of(self, model: str) -> TokenCounter:
        """The counter of a call: the host's own, or the one of the model."""
        return self._parts.counter or counter_for(model)

    def _begin_with(self, policy: DerivePolicy | None, model: str | None) -> None:
        wanted = policy if policy is not None else None if self._journal.head else Paged()
        if wanted is not None and (as_chosen(wanted) != self._journal.state.policy or not self._journal.head):
            self.choose(wanted)  # a new session records even the policy that an old session without a record would have
        if model is not None:
            if model != self._journal.state.model:
                self._recorder.append(e.ModelChosen(model=model))
            self._model = None  # the journal says it from now on, to forks and to others who have the session open


def _require_choices(policy: DerivePolicy | None, model: str | None, scope: str | None) -> None:
    for path, text in (("model", model), ("scope", scope)):
        if text is not None:
            require_text(path, text)
    if policy is not None:
        require_instance("policy", policy, DerivePolicy)
        require_registered(policy)
        require_online(policy)


class _Source:
    """The part of a session that the recall tool uses; an unknown range is recorded as a fault, too."""

    def __init__(self, session: Session, sessions: Iterable[str]) -> None:
        self._session = session
        self._sessions = session_ids(sessions)

    def resolve(self, handle: str, *, start: int = 0, length: int | None = None) -> Resolved | AnyFault:
        journal = journal_beside(self._session._journal, handle, self._sessions) if self._sessions else None  # noqa: SLF001
        if journal is not None:
            return resolve(journal, handle, start=start, length=length)
        return self._session.resolve(handle, start=start, length=length)

    def recall(self, query: str, limit: int = 5, *, where: Where | None = None) -> Recalled | AnyFault:
        return self._session.recall(query, limit, where=where, sessions=self._sessions)

    def pages_between(self, handles: str, start: int = 0) -> Sequence[Page] | AnyFault:
        return self._session._pages_between(handles, start)  # noqa: SLF001


def _added(fresh: Fresh) -> Page:
    assert isinstance(fresh.entry, e.MessageAdded)
    return fresh.entry.page
