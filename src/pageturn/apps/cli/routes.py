"""Prints routing decisions, posteriors of agents, and estimates of what other modes would have achieved."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from rich.console import Console
from rich.table import Table

from pageturn.apps.cli.journals import plain
from pageturn.apps.cli.terminal import write_json
from pageturn.routing import MODES, Beliefs, DelegationState, Logged, Setting
from pageturn.routing.decisions import ESTIMATES
from pageturn.routing.evaluation import Replayed, compare, differing, drifts, replay
from pageturn.routing.modes import name_now
from pageturn.routing.regret import Regret, regrets
from pageturn.routing.router import Router
from pageturn.stores import MemorySidecars, Sidecars
from pageturn.stores.files import require_regular
from pageturn.values.errors import InvalidInput, PageturnError, show
from pageturn.values.json import from_json, to_json

REPLAYED = tuple(name for name in MODES if name != "cost")  # a log has no prices


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
    if not log:
        console.print(f"no decisions in scope {plain(beliefs.scope)} yet: a router writes them with their outcomes")
        return True
    table = _table("mode", "decisions", "observed", "estimated", "effective sample")
    wrong: list[str] = []
    replayed: list[Replayed] = []
    for name in modes or REPLAYED:
        replayed = list(
            replay(
                log,
                MemorySidecars(),
                config,
                MODES[name],
                pruned,
                declared=beliefs.state,
                forgotten=beliefs.forgotten(),
            )
        )
        wrong = differing(replayed)
        table.add_row(name, *_estimate_cells(replayed, name))
    console.print(table)
    if wrong:
        console.print(
            f"[red]{len(wrong)} decisions[/] are based on estimates that the log does not support, the first is {wrong[0]}"
        )
    else:
        console.print(f"{len(replayed):,} decisions are consistent with the log")
    older = sum(entry.decision.estimates != ESTIMATES for _, entry in log)
    if older:
        console.print(f"{older:,} of them used an earlier method of estimating, which is no longer checked")
    if len(log) > len(replayed):
        console.print(
            f"{len(log) - len(replayed):,} more were not checked: they predate the outcomes of pruned decisions"
        )
    return not wrong


def _estimate_cells(replayed: Sequence[Replayed], mode: str) -> tuple[str, ...]:
    found = compare(replayed, mode)
    observed = f"{found.observed:.3f}" if found.decisions else "no outcomes yet"
    estimated = (
        f"{found.estimated:.3f} ± {1.96 * found.error:.3f}" if found.effective else "unknown: no matching choices"
    )
    return f"{found.decisions:,}", observed, estimated, f"{found.effective:.0f} decisions"


def show_report(console: Console, beliefs: Beliefs) -> None:
    """Print who is chosen for what, the posteriors, the cost, and the regret as far as the log shows it."""
    log = [entry for _, entry in beliefs.log()]
    if not log:
        console.print(f"no decisions in scope {plain(beliefs.scope)} yet: a router writes them with their outcomes")
        return
    buckets: dict[Setting, list[Logged]] = defaultdict(list)
    for entry in log:
        buckets[entry.decision.setting].append(entry)
    lost = {each.setting: each for each in regrets(log)}
    for where, entries in sorted(buckets.items(), key=lambda each: -len(each[1])):
        verdicts = [entry.verdict for entry in entries if entry.verdict is not None]
        success = f"{sum(verdicts) / len(verdicts):.3f}" if verdicts else "no outcomes yet"
        spent = [each for entry in entries if (each := _spent(entry)) is not None]
        a_success = f", {sum(spent) / sum(verdicts):,.4f} a success" if spent and sum(verdicts) else ""
        lines = (
            f"[bold]{plain(_where(*where))}[/]: {len(entries):,} decisions, success {success}",
            f"money: {_money(entries)}{a_success}",
            f"regret a task: {_lost(lost.get(where))}",
        )
        for line in lines:
            console.print(line, soft_wrap=True)
        table = _table("candidate", "chosen", "share", "rate", "95 % interval", "money")
        for agent, times in Counter(entry.decision.choice for entry in entries).most_common():
            posterior = beliefs.posterior(agent, where)
            low, high = (0.0, 1.0) if posterior is None else posterior.interval()
            rate = "-" if posterior is None else f"{posterior.mean:.3f}"
            money = _money([entry for entry in entries if entry.decision.choice == agent])
            table.add_row(
                plain(agent), f"{times:,}", f"{times / len(entries):.0%}", rate, f"{low:.2f} to {high:.2f}", money
            )
        console.print(table)
    console.print(
        "Regret is the success of the best single candidate less what was observed, estimated from the odds of the choices, "
        "with a 95 % interval.",
        soft_wrap=True,
    )


def _spent(entry: Logged) -> float | None:
    """The cost of a decision: as reported, or else by its price."""
    return entry.money if entry.money is not None else entry.decision.costs.get(entry.decision.choice)


def _money(entries: Sequence[Logged]) -> str:
    spent = [each for entry in entries if (each := _spent(entry)) is not None]
    if not spent:
        return "not known"
    return f"{sum(spent):,.4f}" + ("" if len(spent) == len(entries) else f" for {len(spent):,}")


def _lost(regret: Regret | None) -> str:
    if regret is None or regret.interval is None:
        return "too little support"
    low, high = regret.interval
    told = f"{regret.regret:.3f} ({low:.3f} to {high:.3f}) against {plain(regret.best or '')}"
    return f"{told}; too little support for {plain(', '.join(regret.unknown))}" if regret.unknown else told


def report_outcome(
    console: Console,
    store: Sidecars,
    scope: str,
    decision: str,
    verdict: float,
    *,
    is_weak: bool,
    is_correction: bool,
    seconds: float | None,
    money: float | None,
) -> None:
    """Report the outcome of a decision."""
    router = Router(beliefs_of(store, scope))
    changed = router.observe(
        decision, verdict, is_weak=is_weak, is_correction=is_correction, seconds=seconds, money=money
    )
    console.print(f"counted {verdict:g}" if changed else "nothing changed: that outcome, or a stronger one, was known")


def prune_log(console: Console, beliefs: Beliefs, keep: int | None, days: float | None, *, abandoned: bool) -> None:
    """Drop old decisions."""
    try:
        before = None if days is None else datetime.now(UTC) - timedelta(days=days)
    except OverflowError:
        before = datetime.min.replace(tzinfo=UTC)
    gone = beliefs.prune(keep=keep, before=before, abandoned=abandoned)
    console.print(f"pruned {gone:,} decisions; the posteriors did not change")


def forget_agent(console: Console, beliefs: Beliefs, agent: str, keep: float) -> None:
    """Forget the outcomes of an agent, or all but a share."""
    cells = beliefs.forget(agent, keep)
    if not cells:
        raise InvalidInput("AGENT", expected="one that `pageturn route stats` shows", got=show(agent))
    left = f"; {keep:.0%} of what they counted stays" if keep else ""
    console.print(f"forgot the outcomes of {agent} in {cells:,} cells{left}", markup=False, soft_wrap=True)


def export_state(beliefs: Beliefs) -> None:
    """Write the state as one JSON object to standard output."""
    write_json(to_json(beliefs.state))


def import_state(console: Console, beliefs: Beliefs, path: Path) -> None:
    """Merge an exported state into this one."""
    state = from_json(DelegationState, require_regular(path).read_bytes())
    beliefs.take(state)
    console.print(f"merged {len(state.beliefs):,} posteriors into scope {beliefs.scope}")


def _where(skill: str, bucket: object) -> str:
    return f"{skill} {bucket.difficulty} {bucket.dependency} {bucket.tool_use}"  # type: ignore[attr-defined]


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for at, column in enumerate(columns):
        table.add_column(column, justify="left" if at == 0 else "right", no_wrap=at == 0)
    return table
