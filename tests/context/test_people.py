"""What people said is shown verbatim, up to a quarter of the budget and 4,000 tokens; beyond that what they pasted is shortened first."""

import pytest

import pageturn as pt
from pageturn.tokens.counters import counter_for
from pageturn.values.messages import Text
from tests.context.test_turns import words, work
from tests.sessions import open_session, reopened

POLICIES = (pt.Reset, pt.Incremental, pt.Paged)
REMARKS = [f"Remark {n}: please keep the names of module_{n} as they are." for n in range(30)]


def talked(session, remarks, turns=3, **options):
    """A session in which a person says something every few turns."""
    for number, remark in enumerate(remarks):
        session.append(pt.user(remark))
        contexts = work(session, turns, start=number * turns, **options)
    return contexts[-1]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("can_recall", [True, False])
def test_all_that_people_typed_stays_verbatim(policy, can_recall):
    options = {} if can_recall else {"recall": None}
    session = open_session(policy=policy(8_000), **options)
    talked(session, REMARKS)
    context = session.derive()
    assert session.reader.folds
    for remark in REMARKS:
        assert remark in words(context)
    assert not any("human" in notice for notice in context.notices)
    assert pt.to_json(list(reopened(session, **options).derive().messages)) == pt.to_json(list(context.messages))


@pytest.mark.parametrize("policy", POLICIES)
def test_what_was_pasted_gives_way_before_what_was_typed(policy):
    session = open_session(policy=policy(8_000))
    log = "\n".join(f"2026-01-01 00:00:{n % 60:02} worker_{n} started" for n in range(120))
    session.append(pt.user(log))
    talked(session, REMARKS)
    context = session.derive()
    assert log not in words(context)
    for remark in REMARKS:
        assert remark in words(context)
    pasted = session.reader.pages()[0]
    assert context.explain(pasted.handle).level is pt.ResidencyLevel.COMPRESSED
    assert pasted.handle in words(context)
    assert any("1 human message is not shown verbatim" in notice for notice in context.notices)


@pytest.mark.parametrize("policy", POLICIES)
def test_the_newest_of_much_talk_stays_and_the_oldest_is_pointed_at(policy):
    session = open_session(policy=policy(6_000))
    remarks = [f"Remark {n}: module_{n} " + "and so on, " * 20 for n in range(80)]
    talked(session, remarks, turns=1)
    context = session.derive()
    count = counter_for("gpt-5").message
    kept = [remark for remark in remarks if remark in words(context)]
    assert remarks[-1] in kept
    assert sum(count(pt.user(remark)) for remark in kept) <= 6_000
    assert any("human messages are not shown verbatim" in notice for notice in context.notices)
    said = [page for page in session.reader.pages() if page.is_human]
    short = [page for page in said if context.explain(page.handle).level < pt.ResidencyLevel.FULL]
    assert short[0] in said[:40]
    assert session.resolve(short[0].handle).text == remarks[said.index(short[0])]


def test_what_went_into_a_sealed_line_comes_back_when_there_is_room():
    session = open_session(policy=pt.Paged.thrifty(2_000))
    remarks = [f"Remark {n}: please keep the names of module_{n}." for n in range(200)]
    talked(session, remarks, turns=1, lines=10)
    small = session.derive()
    assert remarks[5] not in words(small)
    said = [page for page in session.reader.pages() if page.is_human]
    assert any(line.sealed and line.first <= said[5].seq <= line.last for line in session.reader.lines)
    session.choose(pt.Paged.thrifty(20_000))
    context = session.derive()
    for remark in remarks:
        assert remark in words(context)


def test_synthetic_parts_are_not_a_persons_words():
    session = open_session(policy=pt.Paged.thrifty(4_000))
    reminder = Text(text="\n".join(f"changed file number {n}: src/file_{n}.py" for n in range(100)), synthetic=True)
    page = session.append(pt.user(reminder, "Do not touch src/legacy.py, ever."))
    session.append(pt.user("Now fix src/auth.py and everything that depends on it, including the tests and the docs."))
    work(session, 40)
    context = session.derive()
    assert "Do not touch src/legacy.py, ever." in words(context)
    assert context.explain(page.handle).level is pt.ResidencyLevel.COMPRESSED
    assert not session.append(pt.user(reminder)).is_human


@pytest.mark.parametrize("policy", POLICIES)
def test_rules_the_task_and_what_is_new_come_first(policy):
    session = open_session(policy=policy(2_000))
    session.append(pt.system("You are careful. " * 60))
    talked(session, REMARKS, turns=1)
    task = "Now rename module_3 in src/auth.py " + "carefully " * 300
    session.append(pt.user(task))
    context = session.derive()
    assert "You are careful. " * 60 in words(context)
    assert task in words(context)


@pytest.mark.parametrize("policy", POLICIES)
def test_they_survive_a_reset(policy):
    session = open_session(policy=policy(8_000))
    talked(session, REMARKS[:5])
    session.reset("The work on modules 0 to 4 went well, and module_4 is left to do; see src/part_3.py.", force=True)
    work(session, 5, start=100)
    for remark in REMARKS[:5]:
        assert remark in words(session.derive())
