"""What a session takes and what it refuses, and where it says so."""

import random
from uuid import RFC_4122, UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pageturn as pt
from pageturn.formats import openai_chat
from pageturn.values.ids import micros, uuid7
from pageturn.values.messages import Text, Thinking, ToolResult
from tests import strategies
from tests.sessions import Clock, call, open_session, reopened, take_tasks, texts


def bare(message):
    """A message without what the journal keeps elsewhere."""
    return msgspec.structs.replace(message, id=None, usage=None)


def nested(levels):
    value = []
    for _ in range(levels):
        value = [value]
    return value


@given(st.lists(strategies.spoken, min_size=1, max_size=5))
def test_every_message_comes_back_as_it_was(messages):
    session = open_session()
    pages = session.extend(messages)
    for page, message in zip(pages if isinstance(pages, tuple) else [pages], messages, strict=True):
        resolved = reopened(session).resolve(page.handle)
        assert bare(resolved.message) == bare(message)
        assert resolved.message.id == (message.id or page.id)


@pytest.mark.parametrize(
    ("part", "role"),
    [
        (part, role)
        for part in (call("c1", "read"), ToolResult(tool_call_id="c1", content="done"), Thinking(text="hm"))
        for role in pt.Role
        if role not in strategies.SPEAKERS[type(part)]
    ],
)
def test_what_only_another_role_can_say_is_refused_since_no_request_has_a_place_for_it(part, role):
    session = open_session()
    with pytest.raises(pt.InvalidInput, match=rf"messages\[1\]\.content\[1\]: expected a {type(part).__name__} only"):
        session.extend([pt.user("hello"), pt.Message(role=role, content=(Text(text="and"), part))])
    assert session.reader.pages() == ()


@pytest.mark.parametrize(
    "message",
    [
        pt.user(Text(text=5)),
        pt.user("x", synthetic="no"),
        pt.user("x", metadata=5),
        pt.Message(id=5, role="user", content=()),
    ],
)
def test_what_could_not_be_read_back_is_not_written(message):
    session = open_session()
    with pytest.raises(pt.InvalidInput, match="expected"):
        session.append(message)
    assert session.reader.pages() == ()


@pytest.mark.parametrize(
    "act",
    [
        lambda s: s.append("hi"),
        lambda s: s.extend([pt.user("ok"), None]),
        lambda s: s.append(pt.assistant("a"), usage="lots"),
        lambda s: s.append(pt.assistant("a"), usage=pt.Usage(input_tokens=-3)),
        lambda s: s.append([pt.user("ok")]),
        lambda s: s.extend(pt.user("ok")),
        lambda s: s.extend("ok"),
        lambda s: s.overflow("too long", model="gpt-5"),
        lambda s: s.recall("ok", where="tool"),
        lambda s: s.recall("ok", where={"role": "nobody"}),
        lambda s: s.recall("ok", where={"age": 5}),
        lambda s: s.recall("ok", sessions="other"),
        lambda s: s.recall("ok", sessions=[5]),
        lambda s: s.recall("ok", budget_tokens=-1),
        lambda s: s.grant(5),
        lambda s: s.prefer("x", 5),
        lambda s: s.prefer(" "),
        lambda s: s.inject("note"),
        lambda s: s.choose("paged"),
        lambda s: s.plan(5),
        lambda s: s.plan("g", "abc"),
        lambda s: s.plan("g", [1, 2]),
        lambda s: s.plan("g", ["a"], "0"),
        lambda s: s.pin(5),
        lambda s: s.pin("rule", 5),
        lambda s: s.unpin(None),
        lambda s: s.reset(5),
        lambda s: s.undo("1"),
        lambda s: s.erase(None),
        lambda s: s.retract(["k"]),
        lambda s: s.recall(None),
        lambda s: s.recall("x", limit=2**63),
        lambda s: s.recall("x", limit=1.5),
        lambda s: s.resolve("p2-aaaa", start=-5),
        lambda s: s.resolve("p2-aaaa", length=-3),
        lambda s: s.fork(""),
        lambda s: s.fork(5),
        lambda s: s.write_back({"field": "x"}),
        lambda s: s.write_back(pt.Proposal(field=5, value=1)),
        lambda s: s.write_back(pt.Proposal(field="memory.a", value=1, key=7)),
        lambda s: s.write_back(pt.Proposal(field="memory.a", value=1, op="zap")),
        lambda s: s.write_back(pt.Proposal(field="memory.a", value="\ud800")),
    ],
)
def test_an_argument_of_the_wrong_kind_is_refused_and_nothing_is_written(store, act):
    session = open_session(store)
    session.append(pt.user("hello"))
    with pytest.raises(pt.InvalidInput):
        act(session)
    assert store.session("s").head == 2
    assert session.checkpoint() is None
    assert texts(reopened(session)) == ["hello"]


