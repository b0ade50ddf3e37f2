"""Reads task logs, JSON lines in which another program keeps goals and tasks, as a plan and prohibitions.

The field `kind` names the event: goal_set (objective, success_criteria, forbidden), goal_cleared, task_added (id, content)
and task_status (id, status). Other events are skipped; damaged lines are counted.
"""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from pageturn.values.errors import InvalidInput, show
from pageturn.values.json import Closed
from pageturn.values.plans import Plan

_OVER = ("done", "cancelled")
_NO = re.compile(r"\s*(?:never|no|not|do not|don't|must not|may not|avoid|forbidden|prohibited)\b", re.IGNORECASE)


class TaskLog(Closed):
    """The result of reading a task log."""

    plan: Plan | None
    forbidden: tuple[str, ...]
    damaged_lines: int
    goals: tuple[str, ...] = ()  # every objective that was ever set; the last is in force unless it was cleared
    speaks_of_goals: bool = False  # without it, the log says nothing about the present plan and rules

    @property
    def prohibitions(self) -> tuple[str, ...]:
        """What is forbidden, as rules."""
        return tuple(dict.fromkeys(map(prohibition, self.forbidden)))


def prohibition(forbidden: str) -> str:
    """The rule that forbids something. Always labelled as a prohibition and on one line, so that the words alone are never an order."""
    return f"Forbidden: {' '.join(forbidden.split())}"


def says_no(text: str) -> bool:
    """Whether the words forbid by themselves."""
    return _NO.match(text) is not None


def read_task_log(lines: Iterable[str | bytes]) -> TaskLog:
    """The goal and the open tasks at the end of a log, and what it forbids; `Session.plan` takes it."""
    if isinstance(lines, str | bytes) or not isinstance(lines, Iterable):
        raise InvalidInput("lines", expected="lines of JSON", got=show(lines))
    goal: _Goal | None = None
    goals: list[str] = []
    tasks: dict[str, str] = {}
    over: set[str] = set()
    damaged, speaks_of_goals = 0, False
    for line in lines:
        if isinstance(line, str | bytes) and not line.strip():
            continue
        try:
            event = msgspec.json.decode(line)
            match event["kind"]:
                case "goal_set":
                    goal = _Goal(
                        _text(event["objective"]), _texts(event.get("forbidden")), _texts(event.get("success_criteria"))
                    )
                    goals.append(goal.objective)
                    speaks_of_goals = True
                case "goal_cleared":
                    goal = None
                    speaks_of_goals = True
                case "task_added":
                    tasks[str(event["id"])] = _text(event["content"])
                case "task_status":
                    (over.add if event["status"] in _OVER else over.discard)(str(event["id"]))
        except (msgspec.DecodeError, UnicodeError, KeyError, TypeError, RecursionError):
            damaged += 1
    plan = _plan(goal, tasks, over) if goal is not None and goal.objective.strip() else None
    return TaskLog(plan, goal.forbidden if goal is not None else (), damaged, tuple(goals), speaks_of_goals)


class _Goal(NamedTuple):
    objective: str
    forbidden: tuple[str, ...]
    success_criteria: tuple[str, ...]


def _text(given: Any) -> str:
    if not isinstance(given, str):
        raise TypeError("not a text")
    given.encode()  # a lone surrogate is not text
    return given


def _texts(given: Any) -> tuple[str, ...]:
    if given is not None and not isinstance(given, list):
        raise TypeError("not a list")
    return tuple(text for text in map(_text, given or ()) if text.strip())


def _plan(goal: _Goal, tasks: dict[str, str], over: set[str]) -> Plan:
    finished = [text for task, text in tasks.items() if task in over]
    ahead = [text for task, text in tasks.items() if task not in over]
    criteria = [f"Done when: {each}" for each in goal.success_criteria]
    return Plan(goal=goal.objective, steps=(*finished, *ahead, *criteria), current=len(finished))
