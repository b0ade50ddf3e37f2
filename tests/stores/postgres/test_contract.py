"""What every store must do, asked of one in PostgreSQL, on a real server."""

import pytest

from pageturn.testing import maintained_store_cases, reopened_store_cases, sidecar_cases, store_cases


@pytest.fixture
def make(server, opened):
    """Makes stores, each in a database of its own."""
    return lambda: opened(server.url(server.new_database()))


@pytest.fixture
def again(server, opened):
    """Opens the database of a store once more."""
    return lambda store: opened(server.url(store.path.rpartition("/")[2]))


@pytest.mark.parametrize("case", [*store_cases(), *maintained_store_cases()], ids=str)
def test_every_store(case, make):
    case(make)


@pytest.mark.parametrize("case", reopened_store_cases(shared=True), ids=str)
def test_a_store_outlives_its_program_and_is_shared(case, make, again):
    case(make, again)


@pytest.mark.parametrize("case", sidecar_cases(), ids=str)
def test_sidecars(case, make):
    case(make)
