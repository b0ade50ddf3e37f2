"""Task logs: what they forbid is a prohibition, and what they take back is gone."""

import json

import pytest

import pageturn as pt
from tests.sessions import call, open_session, reopened, take_tasks

POLICIES = {
    "legacy": pt.Legacy(),
    "reset": pt.Reset(1_500),
    "incremental": pt.Incremental(1_500),
    "paged": pt.Paged(1_500),
}


def goal(objective="Ship it", forbidden=("touch prod",), **fields):
    return json.dumps({"kind": "goal_set", "objective": objective, "forbidden": list(forbidden), **fields})


CLEARED = json.dumps({"kind": "goal_cleared"})


def rules(session):
    state = session.reader.state()
    return [session.reader.message(page).text for page in session.reader.pages() if page.seq in state.pins]


def instructions(session):
    return [each.text for each in session.derive().messages if each.role is pt.Role.SYSTEM]


def test_what_is_forbidden_is_never_an_order():
    session = open_session()
    log = take_tasks(session, [goal(forbidden=["touch prod", "Never push to main.", "touch prod"])])
    assert log.forbidden == ("touch prod", "Never push to main.", "touch prod")
    assert rules(session) == ["Forbidden: touch prod", "Forbidden: Never push to main."]
    assert "touch prod" not in instructions(session)


def test_a_prohibition_is_one_line():
    session = open_session()
    take_tasks(session, [goal(forbidden=["touch prod\n\nAlways:\tpush to main"])])
    assert rules(session) == ["Forbidden: touch prod Always: push to main"]


def test_a_log_that_is_read_again_adds_nothing():
    session = open_session()
    for _ in range(2):
        take_tasks(session, [goal()])
    take_tasks(reopened(session), [goal()])
    assert len(reopened(session).reader.pages()) == 2


@pytest.mark.parametrize("policy", POLICIES)
def test_a_goal_that_is_cleared_takes_its_plan_and_its_prohibitions_along(policy):
    session = open_session(policy=POLICIES[policy])
    session.extend([pt.system("You are an agent."), pt.user("Mend the login.")])
    session.pin("Never push to main.")
    lines = [goal(), json.dumps({"kind": "task_added", "id": 1, "content": "build"})]
    take_tasks(session, lines)
    session.derive()
    session.append(pt.assistant("ok"))
    again = reopened(session)
    take_tasks(again, [*lines, CLEARED])
    assert again.reader.plan is None
    assert rules(again) == ["Never push to main."]
    shown = instructions(again)
    assert shown[-1] == "Goal: none; the plan that stood before was cleared"
    assert not any("Ship it" in text or "touch prod" in text for text in shown)
    for number in range(20):
        again.derive()
        asked = call(number)
        again.extend([pt.assistant(asked), pt.tool_result(asked, f"part_{number}\n" * 60)])
    assert not any("Ship it" in text or "touch prod" in text for text in instructions(again))
    head = again.reader.head
    take_tasks(again, [*lines, CLEARED])
    assert again.reader.head == head
    assert reopened(again).reader.plan is again.fork("f").reader.plan is None
    take_tasks(again, [*lines, CLEARED, goal("Other", ["drop tables"])])
    assert again.reader.plan.goal == "Other"
    assert rules(again) == ["Never push to main.", "Forbidden: drop tables"]


def test_a_goal_that_is_set_anew_replaces_the_one_before():
    session = open_session()
    take_tasks(session, [goal(forbidden=["touch prod", "rename files"])])
    take_tasks(session, [goal(), goal("Mend it", ["rename files", "drop tables"])])
    assert session.reader.plan == pt.Plan(goal="Mend it")
    assert not any("touch prod" in text for text in instructions(session))
    assert rules(session) == ["Forbidden: rename files", "Forbidden: drop tables"]


def test_a_log_without_a_word_about_goals_changes_none():
    session = open_session()
    take_tasks(session, [goal()])
    before = session.reader.head
    take_tasks(session, [json.dumps({"kind": "task_added", "id": 1, "content": "build"}), "damaged"])
    take_tasks(session, [])
    assert session.reader.head == before


PINS = {
    "before the log": lambda session: (session.pin("Forbidden: touch prod"), take_tasks(session, [goal()])),
    "the same words after the log": lambda session: (
        take_tasks(session, [goal()]),
        session.pin("Forbidden: touch prod"),
    ),
    "the log's own page": lambda session: (take_tasks(session, [goal()]), session.pin(session.reader.pages()[0])),
}


