"""Whether this version derives what another revision of it derives, byte for byte: contexts, explanations, faults and journals.

    python -m benchmarks.unchanged REVISION [--data ../shared/data] [--plots 400] [--every 3]

Random sessions that do everything a session can do (`tests.laws`), and recorded ones where there are any, each under one way to
derive, taken in turns. Both revisions play the same sessions in processes of their own; what one of them derives is told by a digest.
"""

import os
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pageturn as pt
from pageturn.values.json import to_json

_OLD = Path(".venv/unchanged")  # what other revisions derived, since that does not change


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("revision")
    parser.add_argument("--data", default="")
    parser.add_argument("--plots", type=int, default=400)
    parser.add_argument("--every", type=int, default=1, help="of the recorded sessions only each so manieth")
    parser.add_argument("--play", action="store_true", help="play the sessions here, and tell their digests")
    given = parser.parse_args()
    if given.play:
        for name, digest in _played(given.data, given.plots, given.every):
            print(name, digest)
        return
    commit = subprocess.run(["git", "rev-parse", given.revision], capture_output=True, text=True, check=True)
    key = blake2b(
        f"{given.data} {given.plots} {given.every} {Path(__file__).read_text()}".encode(), digest_size=4
    ).hexdigest()
    kept = _OLD / f"{commit.stdout.strip()}-{key}"
    with tempfile.TemporaryDirectory() as folder:
        if not kept.exists():
            archive = subprocess.run(["git", "archive", commit.stdout.strip(), "src"], capture_output=True, check=True)
            subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
            old = _run(Path(folder, "src"), given)
            _OLD.mkdir(parents=True, exist_ok=True)
            kept.write_text(old)
        now = _run(Path("src").absolute(), given)
    before, after = (dict(line.rsplit(" ", 1) for line in text.splitlines()) for text in (kept.read_text(), now))
    differing = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    print(f"{len(after):,} contexts and journals, {len(differing):,} of them differ from {given.revision}")
    for name in differing[:20]:
        print(" ", name)
    sys.exit(bool(differing))


def _run(source: Path, given: Any) -> str:
    command = [sys.executable, "-m", "benchmarks.unchanged", given.revision, "--play"]
    command += ["--data", given.data, "--plots", str(given.plots), "--every", str(given.every)]
    environment = os.environ | {"PYTHONPATH": str(source), "PYTHONHASHSEED": "0"}
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment).stdout


def _played(data: str, plots: int, every: int) -> Iterator[tuple[str, str]]:
    contexts: list[str] = []
    derive = pt.Session.derive

    def watched(self: pt.Session, *args: Any, **options: Any) -> pt.Context:
        try:
            context = derive(self, *args, **options)
        except pt.PageturnError as error:
            contexts.append(f"{type(error).__name__}: {error}")
            raise
        contexts.append(_told(context))
        return context

    pt.Session.derive = watched  # type: ignore[method-assign]
    for name, journals in (*_random(plots), *_recorded(data, every)):
        contexts.clear()
        records = journals()
        for number, told in enumerate((*contexts, records)):
            yield f"{name} {number}", _digest(told)


def _random(plots: int) -> Iterator[tuple[str, Any]]:
    from tests.laws.acts import plot  # noqa: PLC0415
    from tests.laws.driver import Driver  # noqa: PLC0415

    def played(seed: int) -> str:
        driver = Driver(plot(seed))
        try:
            for act in driver.plot.acts:
                driver.do(act)
            if seed % 3 == 0:
                driver.twin()
            return repr([[*driver._store.records(side.session.id)] for side in driver._sides])  # noqa: SLF001
        finally:
            if driver._folder is not None:  # noqa: SLF001
                driver._store.close()  # noqa: SLF001
                driver._folder.cleanup()  # noqa: SLF001

    for seed in range(plots):
        yield f"plot {seed}", lambda seed=seed: played(seed)


def _recorded(data: str, every: int) -> Iterator[tuple[str, Any]]:
    from pageturn.lab.our_policies import Deriving, first_lines  # noqa: PLC0415
    from pageturn.lab.traces import read_traces  # noqa: PLC0415
    from pageturn.tokens.counters import counter_for  # noqa: PLC0415

    ways: list[tuple[str, Any]] = [
        ("paged 32k", lambda: Deriving(pt.Paged(budget_tokens=32_000))),
        ("paged 16k", lambda: Deriving(pt.Paged(budget_tokens=16_000), counter_for("claude-sonnet-4-5"))),
        ("reset 32k", lambda: Deriving(pt.Reset(32_000), summarise=first_lines)),
        ("paged 24k, no recall", lambda: Deriving(pt.Paged(budget_tokens=24_000), recall=None)),
        ("incremental 16k", lambda: Deriving(pt.Incremental(16_000), summarise=first_lines)),
        ("paged 8k", lambda: Deriving(pt.Paged(budget_tokens=8_000), counter_for("gpt-5"))),
        ("legacy 24k", lambda: Deriving(pt.Legacy(), budget_tokens=24_000)),
    ]

    def played(trace: Any, way: Any) -> str:
        return "\n".join(repr(shown.faults) for shown in way(trace) if shown is not None)

    files = sorted(Path(data, "traces").glob("*.jsonl.gz")) if data else []
    at = 0
    for file in files:
        for trace in read_traces(file):
            name, make = ways[at % len(ways)]
            at += 1
            if at % every:
                continue
            yield f"{trace.source} {trace.id} {name}", lambda trace=trace, make=make: played(trace, make())


def _told(context: pt.Context) -> str:
    """Everything that a context says."""
    handles = {handle for each in (*context.folded, *context.recent) for handle in each.handles}
    explained = [str(context.explain(handle)) for handle in sorted(handles)] if context.fold is not None else []
    return repr(
        (
            [to_json(message) for message in context.messages],
            [getattr(context, name) for name in sorted(context.__struct_fields__) if name != "messages"],
            context.breakpoints,
            explained,
        )
    )


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


if __name__ == "__main__":
    main()
