"""The middleware in real agents of LangChain, LangGraph and deepagents, on scripted models."""

import asyncio
import json
import re
import runpy
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

pytest.importorskip("langchain", reason="LangChain is not installed (make test-adapters)")

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, ModelRequest, ModelResponse
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage, ChatMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command

import pageturn as pt
from pageturn.adapters.langchain import PageturnMiddleware
from pageturn.adapters.langchain_messages import Originals, without_reasoning
from pageturn.formats import openai_chat
from pageturn.stores import MemoryStore
from pageturn.tokens.counters import counter_for
from tests.adapters.langchain_agents import (
    MODEL,
    ScriptedModel,
    agent_of,
    bash,
    calls,
    from_list,
    output,
    results,
    thread,
    work,
)
from tests.strict import anthropic as strict_anthropic
from tests.strict import openai_chat as strict_openai

ROOT = Path(__file__).parent.parent.parent
LARGE = pt.Paged(budget_tokens=200_000)
SMALL = pt.Paged(budget_tokens=4_000)
RULE = "Never push to main."


def openai_request(messages, tools=()):
    openai = pytest.importorskip("langchain_openai", reason="langchain-openai is not installed")
    model = openai.ChatOpenAI(model=MODEL, api_key="-")
    return model._get_request_payload(messages) | ({"tools": list(tools)} if tools else {})


def anthropic_request(messages):
    anthropic = pytest.importorskip("langchain_anthropic", reason="langchain-anthropic is not installed")
    payload = anthropic.ChatAnthropic(model="claude-sonnet-4-5", api_key="-")._get_request_payload(messages)
    return {name: payload[name] for name in ("model", "max_tokens", "system", "messages") if name in payload}


def asked(middleware, messages, *, system=None, reply=None, model=None):
    """What the model gets if the middleware is called with these messages."""
    seen = []

    def handler(request):
        seen.append(request)
        return ModelResponse(result=[reply or AIMessage("ok", id="reply")])

    scripted = model or ScriptedModel(reply=lambda _messages: AIMessage("ok"))
    request = ModelRequest(model=scripted, messages=list(messages), system_message=system, tools=[])
    middleware.wrap_model_call(request, handler)
    return seen[-1]


def sessions(store):
    return sorted(row.id for row in store.sessions())


def texts(store, name):
    """What was said in a session: words, and the contents of results."""
    with pt.Session.open(store, id=name) as session:
        told = [message for message in session.reader.messages() if message.metadata]
    return [message.tool_results[0].content if message.tool_results else message.text for message in told]


# -- messages

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=30)
SAID = WORDS.filter(str.strip)
MEDIA = st.sampled_from(
    [
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png", "detail": "low"}},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
        {"type": "image", "base64": PNG, "mime_type": "image/png"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
        {"type": "file", "url": "https://example.com/a.txt", "mime_type": "text/plain"},
        {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
        {"type": "video", "url": "https://example.com/a.mp4"},
        {"type": "text-plain", "text": "notes", "mime_type": "text/plain"},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}},
        {"something": ["new", {"of": 1}]},
    ]
)
PDF = st.sampled_from(
    [{"type": "file", "base64": "JVBERi0=", "mime_type": "application/pdf"}, {"type": "file", "file_id": "file-7"}]
)
REASONING = st.sampled_from(
    [
        {"type": "thinking", "thinking": "hm", "signature": "sig"},
        {"type": "redacted_thinking", "data": "xyz"},
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "s"}],
            "encrypted_content": "e",
        },
        {"type": "reasoning", "reasoning": "standard"},
    ]
)
TEXT_BLOCK = SAID.map(lambda text: {"type": "text", "text": text, "annotations": []})
EXTRA = st.sampled_from(
    [{}, {"reasoning_content": "because"}, {"custom": object}, {"cache_control": {"type": "ephemeral"}}]
)
ARGS = st.dictionaries(SAID, st.none() | st.integers() | SAID | st.lists(SAID, max_size=2), max_size=3)


