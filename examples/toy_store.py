"""A store of your own: the bytes of messages as files in a folder, everything else in SQLite. For one writer."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pageturn.stores import Batch, Freed, Loss, Record, Repairs, SqliteStore
from pageturn.testing import check_store


class FolderStore(SqliteStore):
    """SQLite has only the name of a blob; its bytes are in a file of that name, which is written first."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        super().__init__(folder / "journal.db")

    def append(self, session: str, after: int, batch: Batch) -> None:
        super().append(session, after, batch._replace(blobs=self._written(batch.blobs)))

    def repair(self, found: Repairs) -> None:
        super().repair(found._replace(blobs=self._written(found.blobs)))

    def blob(self, digest: str, start: int = 0, length: int | None = None) -> bytes | None:
        if super().blob(digest) is None:
            return None  # or a file left behind by a failed append
        return (self.folder / digest).read_bytes()[start : None if length is None else start + length]

    def blobs(self) -> Iterator[tuple[str, bytes]]:
        return ((digest, (self.folder / digest).read_bytes()) for digest, _ in super().blobs())

    def erase(self, session: str, after: int, record: Record, losses: Sequence[Loss]) -> Freed:
        super().erase(session, after, record, losses)
        return self._freed({digest for loss in losses for digest in loss.digests if self.blob(digest) is None})

    def vacuum(self, *, dry_run: bool) -> Freed:
        needed = {digest for row in self.sessions() for _, digest in self.references(row.id)}
        unneeded = {digest for digest, _ in self.blobs()} - needed
        super().vacuum(dry_run=dry_run)
        return self._freed(unneeded, dry_run=dry_run)

    def _written(self, blobs: Mapping[str, bytes]) -> dict[str, bytes]:
        for digest, data in blobs.items():
            (self.folder / digest).write_bytes(data)
        return dict.fromkeys(blobs, b"")

    def _freed(self, digests: set[str], *, dry_run: bool = False) -> Freed:
        files = [file for digest in digests if (file := self.folder / digest).exists()]
        size = sum(file.stat().st_size for file in files)
        for file in () if dry_run else files:
            file.unlink()
        return Freed(len(files), size)


if __name__ == "__main__":
    check_store(lambda: FolderStore(Path(tempfile.mkdtemp())), lambda store: FolderStore(store.folder))
