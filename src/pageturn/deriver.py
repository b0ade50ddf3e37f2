"""The deriver: a session's side of derivation. What a context is asked for, and what is written when it is answered."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from pageturn.bodies import digest_of
from pageturn.calibration import Calibration
from pageturn.checks import require_instance, require_text, require_whole
from pageturn.derivation.context import Context
from pageturn.derivation.folding import Terms
from pageturn.derivation.working_set import ContextRequest, Derived, WorkingSet
from pageturn.entries import BoundaryCrossed, BoundaryKind, OverflowForgotten, UsageReported
from pageturn.errors import BudgetTooSmall, InvalidInput, ModelTooSmall
from pageturn.faults import Refetch
from pageturn.journal import Fresh
from pageturn.messages import Message
from pageturn.overflows import read_overflow
from pageturn.pages import Page, ResidencyLevel
from pageturn.policies import AnyPolicy, require_online
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
_LEAST_CALIBRATED = 4  # whatever a provider reports, this part of the budget is left


class Deriver:
    """Derives the contexts of one session."""

    def __init__(
        self, recorder: Recorder, counter: TokenCounter, recall_tool: RecallTool | None, renderers: Renderers
    ) -> None:
        self._recorder = recorder
        self._state = recorder.journal.state
        self._counter = counter
        self._recall_tool = recall_tool
        self._working_set = WorkingSet(recorder.journal, counter, renderers)
        self._repeats = Repeats(self._state)
        self._counted: tuple[bytes, int] = (b"", 0)  # the definitions of tools that were counted last, and their tokens
        self._derived: Derived | None = None  # the context that nobody has answered yet
        self._reported: set[int] = set()  # pages whose damage was written down

    def derive(
        self, policy: AnyPolicy, tools: Iterable[Mapping[str, Any]], model: str, budget_tokens: int | None
    ) -> Context:
        """The context for the next call. Writes nothing."""
        if budget_tokens is not None:
            require_whole("budget_tokens", budget_tokens)
        require_online(policy)
        require_text("model", model)
        if not isinstance(tools, Iterable):
            raise InvalidInput("tools", expected="tool definitions", got=repr(tools))
        tools = tuple(tools)
        digest, fixed_tokens = self._count(tools)
        limit = self._limit(policy, model, budget_tokens)
        bound = self._state.bounds.get(model)
        most = limit if bound is None else min(limit, bound.most)
        own = (self._recall_tool,) if self._recall_tool is not None else ()
        asked = ContextRequest(
            Terms(policy, most, fixed_tokens, self._recall_tool is not None), model, (*tools, *own), digest
        )
        try:
            self._derived = self._working_set.derive(asked)
        except BudgetTooSmall as error:
            room = min(limit, self._room_for(model, limit, error))
            asked = asked._replace(terms=asked.terms._replace(budget_tokens=room))
            self._derived = self._working_set.derive(asked)
        return self._derived.context

    def answered(self) -> Derived | None:
        """What an answer is the answer to: the last context. If what it was made of no longer holds, then without its fold: the model
        was shown its notes all the same, and the next context is folded.
        """
        derived = self._derived
        if derived is None or self._working_set.is_made_of(derived):
            return derived
        if derived.made_of[0] != self._state.turn:
            return None  # somebody else has answered meanwhile
        shown = msgspec.structs.replace(derived.shown, fold=None, is_outdated=True)
        return derived._replace(shown=shown, folded=None)

    def take_in(self, pages: Sequence[Page], messages: Sequence[Message], derived: Derived | None) -> None:
        """Keep what was just written at hand, and write down what of it had to be fetched again."""
        for page, message in zip(pages, messages, strict=True):
            self._working_set.add(page, message)
        if derived is not None:
            self._working_set.acknowledge(derived)
            self._derived = None
            for page_, fault in self._working_set.faults():
                if page_ not in self._reported:
                    self._reported.add(page_)
                    self._recorder.fault(fault, page=page_)
        if self._state.shown is not None:
            for page in pages:
                self._note_repeats(page)

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

    def silence(self, now: int) -> list[Fresh]:
        """The boundary that a long silence is: a provider has forgotten the prompt by then."""
        state = self._state
        last = state.page(state.turns[-1]) if state.turns and state.shown is not None else None
        if last is None or state.is_cold or now - last.at < _CACHE_MICROS:
            return []
        return [Fresh(BoundaryCrossed(kind=BoundaryKind.COLD_CACHE))]

    def note_fetched(self, handles: Iterable[str]) -> None:
        """Write down that a model had to ask for pages that it did not see whole."""
        for handle in handles:
            page = page_of(self._state, handle)
            if page is not None and page.counts and self._state.level_of(page) < ResidencyLevel.FULL:
                self._recorder.fault(Refetch(), page=page.seq, detail=handle)

    @property
    def most_answered(self) -> int | None:
        """The bytes that a recall may answer without crowding out everything else: about a quarter of the last budget."""
        return self._state.shown.budget_tokens if self._state.shown is not None else None

    def _note_repeats(self, page: Page) -> None:
        for repeat in self._repeats.found_in(page) if page.results else ():
            is_ours = self._recall_tool is not None and repeat.tool == self._recall_tool.name
            if not is_ours and self._state.level_of(repeat.page) < ResidencyLevel.COMPRESSED:
                self._recorder.fault(repeat.fault, page=repeat.page.seq, detail=repeat.tool)

    def _count(self, tools: Sequence[Mapping[str, Any]]) -> tuple[str, int]:
        """The digest and the tokens of the tools, ours among them."""
        own = [self._recall_tool.definition] if self._recall_tool is not None else []
        data = to_json([*tools, *own])
        if self._counted[0] != data:
            for index, tool in enumerate(tools):
                require_instance(f"tools[{index}]", tool, Mapping)
            if self._recall_tool is not None:
                self._recall_tool.require_own_name(tools)
            self._counted = (data, self._counter.tools([*tools, *own]))
        return digest_of(data), self._counted[1]

    def _limit(self, policy: AnyPolicy, model: str, budget_tokens: int | None) -> int:
        """The tokens of our count that a context may have, by what the caller, the policy and the model's window say."""
        limit = policy.limit_tokens(window_of(model))
        return self._calibrated(model, min(limit, budget_tokens) if budget_tokens else limit)

    def _room_for(self, model: str, limit: int, error: BudgetTooSmall) -> int:
        """What may be sent though it is more than we would send to a model that refused a prompt, because less cannot be."""
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
