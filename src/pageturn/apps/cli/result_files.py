"""Tells files of replay results from the files that people give instead."""

from collections.abc import Iterable
from pathlib import Path

from pageturn.stores.files import require_regular
from pageturn.values.errors import InvalidInput

_SQLITE = b"SQLite format 3\0"


def is_store(file: Path) -> bool:
    """Whether a file is a store, or another SQLite database."""
    with require_regular(file).open("rb") as opened:
        return opened.read(len(_SQLITE)) == _SQLITE


def require_results(files: Iterable[Path]) -> None:
    """Raise if a file is a store: its sessions must be replayed first."""
    for file in files:
        if is_store(file):
            raise InvalidInput(
                "results",
                expected=f"a file that `pageturn replay {file} --out results.jsonl` writes",
                got=f"{str(file)!r}, which is a store; run that command first",
            )
