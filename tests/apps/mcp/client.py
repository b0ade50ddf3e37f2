"""Asks a server as a client does, by the SDK's own client: in this process, over a pipe, or over HTTP."""

import asyncio
import sys
from typing import Any, NamedTuple

from mcp import Client, StdioServerParameters

from pageturn.apps.mcp.server import Place, server_for


class Told(NamedTuple):
    text: str
    is_error: bool


async def call(client: Client, tool: str, arguments: dict[str, Any]) -> Told:
    result = await client.call_tool(tool, arguments)
    (content,) = result.content
    assert content.type == "text"
    return Told(content.text, bool(result.is_error))


def talk(target: Any, *calls: tuple[str, dict[str, Any]]) -> list[Told]:
    """The answers to some calls of one client."""

    async def run() -> list[Told]:
        async with Client(target) as client:
            return [await call(client, tool, arguments) for tool, arguments in calls]

    return asyncio.run(run())


def ask(store: object, tool: str, scope: str | None = None, **arguments: Any) -> Told:
    """The answer to one call, in this process."""
    (told,) = talk(server_for(Place(str(store), scope)), (tool, arguments))
    return told


def piped(store: object, *options: str) -> StdioServerParameters:
    """The server as clients start it."""
    return StdioServerParameters(command=sys.executable, args=["-m", "pageturn", "mcp", str(store), *options])
