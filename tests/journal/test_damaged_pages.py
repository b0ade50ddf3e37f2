"""A page that cannot be read hides no other: the rest is given, and each damage is a fault of its own."""

import json

import pytest

import pageturn as pt
from pageturn.stores import MemoryStore
from tests.sessions import open_session, reopened, resolve_range, take_turn

DAMAGES = {
    "missing": "DELETE FROM blobs WHERE digest = ?",
    "changed": "UPDATE blobs SET data = CAST(data || ' ' AS BLOB) WHERE digest = ?",
    "zeroed": "UPDATE blobs SET data = zeroblob(length(data)) WHERE digest = ?",
    "text": "UPDATE blobs SET data = 'text' WHERE digest = ?",
}


@pytest.fixture
def store():
    return MemoryStore()


def damage(store, page, how="missing"):
    store._connection.execute(DAMAGES[how], (page.digest,))


def faulty(session):
    """The pages of the faults of a session, with their codes."""
    return [(record.entry.page, record.entry.fault.code) for record in session.reader.faults()]


def say(session, *words):
    return [session.append(pt.user(word)) for word in words]


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("which", [0, 1, 2])
def test_the_other_hits_are_given(store, how, which):
    session = open_session(store)
    pages = say(session, "tulip one", "tulip two tulip", "a tulip three")
    damage(store, pages[which], how)
    found = session.recall("tulip")
    assert {hit.handle for hit in found.hits} == {page.handle for page in pages} - {pages[which].handle}
    assert found.damaged == (pages[which].handle,)
    assert faulty(session) == [(pages[which].seq, "backend_error")]
    assert faulty(reopened(session)) == faulty(session)


def test_damage_that_ranks_first_does_not_use_up_the_limit(store):
    session = open_session(store)
    bad = say(session, *["tulip tulip tulip"] * 1, "tulip tulip tulip!", "tulip tulip, tulip")
    good = say(session, "one tulip among many other words of this kind", "another tulip in a long row of words here")
    for page in bad:
        damage(store, page)
    for limit in (1, 2):
        found = session.recall("tulip", limit=limit)
        assert {hit.handle for hit in found.hits} <= {page.handle for page in good}
        assert len(found.hits) == limit


def test_where_nothing_else_matches_it_is_a_fault_of_each_page(store):
    session = open_session(store)
    pages = say(session, "tulip one", "tulip two", "a rose")
    for page in pages[:2]:
        damage(store, page)
    outcome = session.recall("tulip")
    assert isinstance(outcome, pt.BackendError)
    assert "is missing" in outcome.reason
    assert sorted(faulty(session)) == [(page.seq, "backend_error") for page in pages[:2]]
    assert session.recall("rose").hits
    assert session.recall("zebra") == pt.NoMatch()


def test_very_much_damage_is_counted_and_not_listed(store):
    session = open_session(store)
    for page in say(session, *(f"tulip {number}" for number in range(50))):
        damage(store, page)
    assert isinstance(session.recall("tulip"), pt.BackendError)
    records = [record.entry for record in session.reader.faults()]
    assert len(records) == 21
    assert records[-1].fault == pt.BackendError("30 more pages cannot be read")


def test_what_is_out_of_reach_is_not_reported(store):
    session = open_session(store)
    pages = say(session, "tulip tulip", "one tulip and many more words that make this worse")
    damage(store, pages[1])
    assert [hit.handle for hit in session.recall("tulip", limit=1).hits] == [pages[0].handle]
    assert session.reader.faults() == ()


# -- other sessions of a scope


def team(store):
    mine = open_session(store, id="mine", scope="team")
    other = open_session(store, id="other", scope="team", seed=2)
    return mine, other, say(mine, "my tulip")[0], say(other, "their tulip")[0]


def test_damage_in_another_session_does_not_hide_ones_own_words(store):
    mine, _, own, theirs = team(store)
    damage(store, theirs)
    assert [hit.handle for hit in mine.recall("tulip", scope="team").hits] == [own.handle]
    record = mine.reader.faults()[-1].entry
    assert (record.fault.code, record.page) == ("backend_error", None)
    assert record.detail == f"session other {theirs.handle}"


