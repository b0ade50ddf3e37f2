"""Property tests never depend on how fast the machine is; in CI they try the same cases every time."""

import os

from hypothesis import settings

from tests.laws.reporting import pytest_sessionfinish, pytest_sessionstart, pytest_terminal_summary

settings.register_profile("pageturn", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("pageturn")

__all__ = ["pytest_sessionfinish", "pytest_sessionstart", "pytest_terminal_summary"]
