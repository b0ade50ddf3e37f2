"""Checks a reranker (an embedder, as recall uses it): one finite score for each text, independent of the other texts."""

import math

from pageturn.recall.hits import Recalled
from pageturn.recall.search import Reranker
from pageturn.testing.cases import Case, Suite, check_all, expect, expect_equal
from pageturn.testing.sessions import open_session
from pageturn.values.messages import user

SUITE = Suite[[Reranker]]("check_reranker")
_QUERY = "Why does the login fail?"
_TEXTS = [
    "The login fails because the token has expired.",
    "Bananas are yellow, and so are some kinds of melon.",
    "",
    "x" * 5_000,
    "请看第三行。",
    "a\0b",
    "The login fails because the token has expired.",
]
_NEAR = 1e-3  # batches of another size may change the last digits


def check_reranker(reranker: Reranker, *, only: str | None = None) -> None:
    """Check a reranker of your own: `check_reranker(MyEmbedder())`. Raises an `AssertionError` that says what fails."""
    check_all(SUITE.runs(reranker), only)


def reranker_cases() -> tuple[Case[[Reranker]], ...]:
    """The claims one by one, for `parametrize` (`ids=str`); in the test, call `case(reranker)`."""
    return SUITE.cases


@SUITE.claim
def each_text_gets_one_finite_score(reranker: Reranker) -> None:
    for texts in (_TEXTS, _TEXTS[:1], []):
        scores = reranker.score(_QUERY, texts)
        expect_equal(len(scores), len(texts), "how many scores there are")
        for text, score in zip(texts, scores, strict=True):
            is_number = isinstance(score, int | float) and math.isfinite(score)
            expect(is_number, expected=f"a finite number for {text[:20]!r}", got=score)


@SUITE.claim
def the_same_question_gets_the_same_scores(reranker: Reranker) -> None:
    before = list(reranker.score(_QUERY, _TEXTS))
    reranker.score("something else", ["in between"])
    _expect_near(list(reranker.score(_QUERY, _TEXTS)), before, "the scores when they are asked for again")


@SUITE.claim
def a_score_is_the_texts_own_whatever_stands_beside_it(reranker: Reranker) -> None:
    together = list(reranker.score(_QUERY, _TEXTS))
    _expect_near(list(reranker.score(_QUERY, _TEXTS[::-1]))[::-1], together, "the scores in another order")
    _expect_near([reranker.score(_QUERY, [text])[0] for text in _TEXTS], together, "the scores one by one")


@SUITE.claim
def recall_is_in_the_order_of_its_scores(reranker: Reranker) -> None:
    session = open_session(reranker=reranker)
    for text in ("The login fails since noon.", "A login page is yellow.", "login login login"):
        session.append(user(text))
    recalled = session.recall("login fails")
    expect(isinstance(recalled, Recalled), expected="hits", got=recalled)
    assert isinstance(recalled, Recalled)
    scores = [hit.score for hit in recalled.hits]
    expect_equal(scores, sorted(scores, reverse=True), "the scores of the hits")
    expected = reranker.score("login fails", [hit.excerpt for hit in recalled.hits])
    _expect_near(scores, list(expected), "the scores of the hits")


def _expect_near(got: list[float], expected: list[float], what: str) -> None:
    is_near = all(abs(ours - theirs) <= _NEAR for ours, theirs in zip(got, expected, strict=True))
    expect(is_near, expected=f"{what} to be {expected}", got=str(got))
