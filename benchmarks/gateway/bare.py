"""A bare pass-through: what any proxy of this make costs that does nothing at all. `python -m benchmarks.gateway.bare PORT UPSTREAM`."""

import sys
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount

UPSTREAM = ""
state: dict[str, aiohttp.ClientSession] = {}


async def passing(scope: Any, receive: Any, send: Any) -> None:
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    headers = [
        (name.decode(), value.decode()) for name, value in scope["headers"] if name not in (b"host", b"content-length")
    ]
    url = UPSTREAM + scope["raw_path"].decode()
    async with state["session"].request(scope["method"], url, data=body, headers=headers) as answer:
        kept = [(name, value) for name, value in answer.raw_headers if name.lower() != b"transfer-encoding"]
        await send({"type": "http.response.start", "status": answer.status, "headers": kept})
        async for chunk in answer.content.iter_any():
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


@asynccontextmanager
async def lifespan(_app: Any):  # noqa: ANN201
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, auto_decompress=False) as session:
        state["session"] = session
        yield


if __name__ == "__main__":
    UPSTREAM = sys.argv[2]
    app = Starlette(routes=[Mount("/", app=passing)], lifespan=lifespan)
    uvicorn.run(app, port=int(sys.argv[1]), log_level="critical", access_log=False, http="httptools", backlog=2048)
