"""Checks a store's search: words as a whole and in part, best matches first, nothing outside the searched spans."""

from collections.abc import Callable, Sequence

from pageturn.stores.ports import Batch, Document, Record, SessionRow, Span, Store
from pageturn.testing.cases import Suite, expect_equal

SUITE = Suite[[Callable[[], Store]]]("check_store")
_ALL = 10**9
_VERY_MANY = 2_100
_TEXTS = [
    "the login service in src/auth/login.py raises",
    "nothing to see here",
    "class UserAccountService handles HTTPServer requests",
    "snake_case_name and login again, login twice",
    "会议改到星期五，login失败了",
    "서버가 멈췄다",
]
_FOUND: dict[str, set[int]] = {
    "src/auth/login.py": {1},
    "auth": {1},
    "login.py": {1},
    "login": {1, 4, 5},
    "UserAccountService": {3},
    "useraccountservice": {3},
    "account": {3},
    "http server": {3},
    "snake_case_name": {4},
    "case": {4},
    "zebra": set(),
    "the and of": set(),
    "": set(),
    '"quoted" OR (NOT': set(),
    "login AND NEAR(": {1, 4, 5},
    "raising": {1},
    "会议": {5},
    "星期五的会议": {5},
    "失": {5},
    "议": {5},
    "了": {5},
    "失败": {5},
    "会星": set(),
    "서버": {6},
}


@SUITE.claim
def words_are_found_whole_and_by_part(make: Callable[[], Store]) -> None:
    store = _with_texts(make)
    for query, expected in _FOUND.items():
        expect_equal(set(_search(store, query)), expected, f"the records that are found by {query!r}")


@SUITE.claim
def better_matches_come_first_and_the_limit_holds(make: Callable[[], Store]) -> None:
    store = _with_texts(make)
    expect_equal(_search(store, "login service auth")[:1], [1], "the best match of three words")
    expect_equal(len(_search(store, "login", limit=1)), 1, "how many are found where one is asked for")
    scores = [found.score for found in store.search([Span("a", _ALL)], "login service", 10)]
    expect_equal(scores, sorted(scores, reverse=True), "the scores")


@SUITE.claim
def a_search_sees_only_its_spans(make: Callable[[], Store]) -> None:
    store = _with_texts(make)
    store.create(SessionRow("b", b"k", 2))
    store.append("b", 0, _batch(["login of another"]))
    both = [Span("a", _ALL), Span("b", _ALL)]
    expect_equal(_search(store, "login", [Span("a", 3)]), [1], "what is found up to record 3")
    expect_equal(_search(store, "login", [Span("b", _ALL)]), [1], "what is found in another session")
    expect_equal(len(_search(store, "login", both)), 4, "how many are found in both")


@SUITE.claim
def common_words_do_not_hide_a_rare_one(make: Callable[[], Store]) -> None:
    store = make()
    store.create(SessionRow("a", b"key", 1))
    store.append("a", 0, _batch([f"error number {number}" for number in range(1, 602)]))
    expect_equal(_search(store, "error 333", limit=3)[:1], [333], "the best of 601 that share a word")
    expect_equal(len(_search(store, "error", limit=3)), 3, "how many are found by the word that they share")


@SUITE.claim
def what_other_sessions_say_hides_nothing(make: Callable[[], Store]) -> None:
    store = _with_texts(make)
    store.create(SessionRow("b", b"k", 2))
    store.append("b", 0, _batch([*(f"nothing {number}" for number in range(_VERY_MANY)), "zebra", "UserAccount"]))
    _search(store, "nothing", [Span("b", _ALL)])  # so that an index that is built late has them
    expect_equal(_search(store, "nothing zebra"), [2], "what is found by a word that is common in another session")
    expect_equal(_search(store, "UserAccount"), [3], "what is found by a name that another session says whole")


@SUITE.claim
def every_word_counts_where_that_is_asked_for(make: Callable[[], Store]) -> None:
    store = make()
    store.create(SessionRow("a", b"key", 1))
    store.append("a", 0, _batch([*(f"login {number}" for number in range(_VERY_MANY)), "a zebra"]))
    found = [each.seq for each in store.search([Span("a", _ALL)], "login zebra", 3, every=True)]
    expect_equal((found[:1], len(found)), ([_VERY_MANY + 1], 3), "the best by every word, and how many there are")


@SUITE.claim
def every_document_is_found_as_soon_as_it_is_there(make: Callable[[], Store]) -> None:
    store = make()
    store.create(SessionRow("a", b"key", 1))
    for seq in range(1, 151):
        store.append("a", seq - 1, _batch([f"word{seq}"], first=seq))
        sought = seq // 2 + 1
        expect_equal(_search(store, f"word{sought}", limit=3), [sought], f"what is found after {seq} appends")


def _with_texts(make: Callable[[], Store]) -> Store:
    store = make()
    store.create(SessionRow("a", b"key", 1))
    store.append("a", 0, _batch(_TEXTS))
    return store


def _batch(texts: Sequence[str], first: int = 1) -> Batch:
    numbers = range(first, first + len(texts))
    documents = [Document(number, text) for number, text in zip(numbers, texts, strict=True)]
    return Batch([Record(number, 1, b"{}") for number in numbers], documents=documents)


def _search(store: Store, query: str, spans: Sequence[Span] | None = None, limit: int = 10) -> list[int]:
    return [found.seq for found in store.search(spans or [Span("a", _ALL)], query, limit)]
