"""Defines a task of a trial: it has a history, asks step by step, answers the model's calls, and is judged by a program."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

from pageturn.values.messages import Message, ToolCall


class Step(NamedTuple):
    """One request of the user late in the session."""

    name: str  # the kind of step, by which results are grouped
    text: str


class Workplace(Protocol):
    """A task while it is run: answers the calls of its tools, and judges."""

    def run(self, call: ToolCall) -> str:
        """The result of a call of the model."""
        ...

    def check(self, step: int, answer: str, calls: Sequence[ToolCall]) -> bool:
        """Whether a step is done, by the model's last answer and the calls that it made since the step was requested."""
        ...


class Task(Protocol):
    """The part that is the same for every method. It knows nothing of the methods, so no judge can favour one."""

    @property
    def id(self) -> str:
        """The name by which results are found again."""
        ...

    @property
    def family(self) -> str:
        """The kind of task."""
        ...

    @property
    def steps(self) -> Sequence[Step]:
        """The requests, one after the other."""
        ...

    @property
    def tools(self) -> Sequence[Mapping[str, Any]]:
        """The tools for the model, in OpenAI's form."""
        ...

    @property
    def calls_a_step(self) -> float:
        """About how many calls of the model a step takes: for an estimate of the price."""
        ...

    def history(self) -> Sequence[Message]:
        """Everything before the first step, beginning with the opening prompt."""
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
    """The arguments of a call; empty if they are not an object."""
    parsed = call.parsed
    return parsed if isinstance(parsed, dict) else {}
