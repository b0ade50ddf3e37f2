"""Defines a task of a trial: it has a history, asks step by step, answers the model's calls, and is judged by a program."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

from pageturn.values.messages import Message, ToolCall


class Step(NamedTuple):
    """One thing that the user says late in the session."""

    name: str  # what kind of step it is, by which results are grouped
    text: str


class Workplace(Protocol):
    """A task while it is run: whoever answers the calls of its tools, and judges."""

    def run(self, call: ToolCall) -> str:
        """What a call of the model brings."""
        ...

    def check(self, step: int, answer: str, calls: Sequence[ToolCall]) -> bool:
        """Whether a step is done, by the model's last words and the calls that it made since the step was asked for."""
        ...


class Task(Protocol):
    """What is the same for every method. It knows nothing of them, so no judge can favour one."""

    @property
    def id(self) -> str:
        """Its name, by which results are found again."""
        ...

    @property
    def family(self) -> str:
        """What kind of task it is."""
        ...

    @property
    def steps(self) -> Sequence[Step]:
        """What is asked, one after the other."""
        ...

    @property
    def tools(self) -> Sequence[Mapping[str, Any]]:
        """What the model may call, in OpenAI's form."""
        ...

    @property
    def calls_a_step(self) -> float:
        """How many calls of the model a step takes, about: for a price before anything is run."""
        ...

    def history(self) -> Sequence[Message]:
        """What was said before the first step, from the opening prompt on."""
        ...

    def opened(self) -> AbstractContextManager[Workplace]:
        """The task, ready to be run once."""
        ...


def tool(name: str, description: str, **parameters: str) -> dict[str, Any]:
    """A tool with parameters of these types, all of them required, in OpenAI's form."""
    properties = {each: {"type": type_} for each, type_ in parameters.items()}
    schema = {"type": "object", "properties": properties, "required": list(parameters)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


def arguments_of(call: ToolCall) -> dict[str, Any]:
    """The arguments of a call; none where they are no object."""
    parsed = call.parsed
    return parsed if isinstance(parsed, dict) else {}