def test_damage_here_does_not_hide_what_others_said(store):
    mine, _, own, theirs = team(store)
    damage(store, own)
    assert [hit.handle for hit in mine.recall("tulip", scope="team").hits] == [theirs.handle]
    assert faulty(mine) == [(own.seq, "backend_error")]


@pytest.mark.parametrize(
    ("statement", "is_readable"),
    [
        ("UPDATE records SET body = x'00' WHERE session = 2", True),  # a page is made again from its words
        ("DELETE FROM records WHERE session = 2", False),
        ("UPDATE sessions SET parent = 'nobody' WHERE id = 'other'", False),
        ("UPDATE sessions SET scope = 'others' WHERE id = 'other'", False),
        ("UPDATE sessions SET id = 'another' WHERE id = 'other'", False),
    ],
)
def test_a_session_that_is_damaged_does_not_hide_the_others(store, statement, is_readable):
    mine, _, own, theirs = team(store)
    third = say(open_session(store, id="third", scope="team", seed=3), "third tulip")[0]
    store._connection.execute(statement)
    found = {hit.handle for hit in mine.recall("tulip", scope="team").hits}
    assert found == {own.handle, third.handle} | ({theirs.handle} if is_readable else set())
    record = mine.reader.faults()[-1].entry
    assert (record.fault.code, record.page) == ("backend_error", None)
    assert record.detail in ("session other", "session another")
    assert isinstance(mine.recall("zebra", scope="team"), pt.BackendError)  # nobody knows whether it matches


# -- ranges and messages


def test_a_range_gives_what_can_be_read(store):
    session = open_session(store)
    pages = say(session, "one", "two", "three")
    damage(store, pages[1])
    handles = f"{pages[0].handle}..{pages[2].handle}"
    assert [each.text for each in resolve_range(session, handles)] == ["one", "three"]
    assert faulty(session) == [(pages[1].seq, "backend_error")]
    damage(store, pages[0])
    damage(store, pages[2])
    assert isinstance(resolve_range(session, handles), pt.BackendError)


def test_messages_that_can_be_read_are_given_and_the_reader_tells_of_the_others_without_writing(store):
    session = open_session(store)
    pages = say(session, "one", "two", "three")
    damage(store, pages[1])
    head = session.reader.head
    assert [message.text for message in session.reader.messages()] == ["one", "three"]
    assert [(each.page, each.fault.code) for each in session.reader.damages()] == [(pages[1], "backend_error")]
    assert (faulty(session), reopened(session).reader.head) == ([], head)
    assert [message.text for message in reopened(session).reader.messages()] == ["one", "three"]


def test_messages_of_which_none_can_be_read_are_an_error(store):
    session = open_session(store)
    for page in say(session, "one", "two"):
        damage(store, page)
    with pytest.raises(pt.StoreError, match="is missing"):
        list(session.reader.messages())


def test_no_messages_are_no_error(store):
    assert list(open_session(store).reader.messages()) == []


def ask(session, **arguments):
    session.append(pt.assistant(pt.ToolCall(id="ask", name="recall", arguments=json.dumps(arguments))))
    assert session.answer()
    return list(session.reader.messages())[-1].tool_results[0]


@pytest.mark.parametrize("size", [10, 2_000])
def test_the_recall_tool_tells_which_page_of_a_range_it_cannot_read(store, size):
    session = open_session(store, recall=pt.RecallTool(most_bytes=4_000))
    for number in range(3):
        take_turn(session, number)
    pages = say(session, *(f"{word} " * size for word in ("tulip", "rose", "lily")))
    damage(store, pages[1])
    told = ask(session, handle=f"{pages[0].handle}..{pages[2].handle}")
    assert not told.is_error
    assert f"{pages[1].handle} user, cannot be read: backend error" in told.content
    assert "tulip" in told.content
    assert "lily" in told.content
    assert (pages[1].seq, "backend_error") in faulty(session)


