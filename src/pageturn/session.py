"""Session: one agent's work, and the one object that a user holds.

It assigns ids and times, hands facts to the journal, writes again after a conflict where that is safe, and asks the modules
below for everything else. It is synchronous and owned by one thread.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from types import TracebackType
from typing import Any, Self, overload

from pageturn.context.derive import Deriver
from pageturn.context.renditions import BUILT_IN, Renderers
from pageturn.formats.task_log import TaskLog, says_no
from pageturn.journal.erasing import Erased, erase
from pageturn.journal.journal import Fresh, Journal, require_scope
from pageturn.journal.lookup import Damage, handle_name, page_of, query_name
from pageturn.journal.paging import Pager
from pageturn.journal.reader import SessionReader
from pageturn.journal.writing import Recorder
from pageturn.policies import DerivePolicy, Paged, as_chosen, require_online, require_registered, restored
from pageturn.recall import search as recalling
from pageturn.recall.search import Recalled, Reranker, Resolved, Where
from pageturn.recall.tool import RecallRequest, answer
from pageturn.stores import SessionRow, Store, open_store, path_of
from pageturn.tokens.counters import TokenCounter, counter_for
from pageturn.values import entries as e
from pageturn.values.checks import require_bool, require_callable, require_instance, require_text, require_whole
from pageturn.values.chosen_policy import ChosenPolicy
from pageturn.values.context import Context
from pageturn.values.entries import BoundaryKind, Committed, Rejected, Waiting
from pageturn.values.errors import Conflict, InvalidInput, PageturnError, StoreError, show
from pageturn.values.faults import AnyFault, BackendError, Denied, Fault, FlushMiss
from pageturn.values.handles import parse
from pageturn.values.ids import micros, require_session_id, uuid7
from pageturn.values.json import from_json, to_json
from pageturn.values.messages import Message, Role, ToolCall, require_speaker, system, tool_result, user
from pageturn.values.notes import ContextMessage
from pageturn.values.pages import Page, PageKind, classify
from pageturn.values.plans import Plan
from pageturn.values.proposals import Proposal, ProposalForReview
from pageturn.values.reasoning import has_reasoning
from pageturn.values.recall_tool import RecallTool
from pageturn.values.units import unanswered
from pageturn.values.usage import Usage
from pageturn.writeback import validation as writeback
from pageturn.writeback.settle import for_review, ground_of, staged
from pageturn.writeback.summaries import Summaries, Summarizer, require_summarizer
from pageturn.writeback.writeback import Writeback

_MOST_HITS = 1_000


class Session:
    """A durable, append-only session. Make one with `Session.open`."""

    def __init__(
        self,
        journal: Journal,
        *,
        policy: DerivePolicy | None = None,  # for those who only look: derive by this one, whatever the journal says
        model: str | None = None,  # likewise
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        entropy: Callable[[int], bytes] = os.urandom,
        reranker: Reranker | None = None,
        recall: RecallTool | None = RecallTool(),  # noqa: B008
        renderers: Renderers = BUILT_IN,
        counter: TokenCounter | None = None,
        summarizer: Summarizer | None = None,
        owns_store: bool = False,
    ) -> None:
        self._journal = journal
        self._policy = policy
        self._chosen: tuple[ChosenPolicy, DerivePolicy] | None = None  # what the journal says, and what that is here
        self._owns_store = owns_store
        self._model = model
        self._clock = clock
        self._entropy = entropy
        self._reranker = reranker
        self._recall_tool = recall
        self._renderers = renderers
        self._given_counter = counter
        self._counter = self._counter_of(self._model_of(None))
        self._pager = Pager(journal, self._counter, lambda: uuid7(clock(), entropy), lambda: micros(clock()))
        self._recorder = Recorder(self._pager, clock)
        self._writeback = Writeback(self._recorder)
        self._deriver = Deriver(self._recorder, self._counter_of, recall, renderers)
        self._summarizer = summarizer
        self._summaries = (
            Summaries(self._recorder, self._counter.text, self.write_back, summarizer)
            if summarizer is not None
            else None
        )

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
        reranker: Reranker | None = None,
        wait_seconds: float | None = None,
    ) -> Self:
        """Open a session, or begin it where there is none of that id.

        Reading never waits for another writer. A write waits for at most `wait_seconds` (5 unless the URL says otherwise; 0 is
        not at all), and then raises `StoreError`. A session that was begun with a scope is opened with that scope, and not without.
        """
        _require_fit(policy=policy, model=model, scope=scope, summarizer=summarizer)
        for path, function in (("clock", clock), ("entropy", entropy)):
            require_callable(path, function)
        if id is None:
            id = uuid7(clock(), entropy)  # noqa: A001
        require_session_id(id)
        owns_store = not isinstance(url, Store)
        if wait_seconds is not None and not owns_store:
            none = "none beside a store, which has its own"
            raise InvalidInput("wait_seconds", expected=none, got=show(wait_seconds))
        store = url if isinstance(url, Store) else open_store(path_of(url), wait_seconds=wait_seconds)
        try:
            journal = _open_or_begin(store, SessionRow(id, entropy(16), micros(clock()), scope))
            require_scope(journal.row, scope)
        except PageturnError:
            if owns_store:
                store.close()
            raise
        session = cls(
            journal,
            model=model,
            clock=clock,
            entropy=entropy,
            reranker=reranker,
            recall=recall,
            renderers=renderers,
            counter=counter,
            summarizer=summarizer,
            owns_store=owns_store,
        )
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
        """What the session is and was, for those who only look."""
        return SessionReader(self._journal, lambda: self._recorder.unwritten)

    @property
    def summaries(self) -> Summaries | None:
        """The summaries that are prepared beside the turns; None without a summarizer."""
        return self._summaries

    # -- facts

    def append(self, message: Message, usage: Usage | None = None) -> Page:
        """Write a message down. That of an assistant ends a turn, and its usage belongs to that turn."""
        return self._extend({"message": message}, usage)[0]

    def extend(self, messages: Iterable[Message]) -> tuple[Page, ...]:
        """Write messages down, all or none."""
        if isinstance(messages, Message | str | bytes) or not isinstance(messages, Iterable):
            raise InvalidInput("messages", expected="a list of messages", got=show(messages))
        return self._extend({f"messages[{index}]": message for index, message in enumerate(messages)})

    def _extend(self, named: Mapping[str, Message], usage: Usage | None = None) -> tuple[Page, ...]:
        """Write down messages, each with the name that an error gives it."""
        for path, message in named.items():
            require_instance(path, message, Message)
            require_speaker(path, message)
        messages = tuple(named.values())
        if not messages:
            return ()
        turns = [index for index, message in enumerate(messages) if message.role == Role.ASSISTANT]
        derived = self._deriver.answered() if turns else None
        is_fold = derived is not None and derived.folded is not None
        boundary = self._writeback.before_compaction() if is_fold else []
        fresh = self._deriver.before_messages(micros(self._clock()))
        is_opening = self._journal.state.is_opening
        for index, message in enumerate(messages):
            kind = classify(message, is_opening=is_opening)
            is_opening = is_opening and kind is PageKind.BOOTSTRAP
            fresh.append(self._pager.page(message, kind, ahead=len(fresh)))
            if message.role is Role.ASSISTANT:
                reported = usage if usage is not None and index == turns[-1] else message.usage
                shown = derived.shown if derived is not None and index == turns[0] else None
                page = self._journal.head + len(fresh)
                is_stale = shown is not None and has_reasoning(message) and self._deriver.is_overtaken(shown, by=index)
                turn = e.TurnTaken(page=page, usage=reported, shown=shown, unreasoned=is_stale)
                fresh.append(Fresh(turn, derived.blobs if derived is not None and shown is not None else {}))
                fresh += boundary if shown is not None else ()
            elif message.usage is not None:
                fresh.append(Fresh(e.UsageReported(usage=message.usage)))
        if usage is not None and not turns:
            fresh.append(Fresh(e.UsageReported(usage=usage)))
        self._recorder.write(fresh)
        pages = tuple(each.entry.page for each in fresh if isinstance(each.entry, e.MessageAdded))
        self._deriver.take_in(pages, [each.message for each in fresh if each.message is not None], derived)
        if self._summaries is not None:
            self._summaries.tend()
        return pages

    def derive(
        self, tools: Iterable[Mapping[str, Any]] = (), *, model: str | None = None, budget_tokens: int | None = None
    ) -> Context:
        """What the next call gets, within the least of this budget, the policy's and what the model takes. Writes nothing."""
        self._recorder.require_open()
        context = self._deriver.derive(self._policy_now, tools, self._model_of(model), budget_tokens)
        if self._summaries is not None:
            self._summaries.wish(context.wanted)
        return context

    def answer(self) -> bool:
        """Answer the model's calls of the recall tool. True if it called nothing else, so that it can go on at once."""
        state = self._journal.state
        page = state.page(state.turns[-1]) if state.turns else None
        if page is None or self._recall_tool is None or page.undone:
            return False
        left = unanswered(tuple(each for each in state.pages[state.after(page.seq - 1) :] if not each.undone))
        message = self._journal.message(page)
        calls = [call for call in (message.tool_calls if message else ()) if call.id in left]
        ours = [call for call in calls if call.name == self._recall_tool.name]
        results = []
        for call in ours:
            told = answer(self._recall_tool, RecallRequest.of(call), _Source(self), self._deriver.most_answered)
            results.append(tool_result(call, told.text, is_error=told.is_error))
            self._deriver.note_fetched(told.given)
        if results:
            self.extend(results)
        return bool(ours) and len(ours) == len(calls)

    def overflow(self, error: object, *, model: str | None = None) -> bool:
        """A provider refused the last context. If it was too long, the next one is tighter; False if it was something else.

        None in place of an error forgets what was learned so of a model: it takes more now, or the error was about something else.
        """
        if error is None:
            return self._deriver.forget_overflow(self._model_of(model))
        if model is not None:
            raise InvalidInput(
                "model", expected="none beside an error, which is about the last context", got=show(model)
            )
        return self._deriver.overflow(error)

    def undo(self, turns: int = 1) -> None:
        """Take back the last turns: their messages no longer count, but stay in the journal."""
        first = self._journal.state.start_of_turns(turns) if type(turns) is int else None
        if first is None:
            have = len(self._journal.state.turns)
            raise InvalidInput(
                "turns", expected=f"1 to {have}" if have else "at least one turn to undo", got=show(turns)
            )
        self._recorder.append(e.TurnsUndone(first=first, last=self._journal.head))

    def fork(self, id: str | None = None) -> "Session":  # noqa: A002
        """A new session that shares this one's past."""
        row = self._journal.row
        name = id if id is not None else uuid7(self._clock(), self._entropy)
        require_session_id(name)
        self._recorder.require_open()
        head = self._journal.head
        child = SessionRow(name, row.key, micros(self._clock()), row.scope, row.id, head, head)
        journal = _begin(self._journal.store, child, parent=self._journal)
        return Session(
            journal,
            model=self._model,
            clock=self._clock,
            entropy=self._entropy,
            reranker=self._reranker,
            recall=self._recall_tool,
            renderers=self._renderers,
            counter=self._given_counter,
            summarizer=self._summarizer,
        )

    def reset(self, summary: str, *, force: bool = False) -> Page:
        """Begin afresh with a summary by the host: what came before is covered by it, and still recalled.

        It is checked as a model's would be, against everything since the last reset; `force` takes it as it is.
        """
        require_text("summary", summary)
        require_bool("force", force)
        self._recorder.require_open()
        flaw = None if force else writeback.flaw_of_reset(summary, ground_of(self._pager, self._journal.row.scope))
        if flaw is not None:
            expected = "a text that can stand for everything since the last reset (force=True takes any)"
            raise InvalidInput("summary", expected=expected, got=f"one that cannot: {flaw}")
        # It covers everything before it, so its author must have seen everything: unlike elsewhere, a conflict is told.
        self._recorder.flush_faults()
        self._writeback.settle_all()
        page = self._pager.page(user(summary, synthetic=True), PageKind.CONVERSATION, ahead=1)
        covering = e.SessionReset(page=self._journal.head + 2)
        self._recorder.write([Fresh(e.BoundaryCrossed(kind=BoundaryKind.RESET)), page, Fresh(covering)])
        return self._journal.state.pages[-1]

    def choose(self, policy: DerivePolicy) -> None:
        """Derive by another policy from here on."""
        require_instance("policy", policy, DerivePolicy)
        require_online(policy)
        self._recorder.append(e.PolicyChosen(policy=as_chosen(policy)))

    def grant(self, scope: str, *, allowed: bool = True) -> None:
        """Let recall and writeback reach into a scope, or no longer."""
        self._recorder.append(e.ScopeGranted(scope=scope, allowed=allowed))

    # -- promises

    def pin(self, what: str | Page, structured: str | None = None) -> Page:
        """Make a text or a page a constraint, which never sinks below its structured form."""
        page = self._page_named(what)
        if page is None:
            require_text("what", what)
            fresh = self._pager.constraint(str(what), structured)
        else:
            if not page.counts or self._journal.message(page) is None:
                raise InvalidInput("handle", expected="the handle of a page that counts", got=show(page.handle))
            fresh = [self._pager.pin(page.seq, structured)]
        name = page.handle if page is not None else "the new pin"
        self._deriver.require_room(self._policy_now, self._model_of(None), fresh, name)
        self._recorder.write(fresh)
        self._deriver.accept_rule()
        return page or _added(fresh[0])

    def set_system(self, text: str) -> Page:
        """Replace the prompt that opens the session. The one before stays in the journal, and the next context is folded anew."""
        state = self._journal.state
        now = state.page(state.system) if state.system is not None else None
        message = self._journal.message(now) if now is not None and now.counts else None
        if now is not None and message is not None and message.content == system(text).content:
            return now
        self._recorder.write(self._pager.opening(text))
        return self._journal.state.pages[-1]

    def pending(self) -> tuple[ToolCall, ...]:
        """The calls of the model that have no result yet and that the host has to run, the oldest first; after a crash, those to run again."""
        calls = []
        for page, references in groupby(self._journal.state.open_calls(), key=itemgetter(0)):
            message = self._journal.message(page)
            made = {call.id: call for call in reversed(message.tool_calls)} if message is not None else {}
            calls += [
                made.get(reference.id) or ToolCall(id=reference.id, name=reference.name, arguments="")
                for _, reference in references
                if self._recall_tool is None or reference.name != self._recall_tool.name
            ]
        return tuple(calls)

    def unpin(self, what: str | Page) -> None:
        """Make a pinned page what it was before."""
        page = self._page_named(what)
        if page is None or page.seq not in self._journal.state.pins:
            raise InvalidInput("handle", expected="the handle of a pinned page", got=show(what))
        self._recorder.append(e.Unpinned(page=page.seq))
        self._deriver.unpinned()

    @overload
    def plan(self, goal: str | Plan | None, steps: Sequence[str] = (), current: int = 0) -> Page: ...

    @overload
    def plan(self, goal: TaskLog) -> Page | None: ...

    def plan(self, goal: str | Plan | TaskLog | None, steps: Sequence[str] = (), current: int = 0) -> Page | None:
        """Set the plan; the one before stays in the journal. None clears it: plans leave the context, and the page that is given back says so.

        A task log (`pageturn.formats.task_log.read_task_log`) sets the plan and the prohibitions that it comes to, in place of those that
        it gave before, and what is known is not added again; the page is that of the plan in force, if there is one. All of it or
        nothing: where a prohibition has no room (`BudgetTooSmall`), those that were in force stay.
        """
        if isinstance(steps, str) or not isinstance(steps, Sequence):
            raise InvalidInput("steps", expected="a list of texts", got=show(steps))
        if isinstance(goal, TaskLog):
            return self._plan_by(goal)
        if goal is None:
            if steps or current or self.reader.plan is None:
                got = "None with steps" if steps or current else "None, though no plan is in force"
                raise InvalidInput("goal", expected="a goal, or None to clear the plan in force", got=got)
            plan = None
        else:
            plan = goal if isinstance(goal, Plan) else Plan(goal=goal, steps=tuple(steps), current=current)
        self._recorder.write(self._pager.plan(plan))
        return self._journal.state.pages[-1]

    def prefer(self, text: str, scope: str | None = None) -> Page:
        """Write down a wish of the user or of the project.

        With a scope it is shown only in sessions of that scope, or to which that scope is granted; others keep it and recall it.
        """
        if scope is not None:
            require_text("scope", scope)
        self._recorder.write(self._pager.preference(text, scope))
        return self._journal.state.pages[-1]

    def _plan_by(self, log: TaskLog) -> Page | None:
        if log.speaks_of_goals:
            fresh = self._prohibitions_of(log)
            if any(isinstance(each.entry, e.Pinned) for each in fresh):
                self._deriver.require_room(self._policy_now, self._model_of(None), fresh, "the task log")
            fresh += self._plan_of(log, ahead=len(fresh))
            if fresh:
                self._recorder.write(fresh)
        now = self._journal.state.plan
        return self._journal.state.page(now.page) if now is not None else None

    def _prohibitions_of(self, log: TaskLog) -> list[Fresh]:
        """The entries that pin what a task log forbids, and unpin what it forbade before, unless somebody else pinned that too."""
        state = self._journal.state
        rules = {page: message.text for page in state.live_pages() if page.seq in state.pins
                 if (message := self._journal.message(page)) is not None}  # fmt: skip
        # An earlier version pinned the bare words, as if to do what is forbidden; words that forbid by themselves do no harm.
        bare = {text for text in log.forbidden if not says_no(text)}
        fresh = []
        for page, text in rules.items():
            is_over = page.seq in state.from_task_log and text not in log.prohibitions
            if is_over or (text in bare and page.kind is PageKind.CONSTRAINT):
                fresh.append(Fresh(e.Unpinned(page=page.seq, withdrawn=True)))
        for rule in log.prohibitions:
            if rule not in rules.values():
                fresh += self._pager.constraint(rule, None, e.TASK_LOG, ahead=len(fresh))
        return fresh

    def _plan_of(self, log: TaskLog, *, ahead: int) -> list[Fresh]:
        """The entries that set the plan of a task log, or clear the one that it gave."""
        now, plan = self._journal.state.plan, self.reader.plan
        if log.plan is not None:
            return self._pager.plan(log.plan, source=e.TASK_LOG, ahead=ahead) if log.plan != plan else []
        is_its = now is not None and (now.source == e.TASK_LOG or (plan is not None and plan.goal in log.goals))
        return self._pager.plan(None, source=e.TASK_LOG, ahead=ahead) if plan is not None and is_its else []

    def inject(self, note: ContextMessage) -> Page | None:
        """Add a durable note, in place of an earlier one of its key. A note of the conversation becomes a page where it came, and nothing else.

        A system or session note that comes and goes (by a cooldown, or shown once after the first context) stands at the end of the
        prompt, which costs no cache; `context.notes` and `context.notices` say so.
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
        """Take a durable note back: it leaves the prompt with the next fold, or at once where that costs nothing or `now` asks for it."""
        board = self._journal.state.noteboard
        if not isinstance(key, str) or not (key in board.notes or (now and board.stands(key))):
            raise InvalidInput("key", expected="the key of a durable note", got=show(key))
        self._recorder.append(e.NoteRetracted(key=key, now=now))

    # -- getting back

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
        """Search everything that was ever appended here, in other sessions that are named, or in all of a granted scope.

        `where` leaves out what is not by that role, of that kind, tool or turns. The excerpts take at most `budget_tokens`.
        """
        require_instance("query", query, str)
        if type(limit) is not int or not 1 <= limit <= _MOST_HITS:
            raise InvalidInput("limit", expected=f"1 to {_MOST_HITS:,}", got=show(limit))
        if scope is not None:
            require_text("scope", scope)
        if budget_tokens is not None:
            require_whole("budget_tokens", budget_tokens)
        wanted = recalling.where_of(where)
        named = recalling.session_ids(sessions)
        name = query_name(self._journal, query)
        own, grants = self._journal.row.scope, self._journal.state.grants
        if scope is not None and scope != own and scope not in grants:
            return self._recorder.fault(Denied(f"scope {scope!r} is not granted"), detail=name)
        try:
            rows = [*(self._journal.store.sessions(scope=scope) if scope is not None else ())]
            for id_ in named:
                row = self._journal.store.session(id_)
                if row is None or not (row.scope == own or row.scope in grants):
                    return self._recorder.fault(Denied(f"session {id_!r} is of no scope that is granted"), detail=name)
                rows.append(row)
            others, unread = self._others(rows)
        except StoreError as error:
            return self._recorder.fault(BackendError.of(error), detail=name)
        found = recalling.recall(
            [self._journal, *others],
            query,
            limit,
            see_internal=lambda journal: internal or journal is self._journal,
            where=wanted,
            reranker=self._reranker,
            unread=unread,
        )
        outcome = self._recorder.with_faults(found.outcome, found.damages, name)
        if budget_tokens is None or not isinstance(outcome, Recalled):
            return outcome
        return recalling.within(outcome, budget_tokens, self._counter.text)

    def resolve(self, handle: str | Page, *, start: int = 0, length: int | None = None) -> Resolved | AnyFault:
        """The original words of a page, or of a range of their bytes; a range without any is a fault."""
        handle = handle.handle if isinstance(handle, Page) else handle
        require_whole("start", start)
        require_whole("length", 0 if length is None else length)
        outcome = recalling.resolve(self._journal, handle, start=start, length=length)
        if not isinstance(outcome, Fault):
            return outcome
        page = page_of(self._journal.state, handle)
        name = handle_name(self._journal, handle)
        return self._recorder.fault(outcome, page=page.seq if page is not None else None, detail=name)

    def erase(self, what: str | Page) -> Erased:
        """Destroy the words of a page for ever, and what was made of them; its digest stays.

        Says what was freed, which summaries went along, and which other pages and notes repeat the words: those stay, and it is for
        you to decide whether they go too.

        `NotScrubbed` says that this was done, but that the file could not be rewritten while others read it, so that the
        bytes linger there until `pageturn vacuum --yes`.
        """
        page = self._page_named(what)
        if page is None or page.erased:
            raise InvalidInput("handle", expected="the handle of a page with words", got=show(what))
        self._recorder.require_open()
        erased = erase(self._journal, page, at=micros(self._clock()))
        self._journal.store.scrub()
        return erased

    # -- writeback and boundaries

    def write_back(self, proposal: Proposal) -> Committed | Waiting | Rejected:
        """Stage, validate, and commit or reject what a model proposes, or let it wait for a person. The same key twice is done once."""
        require_instance("proposal", proposal, Proposal)
        proposal = from_json(Proposal, to_json(proposal))  # a constructor looks at nothing
        state = self._journal.state
        txn = state.next_txn
        if proposal.key is not None:
            if (settled := state.settled.get(proposal.key)) is not None:
                return settled
            for same, waiting in state.waiting.items():
                if waiting.proposal.key == proposal.key:
                    return Waiting(txn=same)
            same_key = (txn for txn, waiting in state.staged.items() if waiting.proposal.key == proposal.key)
            txn = next(same_key, txn)
        if txn not in state.staged:
            self._recorder.write([staged(proposal, txn)])
        return self._writeback.settle_for_certain(txn)

    def waiting(self) -> tuple[ProposalForReview, ...]:
        """The proposals that wait for a person, the oldest first: forms of what the host said, and plans in place of the host's."""
        return tuple(for_review(self._pager, txn, self._journal.row.scope) for txn in self._journal.state.waiting)

    def approve(self, id: int) -> Committed | Rejected:  # noqa: A002
        """Commit what waits. It is checked again: rejected is what no longer holds, because its evidence was erased, for instance."""
        self._require_waiting(id)
        return self._writeback.approve(id)

    def reject(self, id: int, reason: str) -> Committed | Rejected:  # noqa: A002
        """Refuse what waits; the reason is kept. Where another person has just approved it, that is what comes back."""
        self._require_waiting(id)
        require_text("reason", reason)
        return self._writeback.reject(id, reason)

    def checkpoint(self) -> FlushMiss | None:
        """Make sure that everything is on disk; a fault says that it is not."""
        if self._summaries is not None:
            self._summaries.tend()
        return self._writeback.cross(BoundaryKind.SAVE)

    def refresh(self) -> int:
        """Take in what other writers appended, after a `Conflict`; says how many entries that were."""
        return self._journal.catch_up()

    def close(self) -> FlushMiss | None:
        """Write down what is left, and let go of the store; a fault says what could not be written."""
        if self._recorder.is_closed:
            return None
        if self._summaries is not None:
            self._summaries.close()
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
        """The pages of a range but for the first `start`, without their words."""
        found = self.reader.pages_between(handles, start)
        return self._recorder.with_faults(found, (), handle_name(self._journal, handles))

    def _page_named(self, what: str | Page) -> Page | None:
        """The page that a handle means; None for any other text. A handle that does not resolve is refused."""
        handle = what.handle if isinstance(what, Page) else what
        if parse(handle) is None:
            return None
        page = page_of(self._journal.state, handle)
        if page is None:
            raise InvalidInput("handle", expected="the handle of a page of this session", got=show(handle))
        return page

    def _require_waiting(self, id: int) -> None:  # noqa: A002
        waiting = self._journal.state.waiting
        if type(id) is not int or id not in waiting:
            ids = ", ".join(map(str, waiting))
            expected = (
                f"the id of a proposal that waits, one of {ids}" if ids else "the id of a proposal, though none waits"
            )
            raise InvalidInput("id", expected=expected, got=show(id))

    def _others(self, rows: Iterable[SessionRow]) -> tuple[list[Journal], list[Damage]]:
        """The other sessions among these: those that can be read, and what is wrong with the rest."""
        journals: list[Journal] = []
        unread: list[Damage] = []
        for row in {row.id: row for row in rows if row.id != self.id}.values():
            try:
                journals.append(journal := Journal(self._journal.store, row))
            except StoreError as error:
                unread.append(Damage(row.id, None, BackendError.of(error)))
            else:
                lost = journal.state.damage
                unread += [Damage(row.id, None, BackendError(lost.what))] if lost is not None else []
        return journals, unread

    @property
    def _policy_now(self) -> DerivePolicy:
        """How it chooses what is in the context; `UnknownPolicy` where that is a user's own and not registered here."""
        if self._policy is not None:
            return self._policy
        chosen = self._journal.state.policy
        if self._chosen is None or self._chosen[0] is not chosen:
            self._chosen = (chosen, restored(chosen))
        return self._chosen[1]

    def _model_of(self, model: str | None) -> str:
        """The model that is meant, unless a call says otherwise the one that the session talks to."""
        return model if model is not None else self._model or self.reader.model

    def _counter_of(self, model: str) -> TokenCounter:
        """Who counts the tokens of a call: the host's own counter, or the one that fits the model."""
        return self._given_counter or counter_for(model)

    def _begin_with(self, policy: DerivePolicy | None, model: str | None) -> None:
        if model is not None and model != self._journal.state.model:
            self._recorder.append(e.ModelChosen(model=model))
        wanted = policy if policy is not None else None if self._journal.head else Paged()
        if wanted is not None and (as_chosen(wanted) != self._journal.state.policy or not self._journal.head):
            self.choose(wanted)  # a new session says so even of what a stored one that says nothing would mean


