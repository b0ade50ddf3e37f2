"""Every rule that counts stands verbatim, or in its author's short form; the same rule once; a replaced one not at all."""

from collections import Counter
from collections.abc import Iterator

import pageturn as pt
from pageturn.values.messages import Thinking
from tests.laws.case import Case
from tests.laws.model import HANDLE, Item, said, words


def problems(case: Case) -> Iterator[str]:
    standing = Counter(said(message) for message in case.context.messages)
    others = Counter(said(item.message) for item in case.model.live if not item.is_rule)
    wishes = {said(item.message) for item in case.model.live if item.origin == "preference"}  # which are no rules
    for item in case.model.rules:
        if said(item.message) in wishes or all(isinstance(part, Thinking) for part in item.message.content):
            continue
        if not _stands(case, item, standing):
            yield f"the rule {item.handle} ({item.origin}, {item.message.role}) is missing"
        if (
            standing[said(item.message)] > 1 + others[said(item.message)]
            and not item.message.tool_results
            and not item.message.tool_calls
        ):
            yield f"the rule {item.handle} stands {standing[said(item.message)]} times"
    kept = {said(item.message) for item in case.model.live}
    kept |= {said(pt.system(item.form)) for item in case.model.live if item.form is not None}
    for item in case.model.items:
        if item.replaced and said(item.message) not in kept and standing[said(item.message)]:
            yield f"{item.handle}, which set_system replaced, is still there"
    yield from _plan(case)


def _stands(case: Case, item: Item, standing: Counter[tuple[str, bytes]]) -> bool:
    if standing[said(item.message)]:
        return True
    same = [other for other in case.model.rules if said(other.message) == said(item.message)]
    forms = {other.form for other in same if other.form is not None}  # the same rule is shown once, be it in short
    forms = forms.union(*(case.model.forms.get(other.handle, set()) for other in same))
    if any(form in case.text for form in forms):
        return True
    # A pinned result is one with its call, which may be told in the same text; alone, it is quoted as a note where it came late.
    results = {pt.to_json(part) for message in case.context.messages for part in message.tool_results}
    own = [pt.to_json(part) for part in item.message.tool_results]
    if own and all(part in results for part in own):
        return True
    return bool(own) and _quoted(case, item)


def _quoted(case: Case, item: Item) -> bool:
    """Whether each of its lines stands in one text of ours: as it is, but for what had to be escaped."""
    lines = [line for line in words(item.message).splitlines() if "<" not in line and not HANDLE.search(line)]
    return any(all(line in words(each.message) for line in lines) for each in case.ours)


def _plan(case: Case) -> Iterator[str]:
    item = case.model.plan
    if item is None or item.plan is None or item.is_rule:
        return
    texts = [message.text for message in case.context.messages]
    forms = {item.plan.text, item.plan.structured} | case.model.forms.get(item.handle, set())  # which a person approved
    if not any(form in text for text in texts for form in forms):
        yield f"the plan in force, {item.handle}, is missing"
