"""A derived context goes out whole, as each vendor takes it: valid, with its tools, and cached where it holds still."""

import json
from copy import deepcopy

import msgspec
import pytest

import pageturn as pt
from pageturn.context.pairing import PENDING
from pageturn.formats import anthropic, gemini, openai_chat, openai_responses
from pageturn.values.messages import Thinking, developer
from tests.context.checks import check_pairs
from tests.formats import examples
from tests.formats.for_model import dump_for
from tests.formats.test_round_trips import by_name
from tests.sessions import open_session

PARAMETERS = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOLS = {
    openai_chat: [{"type": "function", "function": {"name": "read", "parameters": PARAMETERS, "strict": False}}],
    openai_responses: [
        {"type": "function", "name": "read", "parameters": PARAMETERS, "strict": False},
        {"type": "web_search"},
    ],
    anthropic: [{"name": "read", "description": "Read a file.", "input_schema": PARAMETERS}],
    gemini: [{"function_declarations": [{"name": "read", "parameters": PARAMETERS}]}],
}
TOOL = pt.RecallTool()
RECALL = {
    openai_chat: {
        "type": "function",
        "function": {"name": "recall", "description": TOOL.description, "parameters": TOOL.parameters},
    },
    openai_responses: {
        "type": "function",
        "name": "recall",
        "description": TOOL.description,
        "parameters": TOOL.parameters,
        "strict": False,
    },
    anthropic: {"name": "recall", "description": TOOL.description, "input_schema": TOOL.parameters},
    gemini: {
        "function_declarations": [
            {"name": "recall", "description": TOOL.description, "parameters": TOOL.parameters},
        ]
    },
}
THOUGHTS = {
    openai_chat: Thinking(text="I think.", extra={"openai_chat": {"as": "reasoning_content"}}),
    openai_responses: openai_responses.load_messages(
        [{"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "I think."}]}]
    )[0].content[0],
    anthropic: Thinking(text="I think.", signature="sig=="),
    gemini: Thinking(text="I think.", extra={"gemini": {}}),
}
PICTURE = pt.Image(url=f"data:image/png;base64,{examples.PNG}")
MESSAGES = {openai_chat: "messages", openai_responses: "input", anthropic: "messages", gemini: "contents"}
RULE = "Never push to main."
MARK = {"type": "ephemeral"}


def read(number):
    return pt.ToolCall(id=f"c{number}", name="read", arguments=f'{{"path": "src/part_{number}.py"}}')


def lines(number):
    return "\n".join(f"def function_{number}_{line}(argument): return {line}" for line in range(30))


def turns(vendor, *, count=30, budget_tokens=4_000, tools=None):
    """The contexts of a session with everything in it: pictures, thinking, parallel calls, one that waits, rules that come late."""
    session = open_session(policy=pt.Paged(budget_tokens=budget_tokens))
    session.extend([pt.system("You are a coding agent."), developer("Be brief.")])
    session.append(pt.user("What is on this picture?", PICTURE))
    for number in range(0, 2 * count, 2):
        yield session.derive(TOOLS[vendor] if tools is None else tools)
        session.append(pt.assistant(THOUGHTS[vendor], f"Step {number}.", read(number), read(number + 1)))
        session.append(pt.tool_result(f"c{number + 1}", lines(number), PICTURE))
        if number % 6 == 0:
            session.append(pt.user(f"While it runs: what about part {number}?", synthetic=True))  # its call waits
        else:
            session.append(pt.tool_result(f"c{number}", "no such file", is_error=True))
        if number % 6 == 2:
            session.append(pt.tool_result(f"c{number - 2}", "at last"))
        if number == 8:
            session.pin(RULE)


@pytest.fixture(scope="module", params=[openai_chat, openai_responses, anthropic, gemini], ids=lambda v: v.VENDOR)
def played(request):
    """A vendor, and every context of such a session with what is dumped of it."""
    vendor = request.param
    return vendor, [(context, vendor.dump(context)) for context in turns(vendor)]


def written(request):
    return json.dumps(request, default=str, ensure_ascii=False)


# -- valid


def test_every_context_has_the_published_types(checks, played):
    vendor, contexts = played
    for _, request in contexts:
        checks[vendor](request)


def test_the_types_of_tools_are_checked(checks):
    for vendor, wrong in (
        (openai_chat, RECALL[anthropic]),
        (openai_responses, RECALL[openai_chat]),
        (anthropic, RECALL[openai_chat]),
        (gemini, RECALL[anthropic]),
    ):
        request = {"config": {"tools": [wrong]}} if vendor is gemini else {"tools": [wrong]}
        with pytest.raises(ValueError):
            checks[vendor](request)


def test_the_contexts_have_everything_in_them(played):
    vendor, contexts = played
    assert sum(context.fold is not None for context, _ in contexts) > 2
    assert any(placement.line for context, _ in contexts for placement in context.layout.placements)
    assert any(context.fold is None and context.frozen for context, _ in contexts)
    everything = "".join(written(request) for _, request in contexts)
    image = "inline_data" if vendor is gemini else examples.PNG
    thoughts = () if vendor is openai_chat else ("I think.",)  # OpenAI's own models have none there
    for part in (PENDING, image, *thoughts, "result that came late", "<page>", RULE):
        assert part in everything, part


def test_calls_and_results_are_paired_in_what_goes_out(played):
    vendor, contexts = played
    for _, request in contexts:
        check_pairs(vendor.load_request(request).messages)


def test_whoever_wants_the_user_to_begin_gets_it(played):
    vendor, contexts = played
    if vendor in (anthropic, gemini):
        for _, request in contexts:
            assert request[MESSAGES[vendor]][0]["role"] == "user"


def test_a_rule_that_comes_late_stands_in_its_place_and_not_in_the_opening(played):
    vendor, contexts = played
    late = [(context, request) for context, request in contexts if RULE in written(request)]
    assert len(late) > 10
    for context, request in late:
        opening = written(request.get("system") or request.get("config", {}).get("system_instruction"))
        assert RULE not in opening
        (at,) = [index for index, message in enumerate(context.messages) if message.text == RULE]
        assert at > 2
        (role,) = roles_of(RULE, vendor, request)
        assert role == ("user" if vendor in (anthropic, gemini) else "system")


def roles_of(text, vendor, request):
    return [message["role"] for message in request[MESSAGES[vendor]] if "role" in message and text in written(message)]


def test_mere_messages_are_dumped_as_in_a_context_and_without_tools(played):
    vendor, contexts = played
    for context, request in contexts:
        alone = dump_for(vendor, context.messages, context.model)
        if vendor is not anthropic:  # whose marks are looked at below
            assert request[MESSAGES[vendor]] == alone[MESSAGES[vendor]]
        assert tools_in(alone) is None


# -- tools


def tools_in(request):
    return request.get("config", request).get("tools")


def unmarked(tools):
    return [{name: value for name, value in tool.items() if name != "cache_control"} for tool in tools]


def test_the_tools_are_the_hosts_and_then_ours_and_the_same_in_every_turn(played):
    vendor, contexts = played
    assert unmarked(tools_in(contexts[0][1])) == [*TOOLS[vendor], RECALL[vendor]]
    assert len({json.dumps(tools_in(request)) for _, request in contexts}) == 1


@by_name
def test_without_tools_nothing_is_said_of_them(vendor):
    session = open_session(recall=None)
    session.append(pt.user("hi"))
    assert vendor.dump(session.derive()).keys() == {MESSAGES[vendor]}
    assert unmarked(tools_in(vendor.dump(session.derive(TOOLS[vendor])))) == TOOLS[vendor]


@by_name
def test_the_hosts_tools_are_not_touched(vendor):
    tools = deepcopy(TOOLS[vendor])
    session = open_session(recall=None)
    session.append(pt.user("hi"))
    vendor.dump(session.derive(tools))
    assert tools == TOOLS[vendor]


@by_name
def test_another_name_of_the_tool_is_offered(vendor):
    session = open_session(recall=pt.RecallTool(name="look_back"))
    session.append(pt.user("hi"))
    assert '"look_back"' in json.dumps(tools_in(vendor.dump(session.derive())))


# -- caches


def blocks_of(request):
    """Every block of a request, in the order in which the vendor caches it."""
    system, messages = request.get("system", []), [message["content"] for message in request["messages"]]
    contents = [[{"text": each}] if isinstance(each, str) else each for each in (system, *messages)]
    return [*request.get("tools", []), *(block for content in contents for block in content)]


def marks_of(request):
    """The numbers of the blocks behind which the cache ends."""
    assert written(request).count('"cache_control"') <= 4
    return [number for number, block in enumerate(blocks_of(request)) if "cache_control" in block]


def test_the_cache_ends_behind_instructions_within_what_is_frozen_and_behind_everything():
    most = 0
    for context in turns(anthropic):
        request = anthropic.dump(context)
        blocks, marks = blocks_of(request), marks_of(request)
        assert request["tools"][-1] == RECALL[anthropic]
        assert request["system"][-1] == {"type": "text", "text": "Be brief.", "cache_control": MARK}
        assert (marks[0], marks[-1]) == (3, len(blocks) - 1)
        frozen = len(request["tools"]) + len(blocks_of(anthropic.dump(context.messages[: context.frozen])))
        assert all(mark < frozen for mark in marks[1:-1])
        most = max(most, len(marks))
    assert most == 4


def test_without_instructions_the_cache_ends_behind_the_tools():
    session = open_session()
    session.append(pt.user("a"))
    request = anthropic.dump(session.derive())
    assert request["tools"] == [RECALL[anthropic] | {"cache_control": MARK}]
    assert marks_of(request) == [0, 1]


def test_between_folds_only_the_last_end_of_the_cache_moves():
    before, compared = None, 0
    for context in turns(anthropic, budget_tokens=8_000):
        request = anthropic.dump(context)
        marks, blocks = marks_of(request), [*map(plain_block, blocks_of(request))]
        if before is not None and context.fold is None and before[2].fold is None:
            assert marks[:-1] == before[0][:-1]
            assert blocks[: len(before[1])] == before[1]
            compared += 1
        before = marks, blocks, context
    assert compared > 5


def plain_block(block):
    return {name: value for name, value in block.items() if name not in ("cache_control", "type")}


def test_without_tools_the_cache_ends_in_the_messages_alone():
    session = open_session(recall=None)
    session.extend([pt.system("s"), pt.user("a")])
    assert marks_of(anthropic.dump(session.derive())) == [0, 1]


def test_places_that_the_caller_names_are_the_only_ones():
    session = open_session()
    session.extend([pt.system("s"), pt.user("a"), pt.user("b"), pt.user("c")])
    context = session.derive(TOOLS[anthropic])
    assert marks_of(anthropic.dump(msgspec.structs.replace(context, marks=(1,)))) == [3]
    assert marks_of(anthropic.dump(msgspec.structs.replace(context, marks=()))) == []
    assert marks_of(anthropic.dump(context.messages)) == []


@pytest.mark.parametrize(("given", "marks"), [(1, [0, 6, 7]), (3, [0, 1, 2, 7]), (4, [0, 1, 2, 3]), (5, None)])
def test_ends_that_the_host_put_behind_its_tools_are_spent_first(given, marks):
    host = [
        {"name": f"t{number}", "input_schema": PARAMETERS} | ({"cache_control": MARK} if number < given else {})
        for number in range(5)
    ]
    session = open_session()
    session.extend([pt.system("s"), pt.user("a")])
    request = anthropic.dump(session.derive(host))
    assert request["tools"] == [*host, RECALL[anthropic]]
    if marks is not None:
        assert marks_of(request) == marks


def test_a_tool_that_is_loaded_later_cannot_end_the_cache():
    later = TOOLS[anthropic][0] | {"name": "rare", "defer_loading": True}
    session = open_session(recall=None)
    session.append(pt.user("a"))
    request = anthropic.dump(session.derive([*TOOLS[anthropic], later]))
    assert request["tools"] == [TOOLS[anthropic][0] | {"cache_control": MARK}, later]


def test_ends_of_earlier_requests_do_not_come_again():
    session = open_session()
    inner = [{"type": "text", "text": "D", "cache_control": MARK}]
    blocks = [
        {"type": "document", "source": {"type": "content", "content": inner}},
        {"type": "search_result", "source": "s", "title": "t", "content": inner},
    ]
    opening = {**examples.ANTHROPIC, "messages": examples.ANTHROPIC["messages"][:3]}
    session.extend(anthropic.load_request(opening).messages)
    session.extend(anthropic.load_messages([{"role": "user", "content": blocks}]))
    for number in range(6):
        block = {"type": "text", "text": str(number), "cache_control": {"type": "ephemeral", "ttl": "1h"}}
        session.extend(anthropic.load_messages([{"role": "user", "content": [block]}]))
    context = session.derive()
    assert len(marks_of(anthropic.dump(context))) == 2
    assert written(anthropic.dump(context)).count('"cache_control"') == 2
    assert '"1h"' not in written(anthropic.dump(context))
    assert written(anthropic.dump(context.messages)).count('"cache_control"') == 11


def test_an_end_behind_what_is_not_sent_falls_on_what_is():
    session = open_session()
    session.extend([pt.system("s"), pt.user("a"), pt.user("b")])
    session.append(pt.assistant(Thinking(text="of another vendor", extra={"gemini": {}})))
    request = anthropic.dump(session.derive())
    assert [message["content"] for message in request["messages"]] == [
        [{"type": "text", "text": "a"}, {"type": "text", "text": "b", "cache_control": MARK}]
    ]


# -- the official clients


def chat_reply(arguments):
    call = {"id": "r1", "type": "function", "function": {"name": "recall", "arguments": arguments}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    choices = [{"index": 0, "finish_reason": "tool_calls", "message": message}]
    return {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": choices}


def responses_reply(arguments):
    call = {"type": "function_call", "id": "f1", "call_id": "r1", "name": "recall", "arguments": arguments}
    told = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    return {"id": "x", "object": "response", "created_at": 1, "model": "m", "output": [call], **told}


def anthropic_reply(arguments):
    call = {"type": "tool_use", "id": "r1", "name": "recall", "input": json.loads(arguments)}
    told = {"stop_reason": "tool_use", "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
    return {"id": "x", "type": "message", "role": "assistant", "model": "m", "content": [call], **told}


def gemini_reply(arguments):
    call = {"functionCall": {"id": "r1", "name": "recall", "args": json.loads(arguments)}}
    return {"candidates": [{"content": {"role": "model", "parts": [call]}, "finishReason": "STOP"}]}


def send_to_anthropic(server, request):
    client = pytest.importorskip("anthropic").Anthropic(base_url=server.url, api_key="k", max_retries=0)
    return client.messages.create(model="m", max_tokens=99, **request)


def send_to_gemini(server, request):
    client = pytest.importorskip("google.genai").Client(api_key="k", http_options={"base_url": server.url})
    return client.models.generate_content(model="m", **request)


@pytest.mark.parametrize(
    ("vendor", "reply", "send"),
    [
        (openai_chat, chat_reply, lambda _, openai, request: openai.chat.completions.create(model="m", **request)),
        (openai_responses, responses_reply, lambda _, openai, request: openai.responses.create(model="m", **request)),
        (anthropic, anthropic_reply, lambda server, _, request: send_to_anthropic(server, request)),
        (gemini, gemini_reply, lambda server, _, request: send_to_gemini(server, request)),
    ],
    ids=lambda value: getattr(value, "VENDOR", ""),
)
def test_the_official_client_sends_a_context_and_its_model_recalls(server, openai, vendor, reply, send):
    session = open_session(policy=pt.Paged.thrifty(1_500))
    session.extend([pt.system("You are a coding agent."), pt.user("Read.")])
    first = session.extend([pt.assistant(read(1)), pt.tool_result("c1", lines(1))])[1]
    for number in range(2, 6):
        session.derive(TOOLS[vendor])
        session.extend([pt.assistant(read(number)), pt.tool_result(f"c{number}", lines(number))])
    context = session.derive(TOOLS[vendor])
    assert context.explain(first.handle).level < pt.ResidencyLevel.FULL
    server.answer = reply(json.dumps({"handle": first.handle}))
    request = vendor.dump(context)
    answered = vendor.load_reply(send(server, openai, request))
    (sent,) = server.requests
    if vendor is gemini:
        (tool,) = sent["tools"]
        assert [each["name"] for each in tool["functionDeclarations"]] == ["read", "recall"]
        assert (
            tool["functionDeclarations"][1]["parameters"]["properties"].keys() == TOOL.parameters["properties"].keys()
        )
        assert len(sent["contents"]) == len(request["contents"])
    else:
        assert {name: sent[name] for name in request} == request
    session.append(answered)
    assert session.answer()
    told = session.derive(TOOLS[vendor]).messages[-1].tool_results[0].content
    assert told == f"<page>\n{first.handle} tool, {len(lines(1)):,} bytes\n{lines(1)}\n</page>"