def test_odd_queries_are_faults_like_any_other(store):
    session = open_session(store)
    session.append(pt.user("hello"))
    for query in ("zzz \ud800", "zz\0z"):
        assert session.recall(query) == pt.NoMatch()
    assert session.resolve("\ud800") == session.resolve(None) == pt.NoMatch()
    assert session.checkpoint() is None
    assert reopened(session).reader.fault_counts() == {"no_match": 4}


@pytest.mark.parametrize(
    "options", [{"url": None}, {"url": b"x"}, {"url": ""}, {"url": "a\0b"}, {"model": 5}, {"scope": ""}, {"id": b"x"}]
)
def test_a_session_cannot_be_opened_with_nonsense(options):
    with pytest.raises(pt.InvalidInput):
        pt.Session.open(**options)


def test_a_session_can_be_opened_by_a_path(tmp_path):
    with pt.Session.open(tmp_path / "a.db", id="s") as session:
        page = session.append(pt.user("hello"))
    assert pt.Session.open(f"{tmp_path}/a.db?durability=normal", id="s").resolve(page).text == "hello"


def test_a_message_of_fifty_megabytes_is_kept_whole():
    session = open_session()
    body = "0123456789abcdef\n" * 3_000_000
    page = session.append(pt.tool_result("c", body))
    assert page.size > 50_000_000
    assert reopened(session).resolve(page.handle).message.tool_results[0].content == body


def test_odd_input_is_kept_as_it_is():
    session = open_session()
    session.append(pt.tool_result("nobody-called", "a result before its call"))
    session.append(pt.assistant(call(1), call(1), pt.ToolCall(id="c2", name="n", arguments='{"cut')))
    session.append(pt.user("NUL \0 and \x07 and \U0010ffff"))
    messages = list(reopened(session).reader.messages())
    assert messages[1].tool_calls[2].arguments == '{"cut'
    assert messages[2].text == "NUL \0 and \x07 and \U0010ffff"


def test_a_lone_surrogate_is_refused_and_nothing_is_written():
    session = open_session()
    with pytest.raises(pt.InvalidInput, match="text that is valid Unicode"):
        session.extend([pt.user("fine"), pt.user("half \ud800")])
    assert session.reader.pages() == ()


@pytest.mark.parametrize("id", ["../etc/passwd", "a/b", "", "a" * 129, ".hidden", "a..b", "a\0b", "a b", "é", "-x"])
def test_an_id_with_tricks_is_refused(id):
    with pytest.raises(pt.InvalidInput, match="id: expected 1 to 128 letters"):
        pt.Session.open(id=id)
    with pytest.raises(pt.InvalidInput, match="id: expected 1 to 128 letters"):
        open_session().fork(id) if id else pt.Session.open(id=id)


def test_an_id_is_made_where_none_is_given():
    first, second = pt.Session.open(), pt.Session.open()
    assert first.id != second.id
    assert (len(first.id), first.id[14]) == (36, "7")


