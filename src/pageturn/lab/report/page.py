"""Builds the HTML page of a report: a table and the figures of every group, in one self-contained file."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pageturn.lab.bootstrap import Spread
from pageturn.lab.columns import (
    DOLLARS,
    DOLLARS_MEANING,
    LEADING,
    PRICED_BILL,
    TIMES_THE_LOWER_BOUND,
    WITH_REFETCHES,
    Column,
    legend,
)
from pageturn.lab.pareto import LEGACY, Points, flip
from pageturn.lab.report.figures import NARROW, WIDE, Figure
from pageturn.lab.report.groups import Group, Row
from pageturn.lab.report.scales import percent, times
from pageturn.lab.report.style import page_style
from pageturn.lab.report.svg import Child, Node, add, document, node
from pageturn.lab.results import MISS_TOKENS, Score
from pageturn.values.model_prices import money

_NOTHING_FROM_ELSEWHERE = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
_SCRIPT = """
const tip = document.getElementById("tip"), root = document.documentElement;
for (const title of document.querySelectorAll("svg title")) { title.parentNode.dataset.tip = title.textContent; title.remove(); }
function show(event) {
  const over = event.target.closest && event.target.closest("[data-tip]");
  if (!over) { tip.style.display = "none"; return; }
  tip.textContent = over.dataset.tip;
  tip.style.display = "block";
  const left = event.clientX + 16, top = event.clientY + 16;
  tip.style.left = Math.max(4, Math.min(left, innerWidth - tip.offsetWidth - 6)) + "px";
  tip.style.top = (top + tip.offsetHeight > innerHeight ? Math.max(4, top - tip.offsetHeight - 32) : top) + "px";
}
addEventListener("pointermove", show);
addEventListener("pointerdown", show);
addEventListener("scroll", () => tip.style.display = "none", { passive: true });
document.querySelector("button").onclick = () => {
  const now = root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  root.dataset.theme = now === "dark" ? "light" : "dark";
};
"""


def _head(column: Column) -> tuple[str, str]:
    return column.head, column.meaning


_HEADS = (
    ("policy", "the label of the row; on the front: no other row is cheaper and shows more"),
    ("budget", "the most tokens of a request"),
    _head(PRICED_BILL),
    (DOLLARS, DOLLARS_MEANING),
    *map(_head, LEADING[1:]),
    _head(WITH_REFETCHES),
    _head(TIMES_THE_LOWER_BOUND),
    ("missed", "demanded names that were not in the request"),
    ("refused", "turns for which there was no request within the budget"),
    (
        "faults",
        "of the policy: something lost, or a result that came again while it was not whole in the request",
    ),
    ("sessions", "that were replayed"),
)
_FAULTS = [name for name, _ in _HEADS].index("faults")


class Contents(NamedTuple):
    """What a page has of a group."""

    group: Group
    figures: Sequence[Figure]
    left_out: Sequence[str]  # which figures are not there, and why


def page(title: str, groups: Sequence[Contents]) -> str:
    """The page as an HTML file."""
    head = node(
        "head",
        node("meta", charset="utf-8"),
        node("meta", http_equiv="Content-Security-Policy", content=_NOTHING_FROM_ELSEWHERE),
        node("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        node("title", title),
        node("style", page_style()),
    )
    body = node(
        "body",
        node("header", node("div", node("h1", title), _lead(groups)), node("button", "light / dark", type="button")),
    )
    for contents in groups:
        add(body, *_chapter(contents))
    add(body, node("div", id="tip"), node("script", _SCRIPT))
    return document(node("html", head, body, lang="en"))


def _lead(groups: Sequence[Contents]) -> Node:
    known = [contents.group for contents in groups]
    sessions = len({session for group in known for session in group.sessions})
    policies = len({policy.name for group in known for policy in group.policies})
    budgets = len({budget for group in known for budget in group.budgets})
    return node(
        "p",
        f"{_many(sessions, 'session')} under {_many(policies, 'policy', 'policies')} at {_many(budgets, 'budget')}.",
        class_="note",
    )


def _chapter(contents: Contents) -> Iterator[Child]:
    group, figures, left_out = contents
    yield node("h2", f"Tokens of “{group.counter}”, prices of “{group.vendor}”")
    sources = _many(len({source for source, _ in group.sessions}), "source")
    yield node("p", f"{_many(len(group.sessions), 'session')} of {sources}, pooled.", class_="note")
    yield _drawn(figures[0])
    yield node("h3", "In numbers")
    if not group.is_complete:
        yield node(
            "p", "Not every row has all sessions, so not all rows can be compared: see the last column.", class_="alarm"
        )
    yield _table(group)
    yield node("p", f"{legend(group.prices)}.", class_="note")
    yield from _elected(group)
    yield from map(_drawn, figures[1:])
    for reason in left_out:
        yield node("p", reason, class_="note")


def _elected(group: Group) -> Iterator[Node]:
    """What the flip rule says, where there is something to flip."""
    points = Points()
    for result in group.results:
        points.add(result)
    rule = flip(points.pooled())
    if rule.budgets and rule.dominating:
        cost = f"the {PRICED_BILL.head}" if points.is_priced else f"the bill {WITH_REFETCHES.head}"
        asked = f"{cost}, coverage and faults at every budget"
        others = "no other policy beats it" if rule.elected == LEGACY else f"it is the cheapest that beats {LEGACY}"
        yield node("p", f"The default that the flip rule elects is {rule.elected}: {others} in {asked}.", class_="note")


def _drawn(figure: Figure) -> Node:
    """A figure at two widths, of which the reader's screen shows one."""
    return node(
        "section",
        node("h3", figure.title),
        node(
            "figure",
            node("figcaption", figure.caption),
            node("div", figure.draw(WIDE), class_="wide"),
            node("div", figure.draw(NARROW), class_="narrow"),
        ),
    )


