"""Task logs: goals and tasks that another program keeps as JSON lines, read as a plan and as rules.

Events are told apart by `kind`: goal_set (objective, success_criteria, forbidden), goal_cleared, task_added (id, content)
and task_status (id, status). Others are passed over; lines that are damaged are counted.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from pageturn.plans import Plan
from pageturn.wire import Closed

_OVER = ("done", "cancelled")


class TaskLog(Closed):
    """What a task log comes to."""

    plan: Plan | None
    forbidden: tuple[str, ...]
    damaged_lines: int


def read_task_log(lines: Iterable[str | bytes]) -> TaskLog:
    """The goal and the open tasks at the end of a log, and what it forbids."""
    goal: dict[str, Any] | None = None
    tasks: dict[str, str] = {}
    over: set[str] = set()
    damaged = 0
    for line in lines:
        if isinstance(line, str | bytes) and not line.strip():
            continue
        try:
            event = msgspec.json.decode(line)
            match event["kind"]:
                case "goal_set":
                    goal = {
                        "objective": str(event["objective"]),
                        "forbidden": _texts(event.get("forbidden")),
                        "success_criteria": _texts(event.get("success_criteria")),
                    }
                case "goal_cleared":
                    goal = None
                case "task_added":
                    tasks[str(event["id"])] = str(event["content"])
                case "task_status":
                    (over.add if event["status"] in _OVER else over.discard)(str(event["id"]))
        except (msgspec.DecodeError, UnicodeError, KeyError, TypeError):
            damaged += 1
    return TaskLog(_plan(goal, tasks, over), goal["forbidden"] if goal else (), damaged)


def _texts(given: Any) -> tuple[str, ...]:
    if given is not None and not isinstance(given, list):
        raise TypeError("not a list")
    return tuple(str(each) for each in given or () if str(each).strip())


def _plan(goal: dict[str, Any] | None, tasks: dict[str, str], over: set[str]) -> Plan | None:
    if goal is None or not goal["objective"].strip():
        return None
    finished = [text for task, text in tasks.items() if task in over]
    ahead = [text for task, text in tasks.items() if task not in over]
    criteria = [f"Done when: {each}" for each in goal["success_criteria"]]
    return Plan(goal=goal["objective"], steps=(*finished, *ahead, *criteria), current=len(finished))
