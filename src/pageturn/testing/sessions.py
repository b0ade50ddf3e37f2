"""Scripted sessions: an agent's work that is the same in every run, without a model.

`open_session` is `Session.open` with a repeatable clock and randomness. `Script` is the agent: it reads files, turn after turn, and
returns the contexts that a model would have been sent.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from pageturn.session import Session
from pageturn.stores.ports import Store
from pageturn.testing.fakes import FixedClock, seeded
from pageturn.values.context import Context
from pageturn.values.messages import Message, ToolCall, assistant, system, tool_result, user
from pageturn.values.pages import Page

SYSTEM = "You are careful."
TASK = "Make the session of src/auth/login.py expire after 30 minutes, and test it."


def open_session(url: str | Store = ":memory:", *, id: str = "s", seed: int = 1, **options: Any) -> Session:  # noqa: A002
    """A session that is the same in every run: its clock ticks by itself, and its randomness is seeded."""
    return Session.open(url, id=id, clock=FixedClock(), entropy=seeded(seed), **options)


class Script:
    """An agent at work in a session. Every context has the same budget, whatever the session's policy says."""

    def __init__(
        self, session: Session, *, budget_tokens: int | None = None, tools: Iterable[Mapping[str, Any]] = ()
    ) -> None:
        self.session = session
        self.budget_tokens = budget_tokens
        self.tools = tuple(tools)
        self.turns = 0

    def begin(self, *, prompt: str = SYSTEM, task: str = TASK) -> "Script":
        """Append what opens a session: a system prompt and a task."""
        self.session.append(system(prompt))
        self.session.append(user(task))
        return self

    def derive(self) -> Context:
        """The context of the next call."""
        return self.session.derive(self.tools, budget_tokens=self.budget_tokens)

    def work(self, turns: int, *, lines: int = 60) -> list[Context]:
        """Work for this many turns, each reading a file with names of its own; returns the contexts that they began with."""
        return [self.turn("value_{n} = compute_{n}()\n" * lines) for _ in range(turns)]

    def turn(self, result: str) -> Context:
        """One turn: derive, call a tool, and take its result, in which `{n}` is replaced by the number of the turn."""
        context = self.derive()
        number, self.turns = self.turns, self.turns + 1
        call = ToolCall(id=f"w{number}", name="read", arguments=f'{{"path": "src/part_{number}.py"}}')
        self.session.append(assistant(f"reading {number}", call))
        self.session.append(tool_result(call, result.replace("{n}", f"{number}")))
        return context

    def say(self, message: Message) -> Page:
        """Append a message; returns its page."""
        return self.session.append(message)
