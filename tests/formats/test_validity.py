"""What goes out is what the vendor takes, wherever it came from; and what was sent before does not change."""

import json

import msgspec
import pytest
from hypothesis import given, settings

import pageturn as pt
from pageturn.formats import anthropic, gemini, openai_chat, openai_responses
from tests.formats import examples
from tests.formats.test_round_trips import FORMATS, by_name, conversations
from tests.long import examples as number_of

PICTURE = pt.Image(url=f"data:image/png;base64,{examples.PNG}")


def call(id_, name="read", arguments="{}", **fields):
    return pt.ToolCall(id=id_, name=name, arguments=arguments, **fields)


# -- pairs


def called(vendor, request):
    """The ids of the calls and of the results of a request, in order."""
    text = json.dumps(request, default=str)
    names = {
        openai_chat: ('"id": "', '"tool_call_id": "'),
        openai_responses: ('"call_id": "', '"call_id": "'),
        anthropic: ('"type": "tool_use", "id": "', '"tool_use_id": "'),
    }[vendor]
    return [[piece.partition('"')[0] for piece in text.split(name)[1:]] for name in names]


@pytest.mark.parametrize("vendor", [openai_chat, anthropic], ids=lambda vendor: vendor.VENDOR)
def test_an_id_that_comes_again_is_another_call_and_has_its_own_result(vendor):
    messages = [pt.user("x")]
    for number in range(4):
        messages += [pt.assistant(call("read")), pt.tool_result("read", str(number))]
    calls, results = called(vendor, vendor.dump(messages))
    assert calls == results
    assert len(set(calls)) == 4
    assert calls[0] == "read"


def test_parallel_calls_of_one_id_are_answered_in_order():
    messages = [pt.user("x"), pt.assistant(call("a"), call("a")), pt.tool_result("a", "1"), pt.tool_result("a", "2")]
    calls, results = called(anthropic, anthropic.dump(messages))
    assert calls == results
    assert len(set(calls)) == 2


@by_name
def test_ids_that_a_vendor_refuses_are_replaced_in_call_and_result(vendor):
    long = "x" * 200 + "/é"
    messages = [pt.user("x"), pt.assistant(call(long)), pt.tool_result(long, "1")]
    assert long not in json.dumps(vendor.dump(messages), default=str, ensure_ascii=False)
    back = vendor.load(vendor.dump(messages))
    assert back[1].tool_calls[0].id == back[2].tool_results[0].tool_call_id


def test_a_result_without_a_call_keeps_its_id():
    assert openai_chat.dump([pt.tool_result("lost", "x")])["messages"][0]["tool_call_id"] == "lost"


# -- names and arguments


def test_names_of_tools_lose_what_a_vendor_refuses_and_stay_apart():
    messages = [
        pt.user("x"),
        pt.assistant(call("1", "git.hub:search v2"), call("2", "a" * 200 + "1"), call("3", "a" * 200 + "2")),
    ]
    sent = [each["function"]["name"] for each in openai_chat.dump(messages)["messages"][1]["tool_calls"]]
    assert sent[0] == "git_hub_search_v2"
    assert len(set(sent)) == 3
    assert all(len(name) <= 64 for name in sent)
    parts = gemini.dump(messages)["contents"][1]["parts"]
    assert parts[0]["function_call"]["name"] == "git.hub:search_v2"


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        ("", {}),
        ("{}", {}),
        ("[1]", {"not_an_object": "[1]"}),
        ("{oh", {"not_an_object": "{oh"}),
        ('{"a": 1}', {"a": 1}),
    ],
)
def test_arguments_that_are_no_object_go_as_one_and_come_back(arguments, sent):
    for vendor in (anthropic, gemini):
        request = vendor.dump([pt.user("x"), pt.assistant(call("1", arguments=arguments))])
        assert json.dumps(sent) in json.dumps(request, default=str)
        back = vendor.load(request)[1].tool_calls[0].arguments
        assert back == (arguments if "not_an_object" in sent else json.dumps(sent, separators=(",", ":")))


# -- who speaks where


def test_a_conversation_that_begins_with_the_model_is_preceded_by_words():
    messages = [pt.system("s"), pt.assistant("a"), pt.user("b")]
    assert [m["role"] for m in anthropic.dump(messages)["messages"]] == ["user", "assistant", "user"]
    assert [m["role"] for m in gemini.dump(messages)["contents"]] == ["user", "model", "user"]
    assert anthropic.dump(messages)["messages"][0]["content"] == anthropic.CONTINUED