@st.composite
def exchange(draw, number=0):
    """Words of a person, and an answer with calls and their results."""
    names = draw(st.none() | st.just("ada"))
    heard = draw(SAID | st.lists(TEXT_BLOCK | MEDIA | SAID, min_size=1, max_size=3) | PDF.map(lambda block: [block]))
    kind = draw(st.sampled_from([HumanMessage, HumanMessage, ChatMessage]))
    fields = {"role": "user"} if kind is ChatMessage else {}
    person = kind(heard, id=draw(st.uuids().map(str)), name=names, additional_kwargs=draw(EXTRA), **fields)
    count = draw(st.integers(0, 2))
    made = [{"name": "bash", "args": draw(ARGS), "id": str(draw(st.uuids()))} for _ in range(count)]
    broken = (
        [{"name": "bash", "args": "{", "id": str(draw(st.uuids())), "error": "no JSON"}] if draw(st.booleans()) else []
    )
    content = draw(SAID | st.tuples(REASONING, TEXT_BLOCK).map(list) | st.lists(TEXT_BLOCK, min_size=1, max_size=2))
    answer = AIMessage(
        content,
        id=draw(st.uuids().map(str)),
        tool_calls=made,
        invalid_tool_calls=broken,
        additional_kwargs=draw(EXTRA),
        response_metadata=draw(st.sampled_from([{}, {"model_provider": "anthropic"}, {"model_provider": "openai"}])),
        usage_metadata=draw(st.none() | st.just({"input_tokens": 5, "output_tokens": 1, "total_tokens": 6})),
    )
    answers = [
        ToolMessage(
            draw(WORDS | st.lists(TEXT_BLOCK | MEDIA, min_size=1, max_size=2)),
            tool_call_id=call["id"],
            name=draw(st.none() | st.just("bash")),
            status=draw(st.sampled_from(["success", "error"])),
            artifact=draw(st.none() | st.builds(object)),
        )
        for call in [*made, *broken]
    ]
    return [person, answer, *answers]


@settings(max_examples=100, deadline=None, phases=[Phase.generate])  # a smaller example takes minutes to find
@given(st.lists(exchange(), min_size=1, max_size=2), SAID)
def test_what_is_shown_in_full_is_the_object_that_came(turns, last):
    middleware = PageturnMiddleware(policy=pt.Paged.faithful(900_000))
    messages = [message for turn in turns for message in turn] + [HumanMessage(last, id="last")]
    system = SystemMessage([{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}])
    roomy = ScriptedModel(reply=lambda _messages: AIMessage("ok"), model_name="gpt-4.1")  # a file may be any size
    request = asked(middleware, messages, system=system, model=roomy)
    assert len(request.messages) == len(messages)
    for shown, came in zip(request.messages, messages, strict=True):
        assert shown is came or (has_reasoning(came) and shown == without_reasoning(came))
    assert request.system_message is system
    middleware.close()


def has_reasoning(message):
    """Only behind the prompt that it was made on is reasoning valid, and here no model has seen that prompt."""
    return message.type == "ai" and any(
        block["type"] in ("reasoning", "non_standard") for block in message.content_blocks
    )


def test_reasoning_that_no_longer_holds_is_taken_out_and_the_rest_of_the_object_stays():
    thinking = {"type": "thinking", "thinking": "hm", "signature": "sig"}
    block = {"type": "text", "text": "Yes.", "citations": [{"page": 1}]}
    message = AIMessage([thinking, block], id="a", response_metadata={"model_provider": "anthropic"})
    [said] = Originals([message]).said
    bare = pt.assistant("Yes.", metadata=said.message.metadata)
    found = Originals([message]).of(bare)
    assert found == without_reasoning(message)
    assert (found.content, found.id) == ([block], "a")


def test_instructions_in_the_middle_become_the_users_words_in_tags():
    messages = [
        HumanMessage("Hi.", id="1"),
        AIMessage("Hello.", id="2"),
        SystemMessage("Be brief.", id="3"),
        HumanMessage("Go.", id="4"),
    ]
    request = asked(PageturnMiddleware(policy=LARGE), messages, system=SystemMessage("You help."))
    assert [message.type for message in request.messages] == ["human", "ai", "human"]
    assert "<system-reminder>" in request.messages[2].content
    assert "Be brief." in request.messages[2].content
    assert request.messages[2].content.endswith("Go.")


# -- an agent


@pytest.fixture(scope="module")
def long_run():
    """An agent of forty turns with large results, in 4,000 tokens."""
    store = MemoryStore()
    middleware = PageturnMiddleware(store, policy=SMALL, rules=[RULE])
    replies = work(40)
    replies[30] = calls(
        ("recall", {"query": "make step3"}), ("bash", {"command": "make step30"}), ("recall", {"query": "step7"})
    )
    agent, model = agent_of(replies, [middleware])
    state = agent.invoke({"messages": [HumanMessage("The login returns 500. Find out why.")]}, thread())
    return SimpleNamespace(store=store, model=model, messages=state["messages"])


