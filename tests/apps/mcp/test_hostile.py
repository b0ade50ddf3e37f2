"""Whatever is handed to a tool or named as a resource: an answer of ours, bounded and escaped, and never an error as it was raised."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import Client
from mcp.shared.exceptions import MCPError

import pageturn as pt
from pageturn.apps.mcp import tools
from pageturn.apps.mcp.server import Place, server_for
from tests.apps.mcp.client import ask, talk
from tests.apps.mcp.conftest import handles
from tests.apps.mcp.test_transports import TOOLS

MOST = 16_000
NAMES = ["query", "session", "handle", "start", "text", "evidence", "goal", "steps", "current", "nothing"]
TEXTS = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        [
            "",
            " ",
            "../../etc/passwd",
            "login-bug",
            "secret-1",
            "p4-aaaa",
            "</page>",
            "<system-reminder>",
            "x" * 3_000,
            "\0",
            "' OR 1=1 --",
            '" NEAR(',
            "*",
            "file:///etc/passwd",
        ]
    ),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(10**20), 10**20), st.floats(allow_nan=False), TEXTS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
ARGUMENTS = st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=5)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    file = tmp_path_factory.mktemp("hostile") / "agent.db"
    with pt.Session.open(file, id="login-bug") as session:
        session.append(pt.user("Login returns 500 </page> since yesterday."))
        session.append(pt.assistant("I look."))
    with pt.Session.open(file, id="secret-1", scope="other") as session:
        session.append(pt.user("xyzzy"))
    return file


def require_ours(told):
    assert len(told.text.encode("utf-8", "surrogatepass")) <= MOST
    assert told.text.strip()
    assert "could not answer" not in told.text
    assert "Traceback" not in told.text
    assert "xyzzy" not in told.text
    assert told.text.count("<page>") == told.text.count("</page>")
    assert "<system-reminder>" not in told.text


@pytest.mark.parametrize("tool", TOOLS)
def test_any_arguments_get_an_answer_of_ours(kept, tool):
    @settings(max_examples=60, deadline=None)
    @given(st.lists(ARGUMENTS, min_size=8, max_size=8))
    def play(several):
        for told in talk(server_for(Place(str(kept))), *((tool, arguments) for arguments in several)):
            require_ours(told)

    play()


GOOD = {
    "recall": {"query": "login"},
    "resolve": {"handle": "HANDLE"},
    "browse": {},
    "faults": {},
    "explain": {"handle": "HANDLE"},
    "savings": {},
    "pin": {"text": "Never push.", "evidence": ["HANDLE"]},
    "plan": {"goal": "mend", "evidence": ["HANDLE"]},
}


@pytest.mark.parametrize("tool", TOOLS)
def test_one_hostile_argument_among_good_ones_gets_an_answer_of_ours(kept, tool):
    handle = handles(kept)[0]
    good = {
        name: [handle] if value == ["HANDLE"] else handle if value == "HANDLE" else value
        for name, value in GOOD[tool].items()
    }

    @settings(max_examples=60, deadline=None)
    @given(st.lists(st.tuples(st.sampled_from(NAMES), VALUES), min_size=8, max_size=8))
    def play(changes):
        calls = [(tool, {**good, name: value}) for name, value in changes]
        for told in talk(server_for(Place(str(kept))), *calls):
            require_ours(told)

    play()


def test_any_address_gets_a_resource_or_an_error_of_ours(kept):
    async def run(addresses):
        told = []
        async with Client(server_for(Place(str(kept)))) as client:
            for address in addresses:
                try:
                    (found,) = (await client.read_resource(address)).contents
                    assert "xyzzy" not in found.text
                except MCPError as error:
                    told.append(str(error))
        return told

    parts = st.sampled_from(
        [
            "pageturn://",
            "session/",
            "login-bug",
            "secret-1",
            "/page/",
            "p3-aaaa",
            "?start=",
            "9",
            "../",
            "%2e%2e",
            "#",
            "\n",
        ]
    )

    @settings(max_examples=60, deadline=None)
    @given(st.lists(st.lists(parts, max_size=7).map("".join), min_size=8, max_size=8))
    def play(addresses):
        for told in asyncio.run(run(addresses)):
            assert "no match" in told or "expected" in told

    play()


def test_a_damaged_store_is_said(store):
    store.write_bytes(b"SQLite format 3\0" + b"\xff" * 9_000)
    for tool, arguments in GOOD.items():
        told = ask(store, tool, **arguments)
        assert told.is_error
        assert "could not answer" not in told.text


def test_a_failure_that_nobody_foresaw_is_told_by_its_kind_alone(store, monkeypatch, caplog):
    def fails(*_, **__):
        raise RuntimeError("canary of a page")

    monkeypatch.setattr(tools.search, "recall", fails)
    assert ask(store, "recall", query="login") == ("the server could not answer (RuntimeError)", True)
    assert "canary" not in caplog.text
