"""What was sent in a past turn is made again from the journal, byte for byte, or the inspector says that it is not."""

import pytest

import pageturn as pt
from pageturn.apps.inspector.opened import Opened, Place
from pageturn.apps.inspector.past_contexts import past_context
from tests.apps.inspector.stores import agent, work
from tests.sessions import call, open_session


def again(file, id="login-bug"):
    """The past contexts of a session, turn by turn."""
    with Opened(Place(str(file))) as opened:
        looked = opened.session(id)
        return [past_context(looked.journal, taken) for taken in looked.history.turns]


def require_same(past, contexts):
    assert [each.flaw for each in past] == [""] * len(contexts)
    for made, sent in zip(past, contexts, strict=True):
        assert made.context.messages == sent.messages
        assert made.context.tokens + made.fixed_tokens == sent.tokens


@pytest.mark.parametrize("policy", [pt.Paged(budget_tokens=3_000), pt.Legacy(), pt.Incremental(budget_tokens=3_000)])
def test_every_context_is_made_again_with_and_without_a_fold(tmp_path, policy):
    with open_session(tmp_path / "a.db", id="login-bug", model="claude-sonnet-5", policy=policy) as session:
        session.append(pt.user("Mend the login."))
        contexts = work(session, 24)
    require_same(again(tmp_path / "a.db"), contexts)
    assert isinstance(policy, pt.Legacy) or sum(context.fold is not None for context in contexts) >= 2


def test_it_is_made_again_of_a_session_without_the_recall_tool(tmp_path):
    contexts = agent(tmp_path / "a.db", recall=None)
    require_same(again(tmp_path / "a.db"), contexts)
    assert any(context.fold is not None for context in contexts)


def test_it_has_the_notes_pins_and_plans_of_that_turn_and_not_later_ones(tmp_path):
    with open_session(tmp_path / "a.db", id="login-bug", policy=pt.Paged(budget_tokens=4_000)) as session:
        session.append(pt.user("Mend the login."))
        contexts = work(session, 6)
        session.inject(pt.ContextMessage(key="branch", content="You are on the branch login.", target="session"))
        contexts += work(session, 6, first=6)
        session.pin("Never push to main.")
        session.plan("mend", ["look", "change"])
        contexts += work(session, 8, first=12)
    past = again(tmp_path / "a.db")
    require_same(past, contexts)
    said = ["Never push to main." in str(each.context.messages) for each in past]
    assert said == [False] * 12 + [True] * 8


def test_results_that_came_while_the_model_answered_are_not_in_its_context(tmp_path):
    with open_session(tmp_path / "a.db", id="login-bug") as session:
        session.append(pt.user("Mend the login."))
        contexts = [session.derive()]
        asked = call(1, "read_file", "{}")
        session.append(pt.assistant(asked))
        contexts.append(session.derive())
        session.append(pt.tool_result(asked, "late"))
        session.append(pt.assistant("I go on."))
    require_same(again(tmp_path / "a.db"), contexts)


def test_words_that_were_erased_since_are_missing_and_it_says_so(tmp_path):
    with open_session(tmp_path / "a.db", id="login-bug") as session:
        session.append(pt.user("Mend the login."))
        page = session.append(pt.user("the password is xyzzy"))
        session.derive()
        session.append(pt.assistant("I look."))
        session.erase(page.handle)
    (past,) = again(tmp_path / "a.db")
    assert "erased" in past.flaw
    assert "xyzzy" not in str(past.context)


def test_making_it_again_writes_nothing(tmp_path):
    agent(tmp_path / "a.db", turns=8)
    before = (tmp_path / "a.db").read_bytes()
    again(tmp_path / "a.db")
    assert (tmp_path / "a.db").read_bytes() == before
