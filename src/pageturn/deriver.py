"""The deriver: a session's side of derivation. What a context is asked for, and what is written when it is answered."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from pageturn.bodies import digest_of
from pageturn.calibration import Calibration
from pageturn.checks import require_instance, require_text, require_whole
from pageturn.derivation.context import Context
from pageturn.derivation.folding import Terms
from pageturn.derivation.working_set import ContextRequest, Derived, WorkingSet
from pageturn.entries import BoundaryCrossed, BoundaryKind, Fold, OverflowForgotten, PageErased, Shown, UsageReported
from pageturn.errors import BudgetTooSmall, Damaged, InvalidInput, ModelTooSmall, RuleUnreadable, show
from pageturn.faults import AnyFault, Refetch
from pageturn.injection import ContextMessageTarget
from pageturn.journal import Fresh
from pageturn.messages import Message
from pageturn.overflows import read_overflow
from pageturn.pages import Page, ResidencyLevel
from pageturn.policies import DerivePolicy, require_online
from pageturn.policies.guarding import Guarded
from pageturn.reasoning import ReasoningRule, reasoning_rule
from pageturn.recall import page_of
from pageturn.recall_tool import RecallTool
from pageturn.recorder import Recorder
from pageturn.renditions import Renderers
from pageturn.repeats import Repeats
from pageturn.tokens import TokenCounter
from pageturn.usage import Usage
from pageturn.windows import window_of
from pageturn.wire import to_json

_CACHE_MICROS = 300 * 1_000_000  # how long a provider remembers a prompt
_MOST_COUNTERS = 2  # whose working sets are kept at hand: the session's own, and that of a call for another model
_LEAST_CALIBRATED = 4  # whatever a provider reports, this part of the budget is left


class _Asked(NamedTuple):
    """What the last context was asked for."""

    tools: Sequence[Mapping[str, Any]] = ()
    model: str | None = None
    budget_tokens: int | None = None


class _LetIn(NamedTuple):
    """What a context takes at least since a rule was last let in, by whose count, beside which tools, and up to which entry that holds."""

    counter: str = ""
    fixed_tokens: int = 0
    upto: int = -1
    needed_tokens: int = 0


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
        self._working_sets: dict[str, WorkingSet] = {}  # by the name of the counter, the newest use last
        self._repeats = Repeats(self._state)
        self._counted: dict[str, tuple[bytes, int]] = {}  # by counter: the last tools, and their tokens
        self._asked = _Asked()
        self._let_in = _LetIn()
        self._noticed: list[PageErased] = []  # pages that others erased, and that nobody has written down here yet
        self._derived: Derived | None = None  # the context that nobody has answered yet
        self._reported: set[int] = set()  # pages whose damage was written down

    def derive(
        self, policy: DerivePolicy, tools: Iterable[Mapping[str, Any]], model: str, budget_tokens: int | None
    ) -> Context:
        """The context for the next call. Writes nothing."""
        if budget_tokens is not None:
            require_whole("budget_tokens", budget_tokens)
        require_online(policy)
        require_text("model", model)
        if not isinstance(tools, Iterable):
            raise InvalidInput("tools", expected="tool definitions", got=show(tools))
        tools = tuple(tools)
        self._require_entries()
        counter = self._counter_of(model)
        working_set = self._working_set(counter)
        self._noticed += self._recorder.journal.notice_erased()
        digest, fixed_tokens = self._count(tools, counter)
        fixed_tokens += self._opening_tokens(counter)
        limit = self._limit(policy, model, budget_tokens)
        own = (self._recall_tool,) if self._recall_tool is not None else ()
        asked = ContextRequest(
            Terms(Guarded(policy), self._most(model, limit), fixed_tokens, self._recall_tool is not None),
            model,
            (*tools, *own),
            digest,
        )
        try:
            try:
                self._derived = working_set.derive(asked)
            except BudgetTooSmall as error:
                room = min(limit, self._room_for(model, limit, error))
                asked = asked._replace(terms=asked.terms._replace(budget_tokens=room))
                self._derived = working_set.derive(asked)
        except RuleUnreadable as error:
            self._keep_damage(error.page, error.fault)
            raise
        self._asked = _Asked(tools, model, budget_tokens)
        return self._derived.context

    def _require_entries(self) -> None:
        """Refuse to go on without an entry that cannot be read: it may have been a rule, or have changed one."""
        damage = self._state.damage
        if damage is not None:
            session = self._recorder.journal.row.id
            advice = "it may have been a rule, so no context is made without it; `pageturn doctor --repair` goes on without it"
            raise Damaged(f"session {session!r}: {damage.what}; {advice}")

    def _keep_damage(self, page: int, fault: AnyFault) -> None:
        """Remember, once, what the store could not give; it is written with whatever comes next."""
        if page not in self._reported:
            self._reported.add(page)
            self._recorder.keep(fault, page=page)

    def answered(self) -> Derived | None:
        """What an answer is the answer to: the last context, whatever was said since, unless somebody else took a turn.

        A fold that does not know of everything that changed since, say of a page that was erased, is not kept: the next context folds anew.
        """
        derived = self._derived
        if derived is None or derived.turn != self._state.turn:
            return None
        if derived.folded is None or self._still_holds(derived, derived.folded.fold):
            return derived
        return derived._replace(folded=None, shown=msgspec.structs.replace(derived.shown, fold=None, is_outdated=True))

    def _still_holds(self, derived: Derived, fold: Fold) -> bool:
        """Whether a fold knows of everything that has changed: of what was shown, and of which of its pages are rules."""
        pins = {page: form for page, form in self._state.pins.items() if page <= fold.upto}
        return fold.changes == self._state.changes and pins == derived.pins

    def take_in(self, pages: Sequence[Page], messages: Sequence[Message], derived: Derived | None) -> None:
        """Keep what was just written at hand, and write down what of it had to be fetched again."""
        self._noticed.clear()  # they are written by now
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
        if self._state.shown is not None:
            for page in pages:
                self._note_repeats(page)

    def is_overtaken(self, shown: Shown, *, by: int) -> bool:
        """Whether the reasoning of a reply cannot be sent back, because what it was made on will not stand before it again.

        Something came while the model answered, `by` so many messages together with the reply, or a note stood behind the history
        in that one context only.
        """
        if reasoning_rule(shown.model) is not ReasoningRule.NONE_BEHIND_A_CHANGE:
            return False
        had_suffix = any(note.band is ContextMessageTarget.SUFFIX_SYSTEM for note in shown.notes)
        return had_suffix or by > 0 or len(self._state.pages) > self._state.after(shown.upto)

    def overflow(self, error: object) -> bool:
        """Write down that the last context was too long; False where the error says something else."""
        found = read_overflow(error)
        if found is None or self._derived is None:
            return False
        shown = self._derived.shown
        usage = Usage(input_tokens=found.sent or shown.tokens, model=shown.model)
        most = found.most_tokens(shown.tokens)
        self._recorder.append(UsageReported(usage=usage, most_tokens=most, refused_tokens=shown.tokens))
        return True

    def forget_overflow(self, model: str) -> None:
        """Write down that what the model refused says nothing about what it takes now."""
        require_text("model", model)
        if model in self._state.bounds:
            self._recorder.append(OverflowForgotten(model=model))

    def before_messages(self, now: int) -> list[Fresh]:
        """What has to be written before anything else is: pages that others erased, and the boundary that a long silence is."""
        state = self._state
        noticed = [Fresh(entry) for entry in self._noticed]
        last = state.page(state.turns[-1]) if state.turns and state.shown is not None else None
        if last is None or state.is_cold or now - last.at < _CACHE_MICROS:
            return noticed
        return [
            *noticed,
            Fresh(BoundaryCrossed(kind=BoundaryKind.COLD_CACHE)),
        ]  # a provider has forgotten the prompt by then

    def require_room(self, policy: DerivePolicy, model: str, rule: Sequence[Fresh], name: str) -> None:
        """Refuse a rule with which no context could be derived any more, with the tools, notes, task and budget of the last one."""
        model = self._asked.model or model
        counter = self._counter_of(model)
        _, fixed_tokens = self._count(self._asked.tools, counter)
        fixed_tokens += self._opening_tokens(counter)
        limit = self._limit(policy, model, self._asked.budget_tokens)
        head = self._recorder.journal.head
        more = sum(counter.message(each.message) for each in rule if each.message is not None)
        is_known = self._let_in[:3] == (counter.name, fixed_tokens, head)
        if more and is_known and self._let_in.needed_tokens + more <= limit:
            needed = self._let_in.needed_tokens + more  # a new text takes what it takes
        else:
            terms = Terms(Guarded(policy), limit, fixed_tokens, self._recall_tool is not None)
            needed = self._working_set(counter).needed_with(rule, terms)
        if needed > self._most(model, limit):
            rules = [page for page in self._state.live_pages() if self._state.kind(page).is_rule]
            largest = [page.handle for page in sorted(rules, key=lambda page: -page.tokens)]
            self._room_for(
                model, limit, BudgetTooSmall(needed_tokens=needed, budget_tokens=limit, handles=(name, *largest))
            )
        self._let_in = _LetIn(counter.name, fixed_tokens, head + len(rule), needed)

    def _working_set(self, counter: TokenCounter) -> WorkingSet:
        """The working set of a counter: a call for another model counts everything anew, and mixes nothing."""
        made = self._working_sets.pop(counter.name, None)
        if made is None:
            journal, can_point = self._recorder.journal, self._recall_tool is not None
            made = WorkingSet(journal, counter, self._renderers, shows_handles=can_point)
        self._working_sets[counter.name] = made
        while len(self._working_sets) > _MOST_COUNTERS:
            del self._working_sets[next(iter(self._working_sets))]
        return made

    def note_fetched(self, handles: Iterable[str]) -> None:
        """Write down that a model had to ask for pages that it did not see whole."""
        for handle in handles:
            page = page_of(self._state, handle)
            is_meant = page is not None and page.counts and not self._recorder.journal.is_out_of_scope(page)
            if page is not None and is_meant and self._state.level_of(page) < ResidencyLevel.FULL:
                self._recorder.fault(Refetch(), page=page.seq, detail=handle)

    @property
    def most_answered(self) -> int | None:
        """The bytes that a recall may answer without crowding out everything else: about a quarter of the last budget."""
        return self._state.shown.budget_tokens if self._state.shown is not None else None

    def _note_repeats(self, page: Page) -> None:
        for repeat in self._repeats.found_in(page) if page.results else ():
            is_ours = self._recall_tool is not None and repeat.tool == self._recall_tool.name
            if not is_ours and self._state.level_of(repeat.page) < ResidencyLevel.FULL:
                self._recorder.fault(repeat.fault, page=repeat.page.seq, detail=repeat.tool)

    def _count(self, tools: Sequence[Mapping[str, Any]], counter: TokenCounter) -> tuple[str, int]:
        """The digest and the tokens of the tools, ours among them."""
        own = [self._recall_tool.definition] if self._recall_tool is not None else []
        data = to_json([*tools, *own])
        known, tokens = self._counted.get(counter.name, (b"", 0))
        if known != data:
            for index, tool in enumerate(tools):
                require_instance(f"tools[{index}]", tool, Mapping)
            if self._recall_tool is not None:
                self._recall_tool.require_own_name(tools)
            tokens = counter.tools([*tools, *own])
            self._counted[counter.name] = (data, tokens)
        return digest_of(data), tokens

    def _opening_tokens(self, counter: TokenCounter) -> int:
        """What goes out before a conversation that the model began; a host's own counter need not know of it."""
        begins = next((page for page in self._state.pages if not page.kind.is_rule and page.counts), None)
        opening = getattr(counter, "opening", None)
        return opening(begins.role) if begins is not None and opening is not None else 0

    def _limit(self, policy: DerivePolicy, model: str, budget_tokens: int | None) -> int:
        """The tokens of our count that a context may have, by what the caller, the policy and the model's window say."""
        limit = Guarded(policy).limit_tokens(window_of(model))
        return self._calibrated(model, min(limit, budget_tokens) if budget_tokens else limit)

    def _most(self, model: str, limit: int) -> int:
        """The limit, or what we would send at most to a model that refused a prompt."""
        bound = self._state.bounds.get(model)
        return limit if bound is None else min(limit, bound.most)

    def _room_for(self, model: str, limit: int, error: BudgetTooSmall) -> int:
        """What may be sent though it is more than that, because less cannot be; raises where even that was refused."""
        needed = error.needed_tokens
        if needed > limit:  # counted by us, where the caller means the provider's tokens
            at_least = self._budget_for(model, needed)
            raise BudgetTooSmall(needed_tokens=at_least, budget_tokens=limit, handles=error.handles) from None
        bound = self._state.bounds[model]  # else the limit would have been enough
        room = bound.room_for(needed)
        if room is None:
            assert bound.refused is not None
            raise ModelTooSmall(
                model=model, refused_tokens=bound.refused, needed_tokens=needed, handles=error.handles
            ) from None
        return room

    def _calibrated(self, model: str, tokens: int) -> int:
        """What so many tokens of the provider are in our count; never more."""
        room = self._state.calibrations.get(model, Calibration()).room(tokens)
        return min(tokens, max(room, tokens // _LEAST_CALIBRATED))

    def _budget_for(self, model: str, tokens: int) -> int:
        """The smallest budget that leaves so many tokens of our count."""
        budgets = range(tokens, _LEAST_CALIBRATED * (tokens + 1))
        return budgets[bisect_left(budgets, tokens, key=lambda budget: self._calibrated(model, budget))]
