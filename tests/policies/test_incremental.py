"""Incremental: what has to do with the task is kept whole, by unit; the newest always."""

from itertools import pairwise

import pageturn as pt
from pageturn.policies.incremental import score
from pageturn.values.layout import Candidate, Why
from pageturn.values.relevance import RelevanceMeta
from tests.context.checks import check_all
from tests.context.test_turns import work
from tests.policies.test_contract import EMPTY
from tests.sessions import open_session, reopened
from tests.writeback.summaries.scripted import PLAIN

FULL = pt.ResidencyLevel.FULL


def read(session, name, path, text, **options):
    """One call with its result; the page of the result."""
    reading = pt.ToolCall(id=name, name=options.pop("tool", "read"), arguments=f'{{"path": "{path}"}}')
    session.append(pt.assistant(f"looking at {path}", reading))
    return session.append(pt.tool_result(reading, text, **options))


def begin(budget=6_000, task="Fix the expiry in src/auth/login.py, please."):
    session = open_session(policy=pt.Incremental(budget))
    session.extend([pt.system("You are careful."), pt.user(task)])
    session.derive()
    return session


def level(context, page):
    return context.explain(page.handle).level


def until_a_fold(session, start=0):
    """Work on something else until the next fold."""
    for number in range(start, start + 200):
        context = session.derive()
        if context.fold is not None:
            return context
        work(session, 1, start=number, derive=False)
    raise AssertionError("no fold")


def test_what_names_the_files_of_the_task_outranks_what_came_later():
    session = begin()
    wanted = read(session, "r1", "src/auth/login.py", "def expire(): pass\n" * 40)
    noise = [read(session, f"n{n}", f"docs/page_{n}.md", f"words {n}\n" * 60) for n in range(6)]
    context = until_a_fold(session)
    assert level(context, wanted) is FULL
    assert sum(level(context, page) is FULL for page in noise) < len(noise)


def test_a_file_is_the_same_by_another_folder():
    session = begin(task="Fix the expiry in login.py, please.")
    wanted = read(session, "r1", "/home/dev/app/src/auth/login.py", "def expire(): pass\n" * 40)
    for n in range(6):
        read(session, f"n{n}", f"docs/page_{n}.md", f"words {n}\n" * 60)
    assert level(until_a_fold(session), wanted) is FULL


def test_scores_are_relative_to_the_task():
    task = RelevanceMeta(files=("src/auth/login.py",), tools=("bash",), error_classes=("traceback",))
    assert score(RelevanceMeta(), task) == 0
    assert score(RelevanceMeta(files=("auth/login.py", "other.py")), task) == 4.0
    assert score(RelevanceMeta(tools=("bash", "read")), task) == 2.5
    assert score(RelevanceMeta(error_classes=("traceback",)), task) == 3.0
    assert score(RelevanceMeta(error_classes=("failed", "panicked")), task) == 0  # errors of something else
    assert score(task, RelevanceMeta()) == 0
    assert score(RelevanceMeta(), RelevanceMeta(explicit_refs=(3, 7)), 7) == 8.0
    assert score(RelevanceMeta(explicit_refs=(7,)), RelevanceMeta(explicit_refs=(3,)), 7) == 0


def test_what_is_too_large_is_skipped_and_a_smaller_one_behind_it_still_fits():
    session = begin()
    large = read(session, "r1", "src/auth/login.py", "def expire(): pass\n" * 700)
    small = read(session, "r2", "src/auth/login.py", "def renew(): pass\n" * 30)
    session.derive()
    context = until_a_fold(session)
    assert level(context, large) < FULL
    assert level(context, small) is FULL


def test_the_newest_units_are_kept_whole_whatever_they_say():
    session = begin()
    read(session, "r1", "src/auth/login.py", "def expire(): pass\n" * 200)
    for n in range(12):
        session.derive()
        last = read(session, f"n{n}", f"docs/page_{n}.md", f"words {n}\n" * 60)
    context = until_a_fold(session)
    assert level(context, last) is FULL


def test_a_call_and_its_result_are_kept_or_not_together():
    session = begin(3_000)
    for number in range(60):
        session.derive()
        read(session, f"a{number}", "src/auth/login.py" if number % 7 == 0 else f"docs/{number}.md", "text\n" * 80)
        context = session.derive()
        check_all(session, context, 3_000)
        assert context.messages[0].role == "system"
        assert not context.messages[1].tool_results


