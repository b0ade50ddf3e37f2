"""Reset: once per crossing, down to the prompt, what stands for the past, the task and the newest whole units."""

from itertools import pairwise

import pageturn as pt
from pageturn.values.layout import Candidate
from tests.context.test_turns import words, work
from tests.policies.test_contract import EMPTY
from tests.sessions import counter_of, open_session, resolve_range
from tests.writeback.summaries.scripted import PLAIN

TASK = "Find out why src/part_3.py is slow."


def begin(threshold=6_000, **options):
    session = open_session(policy=pt.Reset(threshold), **options)
    session.extend([pt.system("You are careful."), pt.user(TASK)])
    return session


def first_fold(session):
    for number in range(100):
        (context,) = work(session, 1, start=number)
        if context.fold is not None:
            return context
    raise AssertionError("no fold")


def test_the_fold_is_prompt_task_what_stands_for_the_past_and_the_newest_whole_units():
    context = first_fold(begin())
    opening, task, past, *tail = context.messages
    assert opening.text == "You are careful."
    assert task.text == TASK
    assert past.text.startswith("<page>\n")
    assert [message.role for message in tail] == ["assistant", "tool"] * (len(tail) // 2)
    numbers = [int(message.text.split()[1]) for message in tail if message.role == "assistant"]
    assert len(numbers) >= 2
    assert numbers == list(range(numbers[0], numbers[-1] + 1))  # a tail without holes


def test_a_fold_leaves_most_of_the_room_free_until_the_next_crossing():
    session = begin()
    contexts = work(session, 80)
    folds = [at for at, context in enumerate(contexts) if context.fold is not None]
    assert len(folds) >= 3
    for at in folds:
        assert contexts[at].tokens < 0.6 * 6_000
        assert contexts[at - 1].tokens > 0.8 * 6_000  # not before the threshold is near
    assert all(later - earlier >= 4 for earlier, later in pairwise(folds))


def test_the_newest_units_take_a_third_of_the_room_above_the_floors():
    units = [Candidate(at, at, {pt.ResidencyLevel.FULL: 10}, pt.ResidencyLevel.FULL) for at in range(1, 101)]
    frame = EMPTY._replace(items=units, budget_tokens=700, needed_tokens=100)
    assert [*pt.Reset(700).plan(frame, {}, 100)] == [*range(100, 80, -1)]


def test_a_threshold_of_zero_is_half_of_the_window():
    session = begin(0, model="mistral-small")
    assert all(context.tokens <= 16_000 for context in work(session, 60, lines=100))
    assert session.derive().budget_tokens == 16_000


def test_what_people_asked_in_a_run_that_was_put_away_is_listed_where_its_line_leads():
    """The handles of the line are all that is needed; the list is short, and says how to go on."""
    session = begin()
    asked = [f"Look at part_{number}, please, and mind the {'very ' * 40}long names." for number in range(80)]
    for number, question in enumerate(asked):
        session.append(pt.user(question))
        work(session, 1, start=number)
    context = session.derive()
    line = context.explain(session.reader.pages()[2].handle).line
    told, start = "", 0
    for number in range(20):
        arguments = pt.to_json({"handle": line, "start": start}).decode()
        session.append(
            pt.assistant("What was asked?", pt.ToolCall(id=f"ask{number}", name="recall", arguments=arguments))
        )
        assert session.answer()
        page = session.resolve(session.reader.pages()[-1].handle).text
        assert len(page.encode()) <= 6_100
        told += page
        if "go on with start" not in page:
            break
        start = int(page.rpartition("start ")[2].rstrip("]"))
    assert start > 0
    covered = [question for question in asked if f" bytes, begins with\n{question[:40]}" in told]
    assert covered == asked[: len(covered)]
    assert len(covered) > 10
    assert asked[0] not in told  # long ones are cut


def test_where_nothing_is_old_there_is_nothing_to_put_away():
    session = begin(3_000)
    session.extend(pt.user(f"Remark {number}: " + "words " * 100) for number in range(12))
    context = session.derive()
    assert context.fold is None
    assert all(f"Remark {number}:" in words(context) for number in range(12))


def test_a_summary_is_of_pages_and_never_of_a_summary():
    """Runs that were summed up one by one and no longer have room are wished for as one, by their own pages."""
    session = begin(4_000)
    covered = []
    for number in range(200):
        (context,) = work(session, 1, start=number, lines=40)
        for wish in context.wanted:
            pages = resolve_range(session, wish.handle)
            assert not any("summed up" in page.text for page in pages)
            covered.append(len(pages))
            text = f"Files of a run that ends with {pages[-1].text.split()[0]} were read. {PLAIN}"
            evidence = tuple(wish.handle.split(".."))
            assert isinstance(
                session.write_back(pt.Proposal(field="summary", value=text, evidence=evidence)), pt.Committed
            )
        standing = [message.text for message in context.messages if ", summed up:" in message.text]
        assert sum(map(counter_of(session).text, standing)) < 4_000 / 3
    assert max(covered) > 3 * min(covered)  # older runs have become one