class _Source:
    """What the recall tool asks of a session: a range that is not there is a fault of it, too."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.resolve = session.resolve
        self.recall = session.recall

    def pages_between(self, handles: str, start: int = 0) -> Sequence[Page] | AnyFault:
        return self._session._pages_between(handles, start)  # noqa: SLF001


def _require_fit(
    *, policy: DerivePolicy | None, model: str | None, scope: str | None, summarizer: Summarizer | None
) -> None:
    for path, text in (("model", model), ("scope", scope)):
        if text is not None:
            require_text(path, text)
    if policy is not None:
        require_instance("policy", policy, DerivePolicy)
        require_registered(policy)
        require_online(policy)
    if summarizer is not None:
        require_summarizer(summarizer)


def _added(fresh: Fresh) -> Page:
    assert isinstance(fresh.entry, e.MessageAdded)
    return fresh.entry.page


def _begin(store: Store, row: SessionRow, parent: Journal | None = None) -> Journal:
    store.create(row)
    return Journal(store, row, parent=parent)


def _open_or_begin(store: Store, row: SessionRow) -> Journal:
    """The journal of a session; where two begin it at the same time, one of them opens the other's."""
    journal = Journal.open(store, row.id)
    if journal is None:
        with suppress(Conflict):
            return _begin(store, row)
        journal = Journal.open(store, row.id)
    assert journal is not None, "sessions are never removed"
    return journal
