"""Computes confidence intervals of differences between methods by a paired bootstrap over sessions."""

import random
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from pageturn.values.errors import InvalidInput

T = TypeVar("T")


class Difference(NamedTuple):
    """A difference, with the interval that holds 95 % of the differences of resampled sessions."""

    value: float
    low: float
    high: float

    @property
    def is_sure(self) -> bool:
        """Whether the whole interval is on one side of 0."""
        return self.low > 0 or self.high < 0

    def __str__(self) -> str:
        return f"{self.value:+.3f} [{self.low:+.3f}, {self.high:+.3f}]"


class Spread(NamedTuple):
    """A measure, with the interval that holds 95 % of the values of resampled sessions."""

    value: float
    low: float
    high: float


def paired(
    ours: Sequence[T],
    theirs: Sequence[T],
    pooled: Callable[[Sequence[T]], float],
    *,
    rounds: int = 1_000,
    seed: int = 1,
) -> Difference:
    """The difference of a pooled measure between two methods on the same sessions, compared in pairs."""
    rng = random.Random(seed)  # noqa: S311
    everything = range(len(ours))
    if len(theirs) != len(everything) or not everything:
        raise InvalidInput("sessions", expected="two sets of the same sessions", got=f"{len(ours)} and {len(theirs)}")

    def difference(sample: Sequence[int]) -> float:
        return pooled([ours[at] for at in sample]) - pooled([theirs[at] for at in sample])

    drawn = sorted(difference(rng.choices(everything, k=len(everything))) for _ in range(rounds))
    outside = rounds // 40
    return Difference(difference(everything), drawn[outside], drawn[-1 - outside])


def pooled_share(parts: Sequence[float], wholes: Sequence[float], *, rounds: int = 1_000, seed: int = 1) -> Spread:
    """The sum of all parts divided by the sum of all wholes; 1 if there are none."""
    rng = random.Random(seed)  # noqa: S311
    sessions = list(zip(parts, wholes, strict=True))
    if not sessions:
        raise InvalidInput("sessions", expected="at least one", got="none")

    def share(sample: Sequence[tuple[float, float]]) -> float:
        whole = sum(one for _, one in sample)
        return sum(part for part, _ in sample) / whole if whole else 1.0

    if len(sessions) == 1:  # which is all that can be drawn
        return Spread(*[share(sessions)] * 3)
    drawn = sorted(share(rng.choices(sessions, k=len(sessions))) for _ in range(rounds))
    outside = rounds // 40
    return Spread(share(sessions), drawn[outside], drawn[-1 - outside])
