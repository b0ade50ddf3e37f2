"""What goes out is what the vendor takes, wherever it came from; and what was sent before does not change."""

import json

import msgspec
import pytest
from hypothesis import given, settings

import pageturn as pt
from pageturn.formats import anthropic, gemini, openai_chat, openai_responses
from pageturn.tokens.counters import counter_for
from pageturn.values.fillers import CONTINUED
from pageturn.values.messages import File, Text, Thinking, developer
from pageturn.values.prompt import Prompt
from tests.formats import examples
from tests.formats.blocks import blocks_of, is_prefix
from tests.formats.for_model import dump_for
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
    back = vendor.load_request(vendor.dump(messages)).messages
    assert back[1].tool_calls[0].id == back[2].tool_results[0].tool_call_id


def test_results_stand_in_the_order_of_their_calls_before_everything_else():
    calls = [call("a"), call("b")]
    messages = [pt.user("x"), pt.assistant(*calls), pt.user("y"), pt.tool_result("b", "2"), pt.tool_result("a", "1")]
    content = anthropic.dump(messages)["messages"][2]["content"]
    assert [block.get("tool_use_id") or block["text"] for block in content] == ["a", "b", "y"]
    assert [m.get("tool_call_id") for m in openai_chat.dump(messages)["messages"][2:4]] == ["a", "b"]
    assert [item.get("call_id") for item in openai_responses.dump(messages)["input"][3:5]] == ["a", "b"]
    parts = gemini.dump(messages)["contents"][2]["parts"]
    assert [part["function_response"]["id"] for part in parts[:2]] == ["a", "b"]


def test_two_calls_of_one_id_have_each_the_name_of_their_own_tool():
    messages = [pt.user("x"), pt.assistant(call("a", "read"), call("a", "grep"))]
    messages += [pt.tool_result("a", "1"), pt.tool_result("a", "2")]
    parts = gemini.dump(messages)["contents"][2]["parts"]
    assert [part["function_response"]["name"] for part in parts] == ["read", "grep"]


def test_a_result_has_the_form_of_the_call_that_it_answers():
    items = [{"type": "custom_tool_call", "call_id": "a", "name": "patch", "input": "*** Begin"}]
    messages = [pt.user("x"), *openai_responses.load_messages(items), pt.tool_result("a", "1")]
    assert openai_responses.dump(messages)["input"][-1]["type"] == "custom_tool_call_output"


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
        back = vendor.load_request(request).messages[1].tool_calls[0].arguments
        assert back == (arguments if "not_an_object" in sent else json.dumps(sent, separators=(",", ":")))
    for vendor in (openai_chat, openai_responses):
        request = vendor.dump([pt.user("x"), pt.assistant(call("1", arguments=arguments))])
        assert json.loads(vendor.load_request(request).messages[1].tool_calls[0].arguments) == sent


# -- who speaks where


def test_a_conversation_that_begins_with_the_model_is_preceded_by_words():
    messages = [pt.system("s"), pt.assistant("a"), pt.user("b")]
    assert [m["role"] for m in anthropic.dump(messages)["messages"]] == ["user", "assistant", "user"]
    assert [m["role"] for m in gemini.dump(messages)["contents"]] == ["user", "model", "user"]
    assert [m["role"] for m in openai_chat.dump(messages)["messages"]] == ["system", "user", "assistant", "user"]
    assert anthropic.dump(messages)["messages"][0]["content"] == [{"type": "text", "text": CONTINUED}]


def test_what_the_model_says_twice_in_a_row_has_words_of_the_user_between_where_these_must_end_a_request():
    thought = Thinking(text="hm", signature="s")
    messages = [pt.user("x"), pt.assistant(thought, "a"), pt.assistant(thought, "b")]
    assert [m["role"] for m in anthropic.dump(messages)["messages"]] == ["user", "assistant", "user", "assistant"]
    assert [m["role"] for m in gemini.dump(messages)["contents"]] == ["user", "model", "user", "model"]
    assert [m["role"] for m in openai_chat.dump(messages)["messages"]] == ["user", "assistant", "user", "assistant"]
    last = dump_for(openai_chat, messages, "gpt-5")["messages"][-1]
    assert last == {"role": "assistant", "content": "a\n\nb"}


