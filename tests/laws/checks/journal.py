"""The journal only grows, gives everything back but what was erased, and opened again it derives the same."""

from collections.abc import Iterator

import pageturn as pt
from pageturn.stores import Store
from tests.laws.case import Asked, Case
from tests.laws.model import Item, Model, said, words


def problems(case: Case) -> Iterator[str]:
    """In a context: what was undone is not there as it came, and of what was erased not even a mark."""
    live = {said(item.message) for item in case.model.live}
    standing = {said(message) for message in case.context.messages}
    kept = "\n".join([*(words(item.message) for item in case.model.live), *case.model.noted, *_short_forms(case.model)])
    for item in case.model.items:
        if item.undone and said(item.message) in standing - live:
            yield f"{item.handle} was undone, and still stands"
        if item.erased:
            for mark in case.model.marks_of(item):
                if mark in case.text and mark not in kept:
                    yield f"{mark} of {item.handle}, which was erased, is still sent"


def _short_forms(model: Model) -> list[str]:
    return [item.form for item in model.live if item.form is not None]


def check_twin(context: pt.Context, other: pt.Session, asked: Asked) -> list[tuple[str, list[str]]]:
    """The same journal, opened anew, gives the same bytes."""
    try:
        again = other.derive(asked.tools, **asked.options)
    except pt.BudgetTooSmall as error:
        return [("reopening", [f"opened again, the context is refused: {error}"])]
    broken = []
    if pt.to_json(again.messages) != pt.to_json(context.messages):
        at = next(
            (n for n, (a, b) in enumerate(zip(again.messages, context.messages, strict=False)) if a != b), "the end"
        )
        broken.append(f"opened again, the context differs at message {at}")
    if (again.tokens, again.budget_tokens, again.model) != (context.tokens, context.budget_tokens, context.model):
        broken.append(f"opened again, {again.tokens} tokens instead of {context.tokens}")
    return [("reopening", broken)]


def check_end(
    session: pt.Session, model: Model, store: Store, records: dict[str, list[object]]
) -> list[tuple[str, list[str]]]:
    """Everything that was ever said can be had back, undone or not; what was erased is denied."""
    broken = [problem for item in model.items for problem in _resolved(session, item)]
    before = records.get(session.id, [])
    now = list(store.records(session.id))
    if now[: len(before)] != before:
        broken.append("an entry of the journal has changed")
    records[session.id] = now
    return [("journal", broken), ("stored", _reread(session, model, store))]


def _resolved(session: pt.Session, item: Item) -> Iterator[str]:
    outcome = session.resolve(item.handle)
    if item.erased:
        if not isinstance(outcome, pt.Denied):
            yield f"{item.handle} was erased, and resolve gives {type(outcome).__name__}"
    elif not isinstance(outcome, pt.Resolved):
        yield f"{item.handle} does not resolve: {outcome}"
    elif not all(line in outcome.text for line in words(item.message).splitlines()):
        yield f"{item.handle} resolves to other words"


def _reread(session: pt.Session, model: Model, store: Store) -> list[str]:
    """What was acknowledged is in the store: another reader finds the same pages."""
    other = pt.Session.open(store, id=session.id)
    there = [page.handle for page in other.reader.pages()]
    wanted = [item.handle for item in model.items if not item.undone and not item.replaced]
    erased = {
        item.handle for item in model.items if item.erased
    }  # on another side, perhaps, which a derive would notice
    if [each for each in wanted if each not in erased] == [each for each in there if each not in erased]:
        return []
    return [f"the store has {set(there) ^ set(wanted) - erased} too many or too few"]
