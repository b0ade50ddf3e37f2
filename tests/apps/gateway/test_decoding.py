"""Bodies are unpacked and streams are read however they are cut into chunks."""

import gzip
import tracemalloc
import zlib

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from pageturn.apps.gateway.decoding import EventReader, unpacked
from pageturn.values.errors import InvalidInput


def bare(data):
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


PACKERS = [
    ("gzip", gzip.compress),
    ("deflate", zlib.compress),
    ("deflate", bare),
    ("br", brotli.compress),
    ("zstd", zstandard.ZstdCompressor().compress),
    ("identity", bytes),
    ("", bytes),
]
TEXT = b"some words that repeat " * 100


def pieces(data, places):
    ends = sorted({each % (len(data) + 1) for each in places})
    return [data[a:b] for a, b in zip([0, *ends], [*ends, len(data)], strict=True)]


@pytest.mark.parametrize(("encoding", "pack"), PACKERS)
@given(places=st.lists(st.integers(0, 5_000), max_size=9))
def test_a_body_is_unpacked_however_it_is_cut(encoding, pack, places):
    assert b"".join(unpacked(pieces(pack(TEXT), places), encoding)) == TEXT


def test_what_is_packed_twice_is_unpacked_twice():
    assert b"".join(unpacked([brotli.compress(gzip.compress(TEXT))], "gzip, br")) == TEXT


def test_a_body_that_broke_off_gives_what_there_is():
    packed = gzip.compress(bytes(range(256)) * 400)
    came = b"".join(unpacked([packed[: len(packed) // 2]], "gzip"))
    assert came
    assert (bytes(range(256)) * 400).startswith(came)


@pytest.mark.parametrize("encoding", ["gzip", "br", "zstd", "lzma"])
def test_what_cannot_be_unpacked_is_refused(encoding):
    with pytest.raises(InvalidInput, match="content-encoding"):
        [*unpacked([b"\xffnot packed"], encoding)]


@pytest.mark.parametrize(("encoding", "pack"), [PACKERS[0], PACKERS[3], PACKERS[4]])
def test_a_body_that_would_be_endless_is_refused(encoding, pack, monkeypatch):
    monkeypatch.setattr("pageturn.apps.gateway.decoding.MOST_UNPACKED", 1_000_000)
    with pytest.raises(InvalidInput, match="at most"):
        [*unpacked([pack(bytes(1_000_001))], encoding)]


@pytest.mark.parametrize("encoding", ["br", "br, br"])
def test_a_body_that_would_be_endless_is_refused_before_it_is_in_memory(encoding, monkeypatch):
    monkeypatch.setattr("pageturn.apps.gateway.decoding.MOST_UNPACKED", 1_000_000)
    packed = brotli.compress(bytes(100_000_000), quality=5)
    packed = brotli.compress(packed) if "," in encoding else packed
    assert len(packed) < 1_000
    tracemalloc.start()
    try:
        with pytest.raises(InvalidInput, match="at most"):
            [*unpacked([packed], encoding)]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10_000_000


LINES = st.lists(
    st.sampled_from(
        [b"data: one", b"data:two", b"data", b": comment", b"event: x", b"id: 1", b"data: \xc3\xa9", b"", b""]
    ),
    max_size=12,
)
BREAKS = st.sampled_from([b"\n", b"\r\n", b"\r"])


def by_the_book(lines):
    """The events of whole lines, as the standard says."""
    data, found = [], []
    for line in lines:
        name, _, value = line.partition(b":")
        if not line:
            found += [b"\n".join(data)] if data else []
            data = []
        elif name == b"data":
            data.append(value.removeprefix(b" "))
    return found


@given(lines=LINES, breaks=st.data(), places=st.lists(st.integers(0, 200), max_size=20))
def test_events_are_the_same_however_they_are_cut(lines, breaks, places):
    data = b"".join(line + breaks.draw(BREAKS) for line in lines)
    expected = by_the_book(lines_of(data))
    reader = EventReader()
    assert [event for piece in pieces(data, places) for event in reader.feed(piece)] == expected


def lines_of(data):
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")[:-1]


def test_a_line_break_of_which_each_byte_comes_alone_ends_one_line():
    reader = EventReader()
    assert [event for piece in (b"data: a\r", b"", b"\n", b"\n") for event in reader.feed(piece)] == [b"a"]
