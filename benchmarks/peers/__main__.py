"""Other libraries beside ours: which laws each keeps, one hard case in figures, and what recorded sessions cost with it.

    make bench-peers [DATA=../shared/data] [ARGS="--why --budget 32000 --only langchain"]

All count a quarter of the characters, have the same budget and the same stand-in for whoever writes summaries; apart from that they
are at their defaults, as the scripts beside this one say. Whoever does not install is left out, with the reason.
"""

from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from rich.console import Console
from rich.progress import track
from rich.table import Table

import pageturn as pt
from benchmarks.peers.environments import ENVIRONMENTS, ROOT
from benchmarks.peers.relay import summary
from pageturn.lab.baselines import keep_last, prototype
from pageturn.lab.columns import MISSES_PRICED, WITH_REFETCHES, leading_cells, leading_heads, reference_dollars
from pageturn.lab.conformance import Case, Ours, System, Verdict, examine
from pageturn.lab.conformance.cases import PREFERENCE, RULE, SYSTEM, TASK, loop, names_told, sentences_told, text_of_all
from pageturn.lab.conformance.laws import NAMES, unpaired
from pageturn.lab.our_policies import Deriving
from pageturn.lab.peers import Peer, Request, write_commands
from pageturn.lab.replay import Recording, Score, Seen, Shown, Shows
from pageturn.lab.traces import Trace, estimated_tokens, read_traces

SAMPLE = {"claude-code.entireio-cli": 4, "codex-cli.session-bridge": 2}
HERE = Path(__file__).parent
COMMANDS = ROOT / "peers.json"


class Other(NamedTuple):
    """A method of another library: its environment, its runner, and its name there."""

    name: str
    environment: str
    runner: str
    way: str = ""

    @property
    def command(self) -> list[str | Path]:
        return [ENVIRONMENTS[self.environment].interpreter, HERE / self.runner, self.way]

    def peer(self, budget_tokens: int, pinned: Sequence[int] = ()) -> Peer:
        return Peer(self.name, self.command, budget_tokens, pinned=pinned, seconds=1_200)

    def system(self, case: Case) -> list[Request]:
        return self.peer(case.budget_tokens, case.pinned).requests(case.trace)


OTHERS = (
    Other("LangChain trim_messages", "langchain", "langchain_middleware.py", "trim"),
    Other("LangChain trim_messages, start_on human", "langchain", "langchain_middleware.py", "trim_human"),
    Other("LangChain ClearToolUsesEdit", "langchain", "langchain_middleware.py", "clear"),
    Other("LangChain SummarizationMiddleware", "langchain", "langchain_middleware.py", "summarize"),
    Other("harness SlidingWindow", "harness", "harness_compaction.py", "sliding"),
    Other("harness Summarizing", "harness", "harness_compaction.py", "summarizing"),
    Other("harness Tiered (clear, summarize)", "harness", "harness_compaction.py", "tiered"),
    Other("agent-framework ContextWindow", "agent-framework", "agent_framework_compaction.py", "window"),
    Other(
        "agent-framework ContextWindow, its own count", "agent-framework", "agent_framework_compaction.py", "window_own"
    ),
    Other("agent-framework TokenBudget", "agent-framework", "agent_framework_compaction.py", "budget"),
    Other("OpenHands LLMSummarizingCondenser", "openhands", "openhands_condenser.py"),
    Other("headroom compress", "headroom", "headroom_requests.py"),
)


def shown_by(shows: Shows, case: Case) -> list[Request]:
    return [Request(seen) for seen in shows(case.trace)]


BASELINES: Mapping[str, System] = {
    "keep last (prototype)": lambda case: shown_by(keep_last(case.budget_tokens), case),
    "prototype, .5": lambda case: shown_by(prototype(case.budget_tokens, 0.5), case),
}
OURS: Mapping[str, System] = {
    "pageturn Legacy": Ours(lambda _: pt.Legacy()),
    "pageturn Reset": Ours(lambda tokens: pt.Reset(threshold_tokens=tokens)),
    "pageturn Incremental": Ours(lambda tokens: pt.Incremental(budget_tokens=tokens)),
    "pageturn Paged": Ours(lambda tokens: pt.Paged(budget_tokens=tokens)),
}


def shows_of_ours(budget_tokens: int) -> dict[str, Shows]:
    def sum_up(messages: Sequence[pt.Message]) -> str:
        return summary(text_of_all(messages))

    return {
        "keep last (prototype)": keep_last(budget_tokens),
        "prototype, .5": prototype(budget_tokens, 0.5),
        "pageturn Legacy": Deriving(pt.Legacy(), budget_tokens=budget_tokens),
        "pageturn Reset": Deriving(pt.Reset(budget_tokens), summarise=sum_up),
        "pageturn Incremental": Deriving(pt.Incremental(budget_tokens), summarise=sum_up),
        "pageturn Paged": Deriving(pt.Paged(budget_tokens=budget_tokens)),
    }


