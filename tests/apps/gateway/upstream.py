"""A scripted upstream: plays answers byte by byte, as odd as a test wants them, and remembers what it was asked."""

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

WAIT = 30.0  # seconds after which a test has failed; nothing waits that long


class Asked(NamedTuple):
    """A request as it came."""

    method: str
    target: str
    headers: list[tuple[str, str]]  # names in lower case
    body: bytes

    def header(self, name: str) -> str | None:
        return next((value for each, value in self.headers if each == name), None)


class Reply(NamedTuple):
    """What to answer: pieces that are written one by one. An event among them is waited for before the next piece."""

    pieces: Sequence[bytes | threading.Event] = ()
    status: int = 200
    headers: Sequence[tuple[str, str]] = ()
    is_chunked: bool = True  # or else with a length
    is_cut: bool = False  # the connection is closed without an end
    length: int | None = None  # that is promised, where it is another than what comes


class Upstream:
    """What the server answers, and what came."""

    def __init__(self) -> None:
        self.url = ""
        self.forget()

    def forget(self) -> None:
        """Begin anew."""
        self.asked: list[Asked] = []
        self.answer: Callable[[Asked], Reply] = lambda _: Reply()
        self.was_left = threading.Event()  # a client went away while it was being answered
        self.connections = 0


@contextmanager
def upstream() -> Iterator[Upstream]:
    """A running server on a port of its own."""
    state = Upstream()
    is_ready = threading.Event()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        server = await asyncio.start_server(lambda r, w: _connection(state, r, w), "127.0.0.1", 0, limit=1 << 24)
        state.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        is_ready.set()
        with suppress(asyncio.CancelledError):
            await server.serve_forever()

    def run() -> None:
        asyncio.set_event_loop(loop)
        main = loop.create_task(serve())
        stop.append(lambda: loop.call_soon_threadsafe(main.cancel))
        loop.run_until_complete(main)
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        loop.close()

    stop: list[Callable[[], object]] = []
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert is_ready.wait(WAIT)
    try:
        yield state
    finally:
        stop[0]()
        thread.join(WAIT)


async def _connection(state: Upstream, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    state.connections += 1
    with suppress(
        ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError
    ):  # the last when the server ends
        ahead = b""
        while (asked := await _request(reader, ahead)) is not None:
            state.asked.append(asked)
            reply = state.answer(asked)
            playing = asyncio.ensure_future(_play(reply, asked, writer))
            # A client waits for the answer, so what comes is the end, or the next request of one that has the whole answer already.
            leaving = asyncio.ensure_future(reader.read(1))
            await asyncio.wait({playing, leaving}, return_when=asyncio.FIRST_COMPLETED)
            has_left = leaving.done() and (leaving.exception() is not None or not leaving.result())
            if has_left and not playing.done():
                state.was_left.set()
                playing.cancel()
                break
            await playing
            if reply.is_cut:
                break
            if not leaving.done():
                leaving.cancel()
            ahead = b""
            with suppress(asyncio.CancelledError):
                ahead = await leaving
                if not ahead:
                    break
    writer.close()


async def _request(reader: asyncio.StreamReader, ahead: bytes) -> Asked | None:
    first = ahead + await reader.readline()
    if not first:
        return None
    method, target, _ = first.decode("latin-1").split(" ", 2)
    headers: list[tuple[str, str]] = []
    while (line := (await reader.readline()).decode("latin-1").rstrip("\r\n")) != "":
        name, _, value = line.partition(":")
        headers.append((name.lower(), value.strip()))
    given = dict(headers)
    body = b""
    if given.get("transfer-encoding") == "chunked":
        while size := int((await reader.readline()).strip() or b"0", 16):
            body += await reader.readexactly(size)
            await reader.readline()
        await reader.readline()
    elif "content-length" in given:
        body = await reader.readexactly(int(given["content-length"]))
    return Asked(method, target, headers, body)


async def _play(reply: Reply, asked: Asked, writer: asyncio.StreamWriter) -> None:
    size = sum(len(piece) for piece in reply.pieces if isinstance(piece, bytes))
    head = [f"HTTP/1.1 {reply.status} Told", *(f"{name}: {value}" for name, value in reply.headers)]
    has_body = asked.method != "HEAD" and reply.status not in (204, 304)
    if has_body or not reply.is_chunked:
        length = size if reply.length is None else reply.length
        head.append("transfer-encoding: chunked" if reply.is_chunked else f"content-length: {length}")
    writer.write("\r\n".join([*head, "", ""]).encode("latin-1"))
    for piece in reply.pieces if has_body else ():
        if isinstance(piece, bytes):
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece) if reply.is_chunked else piece)
            await writer.drain()
        else:
            assert await asyncio.get_running_loop().run_in_executor(None, piece.wait, WAIT)
    if has_body and reply.is_chunked and not reply.is_cut:
        writer.write(b"0\r\n\r\n")
    await writer.drain()
