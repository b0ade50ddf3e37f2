"""Checks an embedder: one finite vector per text, of the declared dimension, independent of the other texts, and a session finds pages by
it.
"""

import math
from collections.abc import Sequence

from pageturn.recall.embedders import Embedder, embed
from pageturn.recall.hits import Recalled
from pageturn.stores import MemoryStore
from pageturn.testing.cases import Case, Suite, check_all, expect, expect_equal
from pageturn.testing.concurrency import in_threads
from pageturn.testing.sessions import open_session
from pageturn.values.messages import user

SUITE = Suite[[Embedder]]("check_embedder")
_TEXTS = [
    "The login fails because the token has expired.",
    "Bananas are yellow, and so are some kinds of melon.",
    "x" * 5_000,
    "请看第三行。",
    "a\0b",
    "The login fails because the token has expired.",
]
_NEAR = 0.02  # between two vectors of length 1: batches of another size change the arithmetic a little
_THREADS = 4


def check_embedder(embedder: Embedder, *, only: str | None = None) -> None:
    """Check an embedder of your own: `check_embedder(MyEmbedder())`. Raises an `AssertionError` that says what fails."""
    check_all(SUITE.runs(embedder), only)


def embedder_cases() -> tuple[Case[[Embedder]], ...]:
    """The claims one by one, for `parametrize` (`ids=str`); in the test, call `case(embedder)`."""
    return SUITE.cases


@SUITE.claim
def it_has_a_name_and_a_dimension_that_stay(embedder: Embedder) -> None:
    first = embedder.name, embedder.dimension
    is_name = isinstance(first[0], str) and bool(first[0].strip())
    expect(is_name, expected="a name with words", got=repr(first[0]))
    expect(type(first[1]) is int and first[1] > 0, expected="a dimension of at least 1", got=first[1])
    embedder.embed(_TEXTS)
    expect_equal((embedder.name, embedder.dimension), first, "name and dimension when they are asked for again")


@SUITE.claim
def each_text_gets_one_finite_vector_with_a_direction(embedder: Embedder) -> None:
    for texts in (_TEXTS, _TEXTS[:1]):
        vectors = _vectors(embedder, texts)
        expect_equal(len(vectors), len(texts), "how many vectors there are")
        for text, vector in zip(texts, vectors, strict=True):
            expect_equal(len(vector), embedder.dimension, f"how many numbers the vector of {text[:20]!r} has")
            is_finite = all(math.isfinite(number) for number in vector) and any(vector)
            expect(is_finite, expected=f"finite numbers for {text[:20]!r}, not all of them 0", got=vector[:5])


@SUITE.claim
def a_vector_is_the_texts_own_whatever_stands_beside_it(embedder: Embedder) -> None:
    together = _vectors(embedder, _TEXTS)
    _expect_near(_vectors(embedder, _TEXTS[::-1])[::-1], together, "in another order")
    _expect_near([_vectors(embedder, [text])[0] for text in _TEXTS], together, "one by one")


@SUITE.claim
def different_texts_get_different_vectors(embedder: Embedder) -> None:
    first, second = _vectors(embedder, _TEXTS[:2])
    expect(_distance(first, second) > _NEAR, expected="vectors that differ for texts that differ", got="the same")


@SUITE.claim
def threads_share_it(embedder: Embedder) -> None:
    alone = _vectors(embedder, _TEXTS)

    def work(_: int) -> None:
        _expect_near(_vectors(embedder, _TEXTS), alone, "in several threads at once")

    in_threads(work, range(_THREADS))


@SUITE.claim
def a_session_finds_by_it(embedder: Embedder) -> None:
    store = MemoryStore()
    session = open_session(store, embedder=embedder)
    page, *_ = session.extend(map(user, _TEXTS[:2]))
    expect_equal(embed(store, session.id, embedder), 2, "how many pages are embedded")
    recalled = session.recall(_TEXTS[0])
    expect(isinstance(recalled, Recalled), expected="hits", got=recalled)
    assert isinstance(recalled, Recalled)
    expect_equal(recalled.notices, (), "the notices")
    expect_equal(recalled.hits[0].handle, page.handle, "the best hit for the words of a page")
    session.close()


def _vectors(embedder: Embedder, texts: Sequence[str]) -> list[list[float]]:
    return [[float(number) for number in vector] for vector in embedder.embed(texts)]


def _expect_near(got: list[list[float]], expected: list[list[float]], how: str) -> None:
    furthest = max(map(_distance, got, expected))
    expect(furthest <= _NEAR, expected=f"the same vectors {how}", got=f"vectors that differ by {furthest:.3f}")


def _distance(one: Sequence[float], other: Sequence[float]) -> float:
    """The distance of two vectors, both scaled to length 1."""
    first, second = math.hypot(*one) or 1.0, math.hypot(*other) or 1.0
    return math.dist([number / first for number in one], [number / second for number in other])