def test_every_request_is_within_the_budget_and_has_the_rule_and_the_task(long_run):
    tools = [json.loads(json.dumps(each)) for each in openai_tools(long_run.model.offered[0])]
    for request in long_run.model.requests:
        prompt = openai_chat.load_request(openai_request(request))
        counter = counter_for(MODEL)
        assert sum(map(counter.message, prompt.messages)) + counter.tools(tools) <= 4_000
        assert request[0].text == f"You are a coding agent.\n\n{RULE}"
        assert str(request[1].content).startswith("The login returns 500.")
    assert len(long_run.model.requests) == 41


def openai_tools(tools):
    return [convert_to_openai_tool(each) for each in tools]


def test_every_request_is_valid_for_openai_and_templates_of_open_models(long_run):
    for request in long_run.model.requests:
        assert strict_openai.problems(openai_request(request), template=True) == []


def test_every_request_is_valid_for_anthropic(long_run):
    for request in long_run.model.requests:
        assert strict_anthropic.problems(anthropic_request(request), model="claude-sonnet-4-5") == []


def test_the_history_of_the_agent_stays_whole(long_run):
    assert [message.content for message in results(long_run.messages, "bash")] == [
        output(f"make step{n}") for n in range(40)
    ]
    assert sessions(long_run.store) == ["t"]


def test_recall_is_a_tool_of_the_agent_and_its_answer_is_stored_once(long_run):
    found = results(long_run.messages, "recall")
    assert len(found) == 2
    assert "make step3" in found[0].content
    assert "step7" in found[1].content
    offered = next(each for each in openai_tools(long_run.model.offered[0]) if each["function"]["name"] == "recall")
    assert offered["function"]["description"] == pt.RecallTool().description
    assert offered["function"]["parameters"] == pt.RecallTool().parameters
    with pt.Session.open(long_run.store, id="t") as session:
        answered = [result.tool_call_id for message in session.reader.messages() for result in message.tool_results]
        assert len(answered) == len(set(answered)) == 42
        assert session.pending() == ()


def test_recall_answers_in_an_event_loop_too():
    replies = work(12)
    replies[10] = calls(("recall", {"query": "make step3"}), ("recall", {"handle": "p1-none"}))
    agent, _ = agent_of(replies, [PageturnMiddleware(policy=SMALL)])
    state = asyncio.run(agent.ainvoke({"messages": [HumanMessage("Fix it.")]}, thread()))
    found, unknown = results(state["messages"], "recall")
    assert "make step3" in found.content
    assert (found.status, unknown.status) == ("success", "error")


def test_what_was_used_is_known(long_run):
    reply = AIMessage(
        "ok",
        id="r",
        usage_metadata={
            "input_tokens": 900,
            "output_tokens": 7,
            "total_tokens": 907,
            "input_token_details": {"cache_read": 800, "cache_creation": 50},
        },
    )
    store = MemoryStore()
    asked(PageturnMiddleware(store), [HumanMessage("Hi.", id="first")], reply=reply)
    with pt.Session.open(store, id="first") as session:
        used = session.reader.usage
        assert (used.input_tokens, used.output_tokens, used.cache_read_tokens, used.cache_write_tokens) == (
            900,
            7,
            800,
            50,
        )
        assert session.reader.model == MODEL


# -- threads, branches, processes


def test_time_travel_is_a_fork_and_both_branches_go_on():
    store = MemoryStore()
    answers = ["first", "second", "other second", "third"]
    agent, model = agent_of([AIMessage(text) for text in answers], [PageturnMiddleware(store, policy=LARGE)])
    agent.invoke({"messages": [HumanMessage("one")]}, thread())
    before = agent.get_state(thread()).config
    agent.invoke({"messages": [HumanMessage("two")]}, thread())
    after = agent.get_state(thread()).config
    agent.invoke({"messages": [HumanMessage("another two")]}, before | {"recursion_limit": 50})
    assert sessions(store) == ["t", "t.1"]
    agent.invoke({"messages": [HumanMessage("three")]}, after | {"recursion_limit": 50})
    assert texts(store, "t") == ["one", "first", "two", "second", "three", "third"]
    assert texts(store, "t.1") == ["one", "first", "another two", "other second"]
    assert [message.content for message in model.requests[2][1:]] == ["one", "first", "another two"]