def test_pins_outside_of_the_newest_are_kept_and_charged():
    session = begin()
    pins = [session.pin(f"Rule {n}. " + "Never do that. " * 10) for n in range(3)]
    context = until_a_fold(session)
    assert all(level(context, page) is FULL for page in pins)
    assert context.tokens <= 6_000


def test_a_fold_leaves_room_until_the_next():
    session = begin()
    contexts = work(session, 80)
    folds = [at for at, context in enumerate(contexts) if context.fold is not None]
    assert len(folds) >= 3
    assert all(contexts[at].tokens < 0.75 * 6_000 for at in folds)
    assert all(later - earlier >= 3 for earlier, later in pairwise(folds))


def test_prepared_summaries_fill_the_gaps_where_they_were():
    """The earliest first, and of those the longest; what no summary covers stands as a line."""
    session = begin()
    wanted = read(session, "r1", "src/auth/login.py", "def expire(): pass\n" * 20)
    pages = [read(session, f"n{n}", f"docs/page_{n}.md", f"words {n} of a page\n" * 80) for n in range(8)]
    state = session.reader.state()
    for first, last, text in ((0, 1, "short"), (0, 3, "longest"), (2, 5, "behind")):
        evidence = (state.caller(pages[first]).handle, pages[last].handle)
        value = f"The {text} summary of the pages. {PLAIN}"
        assert isinstance(
            session.write_back(pt.Proposal(field="summary", value=value, evidence=evidence)), pt.Committed
        )
    session.derive()
    context = until_a_fold(session)
    assert level(context, wanted) is FULL
    texts = [message.text for message in context.messages]
    assert any("The longest summary" in text for text in texts)
    assert not any("The short summary" in text or "The behind summary" in text for text in texts)
    order = [placement.first for placement in context.layout.placements]
    assert order == sorted(order)
    check_all(session, context, 6_000)
    assert reopened(session).derive().messages == context.messages


def test_what_a_task_is_about_is_what_stands_beside_it_but_not_the_rules():
    files = {1: ("rules.md",), 2: ("login.py",), 4: ("rules.md",), 5: ("login.py",)}
    rule, task = Candidate(1, 1, {FULL: 10}, FULL, why=Why.RULE), Candidate(2, 2, {FULL: 10}, FULL, why=Why.TASK)
    units = [
        rule,
        task,
        *(Candidate(at, at, {FULL: 10}, FULL) for at in (3, 4, 5, 6)),
        Candidate(7, 7, {FULL: 99}, FULL),
    ]
    frame = EMPTY._replace(
        items=units, budget_tokens=50, needed_tokens=20, relevance=lambda at: RelevanceMeta(files=files.get(at, ()))
    )
    assert pt.Incremental(50).plan(frame, {1: FULL, 2: FULL}, 20).keys() == {5}


def test_the_newest_come_before_the_most_relevant_up_to_a_third_of_the_budget():
    files = dict.fromkeys((3, 4, 5, 20), ("login.py",))
    units = [Candidate(at, at, {FULL: 10}, FULL) for at in range(1, 21)]
    frame = EMPTY._replace(items=units, budget_tokens=90, relevance=lambda at: RelevanceMeta(files=files.get(at, ())))
    assert [*pt.Incremental(90).plan(frame, {}, 0)] == [
        20,
        19,
        18,
        5,
        4,
    ]  # 54 of 90 tokens, so that a fold frees the rest


def test_of_units_that_score_the_same_the_older_is_kept():
    """A file in common with the newest unit, which stands anyway, is worth as much as eighty units of age."""
    files = {15: ("login.py",), 100: ("login.py",)}
    sizes = {15: 10, 95: 10, 100: 5}  # there is room for one of two
    units = [Candidate(at, at, {FULL: sizes.get(at, 1_000)}, FULL) for at in range(1, 101)]
    frame = EMPTY._replace(items=units, budget_tokens=30, relevance=lambda at: RelevanceMeta(files=files.get(at, ())))
    assert pt.Incremental(30).plan(frame, {}, 0).keys() == {100, 15}


def test_scoring_is_the_same_in_every_process():
    session = begin()
    for number in range(40):
        session.derive()
        read(session, f"a{number}", f"src/f{number % 5}.py", f"value_{number}\n" * 50)
    context = until_a_fold(session)
    assert reopened(session).derive().messages == context.messages
