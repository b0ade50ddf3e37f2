"""The official client over a pipe and over HTTP; who gets an answer over HTTP, and who does not."""

import asyncio
import http.client
import json
import os
import subprocess
import sys
from contextlib import contextmanager

import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from pageturn.apps.mcp.server import Place, app_for
from tests.apps.cli.command import run
from tests.apps.mcp.client import call, piped, talk
from tests.apps.mcp.conftest import handles

TOOLS = ["recall", "resolve", "browse", "faults", "explain", "savings", "pin", "plan"]
TOKEN = "canary-token"


@contextmanager
def listening(store, *options, token=None):
    """A server on a free port, in a process of its own; its port."""
    environ = {**os.environ, **({"PAGETURN_TOKEN": token} if token else {})}
    command = [sys.executable, "-m", "pageturn", "mcp", str(store), "--http", "--port", "0", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environ) as server:
        try:
            line = server.stderr.readline()
            assert "MCP server at http://127.0.0.1:" in line, line
            yield int(line.split("127.0.0.1:")[1].split("/")[0])
        finally:
            server.terminate()
            rest = server.stderr.read()
            assert TOKEN not in line + rest
            assert "Traceback" not in rest


async def walk(client, handle):
    """What a client sees of a server."""
    tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == TOOLS
    assert [tool.name for tool in tools if not tool.annotations.read_only_hint] == ["pin", "plan"]
    assert all(tool.input_schema["type"] == "object" and tool.description for tool in tools)
    assert "is_expired" in (await call(client, "recall", {"query": "is_expired"})).text
    resources = (await client.list_resources()).resources
    assert [each.uri for each in resources] == ["pageturn://session/login-bug"]
    templates = (await client.list_resource_templates()).resource_templates
    assert [each.name for each in templates] == ["session", "page"]
    listed = (await client.read_resource(resources[0].uri)).contents[0].text
    assert listed == (await call(client, "browse", {"session": "login-bug"})).text
    page = (await client.read_resource(f"{resources[0].uri}/page/{handle}?start=4")).contents[0].text
    assert page == (await call(client, "resolve", {"handle": handle, "start": 4})).text
    told = await call(client, "pin", {"text": "Never push to main.", "evidence": [handle]})
    assert told.text.startswith("Proposal login-bug:0 waits")


def test_over_a_pipe(store):
    async def talking():
        async with Client(piped(store)) as client:
            await walk(client, handles(store)[1])

    asyncio.run(talking())
    assert "Never push to main." in run("proposals", store).stdout


@pytest.mark.parametrize("token", [None, TOKEN])
def test_over_http(store, token):
    async def talking(port):
        headers = {"Authorization": f"Bearer {token}"} if token else None
        async with create_mcp_http_client(headers=headers) as http:
            transport = streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=http)
            async with Client(transport) as client:
                await walk(client, handles(store)[1])

    with listening(store, token=token) as port:
        asyncio.run(talking(port))


def test_a_scope_is_an_option(store):
    (told,) = talk(piped(store, "--scope", "other"), ("browse", {}))
    assert "secret-1" in told.text
    assert "login-bug" not in told.text


def posted(port, headers, body=b"{}"):
    """The status of a request that is no more than that."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **headers}
    connection.request("POST", "/mcp", body, {name: value for name, value in sent.items() if value is not None})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    assert "Traceback" not in text
    assert TOKEN not in text
    return answer.status


LISTED = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}).encode()


def test_who_gets_an_answer(store):
    with listening(store) as port:
        assert posted(port, {}, LISTED) == 200
        assert posted(port, {"Host": "evil.example"}, LISTED) == 421  # a web page whose name leads here
        assert posted(port, {"Host": f"127.0.0.1.evil.example:{port}"}, LISTED) == 421
        assert posted(port, {"Origin": "http://evil.example"}, LISTED) == 403
        assert posted(port, {"Content-Type": "text/plain"}, LISTED) == 400
        assert posted(port, {}, b"x" * 1_100_000) == 413
        assert posted(port, {}, b"{") == 400
        assert posted(port, {}, b"[" * 100_000) == 400
        for text in (r"\ud800", r"\u0000", "\x7f", "</page>"):
            asked = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "recall", "arguments": {"query": "%s"}}}'
            assert posted(port, {}, asked % text.encode()) in (200, 400)
        assert posted(port, {}, LISTED) == 200


def test_with_a_token_nobody_else_gets_one(store):
    with listening(store, token=TOKEN) as port:
        assert posted(port, {"Authorization": f"Bearer {TOKEN}"}, LISTED) == 200
        for given in (None, "", TOKEN, "Bearer", "Bearer ", f"Bearer {TOKEN}x", f"bearer {TOKEN[:-1]}", "Basic x"):
            assert posted(port, {"Authorization": given}, LISTED) == 401


def test_any_address_but_loopback_needs_a_token(store, monkeypatch):
    monkeypatch.delenv("PAGETURN_TOKEN", raising=False)
    done = run("mcp", store, "--http", "--host", "0.0.0.0", "--port", "0")
    assert (done.returncode, done.stderr) == (
        1,
        "pageturn: token: expected one, since 0.0.0.0 is not this machine alone, got none\n",
    )


def test_a_token_opens_nothing_when_it_is_sent_twice(store):
    app = app_for(Place(str(store)), "127.0.0.1", TOKEN)
    statuses = []

    async def send(message):
        statuses.append(message.get("status"))

    header = (b"authorization", f"Bearer {TOKEN}".encode())
    scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": [header, (b"authorization", b"Bearer x")]}
    asyncio.run(app(scope, None, send))
    assert statuses[0] == 401


def test_the_server_says_what_it_lacks():
    code = "import sys; sys.modules['mcp'] = None; from pageturn.__main__ import main; sys.argv = ['pageturn', 'mcp', 'x.db']; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        1,
        "pageturn: the MCP server needs more packages: pip install 'pageturn[mcp]'\n",
    )