def test_instructions_in_the_middle_are_spoken_by_the_user_where_the_vendor_has_no_place_for_them():
    messages = [pt.system("s"), pt.developer("d"), pt.user("u"), pt.assistant("a"), pt.system("noon"), pt.user("v")]
    request = anthropic.dump(messages)
    assert request["system"] == [{"type": "text", "text": "s"}, {"type": "text", "text": "d"}]
    assert [m["role"] for m in request["messages"]] == ["user", "assistant", "user", "user"]
    assert gemini.dump(messages)["config"]["system_instruction"]["parts"] == [{"text": "s"}, {"text": "d"}]


def test_results_of_one_batch_are_in_one_message():
    messages = [
        pt.user("x"),
        pt.assistant(call("a"), call("b")),
        pt.tool_result("a", "1"),
        pt.tool_result("b", "2"),
        pt.user("y"),
    ]
    assert [len(m["content"]) for m in anthropic.dump(messages)["messages"]] == [1, 2, 2, 1]
    assert [len(m["parts"]) for m in gemini.dump(messages)["contents"]] == [1, 2, 2, 1]


@pytest.mark.parametrize("text", ["", " \n"])
def test_texts_that_say_nothing_are_not_sent_to_those_who_refuse_them(text):
    assert anthropic.dump([pt.user("x"), pt.assistant(text), pt.user(text, "y")])["messages"] == [
        {"role": "user", "content": "x"},
        {"role": "user", "content": "y"},
    ]


def test_thinking_goes_only_to_the_vendor_that_signed_it():
    signed = anthropic.load(
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}]}
    )
    reasoned = openai_responses.load([{"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "e"}])[0]
    for message, own in ((signed, anthropic), (reasoned, openai_responses)):
        for vendor in FORMATS:
            sent = json.dumps(vendor.dump([pt.user("x"), message]), default=str)
            assert (("hm" in sent) or ('"e"' in sent)) is (vendor is own)


def test_a_call_that_another_model_made_gets_the_signature_that_gemini_asks_for():
    parts = gemini.dump([pt.user("x"), pt.assistant(call("1"), call("2"))])["contents"][1]["parts"]
    assert parts[0]["thought_signature"] == b"skip_thought_signature_validator"
    assert "thought_signature" not in parts[1]


# -- pictures, documents, sounds


def test_pictures_of_results_follow_their_batch_in_chat():
    messages = [
        pt.user("x"),
        pt.assistant(call("a"), call("b")),
        pt.tool_result("a", PICTURE),
        pt.tool_result("b", "text", PICTURE),
    ]
    *_, first, second, pictures = openai_chat.dump(messages)["messages"]
    assert first["content"] == "[image below]"
    assert second["content"] == [{"type": "text", "text": "text"}]
    assert [part["type"] for part in pictures["content"]] == ["image_url", "image_url"]
    again = openai_chat.dump([*messages, pt.user("y")])["messages"]
    assert again[-2:] == [pictures, {"role": "user", "content": "y"}]


def test_pictures_that_gemini_cannot_fetch_are_named():
    result = pt.tool_result("a", pt.Image(url="https://e.org/a.png"))
    sent = gemini.dump([pt.user("x"), pt.assistant(call("a")), result])["contents"][2]["parts"][0]["function_response"]
    assert sent == {"name": "read", "id": "a", "response": {"output": "[image https://e.org/a.png]"}}


def test_pictures_by_the_model_are_named_where_only_users_may_show_them():
    assert openai_chat.dump([pt.assistant(PICTURE)])["messages"][0]["content"].startswith("[image image/png")


def test_a_text_document_is_read_by_every_vendor_and_found():
    document = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "THE CONTRACT"}}
    found = {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": "THE RESULT"}]}
    message = anthropic.load({"role": "user", "content": [document, found, {"type": "text", "text": "Sum up."}]})
    for vendor in FORMATS:
        sent = json.dumps(vendor.dump([message]), default=str)
        assert "THE CONTRACT" in sent
        assert "THE RESULT" in sent
    session = pt.Session.open()
    session.append(message)
    assert isinstance(session.recall("contract"), pt.Recalled)


def test_media_that_anthropic_refuses_are_sent_as_text_or_named():
    note = pt.File(path="data:text/csv;base64,YSxi")
    drawing = pt.Image(url="data:image/svg+xml;base64,PHN2Zy8+")
    content = anthropic.dump([pt.user(note, drawing, PICTURE)])["messages"][0]["content"]
    assert content[0] == {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "a,b"}}
    assert content[1]["text"].startswith("[image image/svg+xml")
    assert content[2]["source"]["media_type"] == "image/png"


def test_what_was_said_aloud_goes_back_by_its_id_and_to_others_as_words():
    spoken = {"role": "assistant", "audio": {"id": "a1", "transcript": "hello there", "data": "AAAA"}}
    message = openai_chat.load(spoken)
    assert openai_chat.dump([message])["messages"] == [{"role": "assistant", "audio": {"id": "a1"}}]
    assert anthropic.dump([pt.user("x"), message])["messages"][1]["content"] == "hello there"


def test_a_picture_inside_a_native_item_is_charged_as_a_picture_and_not_as_text():
    item = {"type": "image_generation_call", "id": "i", "result": "iVBOR" * 200_000}
    (message,) = openai_responses.load([item])
    picture = pt.counter_for("gpt-5").message(pt.user(pt.Image(url="https://example.org/of-unknown-size.png")))
    assert picture <= pt.counter_for("gpt-5").message(message) < picture + 100
    assert openai_responses.dump([message])["input"] == [item]


# -- responses and streams


@pytest.mark.parametrize(
    ("vendor", "given_", "complaint"),
    [
        (openai_chat, [{"choices": [{"index": 1, "delta": {"content": "B"}}]}], "expected one choice, got several"),
        (gemini, [{"candidates": [{"index": 1, "content": {}}]}], "expected one candidate, got several"),
        (
            openai_responses,
            [{"type": "response.created"}, {"type": "response.output_text.delta"}],
            "stream that was cut off",
        ),
    ],
)
def test_what_is_no_single_answer_is_refused(vendor, given_, complaint):
    with pytest.raises(pt.InvalidInput, match=complaint):
        vendor.load(given_)


def test_calls_in_chunks_without_an_index_are_separate():
    pieces = [{"id": f"c{n}", "function": {"name": f"t{n}", "arguments": "{}"}} for n in (1, 2)]
    message = openai_chat.load([{"choices": [{"delta": {"tool_calls": [piece]}}]} for piece in pieces])
    assert [each.name for each in message.tool_calls] == ["t1", "t2"]


def test_a_prompt_that_gemini_blocked_is_an_answer_without_words_that_says_why():
    message = gemini.load({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 5}})
    assert message.content == ()
    assert message.metadata["response"]["prompt_feedback"] == {"block_reason": "SAFETY"}
    assert message.usage.input_tokens == 5


