"""Case: one derived context beside the model of its session, and which of its messages is what."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pageturn as pt
from pageturn.tokens.counters import TokenCounter, counter_for
from tests.laws.model import Item, Model, said, words

PENDING = "[pending: this call has no result yet]"


@dataclass(frozen=True)
class Asked:
    """What a context was asked for."""

    tools: Sequence[dict[str, Any]] = ()
    model: str | None = None
    budget: int | None = None
    room: int | None = None  # beside the tools and the opening prompt

    @property
    def options(self) -> dict[str, Any]:
        """What `Session.derive` is given beside the tools."""
        return {"model": self.model, "budget_tokens": self.budget, "room_tokens": self.room}


@dataclass(frozen=True)
class Shown:
    """One message of a context: a page as it came, a note, or a text that the library wrote."""

    at: int
    message: pt.Message
    item: Item | None = None
    is_note: bool = False
    results: tuple["Item | None", ...] = ()  # for each result in it: whose, if it stands as it came
    is_pending: bool = False

    @property
    def is_ours(self) -> bool:
        return self.item is None and not self.is_note and not self.is_pending and not all([*self.results, self.results])


@dataclass
class Case:
    """What a check looks at."""

    session: pt.Session
    model: Model
    context: pt.Context
    asked: Asked
    policy: pt.DerivePolicy
    recall: pt.RecallTool | None
    found: list[Any] = field(default_factory=list)

    @cached_property
    def counter(self) -> TokenCounter:
        return counter_for(self.context.model)

    def tokens(self, message: pt.Message) -> int:
        return self.counter.message(message)

    @cached_property
    def tool_tokens(self) -> int:
        return self.counter.tools(
            [tool.definition if isinstance(tool, pt.RecallTool) else tool for tool in self.context.tools]
        )

    @cached_property
    def before(self) -> pt.Context | None:
        """The last context that was answered."""
        return self.model.sent[-1] if self.model.sent else None

    @cached_property
    def shown(self) -> tuple[Shown, ...]:
        """What each message is, by its content alone."""
        items: dict[tuple[str, bytes], list[Item]] = defaultdict(list)
        results: dict[bytes, list[Item]] = defaultdict(list)
        for item in self.model.live:
            items[said(item.message)].append(item)
            for part in item.message.tool_results:
                results[pt.to_json(part)].append(item)
        shown = []
        for at, message in enumerate(self.context.messages):
            same = items.get(said(message))
            if same:
                item = same.pop(0) if len(same) > 1 else same[0]
                shown.append(Shown(at, message, item, results=tuple(item for _ in message.tool_results)))
            elif message.tool_results and len(message.tool_results) == len(message.content):
                whose = [results.get(pt.to_json(part), []) for part in message.tool_results]
                found = tuple(same[0] if same else None for same in whose)
                pending = all(part.content == PENDING for part in message.tool_results)
                shown.append(Shown(at, message, results=found, is_pending=pending))
            else:
                is_note = len(message.content) == 1 and message.text in self.model.noted
                shown.append(Shown(at, message, is_note=is_note))
        return tuple(shown)

    @cached_property
    def whole(self) -> set[str]:
        """The handles of the pages that stand as they came."""
        stand = {each.item.handle for each in self.shown if each.item is not None}
        stand |= {item.handle for each in self.shown for item in each.results if item is not None}
        # Where an id was used twice and brought the same, nobody can say which of the two is shown.
        shown = {pt.to_json(part) for each in self.shown for part in each.message.tool_results}
        again = self.model.repeated_ids
        return stand | {
            item.handle
            for item in self.model.live
            for part in item.message.tool_results
            if part.tool_call_id in again and pt.to_json(part) in shown
        }

    @cached_property
    def said_often(self) -> set[str]:
        """The handles of pages that say what others say too, so that nobody can tell which of them is shown."""
        same: dict[tuple[str, bytes], list[str]] = defaultdict(list)
        for item in self.model.live:
            same[said(item.message)].append(item.handle)
        return {handle for handles in same.values() if len(handles) > 1 for handle in handles}

    @cached_property
    def ours(self) -> tuple[Shown, ...]:
        """Texts that the library wrote. The short forms of a host's plan and rules have the host's own words, and a person's words may
        stand without what came beside them."""
        hosts = {item.plan.structured for item in self.model.live if item.plan is not None and not item.is_models}
        hosts |= {item.form for item in self.model.live if item.form is not None}
        hosts |= {"\n".join(item.human_texts) for item in self.model.live}
        return tuple(each for each in self.shown if each.is_ours and each.message.text not in hosts)

    @cached_property
    def text(self) -> str:
        """Everything that the model reads but its own reasoning."""
        return "\n".join(words(message) for message in self.context.messages)

    @cached_property
    def open_items(self) -> set[str]:
        """The handles of pages whose calls still wait."""
        return {each.item.handle for each in self.model.calls() if not each.results and each.turns_since < 32}

    @cached_property
    def task(self) -> Item | None:
        """What a person said last is at least a part of the task."""
        return self.model.people[-1] if self.model.people else None

    @cached_property
    def floor_tokens(self) -> int:
        """What must stand takes at most so many tokens: tools, rules and the plan whole, notes, and short forms of the rest."""
        rules = self.model.rules
        must = rules + [item for item in self.beside(rules) if item not in rules]
        must += [self.model.plan] if self.model.plan is not None and self.model.plan not in must else []
        notes = sum(self.tokens(each.message) for each in self.shown if each.is_note)
        return (
            self.tool_tokens
            + notes
            + sum(self.tokens(item.message) for item in must)
            + _SHORT * (2 + len(self.open_items) + 3)
        )

    def beside(self, items: list[Item]) -> list[Item]:
        """The other pages of the steps that these are of: a result stands with its call, and that with its other results."""
        calls = {call.id for item in items for call in item.message.tool_calls}
        calls |= {result.tool_call_id for item in items for result in item.message.tool_results}
        for item in self.model.live:
            if any(call.id in calls for call in item.message.tool_calls):
                calls |= {call.id for call in item.message.tool_calls}
        return [
            item for item in self.model.live
            if any(call.id in calls for call in item.message.tool_calls)
            or any(result.tool_call_id in calls for result in item.message.tool_results)
        ]  # fmt: skip

    @cached_property
    def spare_tokens(self) -> int:
        """What is free, or taken by pages that no law speaks of and that stand as they came: for what ranks higher, that is room."""
        free = self.context.budget_tokens - self.context.tokens
        keep = {item.handle for item in (*self.model.rules, *self.model.people, *self.model.unseen)} | self.open_items
        if self.model.plan is not None:
            keep.add(self.model.plan.handle)
        loose = [
            self.tokens(each.message) - _SHORT
            for each in self.shown
            if each.item is not None and each.item.handle not in keep and each.item.origin == "said"
            and not each.message.tool_results and not each.message.tool_calls
        ]  # fmt: skip
        return free + sum(tokens for tokens in loose if tokens > 0)


_SHORT = 160  # tokens, at most, of a short form or an index line of ours
