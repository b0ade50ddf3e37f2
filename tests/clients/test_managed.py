"""Manage and recall before a strict provider whose model reads, on each wire: an agent in a tool loop of many turns, and small room.

What goes out is accepted, also the reasoning that is bound to what stands before it; nothing is lost; and a gateway that is restarted
between any two requests sends the same bytes.
"""

import http.client
import json
import sqlite3
from contextlib import closing

import pytest

from pageturn.apps.gateway.config import load_config
from pageturn.apps.gateway.running import mode_for
from pageturn.apps.gateway.server import Gateway
from tests.clients.accounts import accounts
from tests.clients.agent import Agent
from tests.clients.provider import provider
from tests.clients.walk import walk
from tests.clients.wires import WIRES
from tests.long import examples

ROOM = 6_000
TASK = walk(3, 22, size=2_000)


class Doubled(Agent):
    """An agent that sends each request twice: to its gateway, and to one that has just started with what the other had stored."""

    def __init__(self, url, path, work, *, store, start, upstream, **headers):
        super().__init__(url, path, work, **headers)
        self._store, self._start, self._upstream = store, start, upstream
        self.pairs = []

    def _turn(self):
        copy = self._store.with_name(f"copy-{len(self.pairs)}.db")
        if self._store.exists():
            with closing(sqlite3.connect(self._store)) as here, closing(sqlite3.connect(copy)) as there:
                here.backup(there)
        body = json.dumps(self._body()).encode()
        at = len(self._upstream.asked)
        taken = super()._turn()
        with self._start(copy) as gateway:
            connection = http.client.HTTPConnection(gateway.url.removeprefix("http://"), timeout=60)
            connection.request("POST", self._path, body, self._headers)
            connection.getresponse().read()
            connection.close()
        after = [each.body for each in self._upstream.asked[at:]]
        self.pairs.append((after[0], after[len(after) // 2]))
        return taken


@pytest.fixture(params=WIRES)
def path(request):
    return request.param


def walked(path, mode, folder, *, doubled=False):
    """Walk through a gateway; what the provider saw, and the agent."""
    work, store = folder / "work", folder / "gateway.db"
    TASK.write(work)
    with provider() as upstream:
        upstream.keeps = True
        flags = {"mode": mode, "room": str(ROOM), "port": "0", "anthropic": upstream.url}
        flags |= {"openai": f"{upstream.url}/v1"}

        def start(file):
            config = load_config({**flags, "store": str(file)}, None, {})
            return Gateway(config, mode_for(config))

        with start(store) as gateway:
            if doubled:
                more = {"store": store, "start": start, "upstream": upstream}
                agent = Doubled(gateway.url, path, work, **more, x_session_id="walk")
            else:
                agent = Agent(gateway.url, path, work, x_session_id="walk")
            agent.run(TASK.prompt)
        kept = accounts(store, upstream) if not doubled else None
    assert upstream.refused == []
    assert TASK.is_solved(work)
    if kept is not None:
        assert (kept.lost, kept.duplicated, kept.sessions) == ([], [], 1)
    return upstream, agent


@pytest.mark.parametrize("mode", ["manage", "recall"])
def test_folds_in_the_middle_of_a_tool_loop_are_accepted_and_nothing_is_lost(path, mode, tmp_path):
    upstream, agent = walked(path, mode, tmp_path)
    assert sum("fold=yes" in note for note in agent.notes) > 1
    sizes = [turn.used.input for turn in upstream.turns]
    whole = sum(map(len, TASK.pages.values())) // 4
    assert max(sizes) < 0.8 * whole
    called = [call for turn in upstream.turns for call in turn.said.calls]
    recalls = [call for call in called if call.tool.name == "recall"]
    assert bool(recalls) is (mode == "recall")


@pytest.mark.long
@pytest.mark.parametrize("mode", ["manage", "recall"][-examples(1, whole=2) :])
@pytest.mark.parametrize("path", [*WIRES][: examples(1, whole=3)])
def test_a_restart_before_any_request_changes_no_byte(path, mode, tmp_path):
    _, agent = walked(path, mode, tmp_path, doubled=True)
    assert any("fold=yes" in note for note in agent.notes)
    assert [at for at, (here, there) in enumerate(agent.pairs) if here != there] == []


def test_without_any_need_to_fold_every_byte_passes(path, tmp_path):
    """Manage sends what the client wrote until its first fold."""
    work = tmp_path / "work"
    task = walk(3, 6, size=300)
    task.write(work)
    bodies = []
    for place in ("direct", "manage"):
        with provider() as upstream:
            upstream.keeps = True
            flags = {"mode": "manage", "port": "0", "store": str(tmp_path / "gateway.db")}
            config = load_config({**flags, "anthropic": upstream.url, "openai": f"{upstream.url}/v1"}, None, {})
            with Gateway(config, mode_for(config)) as gateway:
                Agent(upstream.url if place == "direct" else gateway.url, path, work).run(task.prompt)
            bodies.append([each.body for each in upstream.asked])
    assert bodies[0] == bodies[1]
