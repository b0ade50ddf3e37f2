"""The gateway beside a bare pass-through and beside the proxies of LiteLLM and headroom, on this machine, in one run.

    python -m benchmarks.gateway [SUBJECT ...]

First what each adds to the first byte of an answer, all of them running and asked in turn; then each alone under load. Processor time
is told beside the clock, since it hardly depends on what else the machine does.
"""

import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import uvloop

from benchmarks.gateway.load import Measured, held, in_turn, measured, sessions
from benchmarks.gateway.subjects import Running, missing, provider, subject
from benchmarks.stopwatch import machine

OURS = ("bare", "watch", "manage", "recall")
SUBJECTS = ("bare", "watch", "litellm", "headroom", "manage", "recall")
CONNECTIONS = {1: 60, 16: 320, 256: 768}  # how many requests in all
MESSAGES = (20, 400)
SECONDS = 8.0  # at most, for each cell
ROUNDS, PAUSE = 40, 0.05
STREAMS = 1_000
SESSIONS = 1_000


def main() -> None:
    print(machine())
    with tempfile.TemporaryDirectory(prefix="pageturn-bench-") as given:
        folder = Path(given)
        with provider(folder) as upstream, ExitStack() as stack:
            running = dict(_started(sys.argv[1:] or SUBJECTS, upstream, folder, stack))
            _latencies(upstream, running)
            for name, process in running.items():
                _load(name, process)
            for name, process in running.items():
                if name in OURS:
                    _holds(name, process, upstream)


def _started(names, upstream: Running, folder: Path, stack: ExitStack):  # noqa: ANN001, ANN202
    for name in names:
        if reason := missing(name):
            print(f"{name}: {reason}")
            continue
        try:
            yield name, stack.enter_context(subject(name, upstream.url, folder))
        except (RuntimeError, OSError) as error:
            print(f"{name}: {str(error).strip().splitlines()[-1][:200]}")


def _latencies(upstream: Running, running: dict[str, Running]) -> None:
    print("\nto the first byte, one client that pauses; added is beside asking directly")
    ports = {"direct": upstream.port, **{name: process.port for name, process in running.items()}}
    for messages in MESSAGES:
        found = uvloop.run(in_turn(ports, messages, rounds=ROUNDS, pause=PAUSE))
        plain = found["direct"]
        for name, cell in found.items():
            print(
                f"{name:9} {messages:4} messages ({cell.size / 1e3:.0f} kB)  p10 {cell.p10:7.2f}  p50 {cell.p50:7.2f}  "
                f"p99 {cell.p99:7.2f} ms  added p10 {cell.p10 - plain.p10:7.2f}  p50 {cell.p50 - plain.p50:7.2f} ms",
                flush=True,
            )


def _load(name: str, process: Running) -> None:
    for messages in MESSAGES:
        for connections, total in CONNECTIONS.items():
            before = process.seconds
            work = measured(process.port, connections, messages, total=total, seconds=SECONDS)
            try:
                cell = uvloop.run(work)
            except (RuntimeError, OSError) as error:
                print(f"{name:9} {messages:4} messages  {connections:4} connections  failed: {str(error)[:120]!r}")
                continue
            _settled(process)
            print(_told(name, messages, connections, cell, process.seconds - before), flush=True)


def _told(name: str, messages: int, connections: int, cell: Measured, seconds: float) -> str:
    return (
        f"{name:9} {messages:4} messages  {connections:4} connections  {cell.rate:7.0f} requests/s  "
        f"p50 {cell.p50:8.2f}  p99 {cell.p99:8.2f} ms  {seconds / cell.requests * 1e3:6.2f} ms of processor a request"
    )


def _holds(name: str, process: Running, upstream: Running) -> None:
    before = process.memory
    found = uvloop.run(held(process.port, upstream.port, STREAMS))
    more = (process.memory - before) / 1e6
    print(
        f"{name}: {found.streams} of {STREAMS} streams stood at once, the last begun after {found.seconds:.1f} s, "
        f"{found.ended} ended well; {more:.0f} MB",
        flush=True,
    )
    before = _settled(process)
    uvloop.run(sessions(process.port, SESSIONS))
    print(f"{name}: {(_settled(process) - before) / SESSIONS / 1e3:.0f} kB more for each of {SESSIONS} idle sessions")


def _settled(process: Running) -> int:
    """Wait until it has nothing left to do; the memory that it holds then."""
    last = -1.0
    for _ in range(60):
        now = process.seconds
        if now - last < 0.03:
            break
        last = now
        time.sleep(0.5)
    return process.memory


if __name__ == "__main__":
    main()