def test_the_tokens_of_tool_prompts_are_counted_as_input():
    usage = {"promptTokenCount": 5, "toolUsePromptTokenCount": 7}
    message = gemini.load({"candidates": [{"content": {"parts": [{"text": "x"}]}}], "usageMetadata": usage})
    assert message.usage.input_tokens == 12


@pytest.mark.parametrize("contents", ["hi", {"role": "user", "parts": [{"text": "hi"}]}, {"parts": [{"text": "hi"}]}])
def test_gemini_takes_contents_in_short(contents):
    assert [message.text for message in gemini.load({"contents": contents})] == ["hi"]


def test_items_by_the_host_and_by_the_model_are_told_apart():
    items = [
        {"type": "tool_search_output", "execution": "server", "tools": []},
        {"type": "computer_call_output", "call_id": "c", "output": {"type": "computer_screenshot"}},
        {"type": "mcp_approval_response", "approval_request_id": "a", "approve": True},
        {"type": "mcp_call", "id": "m", "name": "n", "arguments": "{}", "server_label": "s"},
    ]
    assert [message.role.value for message in openai_responses.load(items)] == [
        "assistant",
        "user",
        "user",
        "assistant",
    ]
    assert openai_responses.dump(openai_responses.load(items))["input"] == items


# -- caches


def test_the_cache_ends_behind_the_messages_that_are_named():
    thought = pt.Thinking(text="hm", signature="s")
    messages = [pt.system("s"), pt.user("a"), pt.assistant("b", thought), pt.user("c"), pt.assistant("d"), pt.user("e")]

    def marked(**options):
        request = anthropic.dump(messages, **options)
        blocks = [*request["system"]] if isinstance(request["system"], list) else []
        contents = [m["content"] for m in request["messages"]]
        blocks += [block for content in contents if isinstance(content, list) for block in content]
        return [block.get("text") for block in blocks if "cache_control" in block]

    assert marked() == []
    assert marked(breakpoints=[0, 2]) == ["s", "b"]
    assert marked(breakpoints=[-1]) == ["e"]
    assert marked(breakpoints=range(6)) == ["b", "c", "d", "e"]


@by_name
@settings(max_examples=number_of(60, whole=600))
@given(messages=conversations(pictures_too=True))
def test_what_was_sent_before_does_not_change_when_turns_are_added(vendor, messages):
    name = {"messages", "input", "contents"}
    before: list[bytes] = []
    for end, message in enumerate(messages, start=1):
        if message.role is not pt.Role.ASSISTANT:
            continue
        request = vendor.dump(messages[: end - 1])
        sent = [msgspec.json.encode(each) for each in request[next(iter(name & request.keys()))]]
        assert sent[: len(before)] == before
        before = sent
