"""Fuzz what takes bytes from outside: python -m tools.fuzz [TARGET...] [--seconds N] [--runs N]

With atheris (pip install -e '.[fuzz]') inputs are found by the branches that they reach; without it they are changed at random. For
each target it prints how many inputs there were, the shares that got past the first parser and that were accepted as a whole, the
branches that were reached, and what raised an exception that is not ours or took more than two seconds. Such inputs are kept in --keep.
"""

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tools.fuzzing import Findings

_HAS_ATHERIS = find_spec("atheris") is not None


def main() -> None:
    options = _options()
    if options.one is not None:
        _fuzz_one(options)
        return
    from tools.fuzz_targets import TARGETS  # noqa: PLC0415 (with atheris, in a process of its own that instruments it first)

    names = options.targets or list(TARGETS)
    if unknown := sorted(set(names) - set(TARGETS)):
        sys.exit(f"no target {', '.join(unknown)}; there are {', '.join(TARGETS)}")
    if not _HAS_ATHERIS:
        print("atheris is not installed, so inputs are changed at random and branches are not counted")
    print(f"{'target':<18}{'inputs':>10}{'parsed':>9}{'accepted':>10}{'branches':>10}{'crashes':>9}")
    total = crashes = 0
    seconds = options.seconds / len(names) if options.seconds else None
    for name in names:
        told = _in_process_of_its_own(name, seconds, options)
        total, crashes = total + told["inputs"], crashes + len(told["crashes"])
        branches = f"{told['branches']:,}" if told["branches"] else "-"
        print(
            f"{name:<18}{told['inputs']:>10,}{told['parsed']:>9.1%}{told['accepted']:>10.1%}{branches:>10}{len(told['crashes']):>9}",
            flush=True,
        )
        for place, times in told["crashes"].items():
            print(f"    {times:,} x {place}", flush=True)
    print(f"{total:,} inputs, {crashes} crashes")
    sys.exit(1 if crashes else 0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description="Fuzz what takes bytes from outside.")
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    parser.add_argument("--seconds", type=float, help="of all targets together")
    parser.add_argument("--runs", type=int, default=0, help="inputs of each target, at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, default=Path(tempfile.gettempdir()) / "pageturn-crashes")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--told", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.seconds and not options.runs:
        options.seconds = 60.0
    return options


def _in_process_of_its_own(name: str, seconds: float | None, options: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "told.json"
        command = [sys.executable, "-m", "tools.fuzz", "--one", name, "--told", str(told), "--keep", str(options.keep)]
        command += ["--seed", str(options.seed), "--runs", str(options.runs)]
        command += ["--seconds", str(seconds)] if seconds else []
        ended = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)  # noqa: S603
        if not told.exists():
            sys.exit(f"{name}: {ended.stderr[-2_000:]}")
        found = json.loads(told.read_text())
        reached = re.findall(r"cov: (\d+)", ended.stderr)
        return {**found, "branches": int(reached[-1]) if reached else 0}


def _fuzz_one(options: argparse.Namespace) -> None:
    """Run one target, and tell what came of it in a file."""
    (_by_branches if _HAS_ATHERIS else _at_random)(options)


def _at_random(options: argparse.Namespace) -> None:
    from tools.fuzz_targets import TARGETS  # noqa: PLC0415
    from tools.fuzzing import Findings, inputs  # noqa: PLC0415

    findings = Findings(TARGETS[options.one], options.keep)
    until = time.monotonic() + options.seconds if options.seconds else None
    for data in islice(inputs(findings.target, options.seed), options.runs or None):
        findings.run(data)
        if until is not None and time.monotonic() > until:
            break
    _tell(options.told, findings)


def _by_branches(options: argparse.Namespace) -> None:
    import atheris  # noqa: PLC0415

    with atheris.instrument_imports(include=["pageturn"]):
        import pageturn.apps.cli.main  # noqa: F401, PLC0415
    from tools.fuzz_targets import TARGETS  # noqa: PLC0415
    from tools.fuzzing import LONGEST, Findings, changed, is_json  # noqa: PLC0415

    target = TARGETS[options.one]
    findings = Findings(target, options.keep)
    seeds = target.seeds()

    def run(data: bytes) -> None:
        findings.run(data)
        if findings.inputs % 100 == 0 or findings.inputs < 100:  # the engine ends the process without a word
            _tell(options.told, findings)

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        chance = random.Random(seed)  # noqa: S311
        if chance.random() < 0.85:
            if target.is_json and not is_json(data):  # what no parser accepts leads nowhere
                data = chance.choice(seeds)
            return changed(data, chance, target, most=most)
        mutated: bytes = atheris.Mutate(data, most)
        return mutated

    with tempfile.TemporaryDirectory() as corpus:
        for number, data in enumerate(seeds):
            (Path(corpus) / str(number)).write_bytes(data)
        limits = [f"-runs={options.runs}"] if options.runs else []
        limits += [f"-max_total_time={max(1, int(options.seconds))}"] if options.seconds else []
        arguments = [
            sys.argv[0],
            corpus,
            f"-max_len={LONGEST}",
            f"-seed={options.seed}",
            "-rss_limit_mb=4096",
            "-timeout=120",
            f"-artifact_prefix={corpus}/",  # the engine's own; what we look for is kept by `findings`
            *limits,
        ]
        atheris.Setup(arguments, run, custom_mutator=mutate)
        atheris.Fuzz()


def _tell(path: Path, findings: "Findings") -> None:
    shares = {name: getattr(findings, name) / max(1, findings.inputs) for name in ("parsed", "accepted")}
    told = {"inputs": findings.inputs, **shares, "crashes": dict(findings.times)}
    path.write_text(json.dumps(told))


if __name__ == "__main__":
    main()
