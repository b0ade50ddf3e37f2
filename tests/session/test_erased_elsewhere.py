"""Erased is erased: on every side of a fork, in every live session and process, from the next context on."""

import subprocess
import sys
import textwrap

import pytest

import pageturn as pt
from pageturn.formats import anthropic, gemini, openai_chat, openai_responses
from tests.sessions import call, facts, forked, open_session, reopened, store_of

POLICIES = (pt.Legacy(), pt.Reset(3_000), pt.Incremental(3_000), pt.Paged.thrifty(3_000))


def worked(policy, url=":memory:", turns=3, **options):
    session = open_session(url, policy=policy, **options)
    session.extend([pt.system("S"), pt.user("Fix the login in src/auth.py")])
    for number in range(turns):
        session.derive()
        read = call(number, "read", f'{{"path": "src/m{number}.py"}}')
        session.append(pt.assistant("n", read))
        session.append(pt.tool_result(read, f"line{number} SECRET{number} body\n" * 300))
    return session


def first_result(session):
    return next(page for page in session.reader.pages() if page.results)


def said(context):
    return pt.to_json(list(context.messages)).decode()


@pytest.mark.parametrize("can_recall", [True, False])
@pytest.mark.parametrize("turns", [3, 12])
@pytest.mark.parametrize("policy", POLICIES, ids=lambda each: each.kind)
@pytest.mark.parametrize("eraser", ["parent", "fork"])
def test_what_one_side_of_a_fork_erases_is_gone_on_the_other(policy, turns, can_recall, eraser):
    options = {} if can_recall else {"recall": None}
    parent = worked(policy, turns=turns, **options)
    fork = forked(parent, "y")
    for session in (parent, fork):
        session.derive()
    page = first_result(parent)
    (parent if eraser == "parent" else fork).erase(page)
    other = fork if eraser == "parent" else parent
    for session in (other, reopened(other, **options)):
        context = session.derive()
        assert "SECRET0" not in said(context)
        for dump in (anthropic.dump, openai_chat.dump, openai_responses.dump, gemini.dump):
            assert "SECRET0" not in str(dump(context))
        assert session.resolve(page.handle).code == "denied"
    other.append(pt.assistant("ok"))
    after = other.derive()
    assert "SECRET0" not in said(after)
    assert said(reopened(other, **options).derive()) == said(after)
    assert sum(1 for entry in facts(other) if type(entry).__name__ == "PageErased") == 1


@pytest.mark.parametrize("policy", POLICIES, ids=lambda each: each.kind)
def test_what_another_process_erases_is_gone_from_a_live_session(policy, tmp_path):
    url = str(tmp_path / "agent.db")
    session = worked(policy, url, turns=6)
    assert session.derive()
    page = first_result(session)
    script = f"""
        import pageturn as pt
        with pt.Session.open({url!r}, id="s") as session:
            session.erase({page.handle!r})
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True, timeout=60)
    assert "SECRET0" not in said(session.derive())
    session.refresh()
    session.append(pt.assistant("ok"))
    assert "SECRET0" not in said(session.derive())
    assert said(reopened(session).derive()) == said(session.derive())
    session.close()


def test_an_erase_between_a_context_and_its_answer_keeps_nothing_of_it():
    session = worked(pt.Reset(3_000), turns=12)
    page = next(page for page in session.reader.pages() if page.calls)
    context = session.derive(budget_tokens=2_000)
    assert context.fold is not None
    session.erase(page)
    session.append(pt.assistant("ok"))
    assert session.derive().fold is not None
    assert "src/m0.py" not in said(session.derive())


def test_a_damaged_or_missing_blob_is_a_fault_and_never_a_raw_error():
    for statement in (
        "DELETE FROM blobs WHERE length(data) > 4500",
        "UPDATE blobs SET data = zeroblob(length(data)) WHERE length(data) > 4500",
    ):
        for policy in POLICIES:
            session = worked(policy, turns=6)
            store_of(session)._connection.execute(statement)
            again = reopened(session)
            context = again.derive()
            assert {fault.code for fault in context.faults} == {"backend_error"}
            assert "cannot be read" in said(context)
            again.append(pt.assistant("ok"))
            again.derive()