def test_an_edit_of_the_state_is_a_fork():
    store = MemoryStore()
    agent, model = agent_of([AIMessage("first"), AIMessage("second")], [PageturnMiddleware(store, policy=LARGE)])
    agent.invoke({"messages": [HumanMessage("one", id="h1")]}, thread())
    agent.update_state(thread(), {"messages": [HumanMessage("one, edited", id="h1")]})
    agent.invoke({"messages": [HumanMessage("two")]}, thread())
    assert [message.content for message in model.requests[1][1:]] == ["one, edited", "first", "two"]
    assert texts(store, "t") == ["one", "first"]
    assert texts(store, "t.1") == ["one, edited", "first", "two", "second"]


PROCESS = """
import sys
import pageturn as pt
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from pageturn.adapters.langchain import PageturnMiddleware
from tests.adapters.langchain_agents import agent_of, thread, work

folder, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with SqliteSaver.from_conn_string(f"{folder}/graph.db") as saver:
    middleware = PageturnMiddleware(f"{folder}/agent.db", policy=pt.Paged(budget_tokens=4_000), rules=["Never push to main."])
    for turn in range(first, last):
        agent, model = agent_of(work(6, f"turn {turn} step "), [middleware], saver=saver)
        agent.invoke({"messages": [HumanMessage(f"Task {turn}.")]}, thread())
    for message in model.requests[0]:
        print(message.type, message.text)
    middleware.close()
"""


def test_a_second_process_goes_on_where_the_first_ended(tmp_path):
    pytest.importorskip("langgraph.checkpoint.sqlite", reason="langgraph-checkpoint-sqlite is not installed")

    def run(folder, *turns):
        folder.mkdir(exist_ok=True)
        command = [sys.executable, "-c", PROCESS, str(folder), *map(str, turns)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
        assert done.returncode == 0, done.stderr
        return re.sub(r"p(\d+)-\w{4}", r"p\1", done.stdout)  # the checks of handles are random

    run(tmp_path / "two", 0, 2)
    resumed = run(tmp_path / "two", 2, 3)
    assert resumed == run(tmp_path / "one", 0, 3)
    assert "Task 0." in resumed
    assert "<page>" in resumed


def test_tasks_in_one_event_loop_are_never_mixed():
    store = MemoryStore()
    middleware = PageturnMiddleware(store, policy=SMALL)

    async def talk(number):
        agent, model = agent_of(work(8, f"job {number} step "), [middleware])
        await agent.ainvoke({"messages": [HumanMessage(f"Do job {number}.")]}, thread(f"job-{number}"))
        return model

    async def all_jobs():
        return await asyncio.gather(*map(talk, range(6)))

    models = asyncio.run(all_jobs())
    for number, model in enumerate(models):
        shown = str(model.requests)
        assert set(re.findall(r"job (\d+)", shown)) == {str(number)}
        told = texts(store, f"job-{number}")
        assert [text for text in told if text.startswith("$ ")] == [output(f"job {number} step {n}") for n in range(8)]


def test_threads_at_once_are_never_mixed_and_lose_nothing(tmp_path):
    middleware = PageturnMiddleware(tmp_path / "agent.db", policy=SMALL)
    agents = [agent_of(work(6, f"job {number} step "), [middleware])[0] for number in range(6)]

    def talk(number):
        agents[number].invoke({"messages": [HumanMessage(f"Do job {number}.")]}, thread(f"job-{number}"))

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(talk, range(6)))
    middleware.close()
    for number in range(6):
        told = texts(tmp_path / "agent.db", f"job-{number}")
        assert [text for text in told if text.startswith("$ ")] == [output(f"job {number} step {n}") for n in range(6)]


def test_a_long_thread_can_begin_with_the_middleware_at_any_time():
    messages = [HumanMessage("The login returns 500.", id="first")]
    for n, reply in enumerate(work(60)[:60]):
        messages += [reply.model_copy(update={"id": f"a{n}"})]
        messages += [ToolMessage(output(f"make step{n}"), tool_call_id=reply.tool_calls[0]["id"])]
    request = asked(PageturnMiddleware(policy=SMALL), messages, system=SystemMessage("You code."))
    shown = [request.system_message, *request.messages]
    assert strict_openai.problems(openai_request(shown), template=True) == []
    assert sum(map(counter_for(MODEL).message, openai_chat.load_request(openai_request(shown)).messages)) <= 4_000
    assert "The login returns 500." in request.messages[0].content


