"""Pages keep the order of the journal, and each appears once; index lines cover no rules."""

import re
from collections.abc import Iterator
from itertools import pairwise

import pageturn as pt
from pageturn.values.messages import Thinking
from tests.laws.case import Case

_LINE = re.compile(r"^<page>\np(\d+)-\w{4}\.\.p(\d+)-\w{4} [\d,]+ pages?, ")


def problems(case: Case) -> Iterator[str]:
    yield from _order(case)
    yield from _lines(case)
    yield from _claims(case)


def _order(case: Case) -> Iterator[str]:
    """Results stand behind their calls, and an opening prompt that was replaced at the head; all others as they came."""
    last = 0
    met: set[str] = set()
    for each in case.shown:
        item = each.item
        if item is None or each.message.tool_results or item.origin in ("system", "note"):
            continue
        if item.handle in case.said_often or item.message.text in case.model.noted:
            continue
        if item.handle in met:
            yield f"{item.handle} stands twice"
        elif item.seq < last:
            yield f"{item.handle} stands behind p{last}"
        met.add(item.handle)
        last = max(last, item.seq)


def _lines(case: Case) -> Iterator[str]:
    spans = []
    for each in case.ours:
        found = _LINE.match(each.message.text)
        if found is not None:
            spans.append((int(found[1]), int(found[2])))
    for (first, last), (after, _) in pairwise(spans):
        if after <= last:
            yield f"index lines overlap: p{first}..p{last} and p{after}"
    for first, last in spans:
        for item in case.model.rules:
            if first <= item.seq <= last and not item.message.tool_results:
                yield f"the index line p{first}..p{last} covers the rule {item.handle}"
        inside = [item for item in case.model.live if first <= item.seq <= last and item.handle in case.whole]
        # the pages of a unit whose late result lies between are not of the line
        lone = [
            item
            for item in inside
            if not item.message.tool_results
            and not item.message.tool_calls
            and not item.is_rule
            and item.handle not in case.said_often
        ]
        if lone:
            yield f"{lone[0].handle} stands as it came and in the index line p{first}..p{last}"


def _claims(case: Case) -> Iterator[str]:
    """What the context says of a page is so: what is said to stand whole does."""
    for item in case.model.live[:: max(1, len(case.model.live) // 6)]:
        if item.seq > case.context.upto or item.erased or case.model.is_hidden(item):
            continue
        told = case.context.explain(item.handle)
        is_plain = not item.message.tool_results and not item.message.tool_calls
        repeats = item.handle in case.said_often  # of which one may stand for all
        if all(isinstance(part, Thinking) for part in item.message.content):
            continue  # only reasoning, which goes where what it was made on has changed
        if is_plain and told.level is pt.ResidencyLevel.FULL and item.handle not in case.whole and not repeats:
            yield f"{item.handle} is said to stand whole, and does not"
