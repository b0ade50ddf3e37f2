"""Prints routing decisions, posteriors of agents, and estimates of what other modes would have achieved."""

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

from rich.console import Console
from rich.table import Table

from pageturn.apps.cli.journals import plain
from pageturn.apps.cli.terminal import write_json
from pageturn.routing import MODES, Beliefs, DelegationState
from pageturn.routing.evaluation import Replayed, compare, differing, drifts, replay
from pageturn.routing.modes import name_now
from pageturn.stores import MemorySidecars, Sidecars
from pageturn.values.errors import InvalidInput, PageturnError, show
from pageturn.values.json import from_json, to_json

REPLAYED = tuple(name for name in MODES if name != "cost")  # a log does not know prices


def beliefs_of(store: Sidecars, scope: str) -> Beliefs:
    """The routing state of a scope."""
    return Beliefs(store, scope, clock=lambda: datetime.now(UTC))


def show_decision(console: Console, beliefs: Beliefs, wanted: str | None) -> None:
    """Print a decision, without an id the newest: the estimate for each candidate, and the outcome."""
    log = [entry for _, entry in beliefs.log()]
    found = [entry for entry in log if wanted is None or entry.decision.id.startswith(wanted)]
    if not log:
        raise PageturnError("no decisions are logged yet: `Router.choose` logs the first")
    if not found or (wanted is not None and len(found) > 1):
        known = "the beginning of one id only" if found else f"the id, or its beginning, of one of {len(log)} decisions"
        raise InvalidInput("decision", expected=known, got=show(wanted))
    entry = max(found, key=lambda each: each.decision.at)
    decision = entry.decision
    console.print(f"[bold]{decision.id}[/] {decision.at}, {plain(_where(decision.skill, decision.bucket))}")
    console.print(plain(decision.why))
    table = _table("candidate", "expected", "95 % interval", "score", "chance")
    for name in decision.ranking:
        each = next(scored for scored in decision.candidates if scored.agent == name)
        low, high = each.interval()
        share = decision.probabilities[name]
        table.add_row(plain(name), f"{each.mean:.3f}", f"{low:.2f} to {high:.2f}", f"{each.score:.3f}", f"{share:.0%}")
    console.print(table)
    outcome = "none yet" if not entry.is_settled else plain(entry.excused or f"{entry.verdict:g}")
    console.print(f"outcome: {outcome}" + (f", after {entry.retries} retries" if entry.retries else ""))


def show_stats(console: Console, beliefs: Beliefs) -> None:
    """Print the posterior of every agent and bucket, then what has drifted."""
    state = beliefs.state
    table = _table("agent", "skill, bucket", "outcomes", "mean", "95 % interval", "last")
    for key, posterior in state.beliefs.items():
        agent, where = key.split("|", 1)
        low, high = posterior.interval()
        cells = (
            f"{posterior.n}",
            f"{posterior.mean:.3f}",
            f"{low:.2f} to {high:.2f}",
            str(posterior.last_update)[:16],
        )
        table.add_row(plain(agent), plain(where.replace("|", " ")), *cells)
    console.print(table)
    log = list(beliefs.log())
    modes: dict[str, list[float]] = defaultdict(list)
    for _, entry in log:
        if entry.verdict is not None:
            modes[name_now(entry.decision.mode)].append(entry.verdict)
    for name, verdicts in sorted(modes.items()):
        console.print(
            f"{plain(name)}: {len(verdicts):,} decisions with an outcome, {sum(verdicts) / len(verdicts):.3f} on average"
        )
    pruned = beliefs.pruned
    if pruned is not None:
        console.print(f"{pruned.decisions:,} older decisions were pruned, made until {str(pruned.until)[:16]}")
    explored = sum(entry.decision.explored for _, entry in log)
    waiting = sum(not entry.is_settled for _, entry in log)
    console.print(f"{len(log):,} decisions in the log, {explored:,} explored, {waiting:,} without an outcome yet")
    for drift in drifts(log):
        console.print(f"[yellow]drifted[/] {plain(str(drift))}")


def show_replay(console: Console, beliefs: Beliefs, modes: tuple[str, ...]) -> bool:
    """Print the estimated outcome of each mode; returns whether the log is consistent."""
    log, pruned = list(beliefs.log()), beliefs.pruned
    config = beliefs.config
    table = _table("mode", "decisions", "observed", "estimated", "effective sample")
    wrong: list[str] = []
    replayed: list[Replayed] = []
    for name in modes or REPLAYED:
        replayed = list(replay(log, MemorySidecars(), config, MODES[name], pruned))
        found = compare(replayed, name)
        wrong = differing(replayed)
        would = (
            "unknown: no matching choices"
            if not found.effective
            else f"{found.estimated:.3f} ± {1.96 * found.error:.3f}"
        )
        table.add_row(name, f"{found.decisions:,}", f"{found.observed:.3f}", would, f"{found.effective:.0f} decisions")
    console.print(table)
    if wrong:
        console.print(
            f"[red]{len(wrong)} decisions[/] are based on estimates that the log does not support, the first is {wrong[0]}"
        )
    else:
        console.print(f"{len(replayed):,} decisions are consistent with the log")
    if len(log) > len(replayed):
        console.print(
            f"{len(log) - len(replayed):,} more were not checked: they predate the outcomes of pruned decisions"
        )
    return not wrong


def prune_log(console: Console, beliefs: Beliefs, keep: int | None, days: float | None, *, abandoned: bool) -> None:
    """Drop old decisions."""
    try:
        before = None if days is None else datetime.now(UTC) - timedelta(days=days)
    except OverflowError:
        before = datetime.min.replace(tzinfo=UTC)
    gone = beliefs.prune(keep=keep, before=before, abandoned=abandoned)
    console.print(f"pruned {gone:,} decisions; the posteriors did not change")


def export_state(beliefs: Beliefs) -> None:
    """Write the state as one JSON object to standard output."""
    write_json(to_json(beliefs.state))


def import_state(console: Console, beliefs: Beliefs, path: Path) -> None:
    """Merge an exported state into this one."""
    state = from_json(DelegationState, path.read_bytes())
    beliefs.take(state)
    console.print(f"merged {len(state.beliefs):,} posteriors into scope {beliefs.scope}")


def _where(skill: str, bucket: object) -> str:
    return f"{skill} {bucket.difficulty} {bucket.dependency} {bucket.tool_use}"  # type: ignore[attr-defined]


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for at, column in enumerate(columns):
        table.add_column(column, justify="left" if at == 0 else "right", no_wrap=at == 0)
    return table
