"""Images: their size, and the vendors' prices."""

import base64
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pageturn as pt
from pageturn.tokens import images
from pageturn.tokens.images import Size, size_of


def png(width, height):
    header = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sIIBBBBB", 13, b"IHDR", width, height, 8, 6, 0, 0, 0)
    return "data:image/png;base64," + base64.b64encode(header + b"\0" * 20).decode()


def test_the_size_is_read_from_a_data_url():
    assert size_of(pt.Image(url=png(640, 480))) == Size(640, 480)


def test_a_size_that_is_given_wins():
    assert size_of(pt.Image(url=png(640, 480), width=10, height=20)) == Size(10, 20)


@pytest.mark.parametrize(
    "url",
    [
        "https://e.org/a.png",
        "data:image/png;base64,",
        "data:image/png;base64,!!",
        "data:image/png;base64,é",
        "data:image/png,x",
        "",
        ",",
    ],
)
def test_a_size_that_nobody_knows_is_none(url):
    assert size_of(pt.Image(url=url)) is None


@pytest.mark.parametrize(("width", "height"), [(-5, 7), (5, -7), (0, 7), (5, None)])
def test_a_size_that_makes_no_sense_is_none(width, height):
    assert size_of(pt.Image(url="https://e.org/a.png", width=width, height=height)) is None


def test_a_size_beyond_all_measure_is_a_large_one():
    size = size_of(pt.Image(url="u", width=10**400, height=3))
    assert all(rule(size) > 0 for rule in (*CAPPED, images.gemini))


@pytest.mark.parametrize(
    ("rule", "size", "tokens"),
    [
        (images.openai_tiles(85, 170), Size(1024, 1024), 765),  # 768 x 768: 4 tiles
        (images.openai_tiles(85, 170), Size(2048, 4096), 1105),  # 768 x 1536: 6 tiles
        (images.openai_tiles(85, 170), Size(100, 100), 255),
        (images.openai_patches(1.0), Size(1024, 1024), 1024),
        (images.openai_patches(1.62), Size(4096, 4096), 2465),  # 39 x 39 patches
        (images.openai_patches(1.0), Size(1800, 2400), 1452),  # 33 x 44
        (images.anthropic, Size(200, 200), 54),
        (images.anthropic, Size(1000, 1000), 1334),
        (images.anthropic, Size(8000, 8000), 1600),  # at most
        (images.anthropic, Size(1092, 1092), 1590),
        (images.gemini, Size(384, 384), 258),
        (images.gemini, Size(960, 540), 1548),  # tiles of 360: 3 x 2
        (images.gemini, Size(600, 300), 1548),  # tiles of 256 at least: 3 x 2
        (images.gemini, Size(4000, 4000), 9288),  # tiles of 768 at most: 6 x 6
    ],
)
def test_a_vendors_price(rule, size, tokens):
    assert rule(size) == tokens


CAPPED = [images.openai_tiles(85, 170), images.openai_patches(1.62), images.anthropic]


@given(st.sampled_from(CAPPED), st.integers(1, 20_000), st.integers(1, 20_000))
def test_an_unknown_size_is_charged_as_the_largest_where_the_vendor_has_a_cap(rule, width, height):
    assert 0 < rule(Size(width, height)) <= rule(None)
