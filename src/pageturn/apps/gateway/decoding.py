"""Decodes bodies and stream events for reading. What is passed on stays compressed as it came."""

import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

import brotli
import zstandard

from pageturn.values.errors import InvalidInput, show

MOST_UNPACKED = 64 * 1024 * 1024  # bytes; a small body may claim to be endless
_PACKED_PIECE = 1024


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
    """What servers mean by deflate: with the frame that the standard asks for, or without. The first two bytes tell."""

    def __init__(self) -> None:
        self._begun = b""
        self._unpack: _Unpacker | None = None

    def unpack(self, piece: bytes, /) -> bytes:
        """What a piece comes to."""
        if self._unpack is None:
            self._begun += piece
            if len(self._begun) < 2:
                return b""
            piece = self._begun
            is_framed = piece[0] & 0x0F == zlib.DEFLATED and int.from_bytes(piece[:2], "big") % 31 == 0
            self._unpack = zlib.decompressobj(zlib.MAX_WBITS if is_framed else -zlib.MAX_WBITS).decompress
        return self._unpack(piece)


def unpacked(chunks: Iterable[bytes], encoding: str | None) -> Iterator[bytes]:
    """The chunks of a body without its compression, as far as they go: a body that was cut gives what can be read of it."""
    names = [name.strip().lower() for name in (encoding or "").split(",") if name.strip()]
    names = [name for name in names if name != "identity"]
    if unknown := [name for name in names if name not in _UNPACKERS]:
        raise InvalidInput("content-encoding", expected=", ".join(_UNPACKERS), got=show(unknown[0]))
    pieces = _bounded(chunks)
    for name in reversed(names):
        pieces = _bounded(_unpacked_once(pieces, name))
    yield from pieces


def _unpacked_once(chunks: Iterable[bytes], name: str) -> Iterator[bytes]:
    unpack = _UNPACKERS[name]()
    for piece in _small(chunks):
        try:
            yield unpack(piece)
        except _FAILURES as error:
            raise InvalidInput("content-encoding", expected=f"a body packed as {name}", got=str(error)) from error


def _bounded(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The chunks that are not empty, as long as they come to no more than is read."""
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size > MOST_UNPACKED:
            raise InvalidInput("body", expected=f"at most {MOST_UNPACKED:,} bytes unpacked", got="more")
        if chunk:
            yield chunk


def _small(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in pieces so small that none of them comes to very much."""
    for chunk in chunks:
        yield from (chunk[at : at + _PACKED_PIECE] for at in range(0, len(chunk), _PACKED_PIECE))


class EventReader:
    """The data of each event of a stream; `feed` takes bytes as they come, cut anywhere."""

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
