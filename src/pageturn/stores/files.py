"""Checks files in the file system: who may read a store's file, whether it was replaced, and whether it can be written."""

import os
from contextlib import suppress
from pathlib import Path

from pageturn.values.errors import InvalidInput

SCHEME = "file:"


def make_private(path: str) -> None:
    """Make a file that only its owner may read; SQLite gives its log the same rights. An existing file keeps its rights."""
    if path == ":memory:":
        return
    with suppress(OSError):  # it exists, or cannot be made, which SQLite reports better
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def require_regular(path: Path) -> Path:
    """The path, unless there is something else than a file: reading a pipe would wait for whoever writes to it."""
    if path.exists() and not path.is_file():
        raise InvalidInput(str(path), expected="a regular file", got="a folder, a pipe or a device")
    return path


def identity(path: str) -> tuple[int, int] | None:
    """Which file has this name now."""
    try:
        found = os.stat(path)  # noqa: PTH116 - asked before every write
    except OSError:
        return None
    return found.st_dev, found.st_ino


def url_of_a_closed_file(path: str) -> str | None:
    """The URL by which to open a file in a folder that is not writable, so that SQLite cannot create its log: as immutable.

    Only if no log is pending, and if the file or the folder is read-only.
    """
    folder, log = Path(path).parent, Path(f"{path}-wal")
    with suppress(OSError):
        is_closed = not log.exists() or log.stat().st_size == 0
        is_locked = not os.access(folder, os.W_OK) or not os.access(path, os.W_OK)
        if is_closed and is_locked and os.access(path, os.R_OK):
            return f"{Path(path).absolute().as_uri()}?mode=ro&immutable=1"
    return None
