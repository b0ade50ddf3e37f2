"""The reader: everything that a session is, and nothing that writes."""

from datetime import UTC, datetime

import pytest

import pageturn as pt
from pageturn.journal.journal import Journal
from pageturn.stores import MemoryStore, open_store
from pageturn.values.context import Explanation
from pageturn.values.entries import MessageAdded
from pageturn.values.layout import Why
from tests.context.test_turns import work
from tests.sessions import facts, forked, open_session, reopened, take_turn

POLICIES = [pt.Paged.thrifty(3_000), pt.Incremental(3_000), pt.Reset(3_000), pt.Legacy()]


@pytest.fixture(params=["memory", "file"])
def store(request, tmp_path):
    opened = MemoryStore() if request.param == "memory" else open_store(str(tmp_path / "agent.db"))
    yield opened
    opened.close()


def everything(reader):
    """All that a reader tells, each thing once."""
    values = {name: getattr(reader, name) for name in dir(reader) if name[0] != "_" and name not in ("open", "close")}
    pages = reader.pages(uncounted=True)
    of_pages = (
        "kind",
        "level",
        "turn_of",
        "tool_of",
        "relevance",
        "message",
        "page",
        "text",
        "memory",
        "pages_between",
    )
    told = {name: value() for name, value in values.items() if callable(value) and name not in (*of_pages, "explain")}
    told |= {name: value for name, value in values.items() if not callable(value)}
    for name in of_pages[:6]:
        told[name] = [values[name](page) for page in pages]
    told["explain"] = [reader.explain(page.handle) for page in pages if reader.shown and page.seq <= reader.shown.upto]
    return {name: list(value) if name in ("messages", "entries") else value for name, value in told.items()}


def busy_session(store, **options):
    session = open_session(store, policy=pt.Paged.thrifty(3_000), scope="team", model="gpt-5", **options)
    session.extend([pt.system("You are careful."), pt.user("Fix src/auth.py")])
    session.pin("Never push to main.")
    session.plan("Fix it", ["look", "mend"])
    session.inject(pt.ContextMessage.session("branch", "dev"))
    work(session, 30)
    page = session.reader.pages()[4]
    session.write_back(pt.Proposal(field="memory.facts", value="x", evidence=(page.handle,)))
    session.undo()
    session.erase(page)
    session.recall("zebra")
    session.grant("others")
    return session


def test_a_reader_tells_of_a_stored_session_what_its_session_tells(store):
    session = busy_session(store)
    with pt.SessionReader.open(store, "s", "team") as reader:
        assert everything(reader) == everything(session.reader)
        assert reader.memory("facts") == session.reader.memory("facts")
    told = everything(session.reader)
    assert (told["scope"], told["model"], told["policy"]) == ("team", "gpt-5", pt.Paged.thrifty(3_000))
    assert (told["plan"].goal, [note.key for note in told["notes"]], told["grants"]) == (
        "Fix it",
        ["branch"],
        {"others"},
    )
    assert [page.kind for page in told["pins"]] == [pt.PageKind.CONSTRAINT]
    assert told["folds"]
    assert told["fault_counts"] == {"no_match": 1}


def test_reading_everything_writes_nothing(store):
    session = busy_session(store)
    session.checkpoint()
    rows, records = store.sessions(), list(store.records("s"))
    with pt.SessionReader.open(store, "s", "team") as reader:
        everything(reader)
    everything(session.reader)
    assert pt.sessions(store)
    assert (store.sessions(), list(store.records("s"))) == (rows, records)


def test_what_is_changed_of_a_copy_changes_nothing():
    session = open_session()
    take_turn(session, 1)
    before = session.reader.pages()
    session.reader.state().pages.clear()
    session.reader.state().pins[1] = None
    session.reader.fault_counts()["no_match"] += 1
    assert session.reader.pages() == before
    assert (session.reader.pins, session.reader.fault_counts()) == ((), {})


def test_the_state_of_the_past_is_there_too():
    session = open_session()
    take_turn(session, 1)
    head, state = session.reader.head, session.reader.state()
    take_turn(session, 2)
    assert session.reader.state(head) == state != session.reader.state()


def test_the_sessions_of_a_store_are_listed_the_newest_first(tmp_path):
    file = tmp_path / "agent.db"
    session = open_session(file, id="one", scope="team")
    session.append(pt.user("hi"))
    fork = session.fork("two")
    two, one = pt.sessions(file)
    assert (one.id, one.scope, one.parent, one.entries) == ("one", "team", None, session.reader.head)
    assert (two.id, two.scope, two.parent, two.entries) == ("two", "team", "one", fork.reader.head)
    assert one.created == datetime(2026, 1, 1, 0, 0, 1, tzinfo=UTC) < two.created
    assert fork.reader.info == two


def test_only_what_is_there_is_opened_and_nothing_is_made(tmp_path):
    file = tmp_path / "agent.db"
    for act in (lambda: pt.sessions(file), lambda: pt.SessionReader.open(str(file), "s")):
        with pytest.raises(pt.InvalidInput, match="which is not there"):
            act()
    assert list(tmp_path.iterdir()) == []
    open_session(file, scope="team").close()
    with pytest.raises(pt.InvalidInput, match="id: expected the id of a session of the store, got 'other'"):
        pt.SessionReader.open(file, "other")
    with pytest.raises(pt.InvalidInput, match="scope"):
        pt.SessionReader.open(file, "s")
    assert [each.id for each in pt.sessions(file)] == ["s"]


