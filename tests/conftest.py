"""Property tests never depend on how fast the machine is; in CI they try the same cases every time."""

import os

import pytest
from hypothesis import HealthCheck, settings

from tests.fuzz import reporting as fuzzing
from tests.laws import reporting as laws
from tests.laws.reporting import pytest_sessionfinish, pytest_sessionstart

settings.register_profile(
    "pageturn",
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow],  # which goes by the clock
)
settings.load_profile("pageturn")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    fuzzing.tell(terminalreporter)
    laws.tell(terminalreporter, config)


__all__ = ["pytest_sessionfinish", "pytest_sessionstart", "pytest_terminal_summary"]
