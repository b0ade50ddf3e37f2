"""A store that is full or damaged under a running gateway: clients are answered or told why, and nothing that was kept is lost."""

import json
import os
import resource
import sys
from contextlib import suppress

import pytest

import pageturn as pt
from pageturn.apps.gateway.tenants.keys import Keys
from pageturn.stores import open_store
from pageturn.values.errors import PageturnError
from tests.apps.gateway.agent import CHAT, Agent, Provider
from tests.apps.gateway.process import GatewayProcess
from tests.apps.gateway.test_tenants import OURS, SETTINGS

linux = pytest.mark.skipif(sys.platform != "linux", reason="the limit of a running process is set by prlimit")
STATUSES = (200, 400, 413, 502, 503)  # an answer, or an error that says why; never one of our own making (500)


def client(name="talk", **headers):
    agent = Agent(CHAT, {"x-pageturn-session": name, "authorization": "Bearer sk-client", **headers})
    agent.says("Find the bug.")
    return agent


def goes_on(agent, ask, gateway, turns):
    """So many turns; the statuses, and the bodies of errors."""
    found = []
    for _ in range(turns):
        answer = ask(gateway, "POST", CHAT, agent.body(), agent.headers)
        read = answer.read()
        answer.connection.close()
        found.append((answer.status, b"" if answer.status == 200 else read))
        if answer.status == 200:
            reply = json.loads(read)
            agent.take(reply)
            for call in agent.calls(reply):
                agent.brings(call, "x" * 2_000)
    return found


def texts(store):
    opened = open_store(str(store))
    try:
        return [
            [message.text for message in pt.SessionReader.open(opened, row.id).messages()] for row in opened.sessions()
        ]
    finally:
        opened.close()


@linux
@pytest.mark.parametrize("mode", ["watch", "manage"])
def test_while_the_disk_is_full_calls_pass_and_afterwards_everything_is_kept(upstream, ask, store, mode):
    upstream.answer = Provider(CHAT)
    agent = client()
    with GatewayProcess(store, upstream.url, "--mode", mode) as gateway:
        goes_on(agent, ask, gateway, 3)
        gateway.limit_files(4_096)
        full = goes_on(agent, ask, gateway, 5)
        gateway.limit_files(resource.RLIM_INFINITY)
        after = goes_on(agent, ask, gateway, 3)
        gateway.stop()
        assert "Traceback" not in gateway.log
    assert {status for status, _ in full} == {200}
    assert {status for status, _ in after} == {200}
    (*_, longest) = sorted(texts(store), key=len)
    assert all(any(f"Step {number}." in text for text in longest) for number in range(1, 11))


@linux
def test_while_the_disk_is_full_nobody_passes_on_a_budget(upstream, ask, store, tmp_path):
    upstream.answer = Provider(CHAT)
    opened = open_store(str(store))
    plain, _ = Keys(opened).create("team", budget=50.0)
    opened.close()
    file = tmp_path / "config.toml"
    file.write_text(SETTINGS.format(more=""))
    variables = {"OUR_KEY": OURS, "PAGETURN_KEYS": "virtual"}
    agent = client(authorization=f"Bearer {plain}")
    with GatewayProcess(store, upstream.url, "--config", str(file), variables=variables) as gateway:
        assert {status for status, _ in goes_on(agent, ask, gateway, 2)} == {200}
        gateway.limit_files(4_096)
        full = goes_on(agent, ask, gateway, 3)
        assert {status for status, _ in full} == {503}
        assert all(b"pageturn: keys cannot be looked up" in told for _, told in full)
        gateway.stop()
        assert "Traceback" not in gateway.log


@pytest.mark.parametrize("mode", ["watch", "manage", "recall"])
@pytest.mark.parametrize("kind", ["pages", "head", "gone", "empty"])
def test_a_store_that_is_damaged_under_the_gateway_makes_no_error_of_ours(
    started, ask, upstream, store, caplog, mode, kind
):
    upstream.answer = Provider(CHAT)
    agent, other = client(), client("other")
    with started(mode=mode, room=4_000) as gateway:
        goes_on(agent, ask, gateway, 12)
        damage(store, kind)
        found = goes_on(agent, ask, gateway, 4) + goes_on(other, ask, gateway, 2)
        if mode == "watch":
            assert {status for status, _ in found} == {200}
    for status, told in found:
        assert status in STATUSES, told
        assert b"Traceback" not in told
    assert "Traceback" not in caplog.text
    with suppress(PageturnError, OSError):  # which says that it is damaged
        texts(store)


def damage(store, kind):
    """Change the file beneath everybody who has it open."""
    with store.open("r+b") as file:
        size = os.fstat(file.fileno()).st_size
        if kind == "head":
            file.write(b"\0" * 200)
        elif kind == "pages":
            for at in range(4_096, size, 4_096 * 3):
                file.seek(at)
                file.write(b"\xff" * 512)
        elif kind == "empty":
            file.truncate(0)
    if kind == "gone":
        for each in (store, store.with_name(f"{store.name}-wal"), store.with_name(f"{store.name}-shm")):
            each.unlink(missing_ok=True)