def test_a_reader_by_itself_sees_the_session_as_it_was(store):
    session = open_session(store)
    session.append(pt.user("one"))
    with pt.SessionReader.open(store, "s") as reader:
        session.append(pt.user("two"))
        assert [message.text for message in reader.messages()] == ["one"]
        assert [message.text for message in session.reader.messages()] == ["one", "two"]


def test_a_reader_lets_go_of_its_own_store_only(store, tmp_path):
    open_session(store).append(pt.user("hi"))
    with pt.SessionReader.open(store, "s"):
        pass
    assert [row.id for row in store.sessions()] == ["s"]
    file = tmp_path / "own.db"
    with open_session(file) as session:
        session.append(pt.user("hi"))
    with pt.SessionReader.open(file, "s") as reader:
        page = reader.pages()[0]
    with pytest.raises(pt.StoreError):
        reader.message(page)


def test_turns_tell_what_was_shown_and_which_were_undone():
    session = open_session(policy=pt.Paged.thrifty(3_000))
    session.append(pt.user("a"))
    session.append(pt.assistant("b"))
    context = session.derive()
    session.append(pt.assistant("c"), pt.Usage(input_tokens=9))
    session.undo()
    first, second = session.reader.turns()
    assert (first.number, first.shown, first.usage, first.undone) == (1, None, None, False)
    assert (second.number, second.shown.tokens, second.usage.input_tokens) == (2, context.tokens, 9)
    assert second.undone
    assert session.reader.answers == (first.page,)
    assert session.reader.turn == 2
    assert first.at < second.at


def test_entries_come_with_numbers_and_times_those_of_the_parent_too():
    session = open_session()
    session.append(pt.user("a"))
    fork = forked(session, "f")
    fork.append(pt.user("b"))
    told = list(fork.reader.entries())
    assert [each.seq for each in told] == list(range(1, fork.reader.head + 1))
    assert [each.at for each in told] == sorted(each.at for each in told)
    assert [type(each) for each in facts(fork)].count(MessageAdded) == 2
    assert list(fork.reader.entries(after=fork.reader.head - 1)) == told[-1:]


def test_faults_that_are_not_written_yet_are_told(monkeypatch):
    store = MemoryStore()
    session = open_session(store)
    head = session.reader.head
    monkeypatch.setattr(store, "append", lambda *_: (_ for _ in ()).throw(pt.StoreError("disk full")))
    session.recall("zebra")
    assert [(record.seq, record.entry.fault) for record in session.reader.faults()] == [(0, pt.NoMatch())]
    assert Journal.open(store, "s").state.faults == []
    assert session.reader.head == head


def answered_session(policy=POLICIES[0], *, resets=False):
    session = open_session(policy=policy)
    session.extend([pt.system("You are careful."), pt.user("Fix src/auth.py")])
    session.prefer("tabs", "another team")
    work(session, 20)
    if resets:
        session.reset("Half of it is done.", force=True)
    work(session, 20, start=20)
    context = session.derive()
    session.append(pt.assistant("next"))
    return session, context


@pytest.mark.parametrize("resets", [False, True])
@pytest.mark.parametrize("policy", POLICIES, ids=lambda each: each.kind)
def test_explain_says_of_the_last_answered_context_what_that_context_said(policy, resets):
    session, context = answered_session(policy, resets=resets)
    pages = [page for page in session.reader.pages() if page.seq <= context.upto]
    for reader in (session.reader, reopened(session).reader):
        for page in pages:
            told, expected = reader.explain(page.handle), context.explain(page.handle)
            assert isinstance(expected, Explanation)
            assert (told.level, told.why, told.since_turn, told.line) == (
                expected.level,
                expected.why,
                expected.since_turn,
                expected.line,
            ), page.handle
    assert len({session.reader.explain(page.handle).why for page in pages}) >= 2


def test_explain_refuses_what_was_not_shown_yet():
    session, _ = answered_session()
    late = session.append(pt.user("and now"))
    with pytest.raises(pt.InvalidInput, match="which came later"):
        session.reader.explain(late.handle)
    with pytest.raises(pt.InvalidInput, match="the handle of a page of this session"):
        session.reader.explain("p1-aaaa")
    fresh = open_session()
    page = fresh.append(pt.user("hi"))
    with pytest.raises(pt.InvalidInput, match="no answered context yet"):
        fresh.reader.explain(page.handle)


def test_explain_in_words():
    session, _ = answered_session()
    first = session.reader.pages()[0]
    assert session.reader.explain(first.handle).why is Why.RULE
    assert str(session.reader.explain(first.handle)).startswith(
        f"{first.handle} was shown at full since the fold of turn"
    )
    line = session.reader.lines[0]
    inside = session.reader.page(line.first)
    assert "was shown in the index line p" in str(session.reader.explain(inside.handle))