@by_name
@pytest.mark.parametrize("model", ["gpt-5", "claude-opus-5", "gemini-3-flash", "llama-4"])
def test_a_context_that_ends_with_the_model_is_a_request_that_each_vendor_takes(vendor, model):
    session = pt.Session.open(model=model)
    session.extend([pt.user("x"), pt.assistant("a")])
    request = vendor.dump(session.derive())
    before = blocks_of(vendor, request)
    is_openais = vendor is openai_responses or (vendor is openai_chat and model == "gpt-5")
    said = {openai_responses: "item", openai_chat: "assistant"}
    assert before[-1][0] == (said[vendor] if is_openais else "user")
    session.append(pt.assistant("b"))
    assert is_prefix(vendor, before, blocks_of(vendor, vendor.dump(session.derive())))


def test_answers_that_are_joined_keep_their_calls_behind_the_words_and_are_never_joined_across_results():
    messages = [
        pt.user("x"),
        pt.assistant("a"),
        pt.assistant("b", call("1")),
        pt.tool_result("1", "r"),
        pt.assistant("c"),
    ]
    sent = dump_for(openai_chat, messages, "gpt-5")["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "tool", "assistant"]
    assert sent[1]["content"] == "a\n\nb"
    assert len(sent[1]["tool_calls"]) == 1
    assert sent[3]["content"] == "c"


def test_a_chat_template_hears_the_user_only_behind_the_model():
    messages = [pt.user("x"), pt.assistant(call("1")), pt.tool_result("1", "r"), pt.user("y")]
    roles = [message["role"] for message in openai_chat.dump(messages)["messages"]]
    assert roles == ["user", "assistant", "tool", "assistant", "user"]
    roles = [message["role"] for message in dump_for(openai_chat, messages, "gpt-5")["messages"]]
    assert roles == ["user", "assistant", "tool", "user"]


@pytest.mark.parametrize(
    ("model", "kept"),
    [
        *((model, True) for model in ("gpt-5", "openai/gpt-5.1", "o3-mini", "o1", "chatgpt-4o-latest", "ft:gpt-4o:x")),
        *((model, False) for model in ("gpt-oss-120b", "qwen3", "olmo-2", "claude-opus-5", "yo1", None)),
    ],
)
def test_instructions_in_the_middle_stay_with_openais_own_models_only(model, kept):
    messages = [pt.system("s"), developer("d"), pt.user("u"), pt.system("noon"), pt.assistant("a")]
    sent = dump_for(openai_chat, messages, model)["messages"]
    assert [message["role"] for message in sent][:2] == ["system", "user"]
    assert ({"role": "system", "content": "noon"} in sent) is kept
    assert ("<system-reminder>noon</system-reminder>" in json.dumps(sent)) is not kept
    assert sent[0]["content"] == ([{"type": "text", "text": text} for text in "sd"] if kept else "s\n\nd")


def test_ids_of_calls_are_those_that_the_models_own_servers_take():
    messages = [pt.user("x"), pt.assistant(call("functions.read:0")), pt.tool_result("functions.read:0", "1")]

    def sent(model):
        return dump_for(openai_chat, messages, model)["messages"][2]["tool_call_id"]

    assert sent("moonshotai/kimi-k2") == "functions.read:0"
    assert sent("mistral-large").isalnum()
    assert len(sent("mistral-large")) == 9
    assert sent("gpt-5").startswith("call_")


@pytest.mark.parametrize(
    ("model", "kept"), [("claude-opus-5", True), ("claude-opus-4-6", False), ("claude-sonnet-5", False)]
)
def test_anthropics_own_instructions_in_the_middle_stay_where_the_model_takes_them(model, kept):
    given_ = [
        {"role": "user", "content": "a"},
        {"role": "system", "content": "noon"},
        {"role": "assistant", "content": "b"},
    ]
    sent = dump_for(anthropic, anthropic.load_messages(given_), model)["messages"]
    assert [message["role"] for message in sent] == (["user", "system", "assistant"] if kept else ["user", "assistant"])
    behind = [*given_, {"role": "system", "content": "one"}, {"role": "user", "content": "c"}]
    assert dump_for(anthropic, anthropic.load_messages(behind), model)["messages"][-1]["role"] == "user"


def test_instructions_in_the_middle_are_spoken_by_the_user_where_the_vendor_has_no_place_for_them():
    messages = [pt.system("s"), developer("d"), pt.user("u"), pt.assistant("a"), pt.system("noon"), pt.user("v")]
    request = anthropic.dump(messages)
    assert request["system"] == [{"type": "text", "text": "s"}, {"type": "text", "text": "d"}]
    assert [m["role"] for m in request["messages"]] == ["user", "assistant", "user"]
    assert request["messages"][-1]["content"] == [
        {"type": "text", "text": "<system-reminder>noon</system-reminder>"},
        {"type": "text", "text": "v"},
    ]
    assert gemini.dump(messages)["config"]["system_instruction"]["parts"] == [{"text": "s"}, {"text": "d"}]


def test_results_of_one_batch_are_in_one_message():
    messages = [
        pt.user("x"),
        pt.assistant(call("a"), call("b")),
        pt.tool_result("a", "1"),
        pt.tool_result("b", "2"),
        pt.user("y"),
    ]
    assert [len(m["content"]) for m in anthropic.dump(messages)["messages"]] == [1, 2, 3]
    assert [len(m["parts"]) for m in gemini.dump(messages)["contents"]] == [1, 2, 3]


@by_name
@pytest.mark.parametrize("text", ["", " \n"])
def test_texts_that_say_nothing_are_not_sent(vendor, text):
    said = [pt.system(text), pt.user("x"), pt.assistant(text), pt.user(text, "y"), developer(text)]
    assert vendor.dump(said) == vendor.dump([pt.user("x"), pt.user("y")])


@pytest.mark.parametrize("text", ["", " \n"])
def test_results_that_say_nothing_say_so_where_they_must(text):
    messages = [pt.user("x"), pt.assistant(call("1"), call("2"))]
    messages += [pt.tool_result("1", text), pt.tool_result("2", text, is_error=True)]
    assert [m["content"] for m in openai_chat.dump(messages)["messages"][2:]] == ["(no output)"] * 2
    assert [m["output"] for m in openai_responses.dump(messages)["input"][3:]] == ["(no output)"] * 2
    first, second = anthropic.dump(messages)["messages"][2]["content"]
    assert "content" not in first
    assert second["content"] == "(no output)"


def test_thinking_goes_only_to_the_vendor_that_signed_it():
    signed = anthropic.load_reply(
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}]}
    )
    reasoned = openai_responses.load_messages(
        [{"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "e"}]
    )[0]
    for message, own in ((signed, anthropic), (reasoned, openai_responses)):
        for vendor in FORMATS:
            said = msgspec.structs.replace(message, content=(*message.content, Text(text="said")))
            sent = json.dumps(vendor.dump([pt.user("x"), said]), default=str)
            assert (("hm" in sent) or ('"e"' in sent)) is (vendor is own)


@by_name
def test_thinking_that_leads_to_nothing_is_left_out(vendor):
    reasoning = openai_responses.load_messages([{"type": "reasoning", "id": "rs_1", "summary": []}])[0].content
    thoughts = [Thinking(text="hm", signature="s"), Thinking(text="hm", extra={"gemini": {}}), *reasoning]
    for thought in thoughts:
        for content in ((thought,), (thought, Text(text=" "))):
            assert vendor.dump([pt.user("x"), pt.assistant(*content), pt.user("y")]) == vendor.dump(
                [pt.user("x"), pt.user("y")]
            )
        ended = vendor.dump([pt.user("x"), pt.assistant("said", thought)])
        assert ended == vendor.dump([pt.user("x"), pt.assistant("said")])


REASONED = [
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"},
    {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "phase": "commentary"}
    | {"content": [{"type": "output_text", "text": text, "annotations": []} for text in ("I look.", "Closely.")]},
    {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "read", "arguments": "{}", "status": "completed"},
]


def test_items_lose_their_ids_with_the_reasoning_that_led_to_them():
    (message,) = openai_responses.load_messages(REASONED)
    ended = pt.tool_result("c1", "r")
    assert openai_responses.dump([pt.user("x"), message, ended])["input"][1:4] == REASONED
    folded = msgspec.structs.replace(message, content=message.content[1:])
    assert openai_responses.dump([pt.user("x"), folded, ended])["input"][1:3] == [
        {"type": "message", "role": "assistant", "phase": "commentary", "content": "I look.\n\nClosely."},
        {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}"},
    ]


def test_items_that_come_again_are_not_sent_under_the_same_ids():
    (message,) = openai_responses.load_messages(REASONED)
    again = openai_responses.dump([pt.user("x"), message, pt.tool_result("c1", "r"), message])["input"]
    ids = [item["id"] for item in again if "id" in item]
    assert ids == ["rs_1", "msg_1", "fc_1"]
    assert len({item["call_id"] for item in again if item["type"] == "function_call"}) == 2


def test_signatures_of_gemini_go_back_to_the_model_that_made_them():
    part = {"functionCall": {"id": "c1", "name": "read", "args": {}}, "thoughtSignature": "c2ln"}
    reply = {"candidates": [{"content": {"parts": [part]}}], "modelVersion": "gemini-3-flash-001"}
    for usage in ({}, {"usageMetadata": {"promptTokenCount": 5}}):
        message = msgspec.structs.replace(gemini.load_reply(reply | usage), usage=None)
        for model, signature in (
            ("gemini-3-flash", b"sig"),
            ("gemini-flash-latest", b"sig"),
            (None, b"sig"),
            ("gemini-3-pro", b"skip_thought_signature_validator"),
        ):
            sent = dump_for(gemini, [pt.user("x"), message], model)["contents"][1]["parts"][0]
            assert sent["thought_signature"] == signature


def test_a_call_of_gemini_that_lost_its_signature_gets_the_stand_in_except_for_models_that_want_none():
    part = {"functionCall": {"id": "c1", "name": "read", "args": {}}}
    message = gemini.load_reply({"role": "model", "parts": [part]})
    sent = gemini.dump([pt.user("x"), message])["contents"][1]["parts"][0]
    assert sent["thought_signature"] == b"skip_thought_signature_validator"
    assert (
        "thought_signature"
        not in dump_for(gemini, [pt.user("x"), message], "gemini-2.5-pro")["contents"][1]["parts"][0]
    )


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
    *_, first, second, pictures = dump_for(openai_chat, messages, "gpt-5")["messages"]
    assert first["content"] == "[image below]"
    assert second["content"] == "text"
    assert [part["type"] for part in pictures["content"]] == ["image_url", "image_url"]
    again = dump_for(openai_chat, [*messages, pt.user("y")], "gpt-5")["messages"]
    assert again[-1] == {"role": "user", "content": [*pictures["content"], {"type": "text", "text": "y"}]}


def test_pictures_of_a_result_that_is_an_error_follow_it():
    messages = [pt.user("x"), pt.assistant(call("a")), pt.tool_result("a", "oh", PICTURE, is_error=True)]
    result, picture = anthropic.dump(messages)["messages"][2]["content"]
    assert result["content"] == [{"type": "text", "text": "oh"}]
    assert picture["type"] == "image"


def test_pictures_of_results_follow_them_with_models_that_take_none_in_results():
    messages = [pt.user("x"), pt.assistant(call("a")), pt.tool_result("a", "seen", PICTURE)]
    assert "parts" in gemini.dump(messages)["contents"][2]["parts"][0]["function_response"]
    result, picture = dump_for(gemini, messages, "gemini-2.5-pro")["contents"][2]["parts"]
    assert result["function_response"]["response"] == {"output": "seen"}
    assert picture["inline_data"]["mime_type"] == "image/png"


@by_name
def test_a_picture_goes_out_as_what_it_is_and_never_by_the_model_or_in_instructions(vendor):
    mistaken = pt.Image(url=f"data:image/jpeg;base64,{examples.PNG}")
    request = vendor.dump(
        [
            pt.system(PICTURE, "s"),
            pt.user("x", mistaken),
            pt.assistant(PICTURE),
            pt.user("y", pt.Image(url="data:image/png;base64,")),
        ]
    )
    sent = json.dumps(request, default=str)
    if vendor in (anthropic, gemini):
        assert "image/jpeg" not in sent
    assert sent.count("[image image/png, 70 bytes]") == 2
    assert sent.count("[image image/png, 0 bytes]") == 1


@by_name
def test_a_text_document_that_is_given_whole_is_read_and_one_of_another_kind_is_named(vendor):
    files = [File(path="data:text/csv;base64,YSxi"), File(path="data:application/zip;base64,UEsDBA==")]
    sent = json.dumps(vendor.dump([pt.user("x", *files)]), default=str)
    assert "a,b" in sent
    assert "[file application/zip, 4 bytes]" in sent


def test_pictures_that_gemini_cannot_fetch_are_named():
    result = pt.tool_result("a", pt.Image(url="https://e.org/a.png"))
    sent = gemini.dump([pt.user("x"), pt.assistant(call("a")), result])["contents"][2]["parts"][0]["function_response"]
    assert sent == {"name": "read", "id": "a", "response": {"output": "[image https://e.org/a.png]"}}


def test_pictures_by_the_model_are_named_where_only_users_may_show_them():
    assert openai_chat.dump([pt.user("x"), pt.assistant(PICTURE)])["messages"][1]["content"].startswith(
        "[image image/png"
    )


def test_a_text_document_is_read_by_every_vendor_and_found():
    document = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "THE CONTRACT"}}
    found = {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": "THE RESULT"}]}
    (message,) = anthropic.load_messages(
        [{"role": "user", "content": [document, found, {"type": "text", "text": "Sum up."}]}]
    )
    for vendor in FORMATS:
        sent = json.dumps(vendor.dump([message]), default=str)
        assert "THE CONTRACT" in sent
        assert "THE RESULT" in sent
    session = pt.Session.open()
    session.append(message)
    assert isinstance(session.recall("contract"), pt.Recalled)


def test_media_that_anthropic_refuses_are_sent_as_text_or_named():
    note = File(path="data:text/csv;base64,YSxi")
    drawing = pt.Image(url="data:image/svg+xml;base64,PHN2Zy8+")
    content = anthropic.dump([pt.user(note, drawing, PICTURE)])["messages"][0]["content"]
    assert content[0] == {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "a,b"}}
    assert content[1]["text"].startswith("[image image/svg+xml")
    assert content[2]["source"]["media_type"] == "image/png"


