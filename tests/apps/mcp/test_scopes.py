"""A server opens one scope: a session of another one is answered, letter for letter, as one that does not exist."""

import asyncio

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

import pageturn as pt
from pageturn.apps.mcp.server import Place, server_for
from tests.apps.mcp.client import ask, talk
from tests.apps.mcp.conftest import handles
from tests.sessions import open_session


def calls(session, handle):
    yield "recall", {"query": "expired token", "session": session}
    yield "resolve", {"handle": handle, "session": session}
    yield "browse", {"session": session}
    yield "faults", {"session": session}
    yield "explain", {"handle": handle, "session": session}
    yield "savings", {"session": session}
    yield "pin", {"text": "Never push.", "evidence": [handle], "session": session}
    yield "plan", {"goal": "mend", "evidence": [handle], "session": session}


def test_another_scopes_session_looks_like_one_that_does_not_exist(store):
    foreign = handles(store, "secret-1", "other")[0]
    server = server_for(Place(str(store)))
    for real, none in zip(calls("secret-1", foreign), calls("secret-9", foreign), strict=True):
        there, not_there = talk(server, real, none)
        assert there.is_error
        assert there.text.replace("secret-1", "secret-9") == not_there.text


def test_a_search_stays_in_its_scope(store):
    own = ask(store, "recall", query="expired token login")
    assert "login-bug" in own.text
    assert "xyzzy" not in own.text
    other = ask(store, "recall", scope="other", query="expired token login")
    assert "xyzzy" in other.text
    assert "login-bug" not in other.text


def test_lists_have_the_sessions_of_the_scope(store):
    assert "secret" not in ask(store, "browse").text
    assert "login-bug" not in ask(store, "browse", scope="other").text
    assert ask(store, "browse", scope="nobody's") == ("no match: there is no session yet", True)


def test_the_newest_session_is_the_newest_of_the_scope(store):
    assert "secret-2" in ask(store, "faults", scope="other").text
    assert "login-bug" in ask(store, "faults").text


def test_a_grant_of_a_session_opens_nothing_to_the_server(store):
    with open_session(store, id="login-bug") as session:
        session.grant("other")
    assert "xyzzy" not in ask(store, "recall", query="xyzzy").text
    assert ask(store, "browse", session="secret-1").is_error


@pytest.mark.parametrize("address", ["pageturn://session/secret-1", "pageturn://session/secret-1/page/{}"])
def test_resources_stay_in_their_scope(store, address):
    foreign = handles(store, "secret-1", "other")[0]

    async def run():
        async with Client(server_for(Place(str(store)))) as client:
            assert [each.name for each in (await client.list_resources()).resources] == ["login-bug"]
            errors = []
            for wanted in (address, address.replace("secret-1", "secret-9")):
                with pytest.raises(MCPError) as error:
                    await client.read_resource(wanted.format(foreign))
                errors.append(str(error.value).replace("secret-1", "secret-9"))
            assert errors[0] == errors[1]

    asyncio.run(run())


def test_a_proposal_for_another_scope_is_written_nowhere(store):
    before = [(each.id, each.entries) for each in pt.sessions(store)]
    foreign = handles(store, "secret-1", "other")[0]
    assert ask(store, "pin", text="Never push.", evidence=[foreign], session="secret-1").is_error
    assert [(each.id, each.entries) for each in pt.sessions(store)] == before