def main() -> None:
    parser = ArgumentParser(prog="python -m benchmarks.peers")
    parser.add_argument(
        "data", type=Path, nargs="?", help="a folder with traces/; without one, no sessions are replayed"
    )
    parser.add_argument("--budget", type=int, default=32_000, help="of a request, for recorded sessions")
    parser.add_argument("--only", help="those whose name has this in it")
    parser.add_argument("--recorded", action="store_true", help="replay recorded sessions only")
    parser.add_argument("--why", action="store_true", help="say where each law is broken first")
    options = parser.parse_args()
    console = Console(width=200)
    here = [other for other in OTHERS if ENVIRONMENTS[other.environment].missing is None]
    for other in OTHERS:
        if other not in here:
            console.print(f"skipped: {other.name}: {ENVIRONMENTS[other.environment].missing}")
    if here:
        write_commands(COMMANDS, {other.name: other.command for other in here})
        console.print(f"{COMMANDS.name} has their commands, for: pageturn replay ... --peers {COMMANDS.name}")
    systems: dict[str, System] = {other.name: other.system for other in here} | dict(BASELINES) | dict(OURS)
    chosen = {name: system for name, system in systems.items() if options.only is None or options.only in name}
    if not options.recorded:
        laws(console, chosen, why=options.why)
        hard_case(console, chosen)
    if options.data is None or not (options.data / "traces").is_dir():
        console.print("no recorded sessions are replayed; give the data folder: make bench-peers DATA=...")
        return
    shows: dict[str, Shows] = {other.name: other.peer(options.budget) for other in here} | shows_of_ours(options.budget)
    for source, count in SAMPLE.items():
        traces = read_traces(options.data / "traces" / f"{source}.jsonl.gz")
        sample = [trace for trace in traces if trace.is_long and not trace.is_for_tuning][:count]
        recorded(console, {name: shows[name] for name in shows if name in chosen}, source, sample, options.budget)


def laws(console: Console, systems: Mapping[str, System], *, why: bool) -> None:
    """Which laws each keeps."""
    table = Table(title="laws that hold")
    table.add_column("")
    for name in NAMES:
        table.add_column(name, justify="center")
    verdicts: dict[str, Mapping[str, Verdict]] = {}
    for name, system in track(systems.items(), "laws", transient=True, console=console):
        verdicts[name] = examine(system)
        table.add_row(name, *(_cell(law, verdicts[name][law]) for law in NAMES))
    console.print(table)
    for name, told in verdicts.items():
        late = told["delayed"]
        console.print(f"  a late result, {name}: {late.detail or 'told, and with its call or as a note of its own'}")
    if why:
        for name, told in verdicts.items():
            console.print(f"\n{name}")
            for law, verdict in told.items():
                if not verdict.holds:
                    console.print(f"  {law}: {verdict.detail}", soft_wrap=True)


def _cell(law: str, verdict: Verdict) -> str:
    if not verdict.applies:
        return "n/a"
    return verdict.detail if law == "steady" and verdict.detail.endswith("%") else "yes" if verdict.holds else "-"


def hard_case(console: Console, systems: Mapping[str, System]) -> None:
    """What is left of the loop at its last turn."""
    case = loop()
    table = Table(
        title=f"the loop: {case.trace.tokens:,} tokens, budget {case.budget_tokens:,}, before its last answer"
    )
    for column in (
        "",
        "tokens",
        "broken pairs",
        "system",
        "rule",
        "preference",
        "task",
        "names of 70",
        "sentences of 70",
        "redeemable",
        "seconds",
    ):
        table.add_column(column, justify="right" if column else "left")
    for name, system in systems.items():
        start = perf_counter()
        try:
            request = system(case)[-1]
        except pt.PageturnError as error:
            table.add_row(name, str(error)[:60])
            continue
        messages = request.messages or ()
        told = text_of_all(messages)
        back = sentences_told("\n".join([told, *request.recalled.values()])) - sentences_told(told)
        table.add_row(
            name,
            f"{sum(map(estimated_tokens, messages)):,}",
            str(len(list(unpaired(messages)))),
            *("yes" if text in told else "-" for text in (SYSTEM, RULE, PREFERENCE, TASK)),
            str(names_told(told)),
            str(sentences_told(told)),
            str(back),
            f"{perf_counter() - start:.1f}",
        )
    console.print(table)


def recorded(console: Console, shows: Mapping[str, Shows], source: str, sample: Sequence[Trace], budget: int) -> None:
    """What recorded sessions cost, and what they still show."""
    turns = sum(len(trace.turns) for trace in sample)
    title = f"{source}: {len(sample)} long sessions that nothing was tuned on, {turns:,} turns, budget {budget:,}"
    table = Table(title=title)
    others = (*MISSES_PRICED, WITH_REFETCHES)
    columns = (
        "",
        *leading_heads(),
        *(column.head for column in others),
        "steady",
        "largest",
        "over budget",
        "refused",
        "seconds",
    )
    for column in columns:
        table.add_column(column, justify="right" if column else "left")
    recordings = [Recording(trace) for trace in sample]
    for name, way in track(shows.items(), source, transient=True, console=console):
        start = perf_counter()
        counted = Counted(way, budget)
        try:
            score = sum((recording.score(counted) for recording in recordings), Score())
        except pt.PageturnError as error:
            table.add_row(name, str(error)[:80])
            continue
        table.add_row(
            name,
            *leading_cells(score, reference_dollars(score)),
            *(column.cell(score) for column in others),
            f"{1 - score.folds / max(score.turns - len(sample), 1):.0%}",
            f"{score.largest:,}",
            f"{counted.over / score.turns:.0%}",
            f"{score.refused / score.turns:.0%}",
            f"{perf_counter() - start:.0f}",
        )
    console.print(table)


class Counted:
    """A method, with a count of the requests that were larger than the budget."""

    def __init__(self, shows: Shows, budget_tokens: int) -> None:
        self.over = 0
        self._shows = shows
        self._budget_tokens = budget_tokens

    def __call__(self, trace: Trace) -> Iterator[Seen]:
        for seen in self._shows(trace):
            messages = seen.messages if isinstance(seen, Shown) else seen or ()
            self.over += sum(map(estimated_tokens, messages)) > self._budget_tokens
            yield seen


if __name__ == "__main__":
    main()
