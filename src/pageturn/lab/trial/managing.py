"""The methods of managing what the model sees, live: four common ones, and ours with and without its recall tool.

All count a quarter of the characters as a token, so that a budget means the same for all. The requests of each are valid for a
provider: no result is without its call.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import Any, Protocol

from pageturn.lab.baselines import masked
from pageturn.lab.our_policies import CharacterCounter, first_lines, session_of, write_summary
from pageturn.lab.traces import estimated_tokens
from pageturn.policies import AnyPolicy, Paged, Reset
from pageturn.values.context import Context, Wish
from pageturn.values.messages import Message, Role
from pageturn.values.prompt import Bands, Prompt
from pageturn.values.recall_tool import RecallTool

Tools = Sequence[Mapping[str, Any]]
_OPENING = (Role.SYSTEM, Role.DEVELOPER)
_UNMASKED = 10  # tool results, the newest


class Managed(Protocol):
    """A session under one method."""

    recalls: int  # calls of the recall tool so far

    def append(self, message: Message) -> None:
        """Append messages."""
        ...

    def prompt(self, tools: Tools) -> Prompt:
        """The prompt of the next request."""
        ...

    def answer(self) -> bool:
        """Answer the calls of our own tool, if there are any."""
        ...


class Listed:
    """All messages in a list; each request shows a selection of them."""

    recalls = 0

    def __init__(self, choose: Callable[[list[Message]], list[Message]]) -> None:
        self._messages: list[Message] = []
        self._choose = choose

    def append(self, message: Message) -> None:
        """Append messages."""
        self._messages.append(message)

    def prompt(self, tools: Tools) -> Prompt:
        """The prompt of the next request; cache marks are after the opening and at the end, as with ours."""
        shown = tuple(self._choose(self._messages))
        opening = sum(1 for _ in takewhile(lambda message: message.role in _OPENING, shown))
        return Prompt(messages=shown, host_tools=tuple(tools), bands=Bands(opening, opening, len(shown)))

    def answer(self) -> bool:
        """Do nothing: there is no tool of ours."""
        return False


class Derived:
    """A session of ours under a policy; the summaries that it wishes for are extracted from the pages, as in replays."""

    def __init__(self, policy: AnyPolicy, recall: RecallTool | None) -> None:
        self.recalls = 0
        self.session = session_of(policy, CharacterCounter(), recall=recall)
        self._recall_name = recall.name if recall is not None else None
        self._wanted: tuple[Wish, ...] = ()

    def append(self, message: Message) -> None:
        """Append messages, and write the summaries that the last context could have used."""
        self.session.append(message)
        self.recalls += sum(call.name == self._recall_name for call in message.tool_calls)
        for wish in self._wanted:
            write_summary(self.session, wish, first_lines)
        self._wanted = ()

    def prompt(self, tools: Tools) -> Context:
        """The prompt of the next request."""
        context = self.session.derive(tools=tools)
        self._wanted = context.wanted
        return context

    def answer(self) -> bool:
        """Answer the model's calls of the recall tool."""
        return self.session.answer()


def trimmed(messages: Sequence[Message], budget_tokens: int) -> list[Message]:
    """The opening and the newest messages that fit, without results whose calls are gone."""
    opening = [message for message in messages if message.role in _OPENING]
    room = budget_tokens - sum(map(estimated_tokens, opening))
    others = [message for message in messages if message.role not in _OPENING]
    first = len(others)
    while first > 0 and (room := room - estimated_tokens(others[first - 1])) >= 0:
        first -= 1
    first = min(first, max(len(others) - 1, 0))
    while first < len(others) and others[first].tool_results:
        first += 1
    if first == len(others):  # a result larger than the budget is dropped together with its call
        first = max((at for at, message in enumerate(others) if message.tool_calls), default=0)
    return [*opening, *others[first:]]


def unmasked(messages: Sequence[Message], last: int = _UNMASKED) -> list[Message]:
    """Everything, except that only the newest tool results are kept."""
    results = [at for at, message in enumerate(messages) if message.tool_results]
    old = set(results[:-last])
    return [masked(message) if at in old else message for at, message in enumerate(messages)]


METHODS: Mapping[str, Callable[[int], Managed]] = {
    "everything": lambda _: Listed(list),
    "trim": lambda budget: Listed(lambda messages: trimmed(messages, budget)),
    "masking": lambda _: Listed(unmasked),
    "summary-reset": lambda budget: Derived(Reset(threshold_tokens=budget), None),
    "paged": lambda budget: Derived(Paged(budget_tokens=budget), RecallTool()),
    "paged-without-recall": lambda budget: Derived(Paged(budget_tokens=budget), None),
}
