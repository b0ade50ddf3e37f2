"""Summaries in contexts: the good ones stand where pages were left out, the bad ones nowhere, and nobody waits for them."""

import pytest

import pageturn as pt
from pageturn.writeback.summaries import Extractive, HttpEndpoint, ModelSummarizer
from tests.context.checks import check_all
from tests.context.test_turns import words
from tests.sessions import open_session, reopened
from tests.writeback.summaries.scripted import BAD, GOOD, work

POLICIES = [
    pytest.param(policy, id=policy.kind) for policy in (pt.Reset(3_000), pt.Incremental(3_000), pt.Paged.thrifty(3_000))
]
BUDGET = 3_000


def opened(endpoint, policy):
    model = HttpEndpoint(endpoint.url, "small")
    session = open_session(policy=policy, summarizer=ModelSummarizer(model))
    session.append(pt.system("You are an agent."))
    return session


def contexts(session, turns):
    """The contexts of so many turns, each answered."""
    for number in range(turns):
        context = session.derive(budget_tokens=BUDGET)
        yield context
        work(session, number, number + 1)
        session.summaries.wait(60)


@pytest.mark.parametrize("policy", POLICIES)
def test_good_summaries_stand_in_contexts_that_keep_the_laws(endpoint, policy):
    session = opened(endpoint, policy)
    shown = list(contexts(session, 40))
    assert any(GOOD in words(context) for context in shown)
    assert words(reopened(session).derive(budget_tokens=BUDGET)) == words(session.derive(budget_tokens=BUDGET))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("kind", [kind for kind in BAD if BAD[kind].strip()])
def test_bad_summaries_stand_in_none(endpoint, policy, kind):
    endpoint.answer = lambda _: BAD[kind]
    session = opened(endpoint, policy)
    for context in contexts(session, 40):
        assert BAD[kind].strip()[:60] not in words(context)
    assert endpoint.requests


FAILURES = {"empty": "", "blank": " \n\t ", "refused": 500, "no answer": None, "no JSON": b"<html>"}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("kind", FAILURES)
def test_a_summarizer_that_fails_is_in_no_context_and_is_a_fault(endpoint, policy, kind):
    endpoint.answer = lambda _: FAILURES[kind]
    session = opened(endpoint, policy)
    for context in contexts(session, 30):
        check_all(session, context, BUDGET)
        assert not any(each.line and each.line.summary for each in context.layout.placements)
        assert "summed up" not in words(context)
    assert endpoint.requests
    assert session.reader.fault_counts().keys() == {"backend_error"}


@pytest.mark.parametrize("policy", POLICIES)
def test_a_context_never_waits_for_a_summary_that_it_wishes_for(endpoint, policy):
    endpoint.hold()
    session = opened(endpoint, policy)
    for number in range(40):
        context = session.derive(budget_tokens=BUDGET)
        assert GOOD not in words(context)
        work(session, number, number + 1)
    assert endpoint.began.wait(60)
    assert not endpoint.released.is_set()


def test_the_handles_in_a_summary_lead_back(endpoint):
    session = open_session(policy=pt.Reset(3_000), summarizer=Extractive())
    session.append(pt.system("You are an agent."))
    told = [context for context in contexts(session, 40) if "summed up" in words(context)]
    handle = session.reader.pages()[1].handle
    assert any(f"{handle} user: Please look at part_0" in words(context) for context in told)
    assert session.resolve(handle).text.startswith("Please look at part_0")
