"""Real recorded sessions, turn by turn, at several budgets: every context is valid, or the rules alone do not fit."""

import os
from pathlib import Path

import pytest

import pageturn as pt
from pageturn.lab.traces import read_traces
from tests.context.checks import check_budget, check_pairs, check_rules, check_task
from tests.long import examples
from tests.sessions import counter_of

DATA = Path(os.environ.get("PAGETURN_DATA", "../shared/data")) / "traces"
BUDGETS = (8_000, 16_000, 32_000, 64_000)[:: examples(2, whole=1)]
MESSAGES = examples(250, whole=10_000)  # of a session
SLACK = 600  # tokens: the task, index lines and pointers beside the rules

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"no recorded sessions in {DATA}; set PAGETURN_DATA")


def sessions():
    paths = sorted(DATA.glob("*.jsonl.gz")) if DATA.is_dir() else []
    every = examples(40, whole=1)
    return [pytest.param(path, at, id=f"{path.name.split('.')[0]}-{at}")
            for path in paths for at in range(0, sum(1 for _ in read_traces(path)), every)]  # fmt: skip


@pytest.mark.parametrize(("path", "at"), sessions())
def test_every_context_of_a_recorded_session_is_valid(path, at):
    trace = next(trace for number, trace in enumerate(read_traces(path)) if number == at)
    for budget in BUDGETS:
        replay(trace, pt.Paged(budget), budget)
    for policy in (pt.Legacy(), pt.Reset(16_000), pt.Incremental(16_000)):
        replay(trace, policy, 16_000)


def replay(trace, policy, budget):
    session = pt.Session.open(policy=policy)
    tools = counter_of(session).tools([pt.RecallTool().definition])
    rules, before = 0, None
    for message in trace.messages[:MESSAGES]:
        if message.role == "assistant":
            try:
                context = session.derive(budget_tokens=budget)
            except pt.BudgetTooSmall:
                assert rules + tools + SLACK > budget, f"{rules} tokens of rules would fit"
                before = None
            else:
                assert rules + tools <= budget
                check_pairs(context.messages)
                assert context.tokens <= budget
                if context.fold is not None:
                    check_budget(session, context, budget)
                    check_rules(session, context)
                    check_task(session, context)
                elif before is not None:
                    assert context.messages[: len(before)] == before
                before = context.messages
        page = session.append(message)
        rules += page.tokens if session.reader.kind(page).is_rule else 0
