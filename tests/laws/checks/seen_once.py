"""What is new stands whole in its first context, unless all that is new takes more than half of the room; then a notice says so."""

from collections.abc import Iterator

import pageturn as pt
from pageturn.values.messages import Thinking
from tests.laws.case import Case
from tests.laws.model import Item, said, words


def problems(case: Case) -> Iterator[str]:
    unseen = [item for item in case.model.unseen if not item.is_rule and item.plan is None]
    missing = [item for item in unseen if not _is_whole(case, item)]
    if not missing:
        return
    room = case.context.budget_tokens - case.floor_tokens
    tokens = sum(case.tokens(item.message) for item in unseen) + _siblings(case, unseen)
    if 2 * tokens <= room:
        names = ", ".join(item.handle for item in missing[:4])
        yield f"{names} of {len(unseen)} new pages are not whole: {tokens} tokens in a room of {room}{_beside(case, missing)}"
    if not case.context.notices:
        yield f"{missing[0].handle} is new and not whole, and nothing says so{_beside(case, missing)}"


def _beside(case: Case, missing: list[Item]) -> str:
    """What may be the reason: a step is shown in the short form of a rule that is one of its pages."""
    is_pinned = any(item.is_rule for item in case.beside(missing))
    is_crowded = case.task is not None and case.task.handle not in case.whole
    return (
        ", beside a rule of the same step" if is_pinned else ", beside a task that is put shorter" if is_crowded else ""
    )


def _siblings(case: Case, unseen: list[Item]) -> int:
    """What has to stand with a new result: its call, which was seen, and the other results of it."""
    new = {item.handle for item in unseen}
    calls = {result.tool_call_id for item in unseen for result in item.message.tool_results}
    tokens = 0
    for item in case.model.live:
        if item.handle in new:
            continue
        makes = {call.id for call in item.message.tool_calls}
        if makes & calls:
            calls |= makes
            tokens += case.tokens(item.message)
        elif any(result.tool_call_id in calls for result in item.message.tool_results):
            tokens += case.tokens(item.message)
    return tokens


def _is_whole(case: Case, item: Item) -> bool:
    if item.handle in case.whole:
        return True
    if item.handle in case.said_often and any(said(message) == said(item.message) for message in case.context.messages):
        return True
    if not [part for part in item.message.content if not isinstance(part, Thinking)]:
        return True  # only reasoning, which goes where what it was made on has changed
    if not item.message.tool_results:
        return False
    # A result without a call to stand behind is quoted: its lines, escaped.
    lines = [line for line in words(item.message).splitlines() if not any(mark in line for mark in ("<", "-"))]
    return any(
        all(line in words(each.message) for line in lines) for each in case.ours if each.message.role == pt.Role.USER
    )
