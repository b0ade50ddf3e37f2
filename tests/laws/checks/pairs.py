"""Each call has its result directly after it, each result an earlier call; calls keep their arguments; what is open is pending."""

from collections import Counter
from collections.abc import Iterator

import pageturn as pt
from tests.laws.case import PENDING, Case
from tests.laws.model import ABANDONED, Model


def problems(case: Case) -> Iterator[str]:
    yield from _pairs(case)
    yield from _verbatim(case)
    if case.context.fold is not None:
        yield from _joined(case)


def _pairs(case: Case) -> Iterator[str]:
    waiting: list[str] = []
    for at, message in enumerate(case.context.messages):
        if message.tool_results:
            if len(message.tool_results) != len(message.content):
                yield f"message {at}: a result stands beside something else"
            for result in message.tool_results:
                if result.tool_call_id not in waiting:
                    yield f"message {at}: a result for {result.tool_call_id!r}, which nobody waits for"
                else:
                    waiting.remove(result.tool_call_id)
            continue
        if waiting:
            yield f"message {at}: {waiting} have no result before it"
        waiting = [call.id for call in message.tool_calls]
    if waiting:
        yield f"{waiting} have no result at the end"


def _verbatim(case: Case) -> Iterator[str]:
    given = {(call.id, call.name, call.arguments) for item in case.model.live for call in item.message.tool_calls}
    for at, message in enumerate(case.context.messages):
        for call in message.tool_calls:
            if (call.id, call.name, call.arguments) not in given:
                yield f"message {at}: the call {call.id!r} is not as the model made it"
    again = case.model.repeated_ids
    open_ = {each.call.id for each in case.model.calls() if not each.results}
    for at, message in enumerate(case.context.messages):
        for result in message.tool_results:
            if result.tool_call_id in open_ - again and result.content != PENDING:
                yield f"message {at}: the open call {result.tool_call_id!r} has the result {str(result.content)[:60]!r}"


def _joined(case: Case) -> Iterator[str]:
    """A fold joins a result to its call, however late it came, as long as somebody waited for it."""
    again = case.model.repeated_ids
    answered = {
        each.call.id: each.results[0]
        for each in case.model.calls()
        if each.results and each.results[0].counts and each.call.id not in again
    }
    turns = case.model.turns
    for at, message in enumerate(case.context.messages):
        for result in message.tool_results:
            came = answered.get(result.tool_call_id)
            if result.content != PENDING or came is None:
                continue
            made = next(
                item for item in case.model.items for call in item.message.tool_calls if call.id == result.tool_call_id
            )
            late = sum(1 for turn in turns if made.seq < turn.seq < came.seq)
            if late < ABANDONED:
                yield f"message {at}: {result.tool_call_id!r} is pending in a fold, and was answered {late} turns after"


def check_pending(session: pt.Session, model: Model, recall: pt.RecallTool | None) -> list[tuple[str, list[str]]]:
    """What the host is told to run: every open call of its own, in order, until it is abandoned."""
    again = model.repeated_ids
    gone = {call.id for item in model.items if item.erased for call in item.message.tool_calls}
    told = [
        call for call in session.pending() if call.id not in again | gone
    ]  # the next derive notices what others erased
    wanted = [
        each
        for each in model.calls()
        if not each.results and each.call.id not in again and (recall is None or each.call.name != recall.name)
    ]
    must = [each.call for each in wanted if each.turns_since < ABANDONED - 1]
    may = [each.call for each in wanted if each.turns_since < ABANDONED]
    broken = [f"the open call {call.id!r} is not in pending()" for call in must if call not in told]
    broken += [f"pending() has {call.id!r}, which is answered, abandoned or gone" for call in told if call not in may]
    broken += [f"pending() has {id!r} twice" for id, times in Counter(call.id for call in told).items() if times > 1]
    if [call for call in may if call in told] != told and not broken:
        broken.append("pending() is not in the order of the calls")
    return [("pairs", broken)]
