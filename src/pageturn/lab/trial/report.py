"""Prints the tables of a trial, in the terminal or as Markdown."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pageturn.lab.trial.analysis import Outcome
from pageturn.lab.trial.running import Plan
from pageturn.values.model_prices import money


class Rows(NamedTuple):
    """A table, as text."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def tables(found: Outcome) -> list[Rows]:
    """The results of each method; and by kind of step."""
    methods = [row.method for row in found.methods]
    first = methods[0] if methods else ""
    overall = Rows(
        f"{found.runs:,} runs of each method, {found.methods[0].steps if found.methods else 0:,} steps",
        (
            "",
            "steps done",
            "dollars",
            "input tokens",
            "cached",
            "calls a step",
            "recalls a step",
            f"beside {first}",
            "p",
            "dollars a run",
        ),
        tuple(
            (
                row.method,
                str(row.done),
                money(row.dollars),
                f"{row.input_tokens:,}",
                f"{row.cached:.0%}",
                f"{row.calls:.2f}",
                f"{row.recalls:.2f}",
                f"+{row.against.only_ours} -{row.against.only_theirs}" if row.against is not None else "",
                f"{row.against.p:.3f}" if row.against is not None else "",
                f"{row.dollars_against.value:+.4f} [{row.dollars_against.low:+.4f}, {row.dollars_against.high:+.4f}]"
                if row.dollars_against is not None
                else "",
            )
            for row in found.methods
        ),
    )
    kinds = list(dict.fromkeys(kind for _, kind in found.kinds))
    by_kind = Rows(
        "steps done, by kind",
        ("", *methods),
        tuple((kind, *(str(found.kinds.get((method, kind), "")) for method in methods)) for kind in kinds),
    )
    return [overall, by_kind]


LEGEND = (
    "Intervals hold 95 %: Wilson's for shares, a paired bootstrap over runs for dollars. `+a -b`: steps that only this method did, and that only the "
    "other did; p is McNemar's exact test. Dollars are what the model's usage says at the prices named."
)


def markdown(plan: Plan, found: Outcome, note: str) -> str:
    """The report as a page."""
    return "\n".join(_lines(plan, found, note)) + "\n"


def _lines(plan: Plan, found: Outcome, note: str) -> Iterator[str]:
    yield f"# A trial with {plan.model}"
    yield ""
    yield (
        f"{len(plan.tasks):,} tasks, {plan.repetitions:,} times each, under {len(plan.methods):,} methods to manage the context at {plan.budget_tokens:,} tokens "
        f"(a quarter of the characters); order by seed {plan.seed}. Prices: {plan.price}."
    )
    if note:
        yield f"\nNot complete: {note}."
    if found.left_out:
        yield f"\n{found.left_out:,} runs are left out, since not every method has them yet."
    for table in tables(found):
        yield f"\n## {table.title}\n"
        yield _row(table.heads)
        yield "|" + "---|" * len(table.heads)
        yield from map(_row, table.rows)
    yield f"\n{LEGEND}"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
