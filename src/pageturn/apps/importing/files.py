"""Opens files that other tools recorded, as sources for the transcript readers."""

import gzip
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO, cast

from pageturn.formats.transcripts.source import Source


class FileSource(Source):
    """A file, compressed if its name ends in `.gz`."""

    def __init__(self, path: Path, on_read: Callable[[int], None] = lambda _: None) -> None:
        name = path.name.split(".jsonl")[0].split(".json")[0].removesuffix(".traj")
        super().__init__(name, on_read, is_packed=path.suffix == ".gz")
        self._path = path

    def opened(self) -> BinaryIO:
        """Its bytes, decompressed."""
        return cast(BinaryIO, gzip.open(self._path) if self._is_packed else self._path.open("rb"))

    @property
    def size(self) -> int:
        """Its size on disk in bytes, compressed or not."""
        return self._path.stat().st_size

    def around(self, up: int, pattern: str) -> Iterable[Source]:
        """The files that match a pattern relative to the folder `up` levels above, in order."""
        return [FileSource(path) for path in sorted(self._path.parents[up].glob(pattern)) if path.is_file()]
