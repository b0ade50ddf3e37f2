"""Makes a report from results."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from pageturn.lab.report.figures import WIDE, figures, left_out
from pageturn.lab.report.groups import Group, groups
from pageturn.lab.report.page import Contents, page
from pageturn.lab.report.style import drawing_style
from pageturn.lab.report.svg import standalone
from pageturn.lab.report.turns import Drawn, example
from pageturn.lab.results import Result
from pageturn.values.errors import InvalidInput, show

TITLE = "Replay results"


class Report(NamedTuple):
    """A report that has been drawn: the page, and its pictures by name."""

    html: str
    pictures: dict[str, str]


def report_of(
    results: Iterable[Result],
    *,
    title: str = TITLE,
    session: str | None = None,
    budget_tokens: int | None = None,
) -> Report:
    """The report of results; `session` and `budget_tokens` say what is drawn turn by turn."""
    found = groups(results)
    _check(found, session, budget_tokens)
    drawn = [_contents(group, example(group, session, budget_tokens)) for group in found]
    style = drawing_style()
    pictures = {
        f"{_prefix(number, contents.group) if len(drawn) > 1 else ''}{figure.name}": standalone(
            figure.draw(WIDE), style
        )
        for number, contents in enumerate(drawn, start=1)
        for figure in contents.figures
    }
    return Report(page(title, drawn), pictures)


def _contents(group: Group, drawn: tuple[Drawn, ...]) -> Contents:
    return Contents(group, tuple(figures(group, drawn)), tuple(left_out(group, drawn)))


def _check(found: Iterable[Group], session: str | None, budget_tokens: int | None) -> None:
    """Raise if something that was requested cannot be drawn."""
    results = [result for group in found for result in group.results if result.turns]
    sessions = dict.fromkeys(result.trace for result in results)
    if session is not None and session not in sessions:
        raise InvalidInput("session", expected=f"one of {_few(sessions)}", got=show(session))
    budgets = sorted({result.budget_tokens for result in results if session in (None, result.trace)})
    if budget_tokens is not None and budget_tokens not in budgets:
        raise InvalidInput("budget", expected=f"one of {_few(map(str, budgets))}", got=f"{budget_tokens}")


def _few(names: Iterable[str]) -> str:
    known = list(names)
    return ", ".join(known[:8]) + (f" and {len(known) - 8:,} others" if len(known) > 8 else "") or "none"


def _prefix(number: int, group: Group) -> str:
    words = re.sub(r"[^a-z0-9]+", "-", f"{group.counter}-{group.vendor}".lower()).strip("-")
    return f"{number}-{words[:60]}-"
