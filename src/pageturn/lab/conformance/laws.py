"""Defines the guarantees that every request should keep, by any method; each is checked on the cases that test it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from pageturn.lab.conformance.cases import CASES, RULE, SYSTEM, Case, text_of_all
from pageturn.lab.peers import Request
from pageturn.lab.traces import estimated_tokens, text_of
from pageturn.values.errors import PageturnError
from pageturn.values.messages import Image, Message, Role

System = Callable[[Case], Sequence[Request]]
"""Whoever is examined: what it sends at each turn of a case. One that handles the notes of a case says so: it has `takes_notes`."""

_Sent = tuple[int, Sequence[Message]]  # what was there before a turn: how many messages; and the request
_STEADY = 0.5  # the share of turns below which a prompt cache does not pay


class Verdict(NamedTuple):
    """Whether a law holds, and what was observed. A law that does not apply is not broken."""

    holds: bool
    detail: str = ""
    applies: bool = True


_NO_NOTES = Verdict(holds=True, detail="takes no notes", applies=False)


class Law(NamedTuple):
    """What must hold, on which cases, and the check that reports the first turn where it does not."""

    name: str
    says: str
    cases: tuple[str, ...]
    broken: Callable[[Case, Sequence[Request]], Iterator[str]]
    is_of_notes: bool = False


def examine(system: System) -> dict[str, Verdict]:
    """Which laws hold, by name. A method that fails on a case has kept none of its laws there."""
    runs: dict[str, Sequence[Request] | str] = {case.name: _run(system, case) for case in CASES}
    takes_notes = bool(getattr(system, "takes_notes", False))
    verdicts = {law.name: _judged(law, runs) if takes_notes or not law.is_of_notes else _NO_NOTES for law in LAWS}
    verdicts[STEADY] = _steady(runs["loop"])
    verdicts[REPEATABLE] = Verdict(not isinstance(runs["loop"], str) and runs["loop"] == _run(system, CASES[0]))
    return verdicts


def _run(system: System, case: Case) -> Sequence[Request] | str:
    try:
        return list(system(case))
    except PageturnError as error:
        return str(error)


def _judged(law: Law, runs: Mapping[str, Sequence[Request] | str]) -> Verdict:
    for case in CASES:
        if case.name in law.cases:
            requests = runs[case.name]
            if isinstance(requests, str):
                return Verdict(holds=False, detail=f"{case.name}: {requests}")
            wrong = next(law.broken(case, requests), None)
            if wrong is not None:
                return Verdict(holds=False, detail=f"{case.name}: {wrong}")
    return Verdict(holds=True)


def _steady(requests: Sequence[Request] | str) -> Verdict:
    """The share of turns whose request begins with the one before."""
    if isinstance(requests, str):
        return Verdict(holds=False, detail=requests)
    sent = [request.messages for request in requests if request.messages is not None]
    kept = [list(after[: len(before)]) == list(before) for before, after in pairwise(sent)]
    share = sum(kept) / len(kept) if kept else 0.0
    return Verdict(share > _STEADY, f"{share:.0%}")


def _sent(case: Case, requests: Sequence[Request]) -> Iterator[_Sent]:
    """The requests that were made."""
    for turn, request in zip(case.trace.turns, requests, strict=True):
        if request.messages is not None:
            yield turn, request.messages


def unpaired(messages: Sequence[Message]) -> Iterator[str]:
    """What a strict provider rejects: a result without its call directly before it, or a call without its result directly after it."""
    open_calls: set[str] = set()
    for message in messages:
        results = {result.tool_call_id for result in message.tool_results}
        yield from (f"a result without its call, {stray}" for stray in sorted(results - open_calls))
        open_calls -= results
        if not results:
            yield from (f"a call without its result, {left}" for left in sorted(open_calls))
            open_calls = {call.id for call in message.tool_calls}
    yield from (f"a call without its result, {left}" for left in sorted(open_calls))


def _pairs(case: Case, requests: Sequence[Request]) -> Iterator[str]:
    for turn, messages in _sent(case, requests):
        yield from (f"{wrong}, before message {turn}" for wrong in unpaired(messages))


def _budget(case: Case, requests: Sequence[Request]) -> Iterator[str]:
    for turn, messages in _sent(case, requests):
        tokens = sum(map(estimated_tokens, messages))
        if tokens > case.budget_tokens:
            yield f"{tokens:,} of {case.budget_tokens:,} tokens before message {turn}"


def _keeps(text: str) -> Callable[[Case, Sequence[Request]], Iterator[str]]:
    """A text is in every request after it was said."""

    def broken(case: Case, requests: Sequence[Request]) -> Iterator[str]:
        said = next(place for place, message in enumerate(case.trace.messages) if message.text == text)
        for turn, messages in _sent(case, requests):
            if turn > said and text not in text_of_all(messages):
                yield f"gone before message {turn}"

    return broken


def _task(case: Case, requests: Sequence[Request]) -> Iterator[str]:
    return _keeps(case.task.text)(case, requests)


def _way_back(case: Case, requests: Sequence[Request]) -> Iterator[str]:
    for turn, request in zip(case.trace.turns, requests, strict=True):
        text_shown = text_of_all(request.messages or ())
        for place, message in enumerate(case.trace.messages[:turn]):
            text = text_of(message)
            lines_stand = text in text_shown or all(part in text_shown for part in text.split("\n"))
            if not lines_stand and request.recalled.get(place) != text:
                yield f"message {place} is gone before message {turn}, and nothing refers to it"


def _delayed(case: Case, requests: Sequence[Request]) -> Iterator[str]:
    """Once a late result has arrived, it is never without its call, nor the call without it; and it is shown at least once."""
    came = next(place for place, message in enumerate(case.trace.messages) if _answers(message, "slow"))
    first = next(turn for turn in case.trace.turns if turn > came)
    for turn, messages in _sent(case, requests):
        if turn < first:
            continue
        has_call = any(call.id == "slow" for message in messages for call in message.tool_calls)
        has_result = any(_answers(message, "slow") for message in messages)
        if has_call != has_result:
            yield f"the {'call' if has_call else 'result'} is alone before message {turn}"
        if turn == first and text_of(case.trace.messages[came]) not in text_of_all(messages):
            yield "the late result is never shown"


def _answers(message: Message, call: str) -> bool:
    return any(result.tool_call_id == call for result in message.tool_results)


def _together(case: Case, requests: Sequence[Request]) -> Iterator[str]:
    """Of calls made at once, all are shown with their results, or none."""
    batches = [{call.id for call in message.tool_calls} for message in case.trace.messages]
    for turn, messages in _sent(case, requests):
        calls = {call.id for message in messages for call in message.tool_calls}
        results = {result.tool_call_id for message in messages for result in message.tool_results}
        for batch in batches:
            if len(batch) > 1 and (len(calls & batch), len(results & batch)) not in ((0, 0), (len(batch), len(batch))):
                yield f"a batch of {len(batch)} calls is split before message {turn}"


def _pictures(case: Case, requests: Sequence[Request]) -> Iterator[str]:
    """A picture reaches the model at the turn after it arrived, and displaces nothing as if its bytes were text."""
    came = next(place for place, message in enumerate(case.trace.messages) if _pictures_of(message))
    shown = case.trace.messages[came]
    for turn, messages in _sent(case, requests):
        if turn == came + 1:
            if not any(_pictures_of(message) == _pictures_of(shown) for message in messages):
                yield "the picture does not reach the model"
            if text_of(case.trace.messages[came - 1]) not in text_of_all(messages):
                yield "the picture pushed out what came just before it"
            return
    yield "the turn with the picture was refused"


def _pictures_of(message: Message) -> list[str]:
    return [part.url for part in message.content if isinstance(part, Image)]


def _silent(case: Case, requests: Sequence[Request]) -> Iterator[str]:
    """Empty content breaks no pair, and nothing else is lost because of it."""
    yield from _pairs(case, requests)
    for turn, messages in _sent(case, requests):
        last = case.trace.messages[turn - 1]
        if last.role is Role.TOOL and not any(_answers(each, last.tool_results[0].tool_call_id) for each in messages):
            yield f"the newest result is missing before message {turn}"


def _refuses(case: Case, requests: Sequence[Request]) -> Iterator[str]:
    for turn, messages in _sent(case, requests):
        tokens = sum(map(estimated_tokens, messages))
        yield f"sends {tokens:,} tokens before message {turn}, without an error"


def _said_once(case: Case, requests: Sequence[Request]) -> Iterator[str]:
    """A note is in the request that it is for, and in no other."""
    for place, note in case.notes.items():
        said = [turn for turn, messages in _sent(case, requests) if note in text_of_all(messages)]
        if said != [place]:
            yield f"the note for message {place} is said before {', '.join(map(str, said)) or 'none'}"


_PRESSED = ("loop", "oversized")

LAWS = (
    Law("pairs", "every call has its result directly after it, every result its call", (*_PRESSED, "images"), _pairs),
    Law("budget", "no request is larger than the budget", _PRESSED, _budget),
    Law("system", "the system prompt is in every request", _PRESSED, _keeps(SYSTEM)),
    Law("rule", "a rule, pinned where possible, is in every request", _PRESSED, _keeps(RULE)),
    Law("task", "the task is in every request", _PRESSED, _task),
    Law("way back", "what is shortened can be retrieved in full by something that is shown", _PRESSED, _way_back),
    Law("delayed", "a late result is shown, and never without its call", ("delayed",), _delayed),
    Law("parallel", "parallel calls stay together, with their results", ("loop",), _together),
    Law("dead call", "a call without a result does not break the request", ("dead call",), _pairs),
    Law("pictures", "a picture reaches the model and is not counted as text", ("images",), _pictures),
    Law("empty", "empty messages break nothing", ("empty",), _silent),
    Law("refuses", "a budget too small for the rules is refused", ("too small",), _refuses),
    Law("one-shot", "a one-shot note is shown once", ("notes",), _said_once, is_of_notes=True),
)
"""The laws that can be checked on single requests."""

STEADY, REPEATABLE = "steady", "repeatable"  # those that need more than one request, or more than one run
NAMES = (*(law.name for law in LAWS), STEADY, REPEATABLE)
