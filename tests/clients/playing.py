"""Playing a scene: a client walks, directly or through a gateway, and whatever the scene has happens on the way."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from tests.clients.accounts import Accounts, accounts
from tests.clients.model import decide
from tests.clients.provider import Fault, Provider, provider
from tests.clients.running import CLIENTS, Ended, Place, run
from tests.clients.views import Said, View
from tests.clients.walk import walk

DIRECT = "direct"
PAUSE = "I pause here."


class Scene(NamedTuple):
    """What happens beside the walk."""

    pages: int = 68  # some are read two at a time
    size: int = 5_000  # characters of a page
    faults: Mapping[int, Fault] = {}
    compact_at: int | None = None  # tokens at which the client makes its own summary
    delegated: bool = False
    pauses: bool = False  # the client ends in the middle, and goes on in another process
    window: int = 1_000_000
    forgiven: tuple[str, ...] = ()  # what the client itself does in this scene although its vendor refuses it


class Outcome(NamedTuple):
    """What came of it."""

    ended: list[Ended]
    is_solved: bool
    provider: Provider
    accounts: Accounts | None
    seconds: float

    @property
    def searches(self) -> int:
        """How often the model had to look into the files again."""
        return sum("grep" in str(call.arguments) for turn in self.provider.turns for call in turn.said.calls)

    @property
    def recalls(self) -> int:
        return sum("recall" in call.tool.name for turn in self.provider.turns for call in turn.said.calls)

    def row(self) -> dict[str, str]:
        """What is told about it."""
        used = self.provider.used
        kept = self.accounts
        return {
            "solved": "yes" if self.is_solved else "NO",
            "calls": str(len(self.provider.turns)),
            "refused": str(len(self.provider.refused)),
            "lost/dup": f"{len(kept.lost)}/{len(kept.duplicated)}" if kept else "-",
            "recalls": str(self.recalls),
            "searches": str(self.searches),
            "tokens in": f"{used.input:,}",
            "cached": f"{used.read:,}",
            "dollars": f"{self.provider.dollars:.3f}",
            "seconds": f"{self.seconds:.0f}",
        }


def play(client: str, mode: str, folder: Path, scene: Scene, flags: Sequence[str] = ()) -> Outcome:
    """One client in one mode, from a clean home and an empty store."""
    task = walk(1, scene.pages, size=scene.size, delegated=scene.delegated)
    store = folder / "gateway.db"
    place = Place.at(folder)
    task.write(place.work)
    begun = perf_counter()
    with provider(_pausing(scene.pages // 2) if scene.pauses else decide) as upstream:
        upstream.forgiven = CLIENTS[client].forgiven
        upstream.forgiven_in_steps = scene.forgiven
        upstream.faults = dict(scene.faults)
        upstream.window = scene.window
        ended = []
        for again, prompt in ((False, task.prompt), *([(True, "Go on.")] if scene.pauses else [])):
            done = run(
                CLIENTS[client],
                place,
                upstream.url,
                prompt,
                mode=None if mode == DIRECT else mode,
                store=store,
                again=again,
                compact_at=scene.compact_at,
                flags=flags,
            )
            ended.append(done)
        kept = accounts(store, upstream) if mode != DIRECT and store.exists() else None
    is_solved = task.is_solved(place.work)
    shutil.rmtree(place.home, ignore_errors=True)
    return Outcome(ended, is_solved, upstream, kept, perf_counter() - begun)


def _pausing(page: int):
    """A model that stops at a page until it is told to go on."""

    def decided(view: View) -> Said:
        said = decide(view)
        is_there = said.text.startswith(f"Page {page} was")
        return Said(PAUSE) if is_there and not any("Go on." in text for text in view.texts) else said

    return decided