def _table(group: Group) -> Node:
    columns = len(_HEADS) - group.is_complete
    heads = [node("th", name, title=tip) for name, tip in _HEADS[:columns]]
    rows = [_row(row, columns, is_best=row in group.front) for row in group.rows]
    table = node("table", node("thead", node("tr", *heads)), node("tbody", *rows))
    return node("div", table, class_="scroll")


def _row(row: Row, columns: int, *, is_best: bool) -> Node:
    score = row.score
    faults = ", ".join(f"{code} {count:,}" for code, count in sorted(row.faults.items()))
    cells: list[Sequence[Child]] = [
        [
            row.policy,
            node("small", "on the front" if is_best else "knows the future") if is_best or row.is_foreseen else None,
        ],
        [f"{row.budget_tokens:,}"],
        _priced(score),
        _dollars(row),
        _measured(row.bill, "{:.3f}"),
        _measured(row.coverage, "{:.1%}"),
        [percent(round(score.verbatim_coverage, 3)) if score.lines_wanted else "–"],
        [f"{score.share_missing:.1%}" if score.is_priced else "–"],
        [f"{score.folds:,}", node("small", f"of {score.turns:,}")],
        [f"{score.bill_with_refetches:.3f}"],
        [times(score.over_floor)],
        [f"{score.missed:,}", node("small", f"of {score.demanded:,}")],
        [f"{score.refused:,}"],
        [f"{row.faults.total():,}"],
        [f"{len(row.results):,}"],
    ]
    made = node("tr", *(node("td", *cell) for cell in cells[:columns]), class_="best" if is_best else None)
    if faults:
        made[_FAULTS].set("title", faults)
    return made


def _priced(score: Score) -> list[Child]:
    """The priced bill, and below it its value if a turn that misses costs more than its bill."""
    if not score.is_priced:
        return ["–"]
    first, *others = (score.priced(tokens) for tokens in MISS_TOKENS)
    dearer = ", ".join(f"{tokens:,}: {value:.3f}" for tokens, value in zip(MISS_TOKENS[1:], others, strict=True))
    return [f"{first:.3f}", node("small", dearer, title="at so many tokens for each turn that misses")]


def _dollars(row: Row) -> list[Child]:
    """What the sessions cost in all, and what they cost if everything is sent."""
    if row.dollars is None or row.dollars_for_everything is None or not row.score.is_priced:
        return ["–"]
    return [money(row.dollars), node("small", f"of {money(row.dollars_for_everything)}", title="if everything is sent")]


def _measured(measure: Spread, form: str) -> list[Child]:
    interval = f"{form.format(measure.low)} – {form.format(measure.high)}"
    return [form.format(measure.value), node("small", interval) if measure.low < measure.high else None]


def _many(count: int, one: str, many: str | None = None) -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"
