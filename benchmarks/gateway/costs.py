"""What the same agent costs with each proxy between: a walk of 120 turns, billed by a provider with a true prefix cache.

    python -m benchmarks.gateway.costs [SUBJECT ...]

The agent sends its whole history at every turn, with a cache breakpoint at its end; the provider is strict and its model reads. A
proxy that breaks the cache, loses what is needed, or sends what the vendor refuses is seen here.
"""

import random
import subprocess
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path
from time import perf_counter

from benchmarks.gateway.subjects import ROOM, missing, subject
from tests.clients.agent import Agent, Refused
from tests.clients.caching import ANTHROPIC, OPENAI
from tests.clients.provider import Provider, provider
from tests.clients.walk import walk

SUBJECTS = ("direct", "watch", "manage", "recall", "headroom", "headroom token")
OURS = ("watch", "manage", "recall")
PAGES = 140  # some are read two at a time
WIRES = {"anthropic": "/v1/messages", "chat": "/v1/chat/completions", "responses": "/v1/responses"}


def main() -> None:
    names = [each for each in sys.argv[1:] if each not in WIRES] or SUBJECTS
    wires = [each for each in sys.argv[1:] if each in WIRES] or ["anthropic"]
    for wire in wires:
        base: float | None = None
        for name in names:
            if reason := missing(name):
                print(f"{wire} {name}: {reason}")
                continue
            with tempfile.TemporaryDirectory(prefix="pageturn-costs-") as folder:
                try:
                    base = _one(wire, name, Path(folder), base)
                except (RuntimeError, OSError) as error:
                    print(f"{wire} {name}: {str(error).strip()[-300:]}")


def _one(wire: str, name: str, folder: Path, base: float | None) -> float | None:
    task = walk(7, PAGES)
    work = folder / "work"
    task.write(work)
    begun = perf_counter()
    with provider() as upstream:
        between = nullcontext(upstream) if name == "direct" else subject(name, upstream.url, folder)
        with between as place:
            agent = Agent(place.url, WIRES[wire], work, system=_system(), x_session_id="costs")
            try:
                agent.run(task.prompt)
                ended = "solved" if task.is_solved(work) else "NOT SOLVED"
            except Refused as error:
                ended = f"NOT SOLVED: {str(error)[:120]}"
        print(f"{wire:9} {name:14} {_told(upstream, base)}  {ended}  {perf_counter() - begun:.0f} s", flush=True)
        for line in _estimated(folder, name, wire) if name in OURS else ():
            print(f"{wire:9}   pageturn savings: {line}")
        return upstream.dollars if name == "direct" else base


def _estimated(folder: Path, name: str, wire: str) -> list[str]:
    """What the gateway itself says that it cost, and would have cost in the other way, at the provider's prices."""
    (store,) = folder.glob(f"{name}-*.db")
    prices = ANTHROPIC if wire == "anthropic" else OPENAI
    price = ",".join(map(str, (prices.plain, prices.output, prices.read, prices.written)))
    command = [sys.executable, "-m", "pageturn", "savings", str(store), "--room", str(ROOM), "--price", price]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return [line.strip() for line in (done.stdout or done.stderr).splitlines() if line.strip()]


def _told(upstream: Provider, base: float | None) -> str:
    used = upstream.used
    searches = sum("grep" in str(call.arguments) for turn in upstream.turns for call in turn.said.calls)
    recalls = sum("recall" in call.tool.name for turn in upstream.turns for call in turn.said.calls)
    share = f"{upstream.dollars / base:6.1%}" if base else "100.0%"
    written = used.written + used.written_for_long
    return (
        f"${upstream.dollars:7.3f} {share}  {len(upstream.turns):4} calls  {len(upstream.refused)} refused  "
        f"{used.input:10,} tokens in ({used.read:,} read from the cache, {written:,} written to it)  "
        f"{searches} searches  {recalls} recalls"
    )


def _system() -> str:
    """Instructions of the size that clients have."""
    chance = random.Random(5)
    words = "you must always keep read write file test plan user tool call answer never edit check".split()
    return "You walk.\n" + "\n".join(" ".join(chance.choices(words, k=12)) for _ in range(600))


if __name__ == "__main__":
    main()
