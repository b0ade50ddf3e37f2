"""Builds the HTML page of a report: a table and the figures of every chapter, in one self-contained file."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pageturn.lab.bootstrap import Spread
from pageturn.lab.pareto import LEGACY, Points, flip
from pageturn.lab.report.figures import NARROW, WIDE, Figure
from pageturn.lab.report.groups import Chapter, Row
from pageturn.lab.report.scales import percent, times
from pageturn.lab.report.style import page_style
from pageturn.lab.report.svg import Child, Node, add, document, node
from pageturn.lab.results import MISS_TOKENS, Score

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
_HEADS = (
    ("policy", "the label of the row; on the front: no other row is cheaper and shows more"),
    ("budget", "the most tokens of a request"),
    (
        "priced bill",
        "the bill, and for each turn that misses something one more call that brings it back; relative to sending everything",
    ),
    ("turns missing", "turns that name or quote something said before which did not stand in the request"),
    ("bill", "relative to sending everything"),
    ("with re-reading", "the bill, and that of reading again what was missed; relative to sending everything"),
    ("of the least", "how many times the least possible bill"),
    ("coverage", "demanded names that stood in the request"),
    ("verbatim", "lines that edits had to match which stood in the request"),
    ("missed", "demanded names that did not stand in the request"),
    ("rewritten", "turns whose request did not begin with the one before"),
    ("refused", "turns for which there was no request within the budget"),
    (
        "faults",
        "of the policy: something lost, or a result that came again while it did not stand whole in the request",
    ),
    ("sessions", "that were replayed"),
)
_FAULTS = [name for name, _ in _HEADS].index("faults")


class Contents(NamedTuple):
    """What a page has of a chapter."""

    chapter: Chapter
    figures: Sequence[Figure]
    left_out: Sequence[str]  # which figures are not there, and why


def page(title: str, chapters: Sequence[Contents]) -> str:
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
        node("header", node("div", node("h1", title), _lead(chapters)), node("button", "light / dark", type="button")),
    )
    for contents in chapters:
        add(body, *_chapter(contents))
    add(body, node("div", id="tip"), node("script", _SCRIPT))
    return document(node("html", head, body, lang="en"))


def _lead(chapters: Sequence[Contents]) -> Node:
    known = [contents.chapter for contents in chapters]
    sessions = len({session for chapter in known for session in chapter.sessions})
    policies = len({policy.name for chapter in known for policy in chapter.policies})
    budgets = len({budget for chapter in known for budget in chapter.budgets})
    return node(
        "p",
        f"{_many(sessions, 'session')} under {_many(policies, 'policy', 'policies')} at {_many(budgets, 'budget')}.",
        class_="note",
    )


def _chapter(contents: Contents) -> Iterator[Child]:
    chapter, figures, left_out = contents
    yield node("h2", f"Tokens of “{chapter.counter}”, prices of “{chapter.vendor}”")
    sources = _many(len({source for source, _ in chapter.sessions}), "source")
    yield node("p", f"{_many(len(chapter.sessions), 'session')} of {sources}, pooled.", class_="note")
    yield _drawn(figures[0])
    yield node("h3", "In numbers")
    if not chapter.is_complete:
        yield node(
            "p", "Not every row has all sessions, so not all rows can be compared: see the last column.", class_="alarm"
        )
    yield _table(chapter)
    yield from _elected(chapter)
    yield from map(_drawn, figures[1:])
    for reason in left_out:
        yield node("p", reason, class_="note")


def _elected(chapter: Chapter) -> Iterator[Node]:
    """What the flip rule says, where there is something to flip."""
    points = Points()
    for result in chapter.results:
        points.add(result)
    rule = flip(points.pooled())
    if rule.budgets and rule.dominating:
        cost = "the priced bill" if points.is_priced else "the bill with re-reading"
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


def _table(chapter: Chapter) -> Node:
    columns = len(_HEADS) - chapter.is_complete
    heads = [node("th", name, title=tip) for name, tip in _HEADS[:columns]]
    rows = [_row(row, columns, is_best=row in chapter.front) for row in chapter.rows]
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
        [f"{score.share_missing:.1%}" if score.is_priced else "–"],
        _measured(row.cost, "{:.3f}"),
        [f"{score.cost_with_refetches:.3f}"],
        [times(score.over_floor)],
        _measured(row.coverage, "{:.1%}"),
        [percent(round(score.verbatim_coverage, 3)) if score.lines_wanted else "–"],
        [f"{score.missed:,}", node("small", f"of {score.demanded:,}")],
        [f"{score.rewritten:,}", node("small", f"of {score.turns:,}")],
        [f"{score.refused:,}"],
        [f"{row.faults.total():,}"],
        [f"{len(row.results):,}"],
    ]
    made = node("tr", *(node("td", *cell) for cell in cells[:columns]), class_="best" if is_best else None)
    if faults:
        made[_FAULTS].set("title", faults)
    return made


def _priced(score: Score) -> list[Child]:
    """The priced bill, and below it what it comes to if a turn that misses costs more than its bill."""
    if not score.is_priced:
        return ["–"]
    first, *others = (score.priced(tokens) for tokens in MISS_TOKENS)
    dearer = ", ".join(f"{tokens:,}: {value:.3f}" for tokens, value in zip(MISS_TOKENS[1:], others, strict=True))
    return [f"{first:.3f}", node("small", dearer, title="at so many tokens for each turn that misses")]


def _measured(measure: Spread, form: str) -> list[Child]:
    interval = f"{form.format(measure.low)} – {form.format(measure.high)}"
    return [form.format(measure.value), node("small", interval) if measure.low < measure.high else None]


def _many(count: int, one: str, many: str | None = None) -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"
