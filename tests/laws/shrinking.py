"""Shrinking: a plot that breaks a law, with every act left out that is not needed for it."""

from dataclasses import replace

from tests.laws.acts import Act, Plot
from tests.laws.driver import Driver
from tests.laws.odd_driver import OddDriver
from tests.laws.tally import Violation

_MOST_RUNS = 400


def broken_by(plot: Plot, law: str) -> Violation | None:
    """The first violation of a law in a plot."""
    driver = OddDriver(plot) if plot.is_odd else Driver(plot)
    try:
        driver.play()
    except Exception as error:  # noqa: BLE001 - a plot may break down in many ways
        return Violation(law, repr(error)) if law == type(error).__name__ else None
    return next((violation for violation in driver.violations if violation.law == law), None)


def shrunk(plot: Plot, law: str) -> str:
    """The smallest plot that was found, and what it breaks."""
    runs, size = 0, max(1, len(plot.acts) // 2)
    while runs < _MOST_RUNS:
        at, has_shrunk = 0, False
        while at < len(plot.acts) and runs < _MOST_RUNS:
            less = replace(plot, acts=_without(plot.acts, at, size))
            runs += 1
            if broken_by(less, law) is not None:
                plot, has_shrunk = less, True
            else:
                at += size
        if size == 1 and not has_shrunk:
            break
        size = max(1, size // 2)
    return f"{broken_by(plot, law)}\n{plot}"


def _without(acts: tuple[Act, ...], at: int, size: int) -> tuple[Act, ...]:
    return acts[:at] + acts[at + size :]
