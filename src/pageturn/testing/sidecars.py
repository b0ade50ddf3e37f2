"""Checks a sidecar store: documents by name, changed in place, one change at a time."""

from collections.abc import Callable, Mapping

from pageturn.stores.ports import Sidecars, Slot
from pageturn.testing.cases import Case, Suite, check_all, expect_equal, expect_raises
from pageturn.testing.concurrency import in_threads

MakeSidecars = Callable[[], Sidecars]
"""Makes new, empty sidecars; every store has them."""

SUITE = Suite[[MakeSidecars]]("check_sidecars")
_ONE, _TWO = Slot("cars", "one"), Slot("cars", "two")


def check_sidecars(make: MakeSidecars, *, only: str | None = None) -> None:
    """Check the sidecars of a store, where a router keeps what it learns. Raises an `AssertionError` that says what fails."""
    check_all(SUITE.runs(make), only)


def sidecar_cases() -> tuple[Case[[MakeSidecars]], ...]:
    """The claims one by one, for `parametrize` (`ids=str`); in the test, call `case(make)`."""
    return SUITE.cases


@SUITE.claim
def a_sidecar_gives_what_was_changed_since(make: MakeSidecars) -> None:
    cars = make()
    expect_equal(
        (cars.sidecar_version(), cars.sidecar("cars")), (0, (0, {})), "the number and the sidecar before a change"
    )
    expect_equal([_put(cars, one=b"1"), _put(cars, two=b"2")], [1, 2], "the numbers of two changes")
    expect_equal(cars.sidecar("cars"), (2, {"one": (1, b"1"), "two": (2, b"2")}), "the sidecar after two changes")
    expect_equal(_put(cars, one=b"3"), 3, "the number of the third change")
    expect_equal(cars.sidecar("cars", after=2), (3, {"one": (3, b"3")}), "what was changed after the second")
    expect_equal(list(cars.sidecar("cars").documents), ["two", "one"], "the keys in the order of their changes")
    expect_equal((cars.sidecar("cars", after=3), cars.sidecar("others")), ((3, {}), (0, {})), "what was not changed")
    expect_equal(cars.sidecars(), ["cars"], "the names of all sidecars")
    expect_equal((cars.document(_ONE), cars.document(Slot("others", "one"))), (b"3", None), "single documents")


@SUITE.claim
def a_change_sees_what_is_there_and_is_whole_or_not_at_all(make: MakeSidecars) -> None:
    cars = make()
    _put(cars, one=b"1")
    seen: list[dict[Slot, bytes | None]] = []

    def fail(found: Mapping[Slot, bytes | None]) -> Mapping[Slot, bytes | None]:
        seen.append(dict(found))
        raise ValueError("the change is refused")

    expect_raises(ValueError, lambda: cars.amend([_ONE, _TWO], fail), "a change that raises")
    expect_equal(seen, [{_ONE: b"1", _TWO: None}], "what the change was given")
    expect_equal(cars.amend([_ONE], lambda _: {}), 1, "the number after a change that changes nothing")
    expect_equal(cars.sidecar("cars"), (1, {"one": (1, b"1")}), "the sidecar after both")
    expect_equal(
        cars.amend([_ONE, _TWO], lambda found: {_TWO: (found[_ONE] or b"") + b"2"}), 2, "the number of a change"
    )
    expect_equal(cars.document(_TWO), b"12", "what the change made")


@SUITE.claim
def what_is_dropped_is_gone_and_numbers_only_grow(make: MakeSidecars) -> None:
    cars = make()
    _put(cars, one=b"1")
    _put(cars, two=b"2")
    expect_equal(_put(cars, two=None), 3, "the number of a change that drops")
    expect_equal((cars.sidecar_version(), cars.document(_TWO)), (3, None), "the number and the document after it")
    expect_equal(_put(cars, two=b"3", one=None), 4, "the number of a change that keeps and drops")
    expect_equal(cars.sidecar("cars", after=2), (4, {"two": (4, b"3")}), "what was changed after the second")
    expect_equal(_put(cars, two=None, three=None), 5, "the number of a change that drops all")
    expect_equal(cars.sidecars(), [], "the names of all sidecars after it")
    expect_equal(_put(cars, one=b"4"), 6, "the number of a change after it")
    expect_equal(cars.sidecar("cars"), (6, {"one": (6, b"4")}), "the sidecar after it")


@SUITE.claim
def no_change_is_lost_between_threads(make: MakeSidecars) -> None:
    cars = make()
    _put(cars, one=b"0")

    def count(_: int) -> None:
        for _ in range(25):
            cars.amend([_ONE], lambda found: {_ONE: b"%d" % (int(found[_ONE] or b"0") + 1)})

    in_threads(count, range(4))
    expect_equal(cars.document(_ONE), b"100", "a number after four threads added 25 each")


def _put(cars: Sidecars, **documents: bytes | None) -> int:
    slots = {Slot("cars", key): body for key, body in documents.items()}
    return cars.amend(list(slots), lambda _: slots)
