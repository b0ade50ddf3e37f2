"""A gateway has a session open and works in it, while a model proposes through the MCP server and a person answers: all go on."""

import json

import pytest

from pageturn.journal.reader import SessionReader, sessions
from tests.apps.cli.command import run
from tests.apps.gateway.agent import ANTHROPIC, CHAT, Agent, Provider, wait_for_turns
from tests.apps.gateway.conftest import _plain_environment, _upstream, ask, started, store  # noqa: F401 - fixtures
from tests.apps.mcp.client import ask as ask_server

RULE = "Never touch the migrations folder."


@pytest.mark.parametrize("mode", ["watch", "manage"])
@pytest.mark.parametrize("path", [ANTHROPIC, CHAT])
def test_both_go_on(started, ask, upstream, store, path, mode):  # noqa: F811
    upstream.answer = provider = Provider(path)
    agent = Agent(path, {"x-pageturn-session": "s"})
    agent.says("Find the bug in module 7.")
    with started(mode=mode, room=6_000) as gateway:
        agent.works(ask, gateway, 14)
        wait_for_turns(14, gateway)
        (info,) = sessions(store)
        with SessionReader.open(store, info.id) as reader:
            person = next(page for page in reader.pages() if page.is_human)
        told = ask_server(store, "pin", text=RULE, evidence=[person.handle])
        assert not told.is_error, told.text
        agent.works(ask, gateway, 3)
        with SessionReader.open(store, info.id) as reader:
            waiting = [*reader.state().waiting]
        assert run("proposals", "approve", store, f"{info.id}:{waiting[0]}").returncode == 0
        agent.works(ask, gateway, 14)
    assert [each.id for each in sessions(store)] == [info.id]  # nobody had to fork
    assert provider.problems == []
    with SessionReader.open(store, info.id) as reader:
        assert [reader.message(page).text for page in reader.pins] == [RULE]
        calls = [call.id for message in reader.messages(internal=True) for call in message.tool_calls]
    assert len(calls) == len(set(calls)) == 31
    assert (RULE in json.dumps(provider.bodies[-1])) is (mode == "manage")
