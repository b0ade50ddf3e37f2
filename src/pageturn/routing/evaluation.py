"""Evaluates a log of decisions: drift of agents, estimated outcomes of other modes, and consistency of the log."""

import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from pageturn.routing.decisions import DISABLED, ESTIMATES, Decision, Logged, Outcome, Scored
from pageturn.routing.estimates import Estimates
from pageturn.routing.modes import Mode
from pageturn.routing.posteriors import NEUTRAL, BetaPosterior
from pageturn.routing.pruning import Entry, Pruned
from pageturn.routing.skills import Setting
from pageturn.routing.state import DelegationConfig, DelegationState
from pageturn.routing.stored_state import Beliefs, Forgotten
from pageturn.stores import Sidecars

RECENT = 20  # outcomes of a cell that are compared with those before them
_NOTABLE = 3.0  # standard errors
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Drift(NamedTuple):
    """An agent whose recent outcomes in a cell differ from the earlier ones."""

    agent: str
    setting: Setting
    before: float
    recent: float
    outcomes: int
    errors: float  # the difference in standard errors

    def __str__(self) -> str:
        where = f"{self.setting.skill} {self.setting.bucket.difficulty} {self.setting.bucket.dependency}"
        return f"{self.agent} at {where}: {self.before:.2f} before, {self.recent:.2f} in the last {RECENT}"


def drifts(log: Iterable[Entry], recent: int = RECENT) -> list[Drift]:
    """The cells whose last outcomes differ by three standard errors or more from those before; a `lambda` below 1 forgets faster."""
    outcomes: dict[tuple[str, Setting], list[float]] = {}
    for _, entry in log:
        if entry.verdict is not None:
            outcomes.setdefault((entry.decision.choice, entry.decision.setting), []).append(entry.verdict)
    found = []
    for (agent, where), verdicts in outcomes.items():
        before, after = verdicts[:-recent], verdicts[-recent:]
        if len(before) < recent:
            continue
        rates = sum(before) / len(before), sum(after) / len(after)
        whole = (sum(verdicts) + 1.0) / (len(verdicts) + 2.0)
        error = math.sqrt(whole * (1.0 - whole) * (1.0 / len(before) + 1.0 / len(after)))
        if abs(rates[1] - rates[0]) >= _NOTABLE * error:
            found.append(Drift(agent, where, *rates, len(verdicts), abs(rates[1] - rates[0]) / error))
    return sorted(found, key=lambda each: -each.errors)


class Comparison(NamedTuple):
    """The estimated outcome of a mode, from the logged decisions that it would have made as well."""

    mode: str
    decisions: int
    observed: float  # the average outcome in the log
    estimated: float  # the mode's estimated outcome: those of the log, weighted by how much likelier it makes them
    error: float  # the standard error of that
    effective: float  # the effective number of decisions behind the estimate


class Replayed(NamedTuple):
    """A decision of the log, and the same decision replayed with what was known then."""

    logged: Logged
    again: Decision


def replay(
    log: Sequence[Entry],
    store: Sidecars,
    config: DelegationConfig,
    mode: Mode,
    pruned: Pruned | None = None,
    *,
    declared: DelegationState | None = None,
    forgotten: Iterable[tuple[int, Forgotten]] = (),
) -> Iterator[Replayed]:
    """Every decision replayed with a mode, each with what was known when it was made. The given store must be empty; it is written to.

    `declared` is a state with the priors that the log began with. Decisions made before the last pruned change are left out.
    """
    beliefs = Beliefs(store, clock=lambda: _EPOCH, config=config)
    if pruned is not None:
        beliefs.take(DelegationState(dict(pruned.taught), config))
    if declared is not None:
        beliefs.take(_priors(declared))
    events: list[tuple[int, _Counted | Forgotten]] = sorted([*_counted(log), *forgotten], key=lambda each: each[0])
    happened = 0
    for _, entry in sorted(log, key=lambda each: (each[1].decision.seen, each[0])):
        if pruned is not None and entry.decision.seen < pruned.version:
            continue
        while happened < len(events) and events[happened][0] <= entry.decision.seen:
            event = events[happened][1]
            if isinstance(event, Forgotten):
                beliefs.forget(event.agent, event.keep)
            else:
                beliefs.observe(event.decision, event.outcome, is_correction=True)
            happened += 1
        yield Replayed(entry, _again(entry.decision, beliefs, mode))


class _Counted(NamedTuple):
    """An outcome of a decision."""

    decision: Decision
    outcome: Outcome


def _counted(log: Iterable[Entry]) -> Iterator[tuple[int, _Counted]]:
    """Every outcome at the time it was counted, including those corrected since."""
    for version, entry in log:
        for former in entry.former:
            yield former.version, _Counted(entry.decision, former.outcome)
        if entry.is_settled:
            yield version, _Counted(entry.decision, entry.outcome)


def _priors(state: DelegationState) -> DelegationState:
    """The cells with declared scores, as they were before any outcome."""
    priors = {
        key: BetaPosterior.from_self_confidence(each.c_self, each.kappa, now=_EPOCH)
        for key, each in state.beliefs.items()
        if each.c_self != NEUTRAL
    }
    return DelegationState(priors, state.config)


def compare(replayed: Iterable[Replayed], mode: str) -> Comparison:
    """How well a mode would have done, by self-normalised importance weights."""
    weights, rewards = [], []
    for logged, again in replayed:
        if logged.verdict is not None and logged.probability > 0.0:
            weights.append(again.probabilities.get(logged.decision.choice, 0.0) / logged.probability)
            rewards.append(logged.verdict)
    total, count = sum(weights), len(rewards)
    if count == 0 or total == 0.0:
        return Comparison(mode, count, math.nan, math.nan, math.nan, 0.0)
    estimated = sum(w * r for w, r in zip(weights, rewards, strict=True)) / total
    error = math.sqrt(sum((w * (r - estimated)) ** 2 for w, r in zip(weights, rewards, strict=True))) / total
    return Comparison(mode, count, sum(rewards) / count, estimated, error, total**2 / sum(w * w for w in weights))


def _again(decision: Decision, beliefs: Beliefs, mode: Mode) -> Decision:
    view = Estimates(
        beliefs,
        decision.setting,
        now=_EPOCH,
        cost=lambda agent: decision.costs.get(agent, 0.0),
        value=decision.value or 1.0,
    )
    scored = []
    for each in decision.candidates:
        aim = mode.aim(each.agent, view)
        scored.append(Scored(each.agent, *view.estimate(each.agent), *aim, aim.centre))
    local = decision.local
    best = max(scored, key=lambda each: each.score + (decision.margin if each.agent == local else 0.0))
    return Decision(
        decision.id,
        decision.at,
        decision.skill,
        decision.bucket,
        mode.name,
        best.agent,
        tuple(scored),
        local=local,
        margin=decision.margin,
        seen=decision.seen,
        estimates=ESTIMATES,
    )


def differing(replayed: Iterable[Replayed]) -> list[str]:
    """The ids of decisions whose estimates differ from those that the log's own outcomes give."""
    return [
        logged.decision.id
        for logged, again in replayed
        if logged.decision.mode != DISABLED
        and logged.decision.estimates == ESTIMATES
        and any(
            not math.isclose(was.mean, now.mean, abs_tol=1e-9)
            or not math.isclose(was.deviation, now.deviation, abs_tol=1e-9)
            for was, now in zip(logged.decision.candidates, again.candidates, strict=True)
        )
    ]