def test_without_a_thread_the_first_message_names_the_session():
    store = MemoryStore()
    middleware = PageturnMiddleware(store, policy=LARGE)
    asked(middleware, [HumanMessage("Hi.", id="first")])
    asked(middleware, [HumanMessage("Hi.", id="first"), AIMessage("ok", id="reply"), HumanMessage("More.", id="3")])
    asked(middleware, [HumanMessage("Hi.", id="other")])
    assert sessions(store) == ["first", "other"]


def test_an_agent_that_is_a_node_of_a_graph_goes_on_in_its_session():
    store = MemoryStore()
    model = ScriptedModel(reply=lambda messages: AIMessage(f"answer to {messages[-1].text}"))
    agent = create_agent(model, [], middleware=[PageturnMiddleware(store, policy=LARGE)])
    graph = StateGraph(MessagesState)
    graph.add_node("coder", agent)
    graph.add_edge(START, "coder")
    built = graph.compile(checkpointer=InMemorySaver())
    built.invoke({"messages": [HumanMessage("one", id="first")]}, thread())
    built.invoke({"messages": [HumanMessage("two")]}, thread())
    [name] = sessions(store)
    assert name.startswith("t-coder-first")
    assert texts(store, name) == ["one", "answer to one", "two", "answer to two"]


def test_an_answer_that_is_streamed_is_stored_whole():
    store = MemoryStore()
    agent, _ = agent_of(work(2), [PageturnMiddleware(store, policy=LARGE)])
    chunks = list(agent.stream({"messages": [HumanMessage("Fix it.")]}, thread(), stream_mode="messages"))
    assert chunks
    assert texts(store, "t") == ["Fix it.", "", output("make step0"), "", output("make step1"), "done"]


def test_a_call_that_a_person_changed_goes_on_in_its_session():
    store = MemoryStore()
    asks = HumanInTheLoopMiddleware(interrupt_on={"bash": True})
    agent, model = agent_of(work(1), [asks, PageturnMiddleware(store, policy=LARGE)])
    agent.invoke({"messages": [HumanMessage("Fix it.")]}, thread())
    edited = {"type": "edit", "edited_action": {"name": "bash", "args": {"command": "make safe"}}}
    state = agent.invoke(Command(resume={"decisions": [edited]}), thread())
    told = [message.content for message in state["messages"]]
    assert [message.content for message in model.requests[1][1:]] == told[:-1]
    assert texts(store, sessions(store)[-1]) == told


