"""A gateway at work, looked at while it runs: what the inspector shows of a turn is what went over the wire."""

import json

import pytest

from pageturn.apps.inspector.opened import Opened, Place
from pageturn.apps.inspector.views.session import session_view
from pageturn.apps.inspector.views.session_list import SessionList
from pageturn.apps.inspector.views.turn import turn_view
from tests.apps.gateway import conftest
from tests.apps.gateway.agent import ANTHROPIC, CHAT, MODELS, Agent, Provider

ROOM = 8_000
_plain_environment, _upstream = conftest._plain_environment, conftest._upstream
ask, started, store = conftest.ask, conftest.started, conftest.store


def said(body):
    """All texts that a request has in its messages."""
    return json.dumps(body["messages"], ensure_ascii=False)


@pytest.mark.parametrize("path", [ANTHROPIC, CHAT])
@pytest.mark.parametrize("mode", ["watch", "manage"])
def test_the_messages_of_a_turn_are_those_that_went_upstream(started, ask, upstream, store, path, mode):
    upstream.answer = provider = Provider(path)
    agent = Agent(path, {"x-pageturn-session": "s"})
    agent.says("Find the bug.")
    with started(mode=mode, room=ROOM) as gateway:
        agent.works(ask, gateway, 14, 2_000)
        if mode == "manage":  # it has written what it sends before it sends it
            with Opened(Place(str(store))) as running:
                assert len(running.session(running.rows()[0].id).history.turns) >= 13
        agent.works(ask, gateway, 10, 2_000)
    with Opened(Place(str(store))) as opened:
        (row,) = SessionList().view(opened, lambda: True).sessions
        assert row.inside.client.startswith("gateway, ")
        assert row.inside.model == MODELS[path]
        looked = opened.session(row.id)
        turns = len(looked.history.turns)
        assert turns == len(provider.bodies)
        derived = 0
        for number in range(1, turns + 1):
            view = turn_view(looked, number)
            sent = said(provider.bodies[number - 1])
            assert view.flaw == ""
            derived += view.client.sent_bytes is not None
            for message in view.messages:
                if message.role in ("user", "assistant", "tool"):
                    for part in message.parts:
                        assert (
                            json.dumps(part.text, ensure_ascii=False)[1:200].rstrip('"\\') in sent
                            or part.type == "call"
                        )
        assert (derived > 0) is (mode == "manage")
        if mode == "manage":
            last = turn_view(looked, turns, by_client=True)
            assert last.total > turn_view(looked, turns).total
            assert session_view(looked).turns.fold.count(None) < turns
