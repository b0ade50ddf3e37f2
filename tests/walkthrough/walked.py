"""The stories: what the provider's model does in each, and how a transcript is made."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.walkthrough import logs
from tests.walkthrough.newcomer import Newcomer
from tests.walkthrough.provider import Call, Provider, listening
from tests.walkthrough.transcript import replayed

STORIES = Path(__file__).parent / "stories"


def _bash(command: str) -> Call:
    return Call("bash", {"command": command})


class Story(NamedTuple):
    """What is there before it begins."""

    script: tuple[Call, ...] = ()
    prepare: Callable[[Path], None] = lambda home: None


TOLD = {
    "own-loop": Story((_bash("echo ok"), Call("recall", {"query": "login"}))),
    "gateway": Story(tuple(Call("read_file", {"path": f"src/file_{number}.py"}) for number in range(40))),
    "own-sessions": Story(prepare=logs.record),
    "crash": Story((_bash("test -e died || { touch died; kill -9 $PPID; }; echo deployed"),)),
    "rule": Story(tuple(_bash(f"seq -f src/module_{number}/file_%g.py 250") for number in range(40))),
}


def walked(name: str, home: Path) -> tuple[str, Provider]:
    """The transcript of a story as it is today, and the provider with what it was sent."""
    told = TOLD[name]
    with listening(told.script) as provider:
        newcomer = Newcomer(home, provider)
        told.prepare(home)
        return replayed((STORIES / f"{name}.txt").read_text("utf-8"), newcomer), provider