def test_what_was_said_aloud_goes_back_by_its_id_and_to_others_as_words():
    spoken = {"role": "assistant", "audio": {"id": "a1", "transcript": "hello there", "data": "AAAA"}}
    message = openai_chat.load_reply(spoken)
    sent = dump_for(openai_chat, [pt.user("x"), message], "gpt-5")["messages"]
    assert sent[1] == {"role": "assistant", "audio": {"id": "a1"}}
    assert openai_chat.dump([pt.user("x"), message])["messages"][1]["content"] == "hello there"
    assert anthropic.dump([pt.user("x"), message])["messages"][1]["content"] == [
        {"type": "text", "text": "hello there"}
    ]


def test_reasoning_beside_the_content_goes_back_to_those_who_know_such_a_field():
    given_ = {"role": "assistant", "reasoning_content": "hm", "content": "x"}
    messages = [pt.user("x"), openai_chat.load_reply(given_)]
    assert dump_for(openai_chat, messages, "deepseek-v4")["messages"][1] == given_
    assert dump_for(openai_chat, messages, "gpt-5")["messages"][1] == {"role": "assistant", "content": "x"}


def test_a_picture_inside_a_native_item_is_charged_as_a_picture_and_not_as_text():
    item = {"type": "image_generation_call", "id": "i", "result": "iVBOR" * 200_000}
    (message,) = openai_responses.load_messages([item])
    picture = counter_for("gpt-5").message(pt.user(pt.Image(url="https://example.org/of-unknown-size.png")))
    assert picture <= counter_for("gpt-5").message(message) < picture + 100
    assert openai_responses.dump([pt.user("x"), message])["input"][1:] == [item]


