"""Without the recall tool nothing is named that nobody could ask for, and a session goes on for ever."""

import json
import re

import pytest

import pageturn as pt
from pageturn.lab.our_policies import CharacterCounter
from tests.context.checks import check_pairs
from tests.context.test_turns import words, work
from tests.sessions import call, open_session, reopened

HANDLE = re.compile(r"\bp\d+-[a-z2-7]{4}\b")
POLICIES = (pt.Paged, pt.Reset, pt.Incremental)


def everything(context):
    results = "\n".join(str(result.content) for message in context.messages for result in message.tool_results)
    return f"{words(context)}\n{results}"


@pytest.mark.parametrize(("budget", "turns"), [(1_500, 150), (4_000, 150), (16_000, 450)])
@pytest.mark.parametrize("policy", POLICIES)
def test_a_session_goes_on_and_shows_no_handles(policy, budget, turns):
    session = open_session(policy=policy(budget), recall=None)
    session.extend([pt.system("You are careful."), pt.user("Fix the login in src/auth.py")])
    session.pin("Never push to main.")
    for number, context in enumerate(work(session, turns, lines=12)):
        assert context.tools == ()
        assert not HANDLE.search(everything(context)), number
        assert "Never push to main." in words(context)
        assert "Fix the login" in words(context)
        check_pairs(context.messages)
    counted = [text for text in words(context).split("\n") if "earlier steps are not shown" in text]
    assert len(counted) == 1
    assert any("earlier steps are not shown" in notice for notice in context.notices)
    assert pt.to_json(list(reopened(session, recall=None).derive().messages)) == pt.to_json(
        list(session.derive().messages)
    )


@pytest.mark.parametrize("policy", POLICIES)
def test_the_newest_result_is_whole_whatever_came_before(policy):
    session = open_session(policy=policy(1_500), recall=None)
    session.extend([pt.system("S"), pt.user("Fix the login in src/auth.py")])
    for number in range(26):
        session.derive()
        read = call(number, "read", f'{{"path": "src/m{number}.py"}}')
        result = f"line{number} body\n" * (12 + number)
        session.extend([pt.assistant("n", read), pt.tool_result(read, result)])
        assert result in everything(session.derive())


def test_the_number_of_missing_steps_is_true():
    session = open_session(policy=pt.Paged.thrifty(2_000), recall=None)
    session.extend([pt.system("S"), pt.user("Fix it in src/a.py")])
    work(session, 80, lines=20)
    context = session.derive()
    (told,) = re.findall(r"([\d,]+) earlier steps are not shown", words(context))
    shown = {each.first for each in context.layout.placements if each.line is None}
    steps = [page for page in session.reader.pages() if page.calls]
    assert int(told.replace(",", "")) == len(
        [
            page
            for page in steps
            if page.seq not in shown and (context.recent == () or page.seq < context.recent[0].first)
        ]
    )


def test_late_results_ledgers_and_short_forms_have_no_handles_either():
    session = open_session(policy=pt.Reset(2_500), recall=None)
    session.append(pt.user("Deploy build_7."))
    late = call("late", "build")
    session.append(pt.assistant("in the background", late))
    for number in range(40):
        session.derive()
        deploy = call(number, "bash", f'{{"command": "./deploy.sh part_{number}"}}')
        session.extend([pt.assistant("deploying", deploy), pt.tool_result(deploy, f"done {number}\n" * 40)])
        if number == 3:
            session.append(pt.tool_result(late, "built " * 400))
        assert not HANDLE.search(everything(session.derive()))
    assert "deploy.sh part_" in words(session.derive())


@pytest.mark.parametrize("policy", POLICIES)
def test_a_session_may_lose_and_gain_the_tool(policy):
    session = open_session(policy=policy(3_000))
    session.append(pt.user("Fix the login in src/auth.py"))
    work(session, 30)
    assert HANDLE.search(everything(session.derive()))
    without = reopened(session, recall=None)
    assert without.derive().fold is not None
    assert not HANDLE.search(everything(without.derive()))
    without.append(pt.assistant("ok"))
    assert without.derive().fold is None
    again = reopened(without)
    assert again.derive().fold is not None
    assert HANDLE.search(everything(again.derive()))


def test_how_many_steps_are_missing_is_shown_once_and_charged():
    session = open_session(policy=pt.Paged.thrifty(1_000), recall=None, counter=CharacterCounter())
    session.append(pt.user("Fix the login in src/auth.py"))
    for number in range(4):
        work(session, 12, start=12 * number, lines=10)
        session.pin(f"Rule {number}: never touch module_{number}.")  # rules divide what is missing into several lines
    context = session.derive()
    told = [message for message in context.messages if re.search(r"\d+ earlier steps? (is|are) not", message.text)]
    lines = [placement for placement in context.layout.placements if placement.line is not None]
    assert len(lines) > 1
    assert len(told) == 1
    assert context.tokens == sum(map(CharacterCounter().message, context.messages))
    steps = re.search(r"\d+ earlier steps are not shown", told[0].text)[0]
    assert steps in context.notices


@pytest.mark.parametrize("policy", [pt.Reset(1_200), pt.Incremental(1_200)], ids=lambda policy: policy.kind)
def test_a_summary_names_no_page_that_cannot_be_asked_for(policy):
    session = open_session(policy=policy, recall=None)
    session.extend([pt.system("S"), pt.user("Look at all of them.")])
    pages = []
    for number in range(4):
        call = pt.ToolCall(id=f"k{number}", name="read", arguments=json.dumps({"path": f"src/m{number}.py"}))
        body = "\n".join(f"def part_{number}_{at}(): return other_{at}" for at in range(40))
        pages += session.extend([pt.assistant(f"reading {number}", call), pt.tool_result(call, body)])
    first, other, last = pages[0].handle, pages[3].handle, pages[-1].handle
    text = f"{first} the modules m0 to m3 were read, and {other} was odd.\nThe rest ({first}..{last}) is plain: part_0_1 returns other_1."
    assert isinstance(
        session.write_back(pt.Proposal(field="summary", value=text, evidence=(first, last))), pt.Committed
    )
    for number in range(60):
        context = session.derive()
        call = pt.ToolCall(id=f"n{number}", name="read", arguments="{}")
        session.extend([pt.assistant("next", call), pt.tool_result(call, f"plain words of step {number} " * 30)])
    said = "".join(message.text for message in context.messages)
    assert "the modules m0 to m3 were read, and an earlier page was odd." in said
    assert not re.search(r"p[0-9]+-[a-z2-7]{4}", said)
