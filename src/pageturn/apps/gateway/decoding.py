"""Decodes bodies and stream events for reading. What is passed on keeps its original compression."""

import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

import brotli
import zstandard

from pageturn.values.errors import InvalidInput, show

MOST_UNPACKED = 64 * 1024 * 1024  # bytes; a small body may claim to be endless
_PACKED_PIECE = 1024
# What reading an answer of an unexpected form raises, for the code that goes through its fields unchecked.
UNREADABLE = (InvalidInput, ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError)


class _Unpacker(Protocol):
    def __call__(self, piece: bytes, /) -> bytes: ...


def _brotli() -> _Unpacker:
    """Brotli makes gigabytes of a few hundred bytes, so it stops by itself where the body is refused anyway."""
    decompressor = brotli.Decompressor()
    return lambda piece: bytes(decompressor.process(piece, output_buffer_limit=MOST_UNPACKED + 1))


_UNPACKERS: dict[str, Callable[[], _Unpacker]] = {
    "gzip": lambda: zlib.decompressobj(16 + zlib.MAX_WBITS).decompress,
    "x-gzip": lambda: zlib.decompressobj(16 + zlib.MAX_WBITS).decompress,
    "deflate": lambda: _Deflate().unpack,
    "br": _brotli,
    "zstd": lambda: zstandard.ZstdDecompressor().decompressobj(read_across_frames=True).decompress,
}
_FAILURES = (zlib.error, brotli.error, zstandard.ZstdError)


class _Deflate:
    """Deflate as servers use it: with the zlib header of the standard, or without. The first two bytes show which."""

    def __init__(self) -> None:
        self._begun = b""
        self._unpack: _Unpacker | None = None

    def unpack(self, piece: bytes, /) -> bytes:
        """The decoded piece."""
        if self._unpack is None:
            self._begun += piece
            if len(self._begun) < 2:
                return b""
            piece = self._begun
            is_framed = piece[0] & 0x0F == zlib.DEFLATED and int.from_bytes(piece[:2], "big") % 31 == 0
            self._unpack = zlib.decompressobj(zlib.MAX_WBITS if is_framed else -zlib.MAX_WBITS).decompress
        return self._unpack(piece)


class Unpacking:
    """Decompresses a body as its chunks arrive; raises `InvalidInput` if the compression is unknown, or the result is too large."""

    def __init__(self, encoding: str | None) -> None:
        self._layers = [_Layer(name) for name in reversed(_names(encoding))]
        self._size = 0

    def feed(self, chunk: bytes) -> bytes:
        """The decompressed chunk, which may be empty."""
        for layer in self._layers:
            chunk = layer.unpacked(chunk)
        self._size = _bounded(self._size + len(chunk))
        return chunk


def unpacked(chunks: Iterable[bytes], encoding: str | None) -> Iterator[bytes]:
    """The decompressed chunks of a body, as far as possible: a body that was cut gives what can be read of it."""
    unpacking = Unpacking(encoding)
    for chunk in chunks:
        if piece := unpacking.feed(chunk):
            yield piece


def can_unpack(encoding: str | None) -> bool:
    """Whether the compression of a body is supported."""
    return all(name in _UNPACKERS for name in _given(encoding))


def is_object(begun: bytes) -> bool | None:
    """Whether a body is one JSON object, and not a stream of events, by its beginning; None if that is too short to decide.

    Headers say it too, but not all servers send the right ones.
    """
    begun = begun.lstrip(_BLANK)
    return begun.startswith(b"{") if begun else None


_BLANK = b" \t\r\n\xef\xbb\xbf"


def _given(encoding: str | None) -> list[str]:
    names = [name.strip().lower() for name in (encoding or "").split(",") if name.strip()]
    return [name for name in names if name != "identity"]


def _names(encoding: str | None) -> list[str]:
    names = _given(encoding)
    if unknown := [name for name in names if name not in _UNPACKERS]:
        raise InvalidInput("content-encoding", expected=", ".join(_UNPACKERS), got=show(unknown[0]))
    return names


def _bounded(size: int) -> int:
    if size > MOST_UNPACKED:
        raise InvalidInput("body", expected=f"at most {MOST_UNPACKED:,} bytes unpacked", got="more")
    return size


class _Layer:
    """One layer of compression."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._unpack = _UNPACKERS[name]()
        self._size = 0

    def unpacked(self, chunk: bytes) -> bytes:
        """The decoded chunk. It is decoded in small pieces, so that none of them gets very large before its size is checked."""
        made: list[bytes] = []
        try:
            for at in range(0, len(chunk), _PACKED_PIECE):
                made.append(self._unpack(chunk[at : at + _PACKED_PIECE]))
                self._size = _bounded(self._size + len(made[-1]))
        except _FAILURES as error:
            raise InvalidInput("content-encoding", expected=f"a body packed as {self._name}", got=str(error)) from error
        return b"".join(made)


class EventReader:
    """The data of each event of a stream; `feed` takes bytes as they arrive, cut anywhere."""

    def __init__(self) -> None:
        self._line = bytearray()  # that has not ended
        self._data: list[bytes] = []  # of the event that has not ended
        self._ends_in_cr = False  # the line break may go on in the next chunk

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The events that end in this chunk. A line ends in LF, CR, or both."""
        if not chunk:
            return
        if self._ends_in_cr:
            chunk = chunk.removeprefix(b"\n")
        self._ends_in_cr = chunk.endswith(b"\r")
        *lines, rest = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        for line in lines:
            if self._line:
                self._line += line
                line, self._line = bytes(self._line), bytearray()  # noqa: PLW2901
            if line:
                self._field(line)
            elif self._data:
                yield b"\n".join(self._data)
                self._data = []
        self._line += rest

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