def test_the_recall_tool_tells_of_damage_beside_its_hits(store):
    session = open_session(store)
    pages = say(session, "tulip one", "tulip two")
    damage(store, pages[1])
    told = ask(session, query="tulip")
    assert not told.is_error
    assert "tulip one" in told.content
    assert told.content.endswith(f"[these match too and cannot be read: {pages[1].handle}]")


def test_a_rule_that_cannot_be_read_is_a_fault_also_where_a_refusal_bounds_the_context(store):
    """The rules take more than what would be sent after a refusal, so a second context is tried with more room."""
    session = open_session(store, policy=pt.Paged.thrifty(20_000))
    session.append(pt.system("You are careful. " * 200))
    rule = session.pin("Never push to main.")
    session.append(pt.user("Find out why the nightly job fails."))
    take_turn(session, 1)
    session.append(pt.user("The log says: " + "the lease expired, so nobody ran it; " * 12, synthetic=True))
    refused = session.derive().tokens
    assert session.overflow(RuntimeError("prompt is too long"))
    assert 0.75 * refused < session.derive().tokens < refused
    damage(store, rule)
    session = pt.Session.open(store, id=session.id)
    with pytest.raises(pt.RuleUnreadable):
        session.derive()
    assert faulty(session) == [(rule.seq, "pinned_invariant_miss")]


# -- contexts


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize(
    "policy",
    [pt.Legacy(), pt.Reset(3_000), pt.Incremental(3_000), pt.Paged.thrifty(3_000)],
    ids=lambda each: type(each).__name__,
)
@pytest.mark.parametrize("is_answered", [True, False])
def test_large_words_that_are_damaged_are_faults_of_the_next_context_under_every_policy(
    store, how, policy, is_answered
):
    session = open_session(store, policy=policy, model="gpt-5")
    session.extend([pt.system("S"), pt.user("Fix the login.")])
    for number in range(4):
        session.derive()
        call = pt.ToolCall(id=f"k{number}", name="read", arguments=json.dumps({"path": f"src/m{number}.py"}))
        session.extend(
            [pt.assistant("n", call), pt.tool_result(call, f"line {number} of it\n" * (20 if is_answered else 400))]
        )
    if is_answered:
        session.derive()
        session.append(pt.assistant("done"))
    for page in session.reader.pages():
        if page.results:
            damage(store, page, how)
    opened = reopened(session)
    context = opened.derive()
    assert {fault.code for fault in context.faults} <= {"backend_error"}
    assert context.faults or not any("line 3" in message.text for message in context.messages)
    assert all(isinstance(opened.resolve(page), pt.BackendError) for page in opened.reader.pages() if page.results)


def test_a_rule_whose_entry_is_damaged_refuses_the_context_and_nothing_else(store):
    session = open_session(store)
    rule, said = session.pin("Never push."), say(session, "tulip")[0]
    store._connection.execute("UPDATE records SET body = CAST(replace(body, 'constraint', 'conversation') AS BLOB)")
    opened = reopened(session)
    with pytest.raises(pt.Damaged, match=rf"session 's': entry {rule.seq} was altered; it may have been a rule"):
        opened.derive()
    assert opened.resolve(said).text == "tulip"
    assert opened.recall("tulip").hits
    assert [message.text for message in opened.reader.messages()] == ["tulip"]
    opened.append(pt.user("more"))


def test_a_message_whose_entry_is_damaged_is_made_again_with_a_fault(store):
    session = open_session(store)
    for number in range(2):
        take_turn(session, number)
    before = session.derive().messages
    store._connection.execute(
        "UPDATE records SET body = x'00' WHERE body LIKE '%\"entry\":\"message\"%' OR CAST(body AS TEXT) LIKE '%message%'"
    )
    opened = reopened(session)
    assert [page.handle for page in opened.reader.pages()] == [page.handle for page in session.reader.pages()]
    context = opened.derive()
    assert [message.content for message in context.messages] == [message.content for message in before]
    assert len(context.faults) == 6
    assert "session 's': entry 2 was altered, and was rebuilt from its text" in str(context.faults[0])
