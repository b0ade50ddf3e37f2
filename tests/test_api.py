"""The API that hosts and adapters build on, used as a stranger would: every vendor, with the objects of its official client."""

import json
from typing import NamedTuple

import pytest
from anthropic.types import Message as AnthropicMessage
from openai.types.chat import ChatCompletion
from openai.types.responses import Response

import pageturn as pt
from pageturn.formats import anthropic, gemini, openai_chat, openai_responses
from tests.formats.test_clients import ANTHROPIC_ANSWER, CHAT_ANSWER, GEMINI_ANSWER, RESPONSE

# Compiled for the first time, the module warns of an escape sequence of its own.
GenerateContentResponse = pytest.importorskip("google.genai.types").GenerateContentResponse

SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}}


class Vendor(NamedTuple):
    format: object
    model: str
    tool: dict
    reply: object  # that calls tools of the host
    history: str  # the field of a request that has the messages


VENDORS = [
    Vendor(
        openai_chat,
        "gpt-5",
        {"type": "function", "function": {"name": "bash", "parameters": SCHEMA}},
        ChatCompletion.model_validate(CHAT_ANSWER),
        "messages",
    ),
    Vendor(
        openai_responses,
        "gpt-5",
        {"type": "function", "name": "bash", "parameters": SCHEMA, "strict": False},
        Response.construct(**RESPONSE),
        "input",
    ),
    Vendor(
        anthropic,
        "claude-opus-5",
        {"name": "bash", "input_schema": SCHEMA},
        AnthropicMessage.model_validate(ANTHROPIC_ANSWER),
        "messages",
    ),
    Vendor(
        gemini,
        "gemini-3-pro",
        {"function_declarations": [{"name": "bash", "parameters": SCHEMA}]},
        GenerateContentResponse.model_validate(GEMINI_ANSWER),
        "contents",
    ),
]


@pytest.fixture(params=VENDORS, ids=lambda vendor: vendor.format.VENDOR)
def vendor(request):
    return request.param


@pytest.fixture
def url(tmp_path):
    return tmp_path / "agent.db"


@pytest.fixture
def session(vendor, url):
    with pt.Session.open(url, id="login-bug", model=vendor.model, policy=pt.Paged(budget_tokens=24_000)) as session:
        session.append(pt.system("You are a coding agent."))
        session.pin("Never push to main.")
        session.append(pt.user("Login returns 500 since yesterday."))
        yield session


def work(session, turns):
    for number in range(turns):
        session.derive()
        call = pt.ToolCall(id=f"k{number}", name="bash", arguments=json.dumps({"command": f"cat part_{number}.py"}))
        session.extend(
            [pt.assistant("Next.", call), pt.tool_result(call, f"def part_{number}(): return {number}\n" * 80)]
        )


def test_a_turn_with_the_objects_of_the_official_client(session, vendor):
    context = session.derive(tools=[vendor.tool])
    body = vendor.format.dump(context)
    assert "Never push to main." in json.dumps(body)
    page = session.append(vendor.format.load_reply(vendor.reply))
    assert isinstance(page, pt.Page)
    assert session.reader.turns()[-1].usage.input_tokens > 0
    assert session.answer() is False
    calls = session.pending()
    assert calls
    for call in calls:
        session.append(pt.tool_result(call, "ok"))
    assert session.pending() == ()
    assert session.derive(tools=[vendor.tool]).fold is None


def test_a_context_that_went_through_json_is_the_same_and_explains_itself(session, vendor):
    work(session, 12)
    context = session.derive(tools=[vendor.tool])
    copy = pt.from_json(pt.Context, pt.to_json(context))
    assert copy == context
    assert vendor.format.dump(copy) == vendor.format.dump(context)
    for page in session.reader.pages():
        assert str(copy.explain(page.handle)) == str(context.explain(page.handle))


def test_a_request_that_was_dumped_is_loaded_again_without_a_session(session, vendor):
    work(session, 3)
    body = {"model": vendor.model, **vendor.format.dump(session.derive(tools=[vendor.tool]))}
    prompt = vendor.format.load_request(body)
    assert len(prompt.tools) == 2  # the host's, and the recall tool
    assert vendor.format.dump(prompt) == body
    assert isinstance(vendor.format.load_messages(body[vendor.history]), list)


def test_everything_else_that_a_session_does(session, vendor, url):
    work(session, 6)
    reader, opening = session.reader, session.reader.pages()[0]
    found = session.recall("part_3", limit=2, where={"role": "tool"}, budget_tokens=60)
    assert isinstance(found, pt.Recalled)
    assert {hit.role for hit in found.hits} == {"tool"}
    assert isinstance(session.recall("part_3", sessions=["nobody"]), pt.Denied)
    assert isinstance(session.recall("zeppelin"), pt.NoMatch)
    assert session.resolve(opening).text == "You are a coding agent."
    assert session.resolve("p3-zzzz") == pt.NoMatch()
    plan = session.plan("Fix the login", ["look", "edit"])
    assert (plan.kind, reader.plan.goal) == ("plan", "Fix the login")
    assert session.prefer("Tabs.").kind == "preference"
    session.inject(pt.ContextMessage.session("git", "On branch main."))
    session.retract("git")
    committed = session.write_back(pt.Proposal(field="preference", value="Short answers.", evidence=(opening.handle,)))
    assert isinstance(committed, pt.Committed)
    rule = session.pin("Ask before a release, and write down the answer, whatever it is.", structured="Ask first.")
    form = pt.Proposal(field="structured", value="Ask before a release.", evidence=(opening.handle,))
    assert isinstance(session.write_back(form), pt.Waiting | pt.Rejected)
    for waiting in session.waiting():
        assert isinstance(session.reject(waiting.id, "too short"), pt.Rejected)
    session.unpin(rule)
    session.derive()
    assert session.overflow(Exception("prompt is too long: 210000 tokens > 200000 maximum")) is True
    assert session.checkpoint() is None
    with session.fork("branch") as branch:
        branch.append(pt.user("Something else."))
        assert len(branch.reader.pages()) == len(reader.pages()) + 1
    session.undo()
    erased = session.erase(reader.pages()[-1].handle)
    assert erased.blobs
    with pytest.raises(pt.InvalidInput, match="summary"):
        session.reset("Fixed.")
    session.reset("Fixed.", force=True)
    session.set_system("You are a careful reviewer.")
    assert session.derive().messages[0].text == "You are a careful reviewer."
    assert {info.id for info in pt.sessions(url)} == {"login-bug", "branch"}
    with pt.SessionReader.open(url, "login-bug") as stored:
        assert stored.messages() == reader.messages()
        assert stored.pages() == reader.pages()
        assert [turn.seq for turn in stored.turns()] == [turn.seq for turn in reader.turns()]
        assert stored.faults() == reader.faults()
        assert [each.seq for each in stored.entries()] == list(range(1, stored.head + 1))
        assert (stored.model, stored.policy) == (vendor.model, pt.Paged(budget_tokens=24_000))
