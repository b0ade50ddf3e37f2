"""Prints routing decisions, posteriors of agents, and estimates of what other modes would have achieved."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from math import isnan
from pathlib import Path

from rich.console import Console
from rich.table import Table

from pageturn.apps.cli.answers import (
    CandidateLine,
    ChoiceLine,
    DecisionsPruned,
    ModeLine,
    OutcomeCounted,
    OutcomesForgotten,
    PosteriorLine,
    ReplayedMode,
    RouteDecision,
    RouteReplay,
    RouteReport,
    RouteStats,
    RoutingMerged,
    SettingLine,
)
from pageturn.apps.cli.prefixes import one_of
from pageturn.apps.cli.tables import plain
from pageturn.apps.cli.terminal import answered, write_json
from pageturn.routing import MODES, Beliefs, DelegationState, Logged, Setting
from pageturn.routing.decisions import ESTIMATES
from pageturn.routing.evaluation import Replayed, compare, differing, drifts, replay
from pageturn.routing.modes import name_now
from pageturn.routing.pruning import Entry
from pageturn.routing.regret import Regret, regrets
from pageturn.routing.router import Router
from pageturn.stores import MemorySidecars, Sidecars
from pageturn.stores.files import require_regular
from pageturn.values.errors import InvalidInput, PageturnError, show
from pageturn.values.json import from_json, to_json
from pageturn.values.relevance import Bucket

REPLAYED = tuple(name for name in MODES if name != "cost")  # a log has no prices


def beliefs_of(store: Sidecars, scope: str) -> Beliefs:
    """The routing state of a scope."""
    return Beliefs(store, scope, clock=lambda: datetime.now(UTC))


def show_decision(console: Console, beliefs: Beliefs, wanted: str | None) -> None:
    """Print a decision, without an id the newest: the estimate for each candidate, and the outcome."""
    log = {entry.decision.id: entry for _, entry in beliefs.log()}
    if not log:
        raise PageturnError("no decisions are logged yet: `Router.choose` logs the first")
    newest = max(log.values(), key=lambda each: each.decision.at)
    entry = newest if wanted is None else log[whole_id(beliefs, wanted)]
    decision = _decision(entry)
    if answered(decision):
        return
    console.print(f"[bold]{decision.id}[/] {entry.decision.at}, {plain(f'{decision.skill} {decision.bucket}')}")
    console.print(plain(decision.why))
    table = _table("candidate", "expected", "95 % interval", "score", "chance")
    for each in decision.candidates:
        interval = f"{each.low:.2f} to {each.high:.2f}"
        table.add_row(plain(each.agent), f"{each.expected:.3f}", interval, f"{each.score:.3f}", f"{each.chance:.0%}")
    console.print(table)
    outcome = "none yet" if not entry.is_settled else plain(entry.excused or f"{entry.verdict:g}")
    console.print(f"outcome: {outcome}" + (f", after {entry.retries} retries" if entry.retries else ""))


def whole_id(beliefs: Beliefs, typed: str) -> str:
    """The id of the logged decision that begins so."""
    ids = [entry.decision.id for _, entry in beliefs.log()]
    return one_of("decision", typed, ids, expected=f"the id, or its beginning, of one of {len(ids):,} decisions")


def _decision(entry: Logged) -> RouteDecision:
    decision = entry.decision
    scored = {each.agent: each for each in decision.candidates}
    candidates = (
        CandidateLine(
            name, scored[name].mean, *scored[name].interval(), scored[name].score, decision.probabilities[name]
        )
        for name in decision.ranking
    )
    return RouteDecision(
        id=decision.id,
        at=decision.at,
        skill=decision.skill,
        bucket=_bucket(decision.bucket),
        choice=decision.choice,
        why=decision.why,
        candidates=tuple(candidates),
        outcome=entry.verdict if not entry.excused else None,
        excused=entry.excused,
        retries=entry.retries,
    )


def show_stats(console: Console, beliefs: Beliefs) -> None:
    """Print the posterior of every agent and bucket, then what has drifted."""
    stats = _stats(beliefs)
    if answered(stats):
        return
    table = _table("agent", "skill, bucket", "outcomes", "mean", "95 % interval", "last")
    for each in stats.posteriors:
        interval = f"{each.low:.2f} to {each.high:.2f}"
        cells = (f"{each.outcomes}", f"{each.mean:.3f}", interval, each.last_update[:16])
        table.add_row(plain(each.agent), plain(each.setting), *cells)
    console.print(table)
    for mode in stats.modes:
        console.print(
            f"{plain(mode.mode)}: {mode.decisions:,} decisions with an outcome, {mode.average:.3f} on average"
        )
    if beliefs.pruned is not None:
        console.print(f"{stats.pruned:,} older decisions were pruned, made until {str(beliefs.pruned.until)[:16]}")
    console.print(
        f"{stats.decisions:,} decisions in the log, {stats.explored:,} explored, {stats.waiting:,} without an outcome yet"
    )
    for drift in stats.drifts:
        console.print(f"[yellow]drifted[/] {plain(drift)}")


def _stats(beliefs: Beliefs) -> RouteStats:
    log = list(beliefs.log())
    posteriors = []
    for key, posterior in beliefs.state.beliefs.items():
        agent, where = key.split("|", 1)
        last = str(posterior.last_update)
        setting = where.replace("|", " ")
        posteriors.append(
            PosteriorLine(agent, setting, posterior.n, posterior.mean, *posterior.interval(), last_update=last)
        )
    modes: dict[str, list[float]] = defaultdict(list)
    for _, entry in log:
        if entry.verdict is not None:
            modes[name_now(entry.decision.mode)].append(entry.verdict)
    return RouteStats(
        posteriors=tuple(posteriors),
        modes=tuple(ModeLine(name, len(each), sum(each) / len(each)) for name, each in sorted(modes.items())),
        decisions=len(log),
        explored=sum(entry.decision.explored for _, entry in log),
        waiting=sum(not entry.is_settled for _, entry in log),
        pruned=beliefs.pruned.decisions if beliefs.pruned is not None else 0,
        drifts=tuple(map(str, drifts(log))),
    )


def show_replay(console: Console, beliefs: Beliefs, modes: tuple[str, ...]) -> bool:
    """Print the estimated outcome of each mode; returns whether the log is consistent."""
    log = list(beliefs.log())
    if not log:
        if not answered(RouteReplay()):
            console.print(f"no decisions in scope {plain(beliefs.scope)} yet: a router writes them with their outcomes")
        return True
    wrong: list[str] = []
    replayed: list[Replayed] = []
    lines = []
    for name in modes or REPLAYED:
        replayed = _replayed(beliefs, log, name)
        wrong = differing(replayed)
        lines.append(_estimate(replayed, name))
    if answered(RouteReplay(tuple(lines), tuple(wrong))):
        return not wrong
    table = _table("mode", "decisions", "observed", "estimated", "effective sample")
    for line in lines:
        table.add_row(line.mode, *_estimate_cells(line))
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


def _replayed(beliefs: Beliefs, log: Sequence[Entry], mode: str) -> list[Replayed]:
    return list(
        replay(
            log,
            MemorySidecars(),
            beliefs.config,
            MODES[mode],
            beliefs.pruned,
            declared=beliefs.state,
            forgotten=beliefs.forgotten(),
        )
    )


def _estimate(replayed: Sequence[Replayed], mode: str) -> ReplayedMode:
    found = compare(replayed, mode)
    observed = found.observed if found.decisions and not isnan(found.observed) else None
    if not found.effective:
        return ReplayedMode(mode, found.decisions, observed, None, None, 0.0)
    return ReplayedMode(mode, found.decisions, observed, found.estimated, found.error, found.effective)


def _estimate_cells(line: ReplayedMode) -> tuple[str, ...]:
    observed = f"{line.observed:.3f}" if line.observed is not None else "no outcomes yet"
    estimated = "unknown: no matching choices"
    if line.estimated is not None and line.error is not None:
        estimated = f"{line.estimated:.3f} ± {1.96 * line.error:.3f}"
    return f"{line.decisions:,}", observed, estimated, f"{line.effective:.0f} decisions"


def show_report(console: Console, beliefs: Beliefs) -> None:
    """Print who is chosen for what, the posteriors, the cost, and the regret as far as the log shows it."""
    log = [entry for _, entry in beliefs.log()]
    buckets: dict[Setting, list[Logged]] = defaultdict(list)
    for entry in log:
        buckets[entry.decision.setting].append(entry)
    lost = {each.setting: each for each in regrets(log)}
    ordered = sorted(buckets.items(), key=lambda each: -len(each[1]))
    settings = tuple(_setting(beliefs, where, entries, lost.get(where)) for where, entries in ordered)
    if answered(RouteReport(settings)):
        return
    if not log:
        console.print(f"no decisions in scope {plain(beliefs.scope)} yet: a router writes them with their outcomes")
        return
    for setting, (where, entries) in zip(settings, ordered, strict=True):
        success = f"{setting.success:.3f}" if setting.success is not None else "no outcomes yet"
        successes = sum(entry.verdict for entry in entries if entry.verdict is not None)
        spent = [each for entry in entries if (each := _spent(entry)) is not None]
        a_success = f", {sum(spent) / successes:,.4f} a success" if spent and successes else ""
        lines = (
            f"[bold]{plain(setting.setting)}[/]: {setting.decisions:,} decisions, success {success}",
            f"money: {_money(entries)}{a_success}",
            f"regret a task: {_lost(lost.get(where))}",
        )
        for line in lines:
            console.print(line, soft_wrap=True)
        table = _table("candidate", "chosen", "share", "rate", "95 % interval", "money")
        for choice in setting.choices:
            rate = "-" if choice.rate is None else f"{choice.rate:.3f}"
            money = _money([entry for entry in entries if entry.decision.choice == choice.agent])
            share, interval = f"{choice.chosen / len(entries):.0%}", f"{choice.low:.2f} to {choice.high:.2f}"
            table.add_row(plain(choice.agent), f"{choice.chosen:,}", share, rate, interval, money)
        console.print(table)
    console.print(
        "Regret is the success of the best single candidate less what was observed, estimated from the odds of the choices, "
        "with a 95 % interval.",
        soft_wrap=True,
    )


def _setting(beliefs: Beliefs, where: Setting, entries: Sequence[Logged], regret: Regret | None) -> SettingLine:
    verdicts = [entry.verdict for entry in entries if entry.verdict is not None]
    spent = [each for entry in entries if (each := _spent(entry)) is not None]
    low, high = regret.interval if regret is not None and regret.interval is not None else (None, None)
    choices = []
    for agent, times in Counter(entry.decision.choice for entry in entries).most_common():
        posterior = beliefs.posterior(agent, where)
        interval = (0.0, 1.0) if posterior is None else posterior.interval()
        choices.append(ChoiceLine(agent, times, None if posterior is None else posterior.mean, *interval))
    return SettingLine(
        setting=f"{where.skill} {_bucket(where.bucket)}",
        decisions=len(entries),
        success=sum(verdicts) / len(verdicts) if verdicts else None,
        money=sum(spent) if spent else None,
        regret=regret.regret if regret is not None and low is not None else None,
        regret_low=low,
        regret_high=high,
        choices=tuple(choices),
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
    beliefs = beliefs_of(store, scope)
    logged = [entry.decision.id for _, entry in beliefs.log()]
    found = [each for each in logged if each.startswith(decision)]
    decision = whole_id(beliefs, decision) if found else decision  # of what is not in the log, the router tells more
    changed = Router(beliefs).observe(
        decision, verdict, is_weak=is_weak, is_correction=is_correction, seconds=seconds, money=money
    )
    if answered(OutcomeCounted(decision, verdict, is_counted=changed)):
        return
    console.print(f"counted {verdict:g}" if changed else "nothing changed: that outcome, or a stronger one, was known")


def prune_log(console: Console, beliefs: Beliefs, keep: int | None, days: float | None, *, abandoned: bool) -> None:
    """Drop old decisions."""
    try:
        before = None if days is None else datetime.now(UTC) - timedelta(days=days)
    except OverflowError:
        before = datetime.min.replace(tzinfo=UTC)
    gone = beliefs.prune(keep=keep, before=before, abandoned=abandoned)
    if answered(DecisionsPruned(gone)):
        return
    console.print(f"pruned {gone:,} decisions; the posteriors did not change")


def forget_agent(console: Console, beliefs: Beliefs, agent: str, keep: float) -> None:
    """Forget the outcomes of an agent, or all but a share."""
    cells = beliefs.forget(agent, keep)
    if not cells:
        raise InvalidInput("AGENT", expected="one that `pageturn route stats` shows", got=show(agent))
    if answered(OutcomesForgotten(agent, cells)):
        return
    left = f"; {keep:.0%} of what they counted stays" if keep else ""
    console.print(f"forgot the outcomes of {agent} in {cells:,} cells{left}", markup=False, soft_wrap=True)


def export_state(beliefs: Beliefs) -> None:
    """Write the state as one JSON object to standard output."""
    write_json(to_json(beliefs.state))


def import_state(console: Console, beliefs: Beliefs, path: Path) -> None:
    """Merge an exported state into this one."""
    state = from_json(DelegationState, require_regular(path).read_bytes())
    beliefs.take(state)
    if answered(RoutingMerged(beliefs.scope, len(state.beliefs))):
        return
    console.print(f"merged {len(state.beliefs):,} posteriors into scope {beliefs.scope}")


def _bucket(bucket: Bucket) -> str:
    return f"{bucket.difficulty} {bucket.dependency} {bucket.tool_use}"


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for at, column in enumerate(columns):
        table.add_column(column, justify="left" if at == 0 else "right", no_wrap=at == 0)
    return table
