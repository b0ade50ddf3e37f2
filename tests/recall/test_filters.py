"""Recall by role, kind, tool and turn, in other sessions by name, and within so many tokens."""

from datetime import UTC, datetime, timedelta

import pytest

import pageturn as pt
from pageturn.recall.filters import Where
from pageturn.stores import MemoryStore
from pageturn.tokens.counters import counter_for
from pageturn.values.messages import ToolResult
from tests.sessions import call, open_session

COUNT = counter_for("gpt-5").text


@pytest.fixture
def session():
    session = open_session(model="gpt-5")
    session.append(pt.user("where is the tulip"))
    session.append(pt.assistant("a tulip? let me look", call(1, "bash"), call(2, "read")))
    session.append(pt.tool_result("c1", "tulip in bed 1"))
    session.append(pt.tool_result("c2", "tulip in a file"))
    session.append(pt.assistant("the tulip is in bed 1"))
    session.append(pt.user("and the second tulip"))
    session.append(pt.assistant("no other tulip"))
    return session


def found(outcome):
    return {hit.excerpt for hit in outcome.hits}


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"role": "user"}, {"where is the tulip", "and the second tulip"}),
        ({"role": pt.Role.TOOL}, {"tulip in bed 1", "tulip in a file"}),
        ({"kind": "evidence", "tool": "read"}, {"tulip in a file"}),
        ({"role": "user", "turns": (3, None)}, {"and the second tulip"}),
        ({"role": "user", "turns": [None, 2]}, {"where is the tulip"}),
        (Where(role=pt.Role.TOOL, tool="bash"), {"tulip in bed 1"}),
        ({}, None),
        (None, None),
    ],
)
def test_only_what_is_wanted_is_found(session, where, expected):
    outcome = session.recall("tulip", where=where)
    if expected is None:
        assert outcome == session.recall("tulip")
        assert len(outcome.hits) == 5
    else:
        assert found(outcome) == expected


def test_what_is_wanted_is_found_behind_any_number_of_better_matches():
    session = open_session()
    session.append(pt.user("the tulip of long ago, of which much else was said as well, at some length"))
    session.extend(pt.assistant("tulip tulip tulip") for _ in range(100))
    assert len(session.recall("tulip", 1, where={"role": "user"}).hits) == 1


def test_nothing_that_is_wanted_is_no_match(session):
    assert session.recall("tulip", where={"tool": "grep"}) == pt.NoMatch()


@pytest.fixture
def store():
    store = MemoryStore()
    for name, scope in (("a", "team"), ("b", "team"), ("c", "others"), ("free", None)):
        open_session(store, id=name, scope=scope).append(pt.user(f"a tulip of {name}"))
    return store


def sessions_of(outcome):
    return {hit.session for hit in outcome.hits}


def test_other_sessions_are_searched_by_their_ids(store):
    mine = open_session(store, id="mine", scope="team")
    mine.append(pt.user("my own tulip"))
    assert sessions_of(mine.recall("tulip")) == {"mine"}
    assert sessions_of(mine.recall("tulip", sessions=["a"])) == {"mine", "a"}
    assert sessions_of(mine.recall("tulip", sessions=["a", "b", "mine"])) == {"mine", "a", "b"}
    assert sessions_of(mine.recall("tulip", sessions=["a"], scope="team")) == {"mine", "a", "b"}
    assert sessions_of(open_session(store, id="too").recall("tulip", sessions=["free"])) == {"free"}


def test_a_session_of_another_scope_is_denied_like_one_that_is_not_there(store):
    mine = open_session(store, id="mine", scope="team")
    for name in ("c", "free", "nobody"):
        assert mine.recall("tulip", sessions=["a", name]) == pt.Denied(
            f"session {name!r} is in no scope that is granted"
        )
    mine.grant("others")
    assert sessions_of(mine.recall("tulip", sessions=["c"])) == {"c"}
    assert mine.reader.fault_counts() == {"denied": 3}


def test_internal_words_of_another_session_stay_hidden_unless_asked_for(store):
    other = open_session(store, id="a", scope="team")
    other.append(pt.user("a hidden rose", visibility=pt.Visibility.INTERNAL))
    mine = open_session(store, id="mine", scope="team")
    assert mine.recall("rose", sessions=["a"]) == pt.NoMatch()
    assert len(mine.recall("rose", sessions=["a"], internal=True).hits) == 1


