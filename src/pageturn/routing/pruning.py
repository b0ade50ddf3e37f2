"""Chooses which decisions of a log can be dropped, and the state that replaces them.

Outcomes are dropped in the order in which they were counted, oldest first. So their effect is a state from which the rest of the log
continues, and a replay of the rest reproduces every decision.
"""

from collections.abc import Sequence
from itertools import takewhile

from pageturn.routing.decisions import Logged
from pageturn.routing.posteriors import BetaPosterior
from pageturn.routing.state import DelegationConfig, DelegationState, graded
from pageturn.values.checks import require_whole
from pageturn.values.json import Closed, Instant

Entry = tuple[int, Logged]  # the number of the change that settled it, and the decision


class Pruned(Closed):
    """What remains of decisions that were dropped from the log: their number, and their effect."""

    decisions: int
    version: int  # the change that settled the last of them; a decision made before it cannot be replayed
    until: Instant  # when the newest of them was made
    taught: dict[str, BetaPosterior]  # a state that has learned from them alone

    def __post_init__(self) -> None:
        require_whole("$.decisions", self.decisions)
        require_whole("$.version", self.version)


def beyond(log: Sequence[Entry], keep: int) -> list[Entry]:
    """The decisions with an outcome, except the newest `keep`."""
    settled = [each for each in log if each[1].is_settled]
    return settled[: max(0, len(settled) - keep)]


def older(log: Sequence[Entry], before: Instant, *, abandoned: bool) -> list[Entry]:
    """The decisions with an outcome up to the first one made since; and, if abandoned, those still waiting."""
    settled = [each for each in log if each[1].is_settled]
    waiting = [each for each in log if not each[1].is_settled and each[1].decision.at < before]
    return [*takewhile(lambda each: each[1].decision.at < before, settled), *(waiting if abandoned else ())]


def remains(going: Sequence[Entry], before: Pruned | None, config: DelegationConfig) -> Pruned:
    """What remains of the dropped decisions and of those dropped before."""
    count, version, taught = (0, 0, {}) if before is None else (before.decisions, before.version, dict(before.taught))
    for number, entry in going:
        if entry.is_settled:
            version = number
        if entry.verdicts:
            decision = entry.decision
            key = DelegationState.key(decision.choice, *decision.setting)
            taught[key] = graded(taught.get(key), entry.verdicts, config, now=decision.at, weight=entry.weight)
    moments = [entry.decision.at for _, entry in going] + ([] if before is None else [before.until])
    return Pruned(count + len(going), version, max(moments), taught)
