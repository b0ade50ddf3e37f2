"""Where the demo keeps its sessions: a folder of the user's cache, with one store for each kind of demo, replaced at the next one."""

import os
import shlex
from pathlib import Path

_BESIDE = ("", "-wal", "-shm", "-journal")  # the files of a store in SQLite


def fresh_store(name: str) -> Path:
    """The path of a store that does not exist yet: what the last demo left there is removed."""
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    folder = (given if given.is_absolute() else Path.home() / ".cache") / "pageturn"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    store = folder / f"{name}.db"
    for ending in _BESIDE:
        Path(f"{store}{ending}").unlink(missing_ok=True)
    return store


def for_a_shell(path: Path) -> str:
    """A path as it is typed in a shell, short where it is inside the home folder."""
    try:
        inside = path.relative_to(Path.home())
    except (ValueError, RuntimeError):
        return shlex.quote(str(path))
    return f"~/{shlex.quote(str(inside))}"