# -- responses and streams


@pytest.mark.parametrize(
    ("vendor", "given_", "complaint"),
    [
        (openai_chat, {"choices": [{"index": 1, "delta": {"content": "B"}}]}, "expected one choice, got several"),
        (gemini, {"candidates": [{"index": 1, "content": {}}]}, "expected one candidate, got several"),
    ],
)
def test_what_is_no_single_answer_is_refused(vendor, given_, complaint):
    with pytest.raises(pt.InvalidInput, match=complaint):
        vendor.Stream().feed(given_)


@pytest.mark.parametrize(
    ("vendor", "events"),
    [
        (openai_chat, [{"choices": [{"index": 0, "delta": {"content": "B"}}]}]),
        (openai_responses, [{"type": "response.created"}, {"type": "response.output_text.delta"}]),
        (anthropic, [{"type": "message_start", "message": {}}]),
        (gemini, [{"candidates": [{"index": 0, "content": {}}]}]),
    ],
)
def test_events_are_no_reply(vendor, events):
    with pytest.raises(pt.InvalidInput, match="the events of a stream are for Stream"):
        vendor.load_reply(events)


def test_calls_in_chunks_without_an_index_are_separate():
    pieces = [{"id": f"c{n}", "function": {"name": f"t{n}", "arguments": "{}"}} for n in (1, 2)]
    stream = openai_chat.Stream()
    for piece in pieces:
        stream.feed({"choices": [{"delta": {"tool_calls": [piece]}}]})
    assert [each.name for each in stream.message.tool_calls] == ["t1", "t2"]


