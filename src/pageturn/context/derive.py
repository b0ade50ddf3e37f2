"""Derives the contexts of one session for its callers, and says what to write when a context is answered."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from pageturn.context.fold import Needed, Terms
from pageturn.context.renditions import Renderers
from pageturn.context.repeats import RepeatedPages
from pageturn.context.token_limits import TokenLimits, budget_with_reserve, reserve
from pageturn.context.working_set import ContextRequest, Derived, WorkingSet
from pageturn.journal.journal import Fresh
from pageturn.journal.lookup import page_of
from pageturn.journal.writing import Recorder
from pageturn.policies import DerivePolicy, require_online
from pageturn.policies.checked import CheckedPolicy
from pageturn.tokens.counters import TokenCounter
from pageturn.tokens.too_long import read_overflow
from pageturn.values.checks import require_instance, require_text, require_whole
from pageturn.values.context import Context
from pageturn.values.digests import digest_of
from pageturn.values.entries import (
    BoundaryCrossed,
    BoundaryKind,
    Fold,
    OverflowForgotten,
    PageErased,
    Shown,
    UsageReported,
)
from pageturn.values.errors import BudgetTooSmall, Damaged, InvalidInput, RuleUnreadable, show
from pageturn.values.faults import AnyFault, Refetch
from pageturn.values.ids import micros
from pageturn.values.json import to_json
from pageturn.values.messages import Message, Role
from pageturn.values.notes import ContextMessageTarget
from pageturn.values.pages import Page, ResidencyLevel
from pageturn.values.recall_tool import RecallTool
from pageturn.values.usage import Usage
from pageturn.values.vendors import ReasoningRule, profile_of

_INSTRUCTIONS = (Role.SYSTEM, Role.DEVELOPER)
_MOST_COUNTERS = 2  # whose working sets are cached: the session's own, and that of a call for another model


class _Asked(NamedTuple):
    """The arguments of the last derivation."""

    tools: Sequence[Mapping[str, Any]] = ()
    model: str | None = None
    budget_tokens: int | None = None
    policy: DerivePolicy | None = None

    def is_again(self, policy: DerivePolicy, model: str, budget_tokens: int | None) -> bool:
        """Whether a derivation has the same arguments, and then only its tools need a check."""
        return policy is self.policy and model is self.model and budget_tokens is self.budget_tokens


class _Counted(NamedTuple):
    """Tools as JSON, with the recall tool; their digest, and their tokens."""

    data: bytes = b""
    digest: str = ""
    tokens: int = 0


class _Opened(NamedTuple):
    """The tokens sent before a conversation that has begun, by a counter, as long as nothing changes."""

    counter: TokenCounter
    changes: int
    tokens: int


class Deriver:
    """Derives the contexts of one session."""

    def __init__(
        self,
        recorder: Recorder,
        counter_of: Callable[[str], TokenCounter],
        recall_tool: RecallTool | None,
        renderers: Renderers,
    ) -> None:
        self._recorder = recorder
        self._state = recorder.journal.state
        self._counter_of = counter_of
        self._recall_tool = recall_tool
        self._renderers = renderers
        self._working_sets: dict[str, WorkingSet] = {}  # by the name of the counter, most recently used last
        self._repeats = RepeatedPages(self._state)
        self._counted: dict[str, _Counted] = {}  # by counter: the last tools
        self._own_tools = [recall_tool.definition] if recall_tool is not None else []
        self._own_data = to_json(self._own_tools)
        self._asked = _Asked()
        self._limits = TokenLimits(self._state)
        # The state's changes when pages were last scanned, and where the scan ended.
        self._begins: tuple[int, int] = (-1, 0)
        self._opened: _Opened | None = None
        self._accepting: tuple[WorkingSet, Needed] | None = None  # for a rule that fits and is not written yet
        self._noticed: list[PageErased] = []  # pages that other sessions erased, not yet recorded here
        self._derived: Derived | None = None  # the last context, if it is not answered yet
        self._reported: set[int] = set()  # pages whose damage was recorded

    def derive(
        self,
        policy: DerivePolicy,
        tools: Iterable[Mapping[str, Any]],
        model: str,
        budget_tokens: int | None,
        room_tokens: int | None = None,
    ) -> Context:
        """The context for the next call. Writes nothing."""
        is_again = room_tokens is None and self._asked.is_again(policy, model, budget_tokens)
        if not is_again:
            for path, tokens in (("budget_tokens", budget_tokens), ("room_tokens", room_tokens)):
                if tokens is not None:
                    require_whole(path, tokens)
            require_online(policy)
            require_text("model", model)
        if type(tools) is not tuple:
            if not isinstance(tools, Iterable):
                raise InvalidInput("tools", expected="tool definitions", got=show(tools))
            tools = tuple(tools)
        self._require_entries()
        counter = self._counter_of(model)
        working_set = self._working_set(counter)
        self._noticed += self._recorder.journal.notice_erased()
        digest, fixed_tokens = self._count(tools, counter)
        known = self._opened
        is_known = known is not None and known.counter is counter and known.changes == self._state.changes
        fixed_tokens += known.tokens if known is not None and is_known else self._opening_tokens(counter)
        if room_tokens is not None:
            above = room_tokens + self._limits.reported_for(model, fixed_tokens + self._prompt_tokens(working_set))
            budget_tokens = min(budget_tokens, above) if budget_tokens else above
        limit = self._limits.limit(policy, model, budget_tokens)
        asked = ContextRequest(
            Terms(CheckedPolicy(policy), self._limits.most(model, limit), fixed_tokens, self._recall_tool is not None),
            model,
            tools,
            self._recall_tool,
            digest,
        )
        try:
            try:
                self._derived = working_set.derive(asked)
            except BudgetTooSmall as error:
                room = min(limit, self._limits.room_for(model, limit, error))
                asked = asked._replace(terms=asked.terms._replace(budget_tokens=room))
                self._derived = working_set.derive(asked)
        except RuleUnreadable as error:
            self._keep_damage(error.page, error.fault)
            raise
        if not is_again or self._asked.tools is not tools:
            self._asked = _Asked(tools, model, budget_tokens, policy)
        return self._derived.context

    def _require_entries(self) -> None:
        """Raise if an entry cannot be read: it may have been a rule, or have changed one."""
        damage = self._state.damage if self._state.lost else None
        if damage is not None:
            session = self._recorder.journal.row.id
            advice = "it may have been a rule, so no context is derived; run `pageturn doctor --repair` to continue without it"
            raise Damaged(f"session {session!r}: {damage.what}; {advice}")

    def _keep_damage(self, page: int, fault: AnyFault) -> None:
        """Remember a damaged page, once; the fault is written with the next entries."""
        if page not in self._reported:
            self._reported.add(page)
            self._recorder.keep(fault, page=page)

    def answered(self) -> Derived | None:
        """The context that an answer belongs to: the last one, unless another process took a turn since.

        A fold made before a later change, say before a page was erased, is not kept: the next context folds again.
        """
        derived = self._derived
        if derived is None or derived.turn != self._state.turn:
            return None
        if derived.folded is None or self._still_holds(derived, derived.folded.fold):
            return derived
        return derived._replace(folded=None, shown=msgspec.structs.replace(derived.shown, fold=None, is_outdated=True))

    def _still_holds(self, derived: Derived, fold: Fold) -> bool:
        """Whether a fold is still valid: nothing it shows has changed, nor which of its pages are rules."""
        pins = {page: form for page, form in self._state.pins.items() if page <= fold.upto}
        return fold.changes == self._state.changes and pins == derived.pins

    def take_in(self, pages: Sequence[Page], messages: Sequence[Message], derived: Derived | None) -> None:
        """Cache messages that were just written, and record a fault for each result that had to be fetched again."""
        self._noticed.clear()  # they have been written
        working_set = next(reversed(self._working_sets.values()), None)
        if working_set is not None:
            for page, message in zip(pages, messages, strict=True):
                working_set.add(page, message)
        if derived is not None and working_set is not None:
            working_set.acknowledge(derived)
            self._derived = None
            for page_, fault in working_set.faults():
                if page_ not in self._reported:
                    self._reported.add(page_)
                    self._recorder.fault(fault, page=page_)
        # Else these pages may come after an answer to that context.
        if working_set is not None and self._derived is None:
            working_set.prepare()
        if self._state.shown is not None:
            for page in pages:
                self._note_repeats(page)

    def is_overtaken(self, shown: Shown, *, by: int) -> bool:
        """Whether the reasoning of a reply cannot be sent back, because the context before it will be different.

        That is so if messages arrived while the model answered (`by` of them together with the reply), or if a note was shown after the
        history in that one context only.
        """
        if profile_of(shown.model).reasoning is not ReasoningRule.NONE_BEHIND_A_CHANGE:
            return False
        had_suffix = any(note.band is ContextMessageTarget.SUFFIX_SYSTEM for note in shown.notes)
        return had_suffix or by > 0 or len(self._state.pages) > self._state.after(shown.upto)

    def overflow(self, error: object) -> bool:
        """Record that the last context was too long; False if the error says something else."""
        found = read_overflow(error)
        if found is None or self._derived is None:
            return False
        shown = self._derived.shown
        usage = Usage(input_tokens=found.sent or shown.tokens, model=shown.model)
        most = found.most_tokens(shown.tokens)
        self._recorder.append(UsageReported(usage=usage, most_tokens=most, refused_tokens=shown.tokens))
        return True

    def forget_overflow(self, model: str) -> bool:
        """Record that an earlier refusal of the model no longer applies; False if it had refused nothing."""
        require_text("model", model)
        if model not in self._state.bounds:
            return False
        self._recorder.append(OverflowForgotten(model=model))
        return True

    def before_messages(self, clock: Callable[[], datetime]) -> list[Fresh]:
        """Entries to write before any other: pages that others erased, and the boundary when the cache has expired."""
        state = self._state
        noticed = [Fresh(entry) for entry in self._noticed]
        last = state.page(state.turns[-1]) if state.turns else None
        if last is None or state.shown is None or state.is_cold:
            return noticed
        remembered = profile_of(state.shown.model).billing.ttl_seconds
        if remembered is None or micros(clock()) - last.at < remembered * 1_000_000:
            return noticed
        return [*noticed, Fresh(BoundaryCrossed(kind=BoundaryKind.COLD_CACHE))]

    def require_room(self, policy: DerivePolicy, model: str, rule: Sequence[Fresh], name: str) -> None:
        """Raise if no context could be derived with one more promise and the last tools, notes, task and budget, or none soon after it."""
        model = self._asked.model or model
        counter = self._counter_of(model)
        _, fixed_tokens = self._count(self._asked.tools, counter)
        fixed_tokens += self._opening_tokens(counter)
        limit = self._limits.limit(policy, model, self._asked.budget_tokens)
        terms = Terms(CheckedPolicy(policy), limit, fixed_tokens, self._recall_tool is not None)
        working_set, most = self._working_set(counter), self._limits.most(model, limit)
        needed = working_set.needed_with(rule, terms, most - reserve(most))
        if needed.tokens > most - reserve(most):
            rules = [page for page in self._state.live_pages() if self._state.kind(page).is_rule]
            largest = [page.handle for page in sorted(rules, key=lambda page: -page.tokens)]
            at_least = budget_with_reserve(needed.tokens)
            self._limits.room_for(
                model, limit, BudgetTooSmall(needed_tokens=at_least, budget_tokens=limit, handles=(name, *largest))
            )
        self._accepting = (working_set, needed)

    def accept_rule(self) -> None:
        """Note that the rule that fits was written, with nothing written before it."""
        if self._accepting is not None:
            working_set, needed = self._accepting
            working_set.accept_rule(needed)
        self._accepting = None

    def unpinned(self) -> None:
        """Note that a page is no longer a rule."""
        for working_set in self._working_sets.values():
            working_set.unpinned()

    def _working_set(self, counter: TokenCounter) -> WorkingSet:
        """The working set of a counter; a call for another model uses counts of its own."""
        name = counter.name
        made = self._working_sets.get(name)
        if made is not None and len(self._working_sets) == 1:
            return made
        self._working_sets.pop(name, None)
        if made is None:
            journal, can_point = self._recorder.journal, self._recall_tool is not None
            made = WorkingSet(journal, counter, self._renderers, shows_handles=can_point)
        self._working_sets[name] = made
        while len(self._working_sets) > _MOST_COUNTERS:
            del self._working_sets[next(iter(self._working_sets))]
        return made

    def note_fetched(self, handles: Iterable[str]) -> None:
        """Record a fault for each page that a model fetched because it was not shown in full."""
        for handle in handles:
            page = page_of(self._state, handle)
            is_meant = page is not None and page.counts and not self._recorder.journal.is_out_of_scope(page)
            if page is not None and is_meant and self._state.level_of(page) < ResidencyLevel.FULL:
                self._recorder.fault(Refetch(), page=page.seq, detail=handle)

    @property
    def most_answered(self) -> int | None:
        """The maximum bytes of a recall answer: about a quarter of the last token budget."""
        return self._state.shown.budget_tokens if self._state.shown is not None else None

    def _note_repeats(self, page: Page) -> None:
        for before, repeat in self._repeats.found_in(page) if page.results else ():
            is_ours = self._recall_tool is not None and repeat.tool == self._recall_tool.name
            if not is_ours and self._state.level_of(before) < ResidencyLevel.FULL:
                self._recorder.fault(repeat.fault, page=before.seq, detail=repeat.tool)

    def _count(self, tools: Sequence[Mapping[str, Any]], counter: TokenCounter) -> tuple[str, int]:
        """The digest and the tokens of the tools, including the recall tool."""
        data = to_json([*tools, *self._own_tools]) if tools else self._own_data
        known = self._counted.get(counter.name)
        if known is None or known.data != data:
            for index, tool in enumerate(tools):
                require_instance(f"tools[{index}]", tool, Mapping)
            if self._recall_tool is not None:
                self._recall_tool.require_own_name(tools)
            known = _Counted(data, digest_of(data), counter.tools([*tools, *self._own_tools]))
            self._counted[counter.name] = known
        return known.digest, known.tokens

    def _opening_tokens(self, counter: TokenCounter) -> int:
        """The tokens sent before a conversation that the model began, or in its place; a host's counter may not define them."""
        pages, changes, at = self._state.pages, self._state.changes, self._begins[1]
        at = at if changes == self._begins[0] else 0
        while at < len(pages) and (pages[at].role in _INSTRUCTIONS or not pages[at].counts):
            at += 1
        self._begins = (changes, at)
        opening = getattr(counter, "opening", None)
        if opening is None or not (pages or self._state.notes):
            return 0
        first = pages[at].role if at < len(pages) else Role.ASSISTANT  # no message yet: a user message is inserted
        tokens: int = opening(first)
        if at < len(pages):
            self._opened = _Opened(counter, changes, tokens)
        return tokens

    def _prompt_tokens(self, working_set: WorkingSet) -> int:
        """The tokens of the prompt that opens the session, as the model of this call counts."""
        state = self._state
        opening = (page for page in state.pages[: self._begins[1]] if page.counts)
        own = [page for page in opening if page.seq != state.system]
        replaced = state.page(state.system) if state.system is not None else None
        return sum(working_set.tokens_of(page) for page in (*own, *((replaced,) if replaced is not None else ())))
