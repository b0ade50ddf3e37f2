"""The task stands verbatim where it takes at most a third of the budget, and people's other words up to their share."""

from collections.abc import Iterator

import pageturn as pt
from pageturn.values.messages import Text
from tests.laws.case import Case
from tests.laws.model import Item

_SHORT = 160  # tokens of a short form of ours, at most
_MOST = 4_000


def problems(case: Case) -> Iterator[str]:
    """Only where a fold was made: between folds everything stands as it did, and what is new at full."""
    if case.context.fold is None:
        return
    task = case.task
    if task is not None and not task.is_rule and not _is_there(case, task):
        yield from _task(case, task)
    yield from _others(case, [item for item in case.model.people if item is not task and not item.is_rule])


def _is_there(case: Case, item: Item) -> bool:
    """Whether every sentence of a person stands as it was said."""
    if not item.human_texts:
        return item.handle in case.whole
    said = {part.text for message in case.context.messages for part in message.content if isinstance(part, Text)}
    return all(text in said for text in item.human_texts)


def _tokens(case: Case, item: Item) -> int:
    """What a person's part of a message takes: without what a harness put in."""
    is_synthetic = [isinstance(part, Text) and part.synthetic for part in item.message.content]
    own = [part for part, is_harness in zip(item.message.content, is_synthetic, strict=True) if not is_harness]
    return case.tokens(pt.user(*own))


def _task(case: Case, task: Item) -> Iterator[str]:
    tokens = case.tokens(task.message)
    if not case.context.notices:
        yield f"the task {task.handle} is not verbatim, and nothing says so"
    if tokens * 3 <= case.context.budget_tokens and tokens + _SHORT <= case.spare_tokens:
        yield f"the task {task.handle} of {tokens} tokens is not verbatim, with {case.spare_tokens} to spare"


def _others(case: Case, people: list[Item]) -> Iterator[str]:
    """Shorter words stay before longer ones; what a reset covers is in its summary."""
    after = case.model.resets[-1].seq if case.model.resets else 0
    people = [item for item in people if item.seq > after]
    most = min(case.context.budget_tokens // 4, _MOST)
    sizes = {item.handle: _tokens(case, item) for item in people}
    for item in people:
        tokens = sizes[item.handle]
        shorter = sum(size for size in sizes.values() if size <= tokens)
        longer = sum(min(size, _shortened(case, size)) for size in sizes.values() if size > tokens)
        if shorter + longer <= most and tokens + _SHORT <= case.spare_tokens and not _is_there(case, item):
            yield f"{item.handle}, {tokens} tokens of a person, is not verbatim: {shorter + longer} of {most}, {case.spare_tokens} to spare"


def _shortened(case: Case, tokens: int) -> int:
    """What a paste takes at most when it is as short as it can be: a pointer; where nothing can be pointed at, its fields, whose names grow with it."""
    return _SHORT if case.recall is not None else _SHORT + tokens // 5
