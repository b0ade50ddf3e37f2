"""Load on loopback: a provider that answers from memory, and clients that measure. Both are raw, so that what is measured is the proxy."""

import asyncio
import json
import math
import random
from collections.abc import Callable
from contextlib import suppress
from time import perf_counter
from typing import Any, ClassVar, NamedTuple

import uvloop

_END = b"0\r\n\r\n"
_HELD = b"bench-hold"  # a model whose answers begin at once, and end when another one is asked
_RELEASING = b"bench-release"
_LONGEST_HOLD = 240.0  # seconds: the last stream of a gateway that derives begins late
_LONGEST_END = 120.0


def _chunk(data: dict[str, Any]) -> bytes:
    event = b"data: " + json.dumps(data).encode() + b"\n\n"
    return b"%x\r\n%s\r\n" % (len(event), event)


def _delta(delta: dict[str, Any], reason: str | None = None) -> bytes:
    base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "bench"}
    return _chunk({**base, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})


REPLY = "All is well so far, I go on with the next step of the plan."
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
_FIRST = _delta({"role": "assistant", "content": REPLY[:10]})
_USAGE = {"prompt_tokens": 9_000, "completion_tokens": 12, "total_tokens": 9_012}
_REST = b"".join(
    (
        *(_delta({"content": REPLY[at : at + 10]}) for at in range(10, len(REPLY), 10)),
        _delta({}, "stop"),
        _chunk({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "bench", "choices": [], "usage": _USAGE}),
        b"e\r\ndata: [DONE]\n\n\r\n",
        _END,
    )
)  # fmt: skip


class Answering(asyncio.Protocol):
    """The provider's side of a connection."""

    _holding: ClassVar[list[asyncio.Transport]] = []  # streams that have begun

    def __init__(self) -> None:
        self._taken = bytearray()

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._taken += data
        while (length := _whole(self._taken)) is not None:
            request = bytes(self._taken[:length])
            del self._taken[:length]
            if _HELD in request:
                self._transport.write(_HEAD + _FIRST)
                self._holding.append(self._transport)
                continue
            if _RELEASING in request:
                while self._holding:
                    self._holding.pop().write(_REST)
            self._transport.write(_HEAD + _FIRST + _REST)


def _whole(taken: bytearray) -> int | None:
    """How long the request at the beginning is, where all of it is there."""
    head = taken.find(b"\r\n\r\n")
    if head < 0:
        return None
    lines = bytes(taken[:head]).lower()
    if b"transfer-encoding: chunked" in lines:
        end = taken.find(_END, head + 2)
        return None if end < 0 else end + len(_END)
    at = lines.find(b"content-length:")
    length = int(lines[at + 15 :].split(b"\r\n")[0]) if at >= 0 else 0
    whole = head + 4 + length
    return whole if len(taken) >= whole else None


class Asking(asyncio.Protocol):
    """A client's side of a connection: one request at a time."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def ask(self, request: bytes) -> "asyncio.Future[tuple[float, float]]":
        """Send it; the seconds until the first byte of the answer's body, and until its end."""
        self._taken = bytearray()
        self._first: float | None = None
        self._done: asyncio.Future[tuple[float, float]] = self._loop.create_future()
        self.has_begun = self._loop.create_future()
        self._began = perf_counter()
        self.transport.write(request)
        return self._done

    def data_received(self, data: bytes) -> None:
        self._taken += data
        head = self._taken.find(b"\r\n\r\n")
        if head < 0 or len(self._taken) == head + 4:
            return
        if self._first is None:
            self._first = perf_counter() - self._began
            if not self.has_begun.done():
                self.has_begun.set_result(None)
        if self._taken.endswith(_END) or _whole(self._taken) is not None:
            if b" 200 " not in self._taken[:20]:
                self._done.set_exception(RuntimeError(bytes(self._taken[:600]).decode(errors="replace")))
            else:
                self._done.set_result((self._first, perf_counter() - self._began))

    def connection_lost(self, exc: Exception | None) -> None:
        if hasattr(self, "_done") and not self._done.done():
            self._done.set_exception(exc or ConnectionError("closed without an answer"))


def history(messages: int, owner: str) -> bytes:
    """The messages of a conversation, without the bracket that closes them."""
    told = [{"role": "system", "content": "You are an agent that works on a repository, step by step."}]
    for at in range(messages - 1):
        text = f"{owner} {at}: " + "the queue holds the retry until the shard has a lease on its replica; " * 8
        told.append({"role": "assistant" if at % 2 else "user", "content": text})
    if told[-1]["role"] == "assistant":
        told.pop()
    return json.dumps(told).encode()[:-1]


