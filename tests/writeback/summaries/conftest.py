"""What the tests of summaries share."""

import pytest

from tests.writeback.summaries.scripted import scripted


@pytest.fixture
def endpoint():
    with scripted() as running:
        yield running
