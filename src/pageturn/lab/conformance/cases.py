"""Builds the conformance cases: synthetic sessions, each with one thing that shortening easily breaks."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from pageturn.lab.traces import Trace, text_of
from pageturn.values.messages import Image, Message, ToolCall, assistant, system, tool_result, user

SYSTEM = "You are a coding agent. Work in small steps and say what you found."
RULE = "Rule: never push to main, and never touch the billing tables."
PREFERENCE = "I prefer short answers, with file names and no apologies."
TASK = "Find out why the nightly import of orders stops half way, and fix it without a new dependency."
_ROUNDS, _EVERY, _BATCH = 40, 8, 7
FINDINGS = _ROUNDS // _EVERY * _BATCH + _ROUNDS - _ROUNDS // _EVERY
_WORDS = "worker lease retry queue shard offset batch schema index cursor replica commit".split()


class Case(NamedTuple):
    """A session and its budget. It begins with the system prompt, a rule (pinned if the method can pin), a preference, and the task."""

    name: str
    trace: Trace
    budget_tokens: int
    pinned: tuple[int, ...] = (1,)
    notes: Mapping[int, str] = {}  # one-shot notes of the host, by the place of their turn

    @property
    def task(self) -> Message:
        """What the agent was asked to do."""
        return next(message for message in self.trace.messages if message.text == TASK)


def name_of(number: int) -> str:
    """A name that occurs in only one tool result."""
    return f"finding_{number}_is_{number * 7919 % 100_003:06d}"


def sentence_of(number: int) -> str:
    """A sentence without names that occurs in only one tool result."""
    return f"Gate {number * 37 % 1_009} of part {number} was left open by the night shift."


def loop() -> Case:
    """One long run of tools after a single request: 40 rounds, every eighth with seven calls at once, 70 findings, 22,000 tokens."""
    numbers = iter(range(FINDINGS))
    rounds: list[Message] = []
    for turn in range(1, _ROUNDS + 1):
        calls = [_call(next(numbers)) for _ in range(_BATCH if turn % _EVERY == 0 else 1)]
        rounds += [assistant(f"Step {turn}.", *calls), *(_answer(call) for call in calls)]
    return _case("loop", [*_opening(), *rounds, user("continue"), assistant("Done.")])


def delayed() -> Case:
    """A call whose result comes eight rounds later, long after the budget is exceeded."""
    slow = ToolCall(id="slow", name="backtest", arguments='{"days": 30}')
    quick = _call(0)
    begun = [assistant("Start the long one.", slow, quick), _answer(quick)]
    late = tool_result(slow, f"backtest finished: {name_of(999)}")
    rounds = [*begun, *_rounds(1, 9), late, *_rounds(9, 17)]
    return _case("delayed", [*_opening(), *rounds, assistant("Done.")], budget_tokens=2_000)


def dead() -> Case:
    """A call that never gets a result, because the person said something else."""
    lost = ToolCall(id="lost", name="deploy", arguments='{"to": "staging"}')
    begun = [assistant("I deploy it.", lost), user("Not now. Look at the logs again.")]
    return _case("dead call", [*_opening(), *begun, *_rounds(0, 16), assistant("Done.")], budget_tokens=2_000)


def oversized() -> Case:
    """One result that is three times the budget, in the middle of a few others."""
    call = _call(4)
    large = [assistant("All of it.", call), tool_result(call, _body(4, lines=700))]
    rounds = [*_rounds(0, 4), *large, *_rounds(5, 9)]
    return _case("oversized", [*_opening(), *rounds, assistant("Done.")], budget_tokens=4_000)


def images() -> Case:
    """A screenshot that would be 50,000 tokens if its bytes were counted as text."""
    shown = user("This is what I see.", Image(url=PICTURE, mime_type="image/png", width=800, height=600))
    rounds = [*_rounds(0, 6), shown, assistant("I see it."), *_rounds(6, 10)]
    return _case("images", [*_opening(), *rounds, assistant("Done.")], budget_tokens=4_000)


def empty() -> Case:
    """Results, answers and messages without content."""
    rounds: list[Message] = []
    for number in range(16):
        call = _call(number)
        silent = number % 3 == 0
        rounds += [
            assistant(call) if silent else assistant("", call),
            tool_result(call, "") if silent else _answer(call),
        ]
        if number == 8:
            rounds += [user("")]
    return _case("empty", [*_opening(), *rounds, assistant("Done.")], budget_tokens=2_000)


def too_small() -> Case:
    """A budget that is too small even for the instructions."""
    return loop()._replace(name="too small", budget_tokens=10)


def notes() -> Case:
    """One-shot notes, one of them where the budget is exceeded, and two in a row."""
    case = _case("notes", [*_opening(), *_rounds(0, 16), assistant("Done.")], budget_tokens=2_000)
    turns = case.trace.turns
    return case._replace(notes={turns[at]: f"Note {at}: the build of {at} o'clock is green." for at in (3, 8, 9, 14)})


def names_told(text: str) -> int:
    """How many of the names of the loop occur in a text."""
    return sum(name_of(number) in text for number in range(FINDINGS))


def sentences_told(text: str) -> int:
    """How many of the sentences of the loop occur in a text."""
    return sum(sentence_of(number) in text for number in range(FINDINGS))


def text_of_all(messages: Sequence[Message]) -> str:
    """All texts in messages."""
    return "\n".join(map(text_of, messages))


PICTURE = "data:image/png;base64," + "iVBORw0KGgoAAAANSUhEUgAAAyAAAAJYCAYAAACadoJwAAAA" * 4_000


def _opening() -> list[Message]:
    noted = assistant("Noted.")
    return [system(SYSTEM), user(RULE), noted, user(PREFERENCE), noted, user(TASK)]


def _case(name: str, messages: Sequence[Message], budget_tokens: int = 8_000) -> Case:
    return Case(name, Trace(name, "conformance", tuple(messages)), budget_tokens)


def _rounds(first: int, end: int) -> Iterator[Message]:
    """Rounds of one call each."""
    for number in range(first, end):
        call = _call(number)
        yield assistant("Next.", call)
        yield _answer(call)


def _call(number: int) -> ToolCall:
    return ToolCall(id=f"call_{number}", name="read_log", arguments=f'{{"path": "logs/part_{number}.log"}}')


def _answer(call: ToolCall) -> Message:
    return tool_result(call, _body(int(call.id.removeprefix("call_"))))


def _body(number: int, lines: int = 16) -> str:
    """Some lines of a log, with a finding in the middle."""
    sentences = [
        f"{line:04d} part {number}: {' '.join(_WORDS[(number * 5 + line * 3 + step) % len(_WORDS)] for step in range(9))}"
        for line in range(lines)
    ]
    sentences[lines // 2 : lines // 2] = [name_of(number), sentence_of(number)]
    return "\n".join(sentences)


CASES = (loop(), delayed(), dead(), oversized(), images(), empty(), too_small(), notes())
