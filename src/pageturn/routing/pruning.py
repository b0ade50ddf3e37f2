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
    """What is left of decisions that were dropped from the log: how many they were, and what they came to."""

    decisions: int
    version: int  # the change that settled the last of them; a decision that had not seen it cannot be made again
    until: Instant  # when the newest of them was made
    taught: dict[str, BetaPosterior]  # what a state that knows nothing else learns from them

    def __post_init__(self) -> None:
        require_whole("$.decisions", self.decisions)
        require_whole("$.version", self.version)


def beyond(log: Sequence[Entry], keep: int) -> list[Entry]:
    """The decisions with an outcome, without the newest so many."""
    settled = [each for each in log if each[1].is_settled]
    return settled[: max(0, len(settled) - keep)]


def older(log: Sequence[Entry], before: Instant, *, abandoned: bool) -> list[Entry]:
    """The decisions with an outcome up to the first that was made since; and those that wait, where they are abandoned."""
    settled = [each for each in log if each[1].is_settled]
    waiting = [each for each in log if not each[1].is_settled and each[1].decision.at < before]
    return [*takewhile(lambda each: each[1].decision.at < before, settled), *(waiting if abandoned else ())]


def remains(going: Sequence[Entry], before: Pruned | None, config: DelegationConfig) -> Pruned:
    """What is left of decisions that go, and of those that went before."""
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
