"""Stores that are made once, and looked at by every test of this folder."""

from typing import NamedTuple

import pytest

from pageturn.apps.inspector.opened import Opened, Place
from tests.apps.inspector import stores


class Kept(NamedTuple):
    file: str
    contexts: list  # of the session login-bug, turn by turn


@pytest.fixture(scope="session")
def kept(tmp_path_factory):
    file = tmp_path_factory.mktemp("inspector") / "agent.db"
    contexts = stores.agent(file)
    stores.odd(file)
    stores.routed(file)
    return Kept(str(file), contexts)


@pytest.fixture
def opened(kept):
    with Opened(Place(kept.file)) as store:
        yield store
