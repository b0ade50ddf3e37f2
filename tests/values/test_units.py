"""Calls and their results belong together."""

import pytest

import pageturn as pt
from pageturn.values.units import units_of
from tests.sessions import call, open_session


def test_a_call_and_all_of_its_results_are_a_unit():
    session = open_session()
    session.extend(
        [
            pt.user("go"),
            pt.assistant("both", call(1), call(2)),
            pt.tool_result("c2", "second"),
            pt.user("meanwhile"),
            pt.tool_result("c1", "first"),
            pt.assistant("done"),
        ],
    )
    numbered = {page.seq: place for place, page in enumerate(session.reader.pages())}
    assert [
        [numbered[page.seq] for page in unit] for unit in units_of(session.reader.pages(), session.reader.answers)
    ] == [[0], [1, 2, 4], [3], [5]]


def test_a_result_belongs_to_the_newest_call_of_its_id():
    session = open_session()
    for _ in range(2):
        session.extend([pt.assistant(call(1)), pt.tool_result("c1", "again")])
    session.append(pt.tool_result("c9", "of a call that nobody made"))
    assert [len(unit) for unit in units_of(session.reader.pages(), session.reader.answers)] == [2, 2, 1]


@pytest.mark.parametrize(("turns", "is_joined"), [(31, True), (32, False)])
def test_a_late_result_joins_its_call_until_that_is_abandoned_however_much_was_written_between(turns, is_joined):
    session = open_session()
    session.append(pt.assistant(call(1)))
    for turn in range(turns):
        session.extend([pt.user(f"message {turn}"), pt.user("and another"), pt.assistant(f"answer {turn}")])
    page = session.append(pt.tool_result("c1", "at last"))
    units = units_of(session.reader.pages(), session.reader.answers)
    assert [unit for unit in units if page in unit] == [(session.reader.pages()[0], page) if is_joined else (page,)]
    assert page.seq > 100