def test_ids_of_version_seven_are_ordered_by_time():
    clock, entropy = Clock(), random.Random(3).randbytes
    moments = [clock() for _ in range(20)]
    ids = [uuid7(moment, entropy) for moment in moments]
    assert ids == sorted(ids)
    assert {(UUID(id).version, UUID(id).variant) for id in ids} == {(7, RFC_4122)}
    assert [UUID(id).int >> 80 for id in ids] == [micros(moment) // 1_000 for moment in moments]


def test_messages_are_extended_by_in_order_and_an_error_names_the_one_that_is_none():
    session = open_session()
    pages = session.extend(iter([pt.user("a"), pt.assistant("b"), pt.user("c")]))
    assert [page.role for page in pages] == ["user", "assistant", "user"]
    with pytest.raises(pt.InvalidInput, match=r"messages\[1\]: expected a Message, got str 'x'"):
        session.extend([pt.user("a"), "x"])


@pytest.mark.parametrize("levels", [101, 900, 20_000])
def test_what_is_nested_too_deeply_to_be_read_back_everywhere_is_refused(levels):
    session = open_session()
    page = session.append(pt.user("a", metadata={"deep": nested(50)}))
    with pytest.raises(pt.InvalidInput):
        session.append(pt.user("b", metadata={"deep": nested(levels)}))
    with pytest.raises(pt.InvalidInput):
        session.write_back(pt.Proposal(field="memory.x", value=nested(levels), evidence=(page.handle,)))
    assert session.checkpoint() is None
    assert len(reopened(session).reader.pages()) == 1


@pytest.mark.parametrize(
    ("act", "complaint"),
    [
        (lambda s: pt.Session.open(["a.db"]), "url: expected a URL, a path or a store, got"),
        (
            lambda s: pt.Session.open(scope="\ud800"),
            "scope: expected text that is valid Unicode, got the lone surrogate",
        ),
        (lambda s: s.pin("x", "\ud800"), "structured: expected text that is valid Unicode"),
        (lambda s: s.recall("x", scope=["a"]), "scope: expected some text"),
        (lambda s: s.plan("x", None), "steps: expected a list of texts, got None"),
        (lambda s: take_tasks(s, None), "lines: expected lines of JSON, got None"),
        (lambda s: s.reader.memory(5), "name: expected some text, got 5"),
        (lambda s: s.write_back(pt.Proposal(field="plan", key=["a"])), r"\$.key: expected"),
        (lambda s: s.undo("1"), "turns: expected at least one turn to undo, got '1'"),
    ],
)
def test_a_wrong_argument_is_named(act, complaint):
    with pytest.raises(pt.InvalidInput, match=complaint):
        act(open_session())


def test_a_name_that_is_refused_leaves_no_file(tmp_path):
    with pytest.raises(pt.InvalidInput):
        pt.Session.open(str(tmp_path / "new.db"), id="a/b")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "tool",
    [
        {"name": "recall", "input_schema": {}},
        {"type": "function", "function": {"name": "recall"}},
        {"type": "custom", "custom": {"name": "recall"}},
        {"function_declarations": [{"name": "read"}, {"name": "recall"}]},
        {"functionDeclarations": [{"name": "recall"}]},
    ],
)
def test_a_tool_by_the_name_of_the_recall_tool_is_refused(tool):
    session = open_session()
    for _ in range(2):
        with pytest.raises(pt.InvalidInput, match=r"^tools: expected no 'recall'.*, got .* at tools\[1\]") as caught:
            session.derive([{"name": "read"}, tool])
        assert caught.value.path == "tools"
    assert open_session(recall=None).derive([tool]).tools == (tool,)
    assert open_session(recall=pt.RecallTool(name="look_back")).derive([tool]).tools[0] == tool
    assert session.derive([{"name": "Recall"}, {"function": "recall"}, {"type": "recall"}])


def test_a_tool_that_is_no_definition_is_refused():
    with pytest.raises(pt.InvalidInput, match=r"^tools\[1\]: expected a Mapping, got str 'read'"):
        open_session().derive([{"name": "read"}, "read"])


@pytest.mark.parametrize("tokens", [2**53, 2**64, 2**70, 10**400])
def test_a_count_that_no_provider_can_mean_is_refused_and_the_session_goes_on(tokens):
    session = open_session()
    session.append(pt.user("hello"))
    for act in (
        lambda: session.append(pt.assistant("yes", usage=pt.Usage(input_tokens=tokens))),
        lambda: session.append(pt.user("x"), pt.Usage(input_tokens=1, output_tokens=tokens)),
        lambda: session.choose(pt.Paged(tokens)),
        lambda: openai_chat.load_reply(
            {"choices": [{"message": {"role": "assistant", "content": "x"}}], "usage": {"prompt_tokens": tokens}}
        ),
    ):
        with pytest.raises(pt.InvalidInput):
            act()
    assert session.checkpoint() is None
    assert texts(reopened(session)) == ["hello"]


def test_a_number_of_any_size_in_a_field_that_nobody_knows_is_kept():
    session = open_session()
    usage = pt.Usage(input_tokens=1, extra={"vendor": {"credits": 10**400}})
    session.extend([pt.user("hello"), pt.assistant("yes", usage=usage)])
    assert session.checkpoint() is None
    assert reopened(session).reader.usage == usage
