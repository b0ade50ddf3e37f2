"""The notices of a context are in the documentation, word for word."""

import re
from pathlib import Path

import pytest

import pageturn as pt
from tests.context.test_turns import work
from tests.policies.own import SpendsAll
from tests.sessions import open_session

PAGE = Path(__file__).parents[2] / "docs" / "contexts.md"
DOCUMENTED = re.findall(r"`([^`]+)`", PAGE.read_text(encoding="utf-8").split("## Notices")[1].split("\n## ")[0])
VARIABLE = re.compile(r"\d[\d,]*|(?<=for note\(s\): )[\w, ]+$|(?<=^the notes )[\w ]+(?=, which)")


def large_task(lines):
    session = open_session(policy=pt.Paged.thrifty(1_500))
    session.append(pt.user("\n".join(f"Fix src/a{n}.py and tell me what was wrong with it." for n in range(lines))))
    return session.derive()


def pasted(times):
    session = open_session(policy=pt.Paged.thrifty(2_000))
    for number in range(times):
        session.append(pt.user("\n".join(f"{number} {n} worker_{n} started" for n in range(100))))
    session.append(pt.user("Fix src/auth.py"))
    work(session, 20)
    return session.derive()


def without_recall():
    session = open_session(policy=pt.Paged.thrifty(1_500), recall=None)
    session.append(pt.user("Fix src/auth.py"))
    work(session, 60)
    return session.derive()


def large_results(count):
    session = open_session(policy=pt.Paged.thrifty(2_000))
    session.append(pt.user("Fix src/auth.py"))
    session.derive()
    for number in range(count):
        read = pt.ToolCall(id=f"c{number}", name="read", arguments="{}")
        session.extend([pt.assistant(read), pt.tool_result(read, "\n".join(f"v_{n} = {n}" for n in range(300)))])
    return session.derive()


def little_room():
    session = open_session(policy=SpendsAll(2_500, share=1.0))
    session.extend([pt.system("A rule. " * 100), pt.user("Fix it.")])
    return next(each for each in work(session, 80, lines=6) if any("little room" in said for said in each.notices))


def noted(note, turns=0):
    session = open_session(policy=pt.Paged.thrifty(2_000))
    session.append(pt.user("Fix src/auth.py"))
    work(session, turns, lines=2)
    session.inject(note)
    return session.derive()


CASES = {
    "the task is shown": lambda: large_task(90),
    "1 human message is": lambda: pasted(1),
    "human messages are": lambda: pasted(4),
    "earlier steps are": without_recall,
    "a new page is": lambda: large_results(1),
    "new pages are": lambda: large_results(3),
    "little room": little_room,
    "no room for note(s)": lambda: noted(pt.ContextMessage.session("clock", "late " * 3_000)),
    "which are shown once": lambda: noted(
        pt.ContextMessage.session("clock", "Late.", consume_after_emit=True), turns=2
    ),
    "which have a cooldown": lambda: noted(pt.ContextMessage.session("clock", "Late.", cooldown_turns=3), turns=2),
}


@pytest.mark.parametrize("said", CASES)
def test_a_notice_is_in_the_documentation(said):
    notices = CASES[said]().notices
    assert any(said in notice for notice in notices)
    known = {VARIABLE.sub("*", text) for text in DOCUMENTED}
    assert {VARIABLE.sub("*", notice) for notice in notices} <= known
