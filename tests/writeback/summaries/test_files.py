"""Summaries in a file: two sessions write to it at the same time, and who opens it later sees the same."""

import random

import pytest

import pageturn as pt
from pageturn.stores import SqliteStore
from pageturn.values.entries import RenditionAdmitted
from pageturn.writeback.summaries import Extractive
from tests.sessions import Clock, facts, open_session
from tests.writeback.summaries.scripted import work

POLICIES = [
    pytest.param(policy, id=policy.kind) for policy in (pt.Reset(3_000), pt.Incremental(3_000), pt.Paged.thrifty(3_000))
]


@pytest.fixture
def path(tmp_path):
    return f"sqlite:{tmp_path / 'agent.db'}?durability=normal"


def shown(session, budget=3_000):
    return pt.to_json(list(session.derive(budget_tokens=budget).messages))


def insist(session, act):
    """What a host does after a conflict: look what the other wrote, and try again."""
    while True:
        try:
            return act()
        except pt.Conflict:
            assert session.refresh() > 0


def spans(session):
    return [(each.first, each.last) for each in session.reader.renditions]


@pytest.mark.parametrize("policy", POLICIES)
def test_a_file_that_is_closed_and_opened_again_gives_the_same_bytes(path, policy):
    session = open_session(path, policy=policy, summarizer=Extractive())
    session.append(pt.system("You are an agent."))
    told = 0
    for number in range(40):
        context = session.derive()
        told += any(each.line is not None and each.line.summary is not None for each in context.layout.placements)
        work(session, number, number + 1)
        assert session.summaries.wait(60)
    session.summaries.finish()
    assert told
    budgets = (600, 1_500, 3_000, 100_000)
    before, summed_up = [shown(session, budget) for budget in budgets], spans(session)
    assert session.close() is None
    for summarizer in (None, Extractive()):
        again = open_session(path, summarizer=summarizer)
        assert [shown(again, budget) for budget in budgets] == before
        assert spans(again) == summed_up
        if summarizer is not None:
            again.summaries.finish()  # what the small budgets made somebody wish for
            assert len(spans(again)) == len(set(spans(again)))
        assert again.close() is None


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("seed", range(3))
def test_two_live_sessions_on_one_file_one_of_which_summarizes(path, policy, seed):
    chance = random.Random(seed)
    summarizing = open_session(path, policy=policy, summarizer=Extractive(), seed=1)
    other = open_session(path, seed=2)
    summarizing.append(pt.system("You are an agent."))
    said = []
    for number in range(60):
        session = chance.choice((summarizing, other))
        text = f"Message {number} is about part_{number}: " + f"it reads token_{number} of the shop. " * 12
        insist(session, lambda session=session, text=text: session.append(pt.user(text)))
        if chance.random() < 0.3:
            insist(session, lambda session=session: (session.derive(), session.append(pt.assistant("Seen."))))
        said.append(text)
        if chance.random() < 0.5:
            summarizing.summaries.wait(60)
    insist(summarizing, summarizing.summaries.finish)
    other.refresh()
    assert [message.text for message in other.reader.messages() if message.text.startswith("Message")] == said
    assert other.reader.state() == summarizing.reader.state()
    assert shown(other) == shown(summarizing)
    assert len(spans(other)) == len(set(spans(other))) > 5
    again = open_session(path)
    assert again.reader.state() == other.reader.state()
    assert shown(again) == shown(other)
    for session in (summarizing, other, again):
        assert session.close() is None


def test_two_live_sessions_that_both_summarize_write_each_summary_once(path):
    first, second = (open_session(path, summarizer=Extractive(), seed=seed) for seed in (1, 2))
    first.append(pt.system("You are an agent."))
    for number in range(30):
        session = (first, second)[number % 2]
        insist(session, lambda session=session, number=number: work(session, number, number + 1))
    for session in (first, second, first):
        insist(session, lambda session=session: session.summaries.finish())
    admitted = [entry for entry in facts(first) if isinstance(entry, RenditionAdmitted)]
    assert len(admitted) == len({(each.first, each.last) for each in admitted}) > 5
    second.refresh()
    assert shown(first) == shown(second)
    for session in (first, second):
        assert session.close() is None


def test_what_another_session_undid_meanwhile_is_not_summed_up(path):
    store = SqliteStore(path.removeprefix("sqlite:").partition("?")[0])
    held = pt.Session.open(store, id="s", summarizer=Extractive(), clock=Clock())
    held.append(pt.system("You are an agent."))
    held.summaries.sizes = ()
    work(held, 0, 8)
    held.summaries.sizes = (4,)
    held.checkpoint()
    assert held.summaries.wait(60)
    other = pt.Session.open(store, id="s", clock=Clock())
    other.undo(8)
    with pytest.raises(pt.Conflict):
        held.summaries.collect()
    held.refresh()
    assert held.summaries.collect() == ()
    assert spans(held) == []
    assert held.close() is None
    store.close()
