"""Everything that goes out is charged by the counter of the model that it is for, and is within the budget."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pageturn as pt
from pageturn.tokens.counters import TokenCounter, counter_for
from pageturn.tokens.windows import window_of
from pageturn.values.errors import ModelTooSmall
from pageturn.values.messages import Role
from tests.laws.case import Asked, Case
from tests.laws.model import Model

_SHORT = 160  # tokens of a short form of ours, at most
_LINES = 700  # tokens of index lines, at most


def problems(case: Case) -> Iterator[str]:
    context = case.context
    counted = case.tool_tokens + sum(map(case.tokens, context.messages))
    if context.tokens < counted:
        yield f"{counted} tokens by the counter of {context.model}, {context.tokens} are charged"
    if context.tokens > context.budget_tokens:
        yield f"{context.tokens} tokens are more than the budget of {context.budget_tokens}"
    limits = [case.asked.budget, _with_room(case), _own_limit(case.policy), window_of(context.model)]
    least = min(limit for limit in limits if limit)
    if context.budget_tokens > least:
        yield f"a budget of {context.budget_tokens}, where {least} were allowed"
    asked = case.asked.model or case.session.reader.model
    if context.model != asked:
        yield f"a context for {context.model}, asked for {asked}"


def _with_room(case: Case) -> int:
    """What is allowed where room is asked for beside the tools and the prompt; 0 where it is not, or where a provider's counts move it."""
    if case.asked.room is None or case.session.reader.usage:
        return 0
    said = case.session.reader.messages()
    rules = sum(map(case.tokens, [each for each in said if each.role in (Role.SYSTEM, Role.DEVELOPER)]))
    opening = case.counter.opening(Role.ASSISTANT)  # what goes out first where the model begins
    return case.asked.room + case.tool_tokens + rules + opening


def _own_limit(policy: pt.DerivePolicy) -> int:
    return getattr(policy, "budget_tokens", 0) or getattr(policy, "threshold_tokens", 0)


def check_refusal(
    session: pt.Session,
    model: Model,
    asked: Asked,
    error: pt.BudgetTooSmall,
    recall: pt.RecallTool | None,
    derive: Callable[[Asked], pt.Context],
) -> list[tuple[str, list[str]]]:
    """What is said to be the smallest budget works, and one token less does not; and old steps are not what it is for."""
    counter = counter_for(asked.model or session.reader.model)
    found = [("pointers" if recall is None else "people", list(_only_what_must(model, counter, asked, error, recall)))]
    needed = error.needed_tokens
    limit = _own_limit(session.reader.policy)
    window = window_of(asked.model or session.reader.model) * 7 // 10
    if isinstance(error, ModelTooSmall) or (limit and needed > limit) or needed > window:
        return found
    broken = []
    if asked.budget and asked.room is None and needed <= asked.budget and not session.reader.usage:
        broken.append(f"{needed} tokens are needed, and {asked.budget} were given")
    try:
        derive(replace(asked, budget=needed - 1, room=None))
        broken.append(f"{needed} tokens were said to be needed, and {needed - 1} were enough")
    except pt.BudgetTooSmall:
        pass
    try:
        derive(replace(asked, budget=needed, room=None))
    except ModelTooSmall:  # a provider refused as much, so that no budget helps
        pass
    except pt.BudgetTooSmall as again:
        broken.append(f"{needed} tokens were said to be enough, then {again.needed_tokens}")
    return [*found, ("budget", broken)]


def _only_what_must(
    model: Model, counter: TokenCounter, asked: Asked, error: pt.BudgetTooSmall, recall: pt.RecallTool | None
) -> Iterator[str]:
    """No message but a rule can make a session unusable."""
    tools = [*asked.tools, *([recall.definition] if recall is not None else [])]
    units = [item for item in model.rules if item.message.tool_results or item.message.tool_calls]
    must = sum(counter.message(item.message) for item in model.rules)
    if units:  # a pinned result stands with its call, and both with the other results
        return
    must += counter.message(model.plan.message) if model.plan is not None else 0
    waiting = {each.item.handle for each in model.calls() if not each.results}
    most = must + counter.tools(tools) + _SHORT * (3 + len(waiting)) + (_LINES if recall is not None else _SHORT)
    if error.needed_tokens > most and not isinstance(error, ModelTooSmall):
        yield f"{error.needed_tokens} tokens needed, though rules, plan and tools take {must + counter.tools(tools)}"
