"""What steps that are no longer shown have done stays in the context: one by one while there is room, counted beyond."""

import json
import re
from typing import ClassVar

import msgspec
import pytest

import pageturn as pt
from pageturn.context.index_lines import IndexLines
from pageturn.journal.journal import Fresh
from pageturn.values.digests import digest_of
from pageturn.values.entries import ModelChosen
from pageturn.values.layout import IndexLine
from tests.context.checks import check_all
from tests.context.test_turns import words
from tests.policies.own import ErrorsFirst
from tests.sessions import counter_of, journal_of, open_session, reopened, write_elsewhere


@pt.register_policy("paged_with_a_ledger")
class PagedWithALedger(pt.Paged):
    """Paged that says what was changed."""

    keeps_ledger: ClassVar[bool] = True


POLICIES = [pt.Reset(0), ErrorsFirst(), PagedWithALedger(miss_tokens=0)]
every = pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.kind)


def begin(policy):
    session = open_session(policy=policy)
    session.extend([pt.system("S"), pt.user("Deploy all of them.")])
    return session


def deploy(session, number, budget, command="./deploy.sh deploy_{}"):
    context = session.derive(budget_tokens=budget)
    call = pt.ToolCall(id=f"k{number}", name="bash", arguments=json.dumps({"command": command.format(number)}))
    session.extend([pt.assistant("Next.", call), pt.tool_result(call, f"deployed number {number} to its host\n" * 8)])
    return context


def accounted(context):
    """The deploys that stand in a context by themselves, and how many are counted."""
    said = words(context) + "".join(call.arguments for message in context.messages for call in message.tool_calls)
    counts = re.findall(r"([\d,]+) x \./deploy\.sh", said)
    return {int(n) for n in re.findall(r"deploy_(\d+)\b", said)}, sum(int(n.replace(",", "")) for n in counts)


@every
@pytest.mark.parametrize("budget", [3_000, 16_000])
def test_every_side_effect_is_shown_or_counted_at_every_turn(policy, budget):
    session = begin(policy)
    for number in range(222):
        context = deploy(session, number, budget)
        told, counted = accounted(context)
        assert len(told) + counted == number, f"turn {number}"
        if number % 20 == 0:
            check_all(session, context, budget)
            assert (
                reopened(session).derive(budget_tokens=budget).messages == session.derive(budget_tokens=budget).messages
            )
    assert {*range(200, 221)} <= told  # the newest ones
    assert session.reader.folds


def test_more_room_shows_more():
    told = []
    for budget in (2_000, 4_000, 8_000, 16_000):
        session = begin(pt.Reset(budget))
        for number in range(260):
            context = deploy(session, number, budget)
        told.append(len(accounted(context)[0]))
    assert told == sorted(set(told))
    assert told[-1] > 200


def test_the_same_command_again_is_counted_and_shown_once():
    session = begin(pt.Reset(3_000))
    for number in range(120):
        context = deploy(session, number, 3_000, command="./deploy.sh everything")
    text = words(context)
    often = [int(n) for n in re.findall(r"ran ./deploy.sh everything, (\d+) times", text)]
    standing = sum(len(message.tool_calls) for message in context.messages)
    assert sum(often) + accounted(context)[1] + standing == 119, text


def test_a_fold_takes_no_longer_for_what_lies_far_back():
    """The number of effects that a session keeps by themselves does not grow with it."""
    session = begin(pt.Reset(4_000))
    for number in range(900):
        deploy(session, number, 4_000)
    lines = session.reader.lines
    blobs = [session.reader.text(line.ledger) for line in lines if line.ledger]
    assert len(lines) < 16
    assert all(len(msgspec.json.decode(blob)["effects"]) <= 256 for blob in blobs)


def test_a_ledger_that_was_written_before_anything_was_counted_is_read():
    old = msgspec.json.encode([[n, f"ran x{n}", f"p{n}-aaaa ran x{n}"] for n in range(3, 40)])
    session = begin(pt.Reset(4_000))
    session.extend(pt.user(f"word {n}") for n in range(50))
    write_elsewhere(session, Fresh(ModelChosen(model="gpt-5"), {digest_of(old): old}))
    lines = IndexLines(journal_of(session), counter_of(session))
    text = lines.message(IndexLine(3, 40, ledger=digest_of(old), tells_changes=True)).text
    assert text.count("ran x") == 12
    assert "and 25 more before: 25 other changes" in text