def test_a_structured_answer_is_given_on():
    store = MemoryStore()
    port = {"title": "Port", "type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}
    model = ScriptedModel(reply=from_list([calls(("Port", {"number": 8443}))]))
    middleware = PageturnMiddleware(store, policy=LARGE)
    agent = create_agent(model, [bash], middleware=[middleware], response_format=ToolStrategy(port))
    state = agent.invoke({"messages": [HumanMessage("Which port?", id="first")]})
    assert state["structured_response"] == {"number": 8443}
    assert texts(store, "first") == ["Which port?", ""]


def test_subagents_of_deepagents_have_sessions_of_their_own():
    deepagents = pytest.importorskip("deepagents", reason="deepagents is not installed")
    store = MemoryStore()
    middleware = PageturnMiddleware(store, policy=LARGE)
    helper = ScriptedModel(reply=lambda messages: AIMessage(f"found by {messages[-1].text}"))
    asks = [("task", {"description": f"look {name}", "subagent_type": "helper"}) for name in ("left", "right")]
    model = ScriptedModel(reply=from_list([calls(*asks), AIMessage("done")]))
    spec = {
        "name": "helper",
        "description": "Looks.",
        "system_prompt": "Look.",
        "model": helper,
        "tools": [],
        "middleware": [middleware],
    }
    agent = deepagents.create_deep_agent(
        model, [], subagents=[spec], middleware=[middleware], checkpointer=InMemorySaver()
    )
    state = agent.invoke({"messages": [HumanMessage("Look around.")]}, thread())
    assert sorted(message.content for message in results(state["messages"], "task")) == [
        "found by look left",
        "found by look right",
    ]
    own, *others = sorted(sessions(store), key=len)
    assert own == "t"
    assert sorted(texts(store, name) for name in others) == [
        ["look left", "found by look left"],
        ["look right", "found by look right"],
    ]


# -- what goes wrong


TOO_LONG = "This model's maximum context length is 2500 tokens. However, your messages resulted in 3900 tokens."


@pytest.mark.parametrize("is_async", [False, True])
def test_a_prompt_that_is_too_long_is_sent_once_more_and_shorter(is_async):
    replies = work(6)
    replies.insert(4, ValueError(TOO_LONG))
    agent, model = agent_of(replies, [PageturnMiddleware(policy=SMALL)])
    given = {"messages": [HumanMessage("Fix it.")]}
    state = asyncio.run(agent.ainvoke(given, thread())) if is_async else agent.invoke(given, thread())
    assert state["messages"][-1].text == "done"
    refused, again = (sum(len(str(each.content)) for each in model.requests[at]) for at in (4, 5))
    assert again < refused


def test_a_second_refusal_and_any_other_error_reach_the_host():
    replies = [*work(4)[:4], ValueError(TOO_LONG), ValueError(TOO_LONG)]
    agent, model = agent_of(replies, [PageturnMiddleware(policy=SMALL)])
    with pytest.raises(ValueError, match="maximum context length"):
        agent.invoke({"messages": [HumanMessage("Fix it.")]}, thread())
    assert len(model.requests) == 6
    agent, model = agent_of([ConnectionError("gone")], [PageturnMiddleware(policy=SMALL)])
    with pytest.raises(ConnectionError, match="gone"):
        agent.invoke({"messages": [HumanMessage("Fix it.")]}, thread())
    assert len(model.requests) == 1


def test_after_an_error_the_thread_goes_on():
    store = MemoryStore()
    agent, _ = agent_of([ConnectionError("gone"), AIMessage("done")], [PageturnMiddleware(store, policy=SMALL)])
    with pytest.raises(ConnectionError):
        agent.invoke({"messages": [HumanMessage("Fix it.")]}, thread())
    agent.invoke(None, thread())
    assert texts(store, "t") == ["Fix it.", "done"]


def test_without_recall_no_tool_is_offered_and_no_handle_is_shown():
    agent, model = agent_of(work(12), [PageturnMiddleware(policy=SMALL, recall=None)])
    agent.invoke({"messages": [HumanMessage("Fix it.")]}, thread())
    assert [each.name for each in model.offered[0]] == ["bash"]
    assert not re.search(r"\bp\d+-\w{4}\b", str(model.requests))


def test_a_host_that_has_a_tool_of_the_same_name_is_told():
    @tool
    def recall(query: str) -> str:
        """Remember."""
        return query

    named = PageturnMiddleware(policy=SMALL, recall=pt.RecallTool(name="page_back"))
    agent, model = agent_of([AIMessage("done")], [named], tools=[bash, recall])
    agent.invoke({"messages": [HumanMessage("Fix it.")]}, thread())
    assert {each.name for each in model.offered[0]} == {"bash", "recall", "page_back"}
    request = ModelRequest(model=model, messages=[HumanMessage("Fix it.", id="1")], tools=[recall])
    with pytest.raises(pt.InvalidInput, match=r"no 'recall', which is the recall tool \(RecallTool\(name="):
        PageturnMiddleware(policy=SMALL).wrap_model_call(request, lambda _request: None)


def test_mistakes_are_named_when_the_middleware_is_made():
    with pytest.raises(pt.InvalidInput, match="rules: expected texts, got 'Never push"):
        PageturnMiddleware(rules=RULE)
    with pytest.raises(pt.InvalidInput, match="recall: expected a RecallTool"):
        PageturnMiddleware(recall="recall")
    with pytest.raises(pt.InvalidInput, match="policy"):
        PageturnMiddleware(policy="paged")
    with pytest.raises(pt.BudgetTooSmall):
        PageturnMiddleware(policy=SMALL, rules=["Never push. " * 4_000])


# -- what a reader copies


def test_the_example_runs_within_its_budget():
    example = runpy.run_path(str(ROOT / "examples" / "langchain_agent.py"))
    model = example["ScriptedModel"]()
    assert example["main"](model) == "Found it."
    assert model.largest < 24_000  # of 34,000 characters that were read


def test_the_lines_of_the_page_run_as_they_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "langchain.md").read_text("utf-8")
    blocks = re.findall(r"```python langchain\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 3
    names = {"model": ScriptedModel(reply=lambda _messages: AIMessage("done")), "tools": [bash]}
    exec("\n".join(blocks), names)
    assert names["state"]["messages"][-1].text == "done"
    assert Path("agent.db").exists()
