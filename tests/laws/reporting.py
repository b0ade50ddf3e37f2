"""The tally of the laws, told at the end of a run over all of its processes; hooks of `tests/conftest.py`."""

import shutil
from pathlib import Path

import pytest

from tests.laws.tally import TOTAL, Tally

_FOLDER = "laws-tally"


def _folder(config: pytest.Config) -> Path:
    return Path(config.rootpath) / ".pytest_cache" / _FOLDER


def pytest_sessionstart(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput"):
        shutil.rmtree(_folder(session.config), ignore_errors=True)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if TOTAL.counts:
        TOTAL.save(_folder(session.config))


def tell(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    total = Tally.of(_folder(config))
    if total.counts:
        terminalreporter.section("laws")
        for line in total.lines():
            terminalreporter.line(line)
