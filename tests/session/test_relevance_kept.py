"""What a message is about is read off once, kept beside its page, and gone with it."""

import pytest

import pageturn as pt
from pageturn.context import forms
from pageturn.journal.doctor import examine
from pageturn.values import relevance
from pageturn.values.entries import MessageAdded
from pageturn.values.relevance import RelevanceMeta, extract
from tests.context.test_turns import work
from tests.sessions import journaled, open_session, reopened, store_of

CALL = pt.ToolCall(id="c", name="edit", arguments='{"path": "src/auth/login.py"}')
MESSAGES = [
    pt.user("As in turn 2: src/auth/login.py is broken, see notes.md"),
    pt.assistant("looking", CALL),
    pt.tool_result(CALL, "Traceback (most recent call last)\nerror: no such table"),
    pt.user("Thanks!"),
]


def begin(*messages, **options):
    session = open_session(**options)
    session.extend(messages)
    return session


def test_it_is_written_with_the_message_and_read_by_whoever_opens_the_session():
    session = begin(*MESSAGES)
    for each in (session, reopened(session), session.fork()):
        kept = [each.reader.relevance(page) for page in each.reader.pages()]
        assert kept == [extract(message) for message in MESSAGES]
    assert kept[0] == RelevanceMeta(files=("src/auth/login.py", "notes.md"), explicit_refs=(2,))
    assert kept[1].tools == ("edit",)
    assert kept[3] == RelevanceMeta()
    assert list(examine(store_of(session))) == []


def test_incremental_reads_what_was_kept_and_nothing_again(monkeypatch):
    session = begin(*MESSAGES, policy=pt.Incremental(4_000))
    work(session, 30)
    expected = session.derive()
    other = reopened(session)
    monkeypatch.setattr(forms, "extract", None)
    monkeypatch.setattr(relevance, "extract", None)
    assert any(placement.level is pt.ResidencyLevel.FULL for placement in expected.layout.placements)
    other.choose(pt.Incremental(3_000))
    assert other.derive().fold is not None


def test_a_journal_that_was_written_before_it_was_kept_gives_the_same_context():
    (session, _), (old, journal) = (journaled(policy=pt.Incremental(4_000)) for _ in range(2))
    for each in (session, old):
        each.extend(MESSAGES)
        for number in range(30):
            if each is old:
                state = journal.state
                state.pages[:] = [without_relevance(page) for page in state.pages]
            work(each, 1, start=number)
    assert pt.to_json(list(session.derive().messages)) == pt.to_json(list(old.derive().messages))


def without_relevance(page):
    data = pt.to_json(MessageAdded(page=page))
    kept = pt.from_json(MessageAdded, data.replace(f',"relevance":"{page.relevance}"'.encode(), b""))
    assert kept.page.relevance is None
    return kept.page


@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_it_is_erased_with_the_page_and_stays_where_another_page_says_the_same(store, tmp_path):
    url = ":memory:" if store == "memory" else tmp_path / "agent.db"
    session = open_session(url)
    secret, other = session.extend([pt.user("my key is in vault/sesame-4711.txt"), pt.user("see src/a.py")])
    twin = session.append(pt.user("now src/a.py"))
    assert session.reader.relevance(secret).files == ("vault/sesame-4711.txt",)
    session.erase(secret)
    session.erase(other)
    assert session.reader.relevance(session.reader.page(secret.seq)) is None
    assert session.reader.relevance(twin).files == ("src/a.py",)
    assert list(examine(store_of(session))) == []
    session.close()
    if store == "sqlite":
        assert not any(b"sesame-4711" in path.read_bytes() for path in tmp_path.iterdir())


def test_a_lost_blob_costs_a_look_at_the_words_and_no_context(monkeypatch):
    session = begin(*MESSAGES, policy=pt.Incremental(4_000))
    work(session, 30)
    expected = session.derive(budget_tokens=3_000)
    other = reopened(session)
    gone = {page.relevance for page in other.reader.pages() if page.relevance}
    whole = store_of(other).blob
    monkeypatch.setattr(store_of(other), "blob", lambda digest: b"torn" if digest in gone else whole(digest))
    assert other.derive(budget_tokens=3_000).messages == expected.messages


def test_a_turn_that_the_task_names_is_kept_whole():
    """`explicit_refs`: somebody says which turn is meant, and no word in common is needed."""
    levels = []
    for task in ("Do it as you did in turn 5.", "Do it as you did before."):
        session = open_session(policy=pt.Incremental(5_000))
        session.append(pt.user("Look around."))
        work(session, 12)
        fifth = session.reader.answers[4]
        session.append(pt.user(task))
        for number in range(12, 60):
            session.append(
                pt.assistant("next", call := pt.ToolCall(id=f"x{number}", name=f"tool_{number}", arguments="{}"))
            )
            session.append(pt.tool_result(call, f"row {number}\n" * 60))
            context = session.derive()
        page = session.reader.page(fifth)
        levels.append(context.explain(page.handle).level)
    assert levels[0] is pt.ResidencyLevel.FULL
    assert levels[1] < pt.ResidencyLevel.FULL