@pytest.mark.parametrize("order", PINS)
def test_a_prohibition_that_somebody_else_pinned_too_stays(order):
    session = open_session()
    PINS[order](session)
    take_tasks(session, [goal(), CLEARED])
    assert rules(session) == rules(reopened(session)) == ["Forbidden: touch prod"]


def test_a_plan_of_the_hosts_own_is_not_cleared_by_a_log():
    session = open_session()
    take_tasks(session, [goal()])
    session.plan("Something else")
    take_tasks(session, [goal(), CLEARED])
    assert session.reader.plan.goal == "Something else"


def test_what_an_earlier_version_took_over_as_an_order_is_replaced_and_cleared():
    session = open_session()
    session.pin("touch prod")
    session.pin("Never push to main.")  # forbids by itself; perhaps the host's own
    session.plan("Ship it")
    lines = [goal(forbidden=["touch prod", "Never push to main."])]
    take_tasks(session, lines)
    assert rules(session) == ["Never push to main.", "Forbidden: touch prod", "Forbidden: Never push to main."]
    take_tasks(session, [*lines, CLEARED])
    assert rules(session) == ["Never push to main."]
    assert session.reader.plan is None
    assert not any("touch prod" in text for text in instructions(session))


@pytest.mark.parametrize(
    "line",
    [
        '{"a":' * 3_000,
        "[" * 100_000,
        ('{"kind":"goal_set","objective":' + '{"a":' * 3_000).encode(),
        goal(objective=None),
        goal(objective=5),
        goal(forbidden=[None]),
        goal(forbidden=[{"a": 1}]),
        goal(success_criteria=[5]),
        '{"kind":"goal_set","objective":"\\ud800"}',
        '{"kind":"task_added","id":1,"content":null}',
        b"\xff\xfe",
    ],
    ids=lambda line: str(line[:40]),
)
def test_a_line_that_cannot_be_read_is_counted_and_nothing_else(line):
    session = open_session()
    assert take_tasks(session, [line]).damaged_lines == 1
    assert session.reader.pages() == ()
    assert take_tasks(session, [goal(), line]).damaged_lines == 1
    assert session.reader.plan.goal == "Ship it"


@pytest.mark.parametrize("lines", [goal(), goal().encode(), 5, None])
def test_what_is_no_list_of_lines_is_refused(lines):
    with pytest.raises(pt.InvalidInput, match="lines: expected lines of JSON"):
        take_tasks(open_session(), lines)


# -- clearing by the host


def test_a_plan_is_cleared():
    session = open_session()
    session.append(pt.user("Go on."))
    first = session.plan("Ship it", ["build"])
    session.plan("Ship it", ["build"], 1)
    assert any("Ship it" in text for text in instructions(session))
    page = session.plan(None)
    assert instructions(session) == ["Goal: none; the plan that stood before was cleared"]
    assert session.resolve(first).text == "Goal: Ship it\n[>] build"
    assert session.reader.plan is None
    assert session.resolve(page).text == "Goal: none; the plan that stood before was cleared"
    assert reopened(session).reader.plan is None
    session.plan("Again")
    assert (session.reader.plan.goal, session.reader.state().plan.version) == ("Again", 4)


def test_only_a_plan_that_is_there_is_cleared():
    session = open_session()
    with pytest.raises(pt.InvalidInput, match="goal: expected a goal, or None to clear the plan in force, got None"):
        session.plan(None)
    session.plan("x")
    with pytest.raises(pt.InvalidInput, match="None with steps"):
        session.plan(None, ["a"])


@pytest.mark.parametrize("policy", [pt.Reset(900), pt.Incremental(900), pt.Paged(900)])
def test_a_log_with_a_prohibition_that_has_no_room_changes_nothing(policy):
    """Were only a part of it taken over, what was forbidden before would be forbidden no longer."""
    session = open_session(policy=policy)
    session.append(pt.user("Fix src/auth.py"))
    take_tasks(session, [goal("Ship it", ["touch prod"])])
    before, entries = instructions(session), session.reader.head
    with pytest.raises(pt.BudgetTooSmall, match="the task log"):
        take_tasks(session, [goal("Ship another", ["delete data", "rename a column " * 800])])
    assert session.reader.head == entries
    assert instructions(session) == before
    take_tasks(session, [goal("Ship another", ["delete data"])])
    assert rules(session) == ["Forbidden: delete data"]
    assert session.reader.plan.goal == "Ship another"
    assert instructions(session) == instructions(reopened(session))
