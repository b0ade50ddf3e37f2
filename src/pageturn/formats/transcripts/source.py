"""Reads recorded JSON line by line or whole, in bounded memory; the limits apply to the uncompressed size.

Where the bytes come from is up to the caller: `apps.importing.files` reads files.
"""

import json
import re
from abc import ABC, abstractmethod
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO, NamedTuple

import msgspec

_BLANKS = re.compile(r"\s*+")
LONGEST_LINE = 64 * 2**20
LARGEST_WHOLE = 512 * 2**20
# That is read line by line from a compressed file, which may unpack to a thousand times its size.
LARGEST_UNPACKED = 8 * 2**30
MOST_CONTAINERS = 4_000_000  # lists and objects that are read at once; an empty one takes three bytes in the file, and about sixty in memory


class Line(NamedTuple):
    """One JSON value, and its line number."""

    number: int
    value: Any


class Damaged(NamedTuple):
    """A line that cannot be read, and what is wrong with it."""

    number: int
    reason: str


class Source(ABC):
    """A recording of a tool. `on_read` is called with the number of bytes read."""

    def __init__(self, name: str, on_read: Callable[[int], None] = lambda _: None, *, is_packed: bool = False) -> None:
        self.name = name  # without the extensions of the file
        self._on_read = on_read
        self._is_packed = is_packed
        self.excess: str | None = None  # the parts that were too large to be read, so far

    @abstractmethod
    def opened(self) -> BinaryIO:
        """Its bytes, decompressed."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Its stored bytes, compressed or not."""

    @abstractmethod
    def around(self, up: int, pattern: str) -> Iterable["Source"]:
        """Other files of the same tree: those that match a pattern, from a number of folders up, in order."""

    def first(self) -> Any:
        """The first JSON value: that of the first line, else the whole file, else the first readable line.

        UNSET if there is none.
        """
        lines = self.lines()
        line = next(lines, None)
        if isinstance(line, Line):
            return line.value
        whole = self.whole()
        readable = (line.value for line in lines if isinstance(line, Line))
        return whole if whole is not msgspec.UNSET else next(readable, msgspec.UNSET)

    def whole(self) -> Any:
        """The file as one JSON value, decompressed; UNSET if it is none, or is too large to be read at once, which `excess` reports."""
        data = self._all_bytes()
        if data is None:
            return msgspec.UNSET
        data = data.removeprefix(BOM_UTF8)
        try:
            value = msgspec.json.decode(data)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            value = _mended(data)
        if value is not msgspec.UNSET:
            self._on_read(len(data))
        return value

    def _all_bytes(self) -> bytes | None:
        """All of its bytes; None if they are more than may be read at once."""
        is_too_large = self.size > LARGEST_WHOLE
        if not is_too_large:
            with self.opened() as file:
                data = file.read(LARGEST_WHOLE + 1)
            if len(data) <= LARGEST_WHOLE and not _has_too_many(data):
                return data
            is_too_large = len(data) > LARGEST_WHOLE
        size = f"{LARGEST_WHOLE // 2**20:,} MB{' when unpacked' if self._is_packed else ''}"
        most = size if is_too_large else f"{MOST_CONTAINERS:,} lists and objects"
        self.excess = f"one JSON value of more than {most}, the most that is read at once"
        return None

    def lines(self) -> Iterator[Line | Damaged]:
        """The values of a file with one on each line, or several that a writer put on one line."""
        number = 0
        with self.opened() as file:
            while line := file.readline(LONGEST_LINE):
                number += 1
                self._on_read(len(line))
                if self._is_packed and file.tell() > LARGEST_UNPACKED:
                    yield Damaged(number, f"packed file that unpacks to more than {LARGEST_UNPACKED // 2**20:,} MB")
                    return
                if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
                    self._pass_over(file)
                    self.excess = f"line longer than {LONGEST_LINE // 2**20} MB"
                    yield Damaged(number, self.excess)
                elif stripped := (line.removeprefix(BOM_UTF8) if number == 1 else line).strip():
                    yield from _decoded(number, stripped)

    def _pass_over(self, file: BinaryIO) -> None:
        while (rest := file.readline(LONGEST_LINE)) and not rest.endswith(b"\n"):
            self._on_read(len(rest))
            if self._is_packed and file.tell() > LARGEST_UNPACKED:
                return
        self._on_read(len(rest))


def _has_too_many(data: bytes) -> bool:
    return data.count(b"{") + data.count(b"[") > MOST_CONTAINERS


def _decoded(number: int, line: bytes) -> Iterator[Line | Damaged]:
    if _has_too_many(line):
        yield Damaged(number, f"line of more than {MOST_CONTAINERS:,} lists and objects")
        return
    try:
        yield Line(number, msgspec.json.decode(line))
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        yield from _pieces(number, line)


def _pieces(number: int, line: bytes) -> Iterator[Line | Damaged]:
    """The values that follow each other on a line, up to the first that is invalid."""
    at = 0
    decoder = json.JSONDecoder()
    try:
        text = line.decode()
        while at < len(text):
            value, end = decoder.raw_decode(text, at)
            yield Line(number, _without_halves(value))
            at = _BLANKS.match(text, end).end()  # type: ignore[union-attr]  # which matches anything
    except (ValueError, RecursionError):
        yield Damaged(number, "broken line")


def _mended(data: bytes) -> Any:
    """JSON that only Python's own decoder accepts; UNSET if it does not either."""
    try:
        return _without_halves(json.loads(data.decode()))
    except (ValueError, RecursionError):
        return msgspec.UNSET


def _without_halves(value: Any) -> Any:
    """A value with a question mark for each half of a surrogate pair, which JavaScript writes and UTF-8 cannot hold."""
    return msgspec.json.decode(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