@pytest.mark.parametrize("budget", [1, 10, 60, 200, 10_000])
def test_excerpts_take_no_more_than_the_budget(budget):
    session = open_session(model="gpt-5")
    session.extend(pt.user(f"tulip {number} " + "stands in a bed of its own, " * 8) for number in range(5))
    whole = session.recall("tulip")
    few = session.recall("tulip", budget_tokens=budget)
    assert sum(COUNT(hit.excerpt) for hit in few.hits if hit.excerpt) <= budget
    assert 1 <= len(few.hits) == len(whole.hits) - few.left_out
    assert [hit.handle for hit in few.hits] == [hit.handle for hit in whole.hits][: len(few.hits)]
    assert all(hit.excerpt == all_.excerpt for hit, all_ in zip(few.hits[:-1], whole.hits, strict=False))
    assert (few == whole) is (budget == 10_000)


def test_a_path_finds_calls_that_name_it_and_their_results():
    session = open_session()
    pages = {}
    for name in ("login", "logout"):
        call = pt.ToolCall(id=name, name="read_file", arguments=f'{{"path": "src/auth/{name}.py"}}')
        pages[name] = session.extend([pt.assistant(call), pt.tool_result(call, "the walrus")])[1]
    session.append(pt.user("the walrus"))
    assert [hit.handle for hit in session.recall("walrus", where={"path": "src/auth/login"}).hits] == [
        pages["login"].handle
    ]
    assert len(session.recall("walrus", where={"path": "src/auth"}).hits) == 2
    assert session.recall("walrus", where={"path": "src/other"}) == pt.NoMatch()


def test_times_are_from_when_to_when():
    session = open_session()
    pages = [session.append(pt.user(f"walrus {number}")) for number in range(3)]
    at = [datetime.fromtimestamp(page.at / 1_000_000, UTC) for page in pages]
    assert at[0] < at[1] < at[2]

    def found(first, last):
        recalled = session.recall("walrus", where={"times": (first, last)})
        return sorted(hit.excerpt for hit in recalled.hits) if isinstance(recalled, pt.Recalled) else []

    assert found(at[1], None) == ["walrus 1", "walrus 2"]
    assert found(None, at[1]) == ["walrus 0", "walrus 1"]
    assert found(at[1].replace(tzinfo=None), at[1]) == ["walrus 1"]
    assert found(at[2] + timedelta(1), None) == []


def test_a_filter_applies_to_the_result_that_is_shown_for_a_call():
    session = open_session()
    asked = pt.ToolCall(id="c", name="bash", arguments='{"command": "make walrus"}')
    session.append(pt.assistant(asked))
    page = session.append(pt.tool_result(asked, "built in 3 seconds"))
    session.append(pt.user("never mind"))
    for where in ({"role": "tool"}, {"kind": "evidence"}, {"times": (micros_to(page), None)}, {"tool": "bash"}):
        assert [hit.handle for hit in session.recall("walrus", where=where).hits] == [page.handle], where
    assert [hit.role for hit in session.recall("walrus", where={"role": "assistant"}).hits] == [pt.Role.ASSISTANT]


def micros_to(page):
    return datetime.fromtimestamp(page.at / 1_000_000, UTC)


def test_a_tool_is_found_among_calls_and_results_that_came_together():
    session = open_session()
    listed = pt.ToolCall(id="a", name="bash", arguments='{"command": "ls"}')
    opened = pt.ToolCall(id="b", name="read_file", arguments='{"path": "src/walrus.py"}')
    calls = session.append(pt.assistant(listed, opened))
    assert [hit.handle for hit in session.recall("walrus", where={"tool": "read_file"}).hits] == [calls.handle]
    results = pt.Message(
        role=pt.Role.USER,
        content=(
            ToolResult(tool_call_id="a", content="one file"),
            ToolResult(tool_call_id="b", content="def walrus(): ..."),
        ),
    )
    page = session.append(results)
    for tool in ("bash", "read_file"):
        assert page.handle in [hit.handle for hit in session.recall("walrus", where={"tool": tool}).hits]
    assert session.recall("walrus", where={"tool": "grep"}) == pt.NoMatch()


def test_a_hit_that_is_too_long_makes_room_for_those_behind_it():
    session = open_session(model="gpt-5")
    session.extend(pt.user("tulip, tulip and tulip " * 10 + f"in bed {number}") for number in range(2))
    session.append(pt.assistant("a tulip in May"))
    first, second, last = session.recall("tulip").hits
    assert COUNT(last.excerpt) < COUNT(second.excerpt)
    few = session.recall("tulip", budget_tokens=COUNT(first.excerpt) + COUNT(last.excerpt))
    assert ([hit.handle for hit in few.hits], few.left_out) == ([first.handle, last.handle], 1)
