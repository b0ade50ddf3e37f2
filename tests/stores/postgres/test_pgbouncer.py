"""The store behind pgbouncer in transaction mode, where each transaction may run in another server connection."""

import os
import shutil
import subprocess
from time import monotonic, sleep

import pytest

import pageturn as pt
from pageturn.stores import Loss, SessionRow, Slot, Span
from pageturn.testing import maintained_store_cases, reopened_store_cases, sidecar_cases, store_cases
from pageturn.testing.concurrency import in_threads
from pageturn.testing.stores import batch

ALL = 10**9
_PROGRAM = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
_PORT = 6432  # only a part of the socket's name
_SETTINGS = """[databases]
* = host={folder} port=5432
[pgbouncer]
pool_mode = transaction
default_pool_size = 2
listen_port = {port}
unix_socket_dir = {folder}
auth_type = trust
auth_file = {folder}/users
logfile = {folder}/pgbouncer.log
pidfile = {folder}/pgbouncer.pid
"""

pytestmark = pytest.mark.skipif(_PROGRAM is None, reason="pgbouncer is not installed (the package pgbouncer of Debian)")


@pytest.fixture(scope="module")
def bouncer(server):
    """Turns the URL of a database into one by way of pgbouncer."""
    (server.folder / "users").write_text('"postgres" ""\n')
    settings = server.folder / "pgbouncer.ini"
    settings.write_text(_SETTINGS.format(folder=server.folder, port=_PORT))
    user = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] if os.geteuid() == 0 else []
    with subprocess.Popen([*user, _PROGRAM, "-q", settings], cwd="/", stderr=subprocess.DEVNULL) as process:
        until = monotonic() + 30
        while not (server.folder / f".s.PGSQL.{_PORT}").exists():
            assert monotonic() < until
            assert process.poll() is None
            sleep(0.02)
        yield lambda url: f"{url}&port={_PORT}"
        process.kill()


@pytest.fixture
def make(server, opened, bouncer):
    return lambda: opened(bouncer(server.url(server.new_database())))


CASES = [*store_cases(), *maintained_store_cases(), *sidecar_cases()]


@pytest.mark.parametrize("case", CASES[:: max(1, len(CASES) // 8)], ids=str)
def test_a_sample_of_the_claims(case, make):
    case(make)


@pytest.mark.parametrize("case", reopened_store_cases(shared=True), ids=str)
def test_stores_that_share_connections(case, make, server, opened, bouncer):
    case(make, lambda store: opened(bouncer(server.url(store.path.rpartition("/")[2]))))


def test_more_threads_than_server_connections(make, server, opened, bouncer):
    store = make()
    slot = Slot("counts", "one")

    def work(name):
        session = pt.Session.open(store, id=name)
        for number in range(5):
            session.append(pt.user(f"{name} {number}"))
            store.amend([slot], lambda found: {slot: b"%d" % (int(found[slot] or b"0") + 1)})

    names = [f"thread{number}" for number in range(8)]
    in_threads(work, names)
    assert store.document(slot) == b"40"
    for name in names:
        session = pt.Session.open(store, id=name)
        assert [message.text for message in session.reader.messages()] == [f"{name} {number}" for number in range(5)]


def test_time_limits_do_not_stay_with_a_server_connection(make, server):
    store = make()
    store.create(SessionRow("a", b"key", 1))
    store.append("a", 0, batch(1, texts=["tulip"]))
    store.erase("a", 1, batch(2).records[0], [Loss("a", 1, [], "tulip")])
    store.search([Span("a", ALL)], "tulip", 5)
    shown = {
        store._db.look_up(f"SELECT current_setting('{name}')")[0][0]
        for name in ("lock_timeout", "statement_timeout")
        for _ in range(4)
    }
    assert shown == {"0"}
