"""What policies lose on synthetic sessions: ClawVM's comparison, ablation, weight sweep and hostile three, on our workloads.

    python -m benchmarks.clawvm [SEEDS]

The shape is to be compared with the publication, the figures are not: the workloads are of our own design. A row of your
own is a chooser: put `Policy("mine", MyChooser())` into ROWS.
"""

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import fmean

from rich.console import Console
from rich.table import Table

from pageturn.lab.clawvm import ABLATIONS, POLICIES, SWEEP, Policy
from pageturn.lab.simulated_paged import PagedChooser
from pageturn.lab.simulation import Tally
from pageturn.lab.synthetic_workloads import BUDGETS, Workload, adversaries, families
from pageturn.values.faults import DuplicateTool, FlushMiss, PinnedInvariantMiss, PostCompactionBootstrap, Refetch

ROWS: tuple[Policy, ...] = (*POLICIES, Policy("paged", PagedChooser()))
SEEDS = 5
ABLATION_BUDGET = 180
STARVATION_BUDGET = 40
_CODES = tuple(
    fault().code for fault in (Refetch, DuplicateTool, FlushMiss, PostCompactionBootstrap, PinnedInvariantMiss)
)


def main(seeds: int) -> None:
    console = Console(width=110)
    sessions = [workload for seed in range(1, seeds + 1) for workload in families(seed)]
    floors = max(workload.floor_tokens for workload in sessions)
    console.print(
        f"[dim]4 families x {seeds} seeds; the floors need at most {floors} tokens, so they fit every budget[/]"
    )
    policies(console, sessions)
    ablation(console, seeds)
    sweep(console)
    hostile(console, seeds)


def policies(console: Console, sessions: Sequence[Workload]) -> None:
    tallies = {
        (policy.name, budget): [policy.run(session, budget) for session in sessions]
        for policy in ROWS
        for budget in BUDGETS
    }
    faults = table("Faults a session, by budget in tokens", "", *map(str, BUDGETS), "mean", "no handicap", "thrash")
    for policy in ROWS:
        rows = [tallies[policy.name, budget] for budget in BUDGETS]
        means = [mean_faults(row) for row in rows]
        fair = fmean(without_handicap(policy, sessions, budget, tallies[policy.name, budget]) for budget in BUDGETS)
        thrash = fmean(tally.thrash for row in rows for tally in row)
        faults.add_row(policy.name, *(f"{mean:.1f}" for mean in (*means, fmean(means), fair)), f"{thrash:.3f}")
    console.print(faults)
    recalls = table(
        "Hits that the store answered; and those with not even a pointer in the context",
        "",
        *map(str, BUDGETS),
    )
    for policy in ROWS:
        recalls.add_row(policy.name, *(recalled(tallies[policy.name, budget]) for budget in BUDGETS))
    console.print(recalls)


def mean_faults(tallies: Iterable[Tally]) -> float:
    return fmean(len(tally.faults) for tally in tallies)


def without_handicap(policy: Policy, sessions: Sequence[Workload], budget: int, tallies: Sequence[Tally]) -> float:
    fair = policy.without_handicap
    if fair == policy:
        return mean_faults(tallies)
    return mean_faults(
        fair.run(session, budget) if session.is_multi_session else tally
        for session, tally in zip(sessions, tallies, strict=True)
    )


def recalled(tallies: Sequence[Tally]) -> str:
    hits = sum(tally.hits for tally in tallies) or 1
    recalls, blind = (sum(getattr(tally, name) for tally in tallies) for name in ("recalls", "blind_recalls"))
    return f"{recalls / hits:.0%}, {blind / hits:.0%}"


def ablation(console: Console, seeds: int) -> None:
    title = f"What ClawVM loses without one of its parts, at {ABLATION_BUDGET}, sum of families"
    result = table(title, "", *(code.replace("_", " ") for code in _CODES), "sum")
    for policy in ABLATIONS:
        codes: Counter[str] = Counter()
        for seed in range(1, seeds + 1):
            for session in families(seed):
                codes += policy.run(session, ABLATION_BUDGET).by_code
        result.add_row(policy.name, *(f"{codes[code] / seeds:.1f}" for code in _CODES), f"{codes.total() / seeds:.1f}")
    console.print(result)


def sweep(console: Console) -> None:
    sessions = families(1)
    result = table(f"{len(SWEEP)} settings of the weights", "budget", "faults", "thrash", "recalls")
    for budget in (BUDGETS[0], ABLATION_BUDGET, BUDGETS[-1]):
        tallies = [[policy.run(session, budget) for session in sessions] for policy in SWEEP]
        result.add_row(
            str(budget),
            span([sum(len(tally.faults) for tally in row) for row in tallies]),
            span([round(fmean(tally.thrash for tally in row), 3) for row in tallies]),
            span([sum(tally.recalls for tally in row) for row in tallies]),
        )
    console.print(result)


def span(values: Sequence[float]) -> str:
    least, most = min(values), max(values)
    return str(least) if least == most else f"{least} to {most}"


def hostile(console: Console, seeds: int) -> None:
    result = table("The hostile three", "", "starvation at 40", "churn at 180", "cascade at 180")
    for policy in ROWS:
        cells = []
        for sessions in zip(*(adversaries(seed) for seed in range(1, seeds + 1)), strict=True):
            budget = STARVATION_BUDGET if sessions[0].name == "starvation" else ABLATION_BUDGET
            tallies = [policy.run(session, budget) for session in sessions]
            unmet = fmean(tally.unmet_floors for tally in tallies)
            lost = f"{mean_faults(tallies):.1f}"
            cells.append(lost if tallies[0].floors_fit else f"{lost}; cannot fit, {unmet:.0f} unmet")
        result.add_row(policy.name, *cells)
    console.print(result)


def table(title: str, *columns: str) -> Table:
    made = Table(title=title, title_justify="left")
    for at, column in enumerate(columns):
        made.add_column(column, justify="right" if at else "left", no_wrap=not at)
    return made


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS)
