"""What the tests of imports share."""

import pytest

from pageturn.stores import MemoryStore


@pytest.fixture
def store():
    return MemoryStore()
