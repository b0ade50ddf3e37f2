"""No text and no crowd of things makes work grow faster than itself.

`make test` tries every shape of text at two entry points, and every entry point with some shapes; `make test-long` tries all with all.
"""

import pytest

from tests.hostile.crowds import CROWDS
from tests.hostile.entry_points import ENTRY_POINTS
from tests.hostile.growth import looked_at
from tests.hostile.shapes import SHAPES
from tests.long import examples

EACH = examples(1, whole=len(ENTRY_POINTS))  # entry points that every shape goes through
SIZES = [3_000, 16_000][: examples(1, whole=2)]  # and four times as many: below what most bounds are, and above
POINTS = list(ENTRY_POINTS)
PAIRS = [  # a sample goes round, so that all shapes and all entry points are in it
    (shape, POINTS[(at + more) % len(POINTS)]) for at, shape in enumerate(SHAPES) for more in range(EACH)
]


def require_linear(prepared, size):
    growth, is_too_fast = looked_at(prepared, size)
    assert not is_too_fast, f"{growth.times:.0f} times the work for four times as much: {growth}"


@pytest.mark.parametrize("characters", SIZES)
@pytest.mark.parametrize(("shape", "point"), PAIRS)
def test_four_times_the_text_takes_no_more_than_a_few_times_the_work(shape, point, characters):
    make, enter = SHAPES[shape], ENTRY_POINTS[point]
    require_linear(lambda size: enter(make(size)), characters)


# What once took the square of the time.
KNOWN = [
    ("a long line that ends in one", "derive, output of a command", 4_000),
    ("a long line, one in its middle", "OpenAI chat", 4_000),
    ("slashes, then a word", "derive, output of a command", 4_000),
    ("folders, then a word", "derive, a person's words", 4_000),
    ("complements", "derive, a Python file", 4_000),
    ("conditionals", "derive, a Python file", 4_000),
    ("line separators", "derive, a Python file", 4_000),
    ("complements", "derive, a TypeScript file", 4_000),
    ("single quotes", "derive, a TypeScript file", 4_000),
    ("open round", "derive, a Python file", 4_000),
    ("qualified names", "derive, a Python file", 4_000),
    ("tags", "derive, a Python file", 4_000),
    ("glued objects", "import a second line", 200_000),
    ("sizes", "overflow", 4_000),
    ("one letter", "replay, arguments", 4_000),
    ("members", "replay, arguments", 4_000),
    ("slashes", "replay, what is not JSON", 4_000),
    ("folders", "recall, the tool's arguments", 4_000),
]


@pytest.mark.parametrize(("shape", "point", "characters"), KNOWN)
def test_what_once_was_quadratic_is_so_no_longer(shape, point, characters):
    make, enter = SHAPES[shape], ENTRY_POINTS[point]
    require_linear(lambda size: enter(make(size)), characters)


@pytest.mark.parametrize("crowd", CROWDS)
def test_four_times_as_many_take_no_more_than_a_few_times_the_work(crowd):
    prepared, count = CROWDS[crowd]
    require_linear(prepared, count)


def test_what_is_quadratic_is_found():
    with pytest.raises(AssertionError, match="times the work"):
        require_linear(lambda size: lambda: [None for _ in range(size) for _ in range(size)], 1_000)
    require_linear(lambda size: lambda: [None for _ in range(500 * size)], 1_000)


def test_there_are_enough_shapes():
    assert len(SHAPES) >= 100
    assert len({make(2_000) for make in SHAPES.values()}) == len(SHAPES), "two shapes are the same"
