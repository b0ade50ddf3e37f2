"""Estimates the tokens of an image from its size, by each vendor's published rules.

An image of unknown size is charged as a large one, because exceeding a budget is worse than not using all of it.
"""

from collections.abc import Callable
from io import BytesIO
from math import ceil, sqrt
from typing import NamedTuple

from pageturn.values import data_urls
from pageturn.values.messages import Image


class Size(NamedTuple):
    """Pixels."""

    width: int
    height: int


class ImageRule(NamedTuple):
    """The tokens of an image. Rules of one name charge the same: sizes are stored under it."""

    name: str
    tokens: Callable[[Size | None], int]

    def __call__(self, size: Size | None) -> int:
        """The tokens of an image of this size; None is an unknown size."""
        return self.tokens(size)


_LARGEST = 1_000_000  # pixels on a side; a larger value is a mistake


def size_of(image: Image) -> Size | None:
    """The declared size of an image, or the one in its data: URL; None if neither is known."""
    if image.width and image.height and min(image.width, image.height) > 0:
        return Size(min(image.width, _LARGEST), min(image.height, _LARGEST))
    content = data_urls.read(image.url)
    if content is None:
        return None
    import imagesize  # noqa: PLC0415  it loads an HTTP client, which a session without pictures never needs

    width, height = imagesize.get(BytesIO(content.data))
    return Size(int(width), int(height)) if width > 0 and height > 0 else None


def openai_tiles(base: int, tile: int) -> ImageRule:
    """Fit into 2048 x 2048, then the short side to 768; a base price and one for each tile of 512 x 512."""

    def rule(size: Size | None) -> int:
        width, height = _fit(size or Size(2048, 768), longest=2048)
        shrink = min(1.0, 768 / min(width, height))
        return base + tile * ceil(width * shrink / 512) * ceil(height * shrink / 512)

    return ImageRule(f"tiles-{base}-{tile}", rule)


def openai_patches(multiplier: float) -> ImageRule:
    """One token for each patch of 32 x 32 times the model's multiplier; shrunk to whole patches, at most 1,536."""

    def rule(size: Size | None) -> int:
        width, height = size or Size(32 * 48, 32 * 32)
        if ceil(width / 32) * ceil(height / 32) > 1_536:
            shrink = sqrt(32 * 32 * 1_536 / (width * height))
            across, down = width * shrink / 32, height * shrink / 32
            shrink *= min(max(1, int(across)) / across, max(1, int(down)) / down)
            width, height = max(1, int(width * shrink)), max(1, int(height * shrink))
        return ceil(min(ceil(width / 32) * ceil(height / 32), 1_536) * multiplier)

    return ImageRule(f"patches-{multiplier}", rule)


def _anthropic(size: Size | None) -> int:
    width, height = _fit(size or Size(1568, 1568), longest=1568)
    return min(1_600, ceil(width * height / 750))


def _gemini(size: Size | None) -> int:
    width, height = size or Size(3072, 2048)
    if max(width, height) <= 384:
        return 258
    side = max(256, min(768, int(min(width, height) / 1.5)))
    return 258 * ceil(width / side) * ceil(height / side)


def _qwen(size: Size | None) -> int:
    width, height = size or Size(2048, 1536)
    return min(16_384, max(4, ceil(width / 28) * ceil(height / 28)))


# Long side to 1568, then a token for every 750 pixels; what would take more than 1,600 is shrunk to that.
anthropic = ImageRule("pixels-750", _anthropic)
# 258 tokens for a picture of at most 384 x 384, otherwise for each tile; a tile is 2/3 of the short side.
gemini = ImageRule("tiles-258", _gemini)
# A token for each patch of 28 x 28, at most 16,384: of the open models with a published rule, the one that charges most.
qwen = ImageRule("patches-28", _qwen)


def largest(*rules: ImageRule) -> ImageRule:
    """The most that any of these rules charges."""
    return ImageRule("+".join(rule.name for rule in rules), lambda size: max(rule(size) for rule in rules))


def _fit(size: Size, *, longest: int) -> tuple[float, float]:
    shrink = min(1.0, longest / max(size))
    return size.width * shrink, size.height * shrink
