"""Facts among distractors: a long history of logs that an agent read, and questions about single lines of it, asked late.

Five kinds: a look-up; an update, where the last line counts; a list, whose parts are in different lines; the order of two events; and
something that was never said, where the right answer is to say so.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from random import Random
from typing import Any, NamedTuple

from pageturn.lab.trial.contract import Step, tool
from pageturn.values.json import to_json
from pageturn.values.messages import Message, ToolCall, assistant, system, tool_result, user

NOT_SAID = "not said"
_SYSTEM = (
    "You are the clerk of a warehouse. You read the logs of each day with read_log and answer questions about them."
)
_TASK = "Please read the logs of the last days, one after the other. I will ask about them when you are done."
_READ_LOG = tool("read_log", "Read the log of one day.", day="integer")
_DEVICES = "scanner printer forklift scale gate crane lamp heater radio camera conveyor ladder".split()
_DOCKS = "Amber Birch Cedar Dune Ember Fjord Grove Harbor".split()
_DISTRACTORS = (
    "{time} shift {number} took over, {count} people, nothing to report.",
    "{time} carrier {dock} unloaded {count} pallets at ramp {number}.",
    "{time} the temperature in hall {hall} was {count} degrees, as planned.",
    "{time} order {order} was packed at table {number} and is waiting for a label.",
    "{time} cleaning of aisle {number} began and ended without delay.",
    "{time} the count of aisle {number} gave {order} items, two more than the books say.",
)
_WORD = re.compile(r"[a-z0-9]++(?:-[a-z0-9]++)*+")


class Question(NamedTuple):
    """A question, the right answer, and other possible answers."""

    kind: str
    text: str
    right: tuple[str, ...]
    wrong: tuple[str, ...]
    evidence: tuple[str, ...] = ()  # the lines needed for the answer
    stem: str = ""  # the beginning of an answer in a whole sentence

    @property
    def options(self) -> tuple[str, ...]:
        """The answers to choose from, in an uninformative order."""
        whole = ", ".join(self.right)
        return tuple(sorted({whole, *self.wrong, NOT_SAID}))

    def is_answered_by(self, answer: str) -> bool:
        """Whether an answer names everything right and nothing wrong; only its last line counts."""
        lines = answer.strip().lower().replace("*", "").splitlines()
        line = lines[-1] if lines else ""
        words = set(_WORD.findall(line))

        def is_named(each: str) -> bool:
            return each.lower() in (line if " " in each else words)

        wrong = {part.strip() for each in self.wrong for part in each.split(",")} - set(self.right)
        if self.right != (NOT_SAID,):
            wrong.add(NOT_SAID)
        return all(map(is_named, self.right)) and not any(map(is_named, wrong))


class FactsTask(NamedTuple):
    """One warehouse: its days, and the questions about them."""

    id: str
    days: tuple[str, ...]
    questions: tuple[Question, ...]
    family: str = "facts"
    tools: tuple[Mapping[str, Any], ...] = (_READ_LOG,)
    calls_a_step: float = 1.3

    @property
    def steps(self) -> tuple[Step, ...]:
        """The questions as the user asks them."""
        asked = "Answer on one line, in as few words as possible, from what the logs said. If they never said it, answer: not said."
        return tuple(Step(question.kind, f"{question.text} {asked}") for question in self.questions)

    def history(self) -> list[Message]:
        """Every day, read one after the other."""
        messages = [system(_SYSTEM), user(_TASK)]
        for number, text in enumerate(self.days, start=1):
            call = ToolCall(id=f"call_day{number}", name="read_log", arguments=to_json({"day": number}).decode())
            messages += [assistant(call), tool_result(call, text)]
        return [*messages, assistant("I have read the logs of all days. What would you like to know?")]

    def opened(self) -> nullcontext["_Clerk"]:
        """The logs, which cannot be read again, and a judge."""
        return nullcontext(_Clerk(self))


class _Clerk:
    def __init__(self, task: FactsTask) -> None:
        self._task = task

    def run(self, call: ToolCall) -> str:
        """A log that was read before is gone: otherwise reading again would be as good as remembering."""
        return (
            "This log has been archived and cannot be read any more."
            if call.name == "read_log"
            else "There is no such tool."
        )

    def check(self, step: int, answer: str, calls: Sequence[ToolCall]) -> bool:  # noqa: ARG002
        return self._task.questions[step].is_answered_by(answer)


def facts_task(seed: int, *, tokens: int = 40_000, questions: int = 20) -> FactsTask:
    """A task of about this many tokens (a quarter of the characters), the same for the same seed."""
    chance = Random(f"facts:{seed}:{tokens}:{questions}")  # noqa: S311  # a lab, not a lock
    days = max(8, tokens // 220)
    places: list[list[str]] = [[] for _ in range(days)]
    asked = list(_asked(chance, places, questions))
    chance.shuffle(asked)
    texts = []
    for number, facts in enumerate(places, start=1):
        lines = [*facts, *(_distractor(chance) for _ in range(max(4, 12 - len(facts))))]
        chance.shuffle(lines)
        texts.append("\n".join([f"Log of day {number}", *lines]))
    return FactsTask(f"facts-{seed}-{tokens}", tuple(texts), tuple(asked))


def dull_days(chance: Random, tokens: int) -> list[str]:
    """Logs without anything relevant, of about this many tokens: a long history for other tasks."""
    return [
        "\n".join([f"Log of day {number}", *(_distractor(chance) for _ in range(12))])
        for number in range(1, max(2, tokens // 220) + 1)
    ]


def _asked(chance: Random, places: list[list[str]], count: int) -> Iterator[Question]:
    """The questions; the lines with their answers are inserted into the days."""
    numbers = iter(chance.sample(range(1_000, 9_999), 12 * count))
    bays = [str(bay) for bay in range(11, 99)]
    shares = (("look-up", 0.4), ("update", 0.2), ("order", 0.15), ("never said", 0.15), ("list", 0.1))
    kinds = [kind for kind, share in shares for _ in range(max(1, round(share * count)))][:count]
    docks = iter(chance.sample(_DOCKS, len(_DOCKS)))

    def put(day: int, line: str) -> str:
        places[day].append(f"{_time(chance)} {line}")
        return line

    for kind in kinds:
        parcel, (bay, *others) = f"P-{next(numbers)}", chance.sample(bays, 4)
        where, stem = f"In which bay is parcel {parcel}?", f"Parcel {parcel} is in bay"
        early, late = sorted(chance.sample(range(len(places)), 2))
        match kind:
            case "look-up":
                line = put(early, f"parcel {parcel} was put into bay {bay}.")
                yield Question(kind, where, (bay,), tuple(others), (line,), stem)
            case "update":
                put(early, f"parcel {parcel} was put into bay {others[0]}.")
                line = put(late, f"parcel {parcel} was moved to bay {bay}.")
                yield Question(kind, where, (bay,), tuple(others), (line,), stem)
            case "order":
                halls = [f"H-{next(numbers)}" for _ in range(2)]
                days = (early, late)
                lines = tuple(
                    put(day, f"the inspection of hall {hall} ended.") for day, hall in zip(days, halls, strict=True)
                )
                text = f"The inspection of which hall ended first, {' or '.join(sorted(halls))}?"
                yield Question(
                    kind, text, (halls[0],), (halls[1],), lines, "The inspection that ended first is that of hall"
                )
            case "never said":
                yield Question(kind, where, (NOT_SAID,), (bay, *others), (), stem)
            case _:
                dock = next(docks, f"D-{next(numbers)}")
                devices = chance.sample(_DEVICES, 6)
                broken, sound = devices[:3], devices[3:]
                when = sorted(chance.sample(range(len(places)), 3))
                lines = tuple(
                    put(day, f"the {device} of dock {dock} broke.") for day, device in zip(when, broken, strict=True)
                )
                wrong = (", ".join([*broken[:2], sound[0]]), ", ".join([broken[0], *sound[1:]]))
                yield Question(
                    kind,
                    f"Which devices of dock {dock} broke?",
                    tuple(broken),
                    wrong,
                    lines,
                    f"The devices of dock {dock} that broke are",
                )


def _distractor(chance: Random) -> str:
    return chance.choice(_DISTRACTORS).format(
        time=_time(chance),
        number=chance.randint(1, 40),
        count=chance.randint(3, 30),
        dock=chance.choice(_DOCKS),
        hall=f"H-{chance.randint(1_000, 9_999)}",
        order=chance.randint(10_000, 99_999),
    )


def _time(chance: Random) -> str:
    return f"{chance.randint(6, 21):02}:{chance.randint(0, 59):02}"
