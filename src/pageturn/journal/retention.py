"""Erases sessions that were not used for long, and shows that their bytes have left the file.

A session and its forks share a past, so they go together, when the last of them is old enough. The words go; digests and tombstones stay, and
with them the session's name. What went by age is noted: unlike words that a person destroyed, they may come again.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from pageturn.journal.erasing import erase
from pageturn.journal.journal import Journal
from pageturn.stores import Maintained, SessionRow, Sidecars, Slot
from pageturn.values.errors import StoreError

EXPIRED = "retention/expired"  # digests of words that went by age
_SAMPLE = 48  # bytes of a text that are looked for
_MOST_SAMPLES = 1_000


class Expired(NamedTuple):
    """What was done, or would be."""

    sessions: tuple[str, ...]
    pages: int = 0
    bytes: int = 0  # that the file gave back
    unread: tuple[str, ...] = ()  # sessions that could not be read, and stay
    looked_for: int = 0  # texts whose bytes were in the file before
    still_there: int = 0  # ... and are still: sessions that stay have them too


def has_expired(store: Sidecars, digest: str) -> bool:
    """Whether words went by age."""
    return store.document(Slot(EXPIRED, digest)) is not None


def old_sessions(store: Maintained, before: datetime, limits: Mapping[str, datetime] | None = None) -> list[SessionRow]:
    """The sessions that were not used since, each with all that share its past. `limits`: another time for a scope."""
    rows = {row.id: row for row in store.sessions()}
    families: dict[str, list[SessionRow]] = {}
    for row in rows.values():
        root, seen = row, {row.id}
        while root.parent in rows and root.parent not in seen:
            root = rows[root.parent]
            seen.add(root.id)
        families.setdefault(root.id, []).append(row)
    old: list[SessionRow] = []
    for family in families.values():
        limit = min((limits or {}).get(row.scope or "", before) for row in family)
        if all(_last_used(store, row) < limit.timestamp() * 1e6 for row in family):
            old += family
    return [row for row in old if _has_words(store, row)]


def expire(store: Maintained, rows: Sequence[SessionRow], path: Path | None, *, at: int) -> Expired:
    """Erase sessions, free their space, and look into the file."""
    samples: set[bytes] = set()
    pages, unread, done = 0, [], []
    before = _size(path)
    for row in rows:
        try:
            journal = Journal(store, row)
            for page in [page for page in journal.state.pages if not page.erased]:
                body = store.blob(page.digest)
                if body and len(samples) < _MOST_SAMPLES and (sample := _sample(body)):
                    samples.add(sample)
                erase(journal, page, at=at)
                _note(store, page.digest)
                pages += 1
            done.append(row.id)
        except StoreError:
            unread.append(row.id)
    found = _found(path, samples) if path is not None else set()
    store.vacuum(dry_run=False)
    left = _found(path, found) if path is not None else set()
    return Expired(tuple(done), pages, max(0, before - _size(path)), tuple(unread), len(found), len(left))


def _note(store: object, digest: str) -> None:
    if isinstance(store, Sidecars):
        slot = Slot(EXPIRED, digest)
        store.amend([slot], lambda _: {slot: b"1"})


def _last_used(store: Maintained, row: SessionRow) -> int:
    last = row.created_at
    for record in store.records(row.id, after=max(0, row.head - 1)):
        last = max(last, getattr(record, "at", last))
    return last


def _has_words(store: Maintained, row: SessionRow) -> bool:
    try:
        return any(not page.erased for page in Journal(store, row).state.pages)
    except StoreError:
        return True


def _sample(body: bytes) -> bytes:
    """Some bytes of a text that are hardly anywhere else."""
    middle = len(body) // 2
    return body[middle : middle + _SAMPLE] if len(body) >= 2 * _SAMPLE else b""


def _found(path: Path, samples: set[bytes]) -> set[bytes]:
    """Which of them are in the file, or in its log."""
    data = [part for file in (path, Path(f"{path}-wal")) if file.exists() for part in _parts(file)]
    return {sample for sample in samples if any(sample in part for part in data)}


def _parts(file: Path) -> Iterator[bytes]:
    yield file.read_bytes()


def _size(path: Path | None) -> int:
    return path.stat().st_size if path is not None and path.exists() else 0
