"""Draws the pictures of docs/report.md: synthetic sessions, replayed under our policies and a baseline.

make pictures
"""

from collections.abc import Iterator

import pageturn as pt
from pageturn.lab.baselines import keep_last
from pageturn.lab.our_policies import Deriving, first_lines
from pageturn.lab.replay import Recording, Shows
from pageturn.lab.report import report_of
from pageturn.lab.results import Result
from pageturn.lab.synthetic_coding import coding_session
from tools.pictures import FOLDER

SESSIONS, TURNS = 3, 40
BUDGETS = (3_000, 6_000)
NAMES = ("cost-coverage", "residency")


def main() -> None:
    for name, drawn in pictures().items():
        (FOLDER / f"{name}.svg").write_text(drawn, encoding="utf-8")


def pictures() -> dict[str, str]:
    """The pictures by the names of their files."""
    drawn = report_of(replays()).pictures
    return {f"report-{name}": drawn[name] for name in NAMES}


def replays() -> Iterator[Result]:
    """Every session under every policy at every budget."""
    for seed in range(1, SESSIONS + 1):
        trace = coding_session(seed, TURNS)
        recording = Recording(trace)
        for budget in BUDGETS:
            for name, shows in ways(budget).items():
                replay = recording.replay(shows)
                yield Result(
                    trace=trace.id,
                    source=trace.source,
                    policy=name,
                    budget_tokens=budget,
                    counter="chars/4",
                    vendor="ideal-cache",
                    score=replay.score,
                    faults=replay.faults,
                    turns=replay.turns,
                )


def ways(budget: int) -> dict[str, Shows]:
    return {
        "paged": Deriving(pt.Paged(budget_tokens=budget)),
        "legacy": Deriving(pt.Legacy(), budget_tokens=budget),
        "reset": Deriving(pt.Reset(threshold_tokens=budget), summarise=first_lines),
        "keep last": keep_last(budget),
    }


if __name__ == "__main__":
    main()
