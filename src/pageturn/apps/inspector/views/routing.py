"""Routing: what is believed of each agent, how sure that is, and which decisions were made for which reasons."""

from collections.abc import Iterator
from datetime import UTC, datetime

from pageturn.apps.inspector.opened import Opened
from pageturn.routing import Beliefs, Logged, Scored
from pageturn.routing.evaluation import drifts
from pageturn.routing.stored_state import DEFAULT_SCOPE
from pageturn.values.json import Closed

_MOST_DECISIONS = 200  # the newest
_SIDECARS = ("delegation/", "decisions/")


class PosteriorView(Closed):
    """What is believed of an agent in one kind of task: its rate of success, and where that lies with 95 %."""

    agent: str
    skill: str
    bucket: str
    outcomes: int
    mean: float
    low: float
    high: float
    last: int


class CandidateView(Closed):
    """What was expected of a candidate, and how likely it was to be chosen."""

    agent: str
    mean: float
    low: float
    high: float
    score: float
    chance: float


class DecisionView(Closed):
    """A decision."""

    id: str
    at: int
    skill: str
    bucket: str
    mode: str
    choice: str
    why: str
    explored: bool
    outcome: str
    candidates: tuple[CandidateView, ...]


class RoutingView(Closed):
    """The routing state of one scope."""

    scope: str
    scopes: tuple[str, ...]
    total: int  # decisions in the log
    posteriors: tuple[PosteriorView, ...]
    decisions: tuple[DecisionView, ...]  # the newest first
    drifts: tuple[str, ...]


def routing_view(opened: Opened, scope: str | None) -> RoutingView:
    """The routing state of a scope; without one, of the usual scope or else the first that there is."""
    names = {name.partition("/")[2] for name in opened.store.sidecars() if name.startswith(_SIDECARS)}
    scopes = tuple(sorted(names))
    wanted = scope or (DEFAULT_SCOPE if DEFAULT_SCOPE in scopes or not scopes else scopes[0])
    beliefs = Beliefs(opened.store, wanted, clock=lambda: datetime.now(UTC))
    log = [*beliefs.log()]
    newest = sorted((entry for _, entry in log), key=lambda entry: entry.decision.at, reverse=True)
    return RoutingView(
        scope=wanted,
        scopes=scopes,
        total=len(log),
        posteriors=tuple(_posteriors(beliefs)),
        decisions=tuple(_decision(entry) for entry in newest[:_MOST_DECISIONS]),
        drifts=tuple(str(each) for each in drifts(log)),
    )


def _posteriors(beliefs: Beliefs) -> Iterator[PosteriorView]:
    for key, posterior in beliefs.state.beliefs.items():
        agent, skill, bucket = (*key.split("|", 2), "", "")[:3]
        low, high = posterior.interval()
        last = round(posterior.last_update.timestamp() * 1_000)
        yield PosteriorView(
            agent,
            skill,
            bucket.replace("|", " "),
            posterior.n,
            round(posterior.mean, 4),
            round(low, 4),
            round(high, 4),
            last,
        )


def _decision(entry: Logged) -> DecisionView:
    decision = entry.decision
    bucket = decision.bucket
    chances = decision.probabilities
    outcome = "none yet" if not entry.is_settled else entry.excused or f"{entry.verdict:g}"
    by_name = {each.agent: each for each in decision.candidates}
    ranked = [by_name[name] for name in decision.ranking]
    return DecisionView(
        id=decision.id,
        at=round(decision.at.timestamp() * 1_000),
        skill=decision.skill,
        bucket=f"{bucket.difficulty} {bucket.dependency} {bucket.tool_use}",
        mode=decision.mode,
        choice=decision.choice,
        why=decision.why,
        explored=decision.explored,
        outcome=outcome + (f", after {entry.retries} retries" if entry.retries else ""),
        candidates=tuple(_candidate(each, chances[each.agent]) for each in ranked),
    )


def _candidate(scored: Scored, chance: float) -> CandidateView:
    low, high = scored.interval()
    mean, low, high, score, chance = (round(each, 4) for each in (scored.mean, low, high, scored.score, chance))
    return CandidateView(scored.agent, mean, low, high, score, chance)