def test_a_prompt_that_gemini_blocked_is_an_answer_without_words_that_says_why():
    message = gemini.load_reply({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 5}})
    assert message.content == ()
    assert message.metadata["response"]["prompt_feedback"] == {"block_reason": "SAFETY"}
    assert message.usage.input_tokens == 5


def test_the_tokens_of_tool_prompts_are_counted_as_input():
    usage = {"promptTokenCount": 5, "toolUsePromptTokenCount": 7}
    message = gemini.load_reply({"candidates": [{"content": {"parts": [{"text": "x"}]}}], "usageMetadata": usage})
    assert message.usage.input_tokens == 12


@pytest.mark.parametrize("contents", ["hi", {"role": "user", "parts": [{"text": "hi"}]}, {"parts": [{"text": "hi"}]}])
def test_gemini_takes_contents_in_short(contents):
    assert [message.text for message in gemini.load_request({"contents": contents}).messages] == ["hi"]


def test_items_by_the_host_and_by_the_model_are_told_apart():
    items = [
        {"type": "tool_search_output", "execution": "server", "tools": []},
        {"type": "computer_call_output", "call_id": "c", "output": {"type": "computer_screenshot"}},
        {"type": "mcp_approval_response", "approval_request_id": "a", "approve": True},
        {"type": "mcp_call", "id": "m", "name": "n", "arguments": "{}", "server_label": "s"},
    ]
    assert [message.role.value for message in openai_responses.load_messages(items)] == [
        "assistant",
        "user",
        "user",
        "assistant",
    ]
    assert openai_responses.dump([pt.user("x"), *openai_responses.load_messages(items)])["input"][1:] == items


# -- caches


def test_the_cache_ends_behind_the_messages_that_are_named():
    thought = Thinking(text="hm", signature="s")
    messages = [pt.system("s"), pt.user("a"), pt.assistant("b", thought), pt.user("c"), pt.assistant("d"), pt.user("e")]

    def marked(marks=None):
        request = anthropic.dump(Prompt(messages=tuple(messages), marks=marks))
        blocks = [*request["system"]] if isinstance(request["system"], list) else []
        contents = [m["content"] for m in request["messages"]]
        blocks += [block for content in contents if isinstance(content, list) for block in content]
        return [block.get("text") for block in blocks if "cache_control" in block]

    assert marked() == []
    assert marked((0, 2)) == ["s", "b"]
    assert marked((5,)) == ["e"]
    assert marked(tuple(range(6))) == ["b", "c", "d", "e"]


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