def requests(place: str, messages: int, owner: str, model: str = "bench") -> Callable[[int], bytes]:
    """The n-th request of a conversation: the history so far, which grows by a turn each time."""
    begun = history(messages, owner)
    said = json.dumps({"role": "assistant", "content": REPLY}).encode()

    def request(number: int) -> bytes:
        grown = b"".join(b',%s,{"role":"user","content":"go on, %d"}' % (said, turn) for turn in range(number))
        body = b'{"model":"%s","stream":true,"messages":%s%s]}' % (model.encode(), begun, grown)
        head = (
            f"POST /v1/chat/completions HTTP/1.1\r\nhost: {place}\r\ncontent-type: application/json\r\n"
            f"authorization: Bearer sk-bench\r\nx-pageturn-session: {owner}\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body

    return request


class Measured(NamedTuple):
    """What a number of connections saw: requests a second, and the milliseconds to the first byte."""

    rate: float
    p10: float
    p50: float
    p99: float
    requests: int
    size: int  # of the first request, in bytes


async def measured(port: int, connections: int, messages: int, *, total: int, seconds: float) -> Measured:
    """So many requests in all, or as many as fit into the time."""
    loop = asyncio.get_running_loop()
    firsts: list[float] = []
    place = f"127.0.0.1:{port}"
    left = iter(range(total))
    end = perf_counter() + seconds
    sizes: list[int] = []

    async def talk(number: int) -> None:
        _, asking = await loop.create_connection(Asking, "127.0.0.1", port)
        make = requests(place, messages, f"talk-{port}-{connections}-{messages}-{number}")
        for turn, _ in enumerate(left):
            request = make(turn)
            sizes.append(len(request))
            first, _ = await asking.ask(request)
            firsts.append(first)
            if perf_counter() > end:
                break
        asking.transport.close()

    begun = perf_counter()
    await asyncio.gather(*(talk(number) for number in range(connections)))
    return _of(firsts, perf_counter() - begun, sizes[0])


async def in_turn(ports: dict[str, int], messages: int, *, rounds: int, pause: float) -> dict[str, Measured]:
    """One client of each, one request at a time, with a pause before each as clients with a model behind have it.

    They take turns in an order that changes, so that whatever else the machine does concerns all of them alike.
    """
    loop = asyncio.get_running_loop()
    chance = random.Random(1)
    firsts: dict[str, list[float]] = {name: [] for name in ports}
    asking, make = {}, {}
    for name, port in ports.items():
        _, asking[name] = await loop.create_connection(Asking, "127.0.0.1", port)
        make[name] = requests(f"127.0.0.1:{port}", messages, f"turns-{messages}-{port}")
    size = 0
    for turn in range(rounds):
        for name in chance.sample([*ports], len(ports)):
            request = make[name](turn)
            size = size or len(request)
            await asyncio.sleep(pause)
            if asking[name].transport.is_closing():  # some let go of a client that pauses
                _, asking[name] = await loop.create_connection(Asking, "127.0.0.1", ports[name])
            first, _ = await asking[name].ask(request)
            firsts[name].append(first)
    for each in asking.values():
        each.transport.close()
    return {name: _of(times[2:], float("nan"), size) for name, times in firsts.items()}  # the first two warm it


def _of(firsts: list[float], took: float, size: int) -> Measured:
    firsts.sort()
    return Measured(len(firsts) / took, _at(firsts, 0.1), _at(firsts, 0.5), _at(firsts, 0.99), len(firsts), size)


class Held(NamedTuple):
    """What became of streams that were held: how many stood at once, when the last of them had begun, and how many ended well."""

    streams: int
    seconds: float
    ended: int


async def held(port: int, provider: int, streams: int) -> Held:
    """Begin so many streams, and let the provider end them when all have begun, or when that takes too long."""
    loop = asyncio.get_running_loop()
    place, began = f"127.0.0.1:{port}", perf_counter()
    begun: list[float] = []
    left, all_in = iter(range(streams - 1)), asyncio.Event()  # also those that fail

    async def hold(number: int) -> bool:
        _, asking = await loop.create_connection(Asking, "127.0.0.1", port)
        done = asking.ask(requests(place, 20, f"held-{number}", _HELD.decode())(0))
        await asyncio.wait({done, asking.has_begun}, return_when=asyncio.FIRST_COMPLETED)
        begun.extend([perf_counter() - began] if asking.has_begun.done() else [])
        if next(left, None) is None:
            all_in.set()
        try:
            await done
        except (RuntimeError, OSError):
            return False
        finally:
            asking.transport.close()
        return True

    holding = [asyncio.ensure_future(hold(number)) for number in range(streams)]
    with suppress(TimeoutError):
        await asyncio.wait_for(all_in.wait(), _LONGEST_HOLD)
    at_once, last = len(begun), max(begun, default=math.nan)
    await _release(provider)
    done, late = await asyncio.wait(holding, timeout=_LONGEST_END)
    for each in late:
        each.cancel()
    return Held(at_once, last, sum(each.exception() is None and each.result() for each in done))


async def _release(provider: int) -> None:
    """Let the provider end what it holds."""
    _, asking = await asyncio.get_running_loop().create_connection(Asking, "127.0.0.1", provider)
    await asking.ask(requests(f"127.0.0.1:{provider}", 2, "release", _RELEASING.decode())(0))
    asking.transport.close()


async def sessions(port: int, count: int) -> None:
    """One request in each of so many conversations."""
    loop = asyncio.get_running_loop()
    _, asking = await loop.create_connection(Asking, "127.0.0.1", port)
    for number in range(count):
        await asking.ask(requests(f"127.0.0.1:{port}", 20, f"idle-{number}")(0))
    asking.transport.close()


def _at(ordered: list[float], part: float) -> float:
    return ordered[min(int(len(ordered) * part), len(ordered) - 1)] * 1_000 if ordered else math.nan


async def _provide(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(Answering, "127.0.0.1", port, backlog=2048)
    await server.serve_forever()


def provide(port: int) -> None:
    """Run the provider, until it is stopped."""
    uvloop.run(_provide(port))
