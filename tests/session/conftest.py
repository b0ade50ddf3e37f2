"""What the tests of the session share."""

import pytest

from pageturn.stores import MemoryStore


@pytest.fixture
def store():
    return MemoryStore()
