"""What each signal of Paged contributes: recorded sessions with all of them, and with each one off, one at a time.

    python -m benchmarks.ablation ../shared/data [--budget 32000] [--sessions 8] [--half tuning] [--name thrifty] [--only age]

Long sessions, tokens of four characters, the half that nothing is tuned on; what does not pay is judged on the other. Each row is what leaving the signal
out adds, with the interval that holds 95 % of resampled sets of sessions; `pays` says that the priced bill with the name's own price of a miss rises without it.
The product has no such switches: constants and functions of `pageturn.policies` are replaced here.
"""

from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from rich.console import Console
from rich.table import Table

from benchmarks.front import NAMES, OURS, chosen
from pageturn.context.renditions import BUILT_IN
from pageturn.lab.bootstrap import paired
from pageturn.lab.our_policies import CharacterCounter, remembering
from pageturn.lab.replay import Recording
from pageturn.lab.results import Score
from pageturn.lab.sweep import Method
from pageturn.lab.traces import Trace
from pageturn.policies import paged, stable_prefix, worth
from pageturn.policies.packing import Values
from pageturn.policies.worth import Valuation
from pageturn.values.layout import Candidate

ALL = "all signals"
_worth = Valuation.worth


class Off(NamedTuple):
    """Something of a module or a class, and what stands in its place while a signal is off."""

    of: Any
    name: str
    value: Any


def _blind(see: Callable[[Valuation, Candidate], tuple[Valuation, Candidate]]) -> tuple[Off, ...]:
    """Units are worth what they are to whoever sees them, or the session, otherwise."""

    def worth_of(self: Valuation, unit: Candidate) -> Values:
        return _worth(*see(self, unit))

    return (Off(Valuation, "worth", worth_of),)


def _alike(rates: Mapping[Any, float]) -> dict[Any, float]:
    """The mean rate for every kind."""
    return dict.fromkeys(rates, sum(rates.values()) / len(rates))


SIGNALS: dict[str, tuple[Off, ...]] = {
    "age": _blind(lambda session, unit: (session, unit._replace(turn=session.turn))),
    "size": (Off(worth, "NAMED_GROWS", 0.0), Off(worth, "QUOTED_GROWS", 0.0)),
    "kind": (Off(worth, "NAMED", _alike(worth.NAMED)), Off(worth, "QUOTED", _alike(worth.QUOTED))),
    "superseded": (Off(worth, "SUPERSEDED", 1.0),),
    "fetched before": _blind(lambda session, unit: (session, unit._replace(fetched=0))),
    "edited just now": _blind(lambda session, unit: (session, unit._replace(since_edit=None))),
    "how often the session edits": _blind(lambda session, unit: (session._replace(quoting=1.0), unit)),
    "a name is told once": _blind(lambda session, unit: (session._replace(naming=1.0), unit)),
    "a name is seldom missed alone": (Off(worth, "_ALONE", 1.0),),
    "what later folds write anew": (Off(paged, "_SAVES", 1.0),),
    "what waiting adds to a fold": (Off(paged, "_WAITED_FOR", 1.0),),
    "what the last fold wrote anew": (Off(paged, "_WAITED_FOR", 0.0),),
    "misses that a fold brings": (Off(paged, "_MISSES", 0.0),),
    "a full budget's price": (Off(paged, "_budget_price", lambda *_: 0.0),),
    "the beginning holds still": (Off(stable_prefix, "_MOST", 0.0),),
    "folds that pay": (Off(paged.Paged, "pays", lambda *_: False),),
}


def scores(job: tuple[Trace, int, tuple[str, ...], tuple[str, ...]]) -> dict[tuple[str, str], Score]:
    """One session under each name, with each signal off."""
    trace, budget, names, signals = job
    recording, counter, renderers = Recording(trace), CharacterCounter(), remembering(BUILT_IN)
    found = {}
    for signal in (ALL, *signals):
        with ExitStack() as stack:
            for off in SIGNALS.get(signal, ()):
                stack.enter_context(patch.object(off.of, off.name, off.value))
            for name in names:
                shows = Method.parse(OURS[name]).shows(budget, counter, renderers)
                found[name, signal] = recording.replay(shows).score
    return found


def _priced_at(miss_tokens: int) -> Callable[[Sequence[Score]], float]:
    return lambda each: sum(each, Score()).priced(miss_tokens)


def _verbatim(each: Sequence[Score]) -> float:
    return sum(each, Score()).verbatim_coverage


def _missing(each: Sequence[Score]) -> float:
    return sum(each, Score()).share_missing


def table_of(source: str, name: str, found: Sequence[dict[tuple[str, str], Score]], signals: Sequence[str]) -> Table:
    """What leaving out each signal adds, over the sessions of one source."""
    whole = [each[name, ALL] for each in found]
    objective = _priced_at(NAMES[name])
    columns = {
        "priced": _priced_at(0),
        "with its price of a miss": objective,
        "turns that miss": _missing,
        "verbatim": _verbatim,
    }
    table = Table(
        "without",
        *columns,
        "pays",
        title=f"{source}, {name}, {len(found)} sessions: {columns['priced'](whole):.3f} priced",
    )
    for signal in signals:
        without = [each[name, signal] for each in found]
        change = paired(without, whole, objective)
        pays = "yes" if change.low > 0 else "no" if change.high < 0 else "not sure"
        table.add_row(signal, *(str(paired(without, whole, of)) for of in columns.values()), pays)
    return table


def main() -> None:
    parser = ArgumentParser(prog="python -m benchmarks.ablation")
    parser.add_argument("data", type=Path, nargs="?", default=Path("../shared/data"))
    parser.add_argument("--budget", type=int, default=32_000)
    parser.add_argument("--half", choices=("tuning", "reporting"), default="reporting")
    parser.add_argument("--sessions", type=int, default=8, help="of each source, at most")
    parser.add_argument("--name", choices=NAMES, action="append", help="of Paged, instead of all three")
    parser.add_argument("--only", choices=SIGNALS, action="append", help="a signal, instead of all")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    console = Console(width=170)
    if not (options.data / "traces").is_dir():
        console.print(f"skipped: there is no {options.data / 'traces'}; give the data folder")
        return
    names, signals = tuple(options.name or NAMES), tuple(options.only or SIGNALS)
    traces = list(chosen(options.data, options.half, options.sessions, 0))
    with ProcessPoolExecutor(options.workers) as executor:
        found = list(executor.map(scores, [(trace, options.budget, names, signals) for trace in traces]))
    for source in dict.fromkeys(trace.source for trace in traces):
        ours = [each for trace, each in zip(traces, found, strict=True) if trace.source == source]
        for name in names:
            console.print(table_of(source, name, ours, signals))


if __name__ == "__main__":
    main()
