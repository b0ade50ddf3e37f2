"""Preferences are shown in the sessions that they are meant for, and kept everywhere."""

import pytest

import pageturn as pt
from pageturn.values.layout import Why
from tests.context.checks import check_all
from tests.context.test_turns import words, work
from tests.policies.own import ErrorsFirst
from tests.sessions import open_session, reopened

WISH = "Indent with tabs, never with spaces."
POLICIES = [pt.Legacy(), pt.Reset(0), pt.Incremental(0), pt.Paged(), ErrorsFirst()]
every = pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.kind)


def shown(session, **options):
    return WISH in words(session.derive(**options))


@pytest.mark.parametrize(
    ("scope", "wanted", "is_shown"),
    [
        ("repo-a", None, True),
        ("repo-a", "repo-a", True),
        ("repo-a", "repo-b", False),
        (None, None, True),
        (None, "repo-b", False),  # a session of no scope is not in that one
    ],
)
@pytest.mark.parametrize("recall", [pt.RecallTool(), None], ids=["recall", "no recall"])
@every
def test_a_preference_is_shown_where_it_is_meant_for(policy, recall, scope, wanted, is_shown):
    session = open_session(policy=policy, scope=scope, recall=recall)
    session.extend([pt.system("You are careful."), pt.user("Look through it.")])
    page = session.prefer(WISH, scope=wanted)
    assert shown(session) is is_shown
    for number in range(25):
        work(session, 1, start=number, derive=False)
        context = session.derive(budget_tokens=4_000)
        assert is_shown or WISH not in words(context)
        check_all(session, context, 4_000)
    assert session.reader.folds or context.fold
    assert session.resolve(page).text == WISH
    assert [hit.handle for hit in session.recall("indent tabs").hits] == [page.handle]
    explained = context.explain(page.handle)
    assert (explained.why is Why.SCOPE) is not is_shown
    assert is_shown or "it is a preference for another scope" in str(explained)
    theirs = reopened(session, recall=recall).derive(budget_tokens=4_000)
    assert pt.to_json(list(theirs.messages)) == pt.to_json(list(context.messages))


@every
def test_a_grant_brings_the_preferences_of_its_scope_and_takes_them_along(policy):
    session = open_session(policy=policy, scope="repo-a")
    session.append(pt.user("Look through it."))
    session.prefer(WISH, scope="repo-b")
    work(session, 3)
    for is_granted in (True, False, True):
        session.grant("repo-b", allowed=is_granted)
        assert shown(session) is is_granted
        work(session, 2, start=20)
        assert shown(session) is is_granted
        assert shown(reopened(session)) is is_granted
        assert shown(session.fork()) is is_granted


def test_what_a_model_proposes_for_another_scope_is_shown_while_that_is_granted():
    session = open_session(scope="repo-a")
    page = session.append(pt.user("Look through it. Indent with tabs, never with spaces."))
    session.grant("repo-b")
    proposal = pt.Proposal(
        field="preference", value="Tabs are wanted in repo-b.", scope="repo-b", evidence=(page.handle,)
    )
    assert isinstance(session.write_back(proposal), pt.Committed)
    assert "Tabs are wanted" in words(session.derive())
    session.grant("repo-b", allowed=False)
    assert "Tabs are wanted" not in words(session.derive())
    assert session.recall("tabs wanted").hits


@pytest.mark.parametrize("is_folded", [False, True])
def test_a_preference_for_another_scope_that_is_pinned_is_a_rule_of_this_session(is_folded):
    session = open_session(policy=pt.Paged.thrifty(4_000), scope="repo-a")
    session.append(pt.user("Look through it."))
    page = session.prefer(WISH, scope="repo-b")
    work(session, 30 if is_folded else 2)
    assert not shown(session)
    session.pin(page)
    assert shown(session)
    work(session, 10, start=40)
    assert shown(session)
    session.unpin(page)
    assert not shown(session)
    assert not shown(reopened(session))


def test_looking_at_it_is_no_fault_of_a_policy():
    session = open_session(policy=pt.Paged.thrifty(4_000), scope="repo-a")
    session.append(pt.user("Look through it."))
    page = session.prefer(WISH, scope="repo-b")
    work(session, 30)
    session.derive()
    ask = pt.ToolCall(id="ask", name="recall", arguments=f'{{"handle": "{page.handle}"}}')
    session.append(pt.assistant("What was wanted there?", ask))
    assert session.answer()
    assert session.reader.faults() == ()


@pytest.mark.parametrize("scope", ["", " ", 5])
def test_a_scope_is_some_text(scope):
    with pytest.raises(pt.InvalidInput, match="scope"):
        open_session().prefer(WISH, scope=scope)
