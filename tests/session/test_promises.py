"""Pins, plans, wishes, notes and task logs."""

import json

import pytest

import pageturn as pt
from tests.sessions import open_session, reopened, take_tasks, take_turn, texts


def test_reopening_gives_the_same_pages_pins_plan_notes_and_policy(store):
    session = open_session(store, policy=pt.Incremental(9_000))
    take_turn(session, 1)
    session.pin("Never push to main.")
    session.plan("mend login", ["read", "edit"], 1)
    session.prefer("short answers", scope="me")
    session.inject(pt.ContextMessage.session("git", "branch: main"))
    session.recall("zebra")
    again = reopened(session)
    assert again.reader.pages() == session.reader.pages()
    assert (again.reader.policy, again.reader.plan, again.reader.notes) == (
        session.reader.policy,
        session.reader.plan,
        session.reader.notes,
    )
    assert again.reader.faults() == session.reader.faults()
    session.checkpoint()
    assert reopened(session).reader.pages() == session.reader.pages()


def test_pins_are_rules_and_unpinning_restores_what_was():
    session = open_session()
    result = take_turn(session, 1)
    session.pin(result)
    assert session.reader.kind(result) is pt.PageKind.CONSTRAINT
    assert session.reader.pins == (result,)
    session.unpin(result.handle)
    assert session.reader.kind(result) is pt.PageKind.EVIDENCE
    session.pin(result)
    session.undo()
    assert texts(session) == ["result 1"]
    session.unpin(result)
    with pytest.raises(pt.InvalidInput, match="the handle of a pinned page"):
        session.unpin(result)


def test_a_pin_that_no_longer_fits_is_refused_at_once():
    session = open_session(policy=pt.Paged.thrifty(420))
    first = session.pin("Never push to main.")
    with pytest.raises(pt.BudgetTooSmall) as caught:
        session.pin("long " * 200)
    assert caught.value.budget_tokens == 420
    assert caught.value.needed_tokens > 200
    assert first.handle in caught.value.handles
    assert texts(session) == ["Never push to main."]
    session.pin("long " * 200, structured="be brief")
    session.pin("long " * 200)  # the same words, which are shown once
    with pytest.raises(pt.BudgetTooSmall):
        session.pin("longer " * 200)


def test_pinning_a_page_again_counts_it_once():
    session = open_session(policy=pt.Paged.thrifty(420))
    page = session.append(pt.user("one two three four five six seven eight nine ten eleven twelve thirteen fourteen"))
    session.pin(page)
    session.pin(page)
    assert len(session.reader.state().pins) == 1


def test_a_new_plan_supersedes_the_old_one_which_stays():
    session = open_session()
    first = session.plan("mend login", ["read", "edit", "test"])
    second = session.plan(pt.Plan(goal="mend login", steps=("read", "edit", "test"), current=2))
    assert session.reader.plan.current == 2
    assert session.resolve(first.handle).text == "Goal: mend login\n[>] read\n[ ] edit\n[ ] test"
    assert session.resolve(second.handle).text == "Goal: mend login\n[x] read\n[x] edit\n[>] test"
    assert session.reader.plan.structured == "Goal: mend login\nNow: test"
    session.extend([pt.user("go"), pt.assistant("gone")])
    session.undo()
    assert reopened(session).fork("f").reader.plan.current == 2


@pytest.mark.parametrize(("fields", "where"), [({"goal": " "}, "goal"), ({"goal": "g", "current": 1}, "current")])
def test_a_plan_without_a_goal_or_beyond_its_steps_is_refused(fields, where):
    with pytest.raises(pt.InvalidInput, match=where):
        pt.Plan(**fields)


def test_notes_are_replaced_by_key_and_retracted():
    session = open_session()
    session.inject(pt.ContextMessage.session("git", "branch: main"))
    session.inject(pt.ContextMessage.session("git", "branch: dev"))
    session.inject(pt.ContextMessage.system("os", "linux"))
    assert [note.content for note in reopened(session).reader.notes] == ["branch: dev", "linux"]
    session.retract("git")
    assert [note.key for note in reopened(session).reader.notes] == ["os"]
    with pytest.raises(pt.InvalidInput, match="key: expected the key of a durable note, got 'git'"):
        session.retract("git")


def test_a_task_log_becomes_a_plan_and_pins_once():
    lines = [
        '{"kind":"goal_set","at":"2026-01-01T00:00:00Z","objective":"Ship it","success_criteria":["tests pass"],'
        '"forbidden":["Never push to main."]}',
        '{"kind":"task_added","at":"x","id":"1","content":"write"}',
        '{"kind":"task_added","at":"x","id":"2","content":"review"}',
        '{"kind":"task_status","at":"x","id":"1","status":"done"}',
        "damaged {",
        '{"no":"kind"}',
        "",
    ]
    session = open_session()
    log = take_tasks(session, lines)
    assert log.damaged_lines == 2
    assert session.reader.plan == pt.Plan(goal="Ship it", steps=("write", "review", "Done when: tests pass"), current=1)
    take_tasks(session, lines)
    assert [page.kind.value for page in session.reader.pages()] == ["constraint", "plan"]


def test_a_page_that_does_not_count_cannot_be_pinned():
    session = open_session()
    result = take_turn(session, 1)
    erased = session.append(pt.user("x"))
    session.erase(erased)
    session.undo()
    for page in (result, erased):
        with pytest.raises(pt.InvalidInput, match="handle: expected the handle of a page that counts"):
            session.pin(page)


def test_unpinning_after_undo_does_not_bring_talk_back():
    session = open_session()
    result = take_turn(session, 1)
    session.pin(result)
    session.undo()
    session.unpin(result)
    assert session.reader.pages() == ()


def test_a_text_that_was_pinned_is_no_rule_any_more():
    session = open_session(policy=pt.Paged.thrifty(420))
    rule = session.pin("one two three four five six")
    session.unpin(rule)
    assert session.reader.kind(rule) is pt.PageKind.CONVERSATION
    session.pin("seven eight nine ten eleven")


def test_unpinning_after_an_undo_takes_back_only_what_the_undo_would_have():
    session = open_session()
    session.append(pt.user("q"))
    wish = session.prefer("tabs")
    session.append(pt.assistant("a"))
    session.pin(wish)
    session.undo()
    session.unpin(wish)
    assert texts(session) == ["tabs"]


def test_a_turn_whose_pages_are_all_pinned_can_be_undone():
    session = open_session()
    question = session.append(pt.user("q"))
    answer = session.append(pt.assistant("a"))
    session.pin(question)
    session.pin(answer)
    session.undo()
    assert texts(session) == ["q", "a"]
    session.unpin(answer)
    assert texts(session) == ["q"]


def test_unknown_fields_of_a_plan_keep_their_names():
    session = open_session()
    session.plan(pt.from_json(pt.Plan, b'{"goal":"x","owner":"me"}'))
    assert reopened(session).reader.plan.extra == {"owner": "me"}


@pytest.mark.parametrize("field", ["forbidden", "success_criteria"])
@pytest.mark.parametrize("value", [5, "no push", {"a": 1}])
def test_a_goal_with_something_else_than_lists_is_a_damaged_line(field, value):
    session = open_session()
    line = json.dumps({"kind": "goal_set", "objective": "x", field: value})
    assert take_tasks(session, [line]).damaged_lines == 1
    assert session.reader.pages() == ()
