"""Streams: what the events come to is the message of the whole response, and a stream that is cut gives what came, never half a call."""

import json
import random
import sys
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple, get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pageturn as pt
from pageturn.formats import anthropic, gemini, openai_chat, openai_responses
from pageturn.values.json import from_json, to_json
from pageturn.values.messages import Native, Text
from tests.formats import stream_events as events
from tests.formats.test_round_trips import FORMATS
from tests.long import examples as number_of
from tests.strategies import json_values


class Vendor(NamedTuple):
    """A format, the responses of its vendor, and how this streams them."""

    format: ModuleType
    responses: st.SearchStrategy[dict[str, Any]]
    events: Callable[[random.Random, dict[str, Any]], Any]
    of_client: Callable[[Any], Any]
    said: Callable[[dict[str, Any]], str]


def as_chunk(event):
    return pytest.importorskip("openai.types.chat").ChatCompletionChunk.construct(**event)


def as_response_event(event):
    return classes_of("openai.types.responses", "ResponseStreamEvent")[event["type"]].model_validate(event)


def as_anthropic_event(event):
    if event["type"] == "ping":  # which the client passes over
        return event
    return classes_of("anthropic.types", "RawMessageStreamEvent")[event["type"]].model_validate(event)


@cache
def classes_of(module, union):
    """The classes that a client has for the events of a stream, by their types."""
    (members, *_) = get_args(getattr(pytest.importorskip(module), union))
    return {get_args(each.model_fields["type"].annotation)[0]: each for each in get_args(members)}


def as_gemini_chunk(event):
    return pytest.importorskip("google.genai.types").GenerateContentResponse.model_validate(event)


def chat_said(event):
    deltas = [choice["delta"] for choice in event["choices"]]
    return "".join(delta.get("content", "") + delta.get("refusal", "") for delta in deltas)


def response_said(event):
    is_text = event["type"] in ("response.output_text.delta", "response.refusal.delta")
    return event["delta"] if is_text else ""


def anthropic_said(event):
    return event.get("delta", {}).get("text", "")


def gemini_said(event):
    parts = event["candidates"][0]["content"]["parts"]
    return "".join(part.get("text", "") for part in parts if not part.get("thought"))


VENDORS = [
    Vendor(openai_chat, events.chat_responses, events.chat_events, as_chunk, chat_said),
    Vendor(openai_responses, events.response_responses, events.response_events, as_response_event, response_said),
    Vendor(anthropic, events.anthropic_responses, events.anthropic_events, as_anthropic_event, anthropic_said),
    Vendor(gemini, events.gemini_responses, events.gemini_events, as_gemini_chunk, gemini_said),
]
by_vendor = pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: vendor.format.VENDOR)
forms = st.sampled_from(["dicts", "texts", "objects"])


def in_form(vendor, form, streamed):
    change = {"dicts": lambda event: event, "texts": json.dumps, "objects": vendor.of_client}[form]
    return [change(event) for event in streamed]


def fed(vendor, streamed):
    stream = vendor.Stream()
    for event in streamed:
        stream.feed(event)
    return stream


# -- any response


@by_vendor
@settings(max_examples=number_of(60, whole=2_000), deadline=None)
@given(data=st.data(), form=forms)
def test_a_stream_comes_to_what_the_whole_response_does(vendor, data, form):
    response = data.draw(vendor.responses)
    streamed = list(vendor.events(data.draw(st.randoms(use_true_random=False)), response))
    before = json.dumps(streamed)
    stream = fed(vendor.format, in_form(vendor, form, streamed))
    assert stream.message == vendor.format.load_reply(response)
    assert stream.message.usage is not None
    assert (stream.is_finished, stream.error, stream.incomplete) == (True, None, ())
    assert json.dumps(streamed) == before  # what was fed is as it was


@by_vendor
@settings(max_examples=number_of(60, whole=2_000), deadline=None)
@given(data=st.data(), form=forms)
def test_a_stream_that_is_cut_keeps_all_words_and_no_half_call(vendor, data, form):
    response = data.draw(vendor.responses)
    streamed = list(vendor.events(data.draw(st.randoms(use_true_random=False)), response))
    arrived = streamed[: data.draw(st.integers(0, len(streamed) - 1))]
    stream = fed(vendor.format, in_form(vendor, form, arrived))
    message, whole = stream.message, vendor.format.load_reply(response)
    texts = [part.text for part in message.content if isinstance(part, Text)]
    assert sorted("".join(texts)) == sorted("".join(map(vendor.said, arrived)))
    calls = [(call.id, call.name, call.arguments) for call in whole.tool_calls]
    assert all((call.id, call.name, call.arguments) in calls for call in message.tool_calls)
    if not stream.is_finished:
        assert message.metadata["stream"]["finished"] is False
        assert message.metadata["stream"].get("incomplete", []) == list(stream.incomplete)
    check_usable(message)


def check_usable(message):
    """A message that can be kept and sent on, to any vendor."""
    assert from_json(pt.Message, to_json(message)) == message
    for other in FORMATS:
        msgspec.json.encode(other.dump([pt.user("go on"), message]))


@by_vendor
@settings(max_examples=number_of(60, whole=4_000), deadline=None)
@given(data=st.data())
def test_a_damaged_event_gives_a_message_or_a_complaint(vendor, data):
    response = data.draw(vendor.responses)
    rnd = data.draw(st.randoms(use_true_random=False))
    streamed = [json.loads(json.dumps(event)) for event in vendor.events(rnd, response)]  # which share nothing
    holder: Any = streamed
    name: Any = data.draw(st.integers(0, len(streamed) - 1))
    while isinstance(inner := holder[name], dict | list) and inner and data.draw(st.integers(0, 4)):
        holder, name = (
            inner,
            data.draw(st.sampled_from(sorted(inner) if isinstance(inner, dict) else range(len(inner)))),
        )
    holder[name] = data.draw(json_values)
    try:
        message = fed(vendor.format, streamed).message
    except pt.InvalidInput as complaint:
        assert complaint.path.startswith("$")  # noqa: PT017
    else:
        check_usable(message)


@by_vendor
def test_the_work_for_an_event_does_not_grow_with_the_stream(vendor):
    stream = vendor.format.Stream()
    opening, *rest = ONE_TEXT[vendor.format]
    piece = rest.pop()
    for event in (opening, *rest):
        stream.feed(event)

    def calls_for_a_piece():
        count = 0

        def profile(*_):
            nonlocal count
            count += 1

        sys.setprofile(profile)
        try:
            stream.feed(piece)
        finally:
            sys.setprofile(None)
        return count

    stream.feed(piece)
    early = calls_for_a_piece()
    for _ in range(2_000):
        stream.feed(piece)
    assert calls_for_a_piece() == early > 0
    assert stream.message.text == "ab" * 2_003


@pytest.mark.parametrize(
    ("vendor", "kind"), [(openai_chat, "content.delta"), (anthropic, "text"), (anthropic, "input_json")]
)
def test_what_a_helper_repeats_is_not_even_read(vendor, kind):
    class Repeated:
        type = kind

        def model_dump(self, **_):
            raise AssertionError("all that came so far would be copied for each event")

    assert fed(vendor, [Repeated()]).message.content == ()


def test_the_snapshot_of_a_helper_is_not_read():
    class WithSnapshot:
        type = "response.output_text.delta"

        def model_dump(self, *, exclude, **_):
            assert "snapshot" in exclude
            return {"type": self.type, "output_index": 0, "content_index": 0, "delta": "ab"}

    assert fed(openai_responses, [WithSnapshot()] * 2).message.text == "abab"


ONE_TEXT = {
    openai_chat: [{"choices": []}, {"choices": [{"delta": {"content": "ab"}}]}],
    openai_responses: [
        {"type": "response.created", "response": {"id": "r", "output": []}},
        {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "ab"},
    ],
    anthropic: [
        {"type": "message_start", "message": {"role": "assistant", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "ab"}},
    ],
    gemini: [{"candidates": []}, {"candidates": [{"content": {"parts": [{"text": "ab"}]}}]}],
}


@by_vendor
def test_a_stream_of_which_nothing_came_is_an_empty_answer_that_says_so(vendor):
    stream = vendor.format.Stream()
    assert stream.message.content == ()
    assert stream.message.role is pt.Role.ASSISTANT
    assert stream.message.metadata["stream"] == {"finished": False}
    assert not stream.is_finished


@by_vendor
@pytest.mark.parametrize(
    "event", [{"type": "response.invented.delta", "delta": {"x": 1}}, {"type": "invented", "index": 7}, {}]
)
def test_an_event_of_an_unknown_type_is_passed_over(vendor, event):
    *before, piece = ONE_TEXT[vendor.format]
    stream = fed(vendor.format, [*before, event, piece, event, piece])
    assert stream.message.text == "abab"
    assert stream.error is None


@by_vendor
@pytest.mark.parametrize(
    ("event", "complaint"),
    [
        (5, r"\$\[0\]: expected an object, got 5"),
        (None, r"\$\[0\]: expected an object, got None"),
        ("{", r"\$\[0\]: expected the JSON of an event, got '\{'"),
        (b"null", r"\$\[0\]: expected an object, got None"),
    ],
)
def test_what_is_no_event_is_refused(vendor, event, complaint):
    with pytest.raises(pt.InvalidInput, match=complaint):
        vendor.format.Stream().feed(event)


TEXT_BLOCK = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}


@pytest.mark.parametrize(
    ("vendor", "streamed", "complaint"),
    [
        (openai_chat, [{"choices": 1}], r"\$\[0\]\.choices: expected a list, got 1"),
        (openai_chat, [{}, {"choices": [{"index": 1}]}], r"\$\[1\]\.choices\[0\]\.index: expected one choice"),
        (
            openai_chat,
            [{"choices": [{"delta": {"content": 5}}]}],
            r"\$\[0\]\.choices\[0\]\.delta\.content: expected text or a list of parts, got 5",
        ),
        (
            openai_chat,
            [{"choices": [{"delta": {"tool_calls": [{"index": "a"}]}}]}],
            r"delta\.tool_calls\[0\]\.index: expected a whole number, got 'a'",
        ),
        (
            openai_chat,
            [{"choices": [{"delta": {"tool_calls": [{"function": {"arguments": {}}}]}}]}],
            r"delta\.tool_calls\[0\]\.function\.arguments: expected text, got \{\}",
        ),
        (
            openai_responses,
            [{"type": "response.output_text.delta", "content_index": 0, "delta": "x"}],
            r"\$\[0\]\.output_index: expected a whole number, got nothing",
        ),
        (
            openai_responses,
            [{"type": "response.function_call_arguments.delta", "output_index": 0, "delta": 1}],
            r"\$\[0\]\.delta: expected text, got 1",
        ),
        (
            openai_responses,
            [{"type": "response.created", "response": {"id": id_, "output": []}} for id_ in "ab"],
            r"\$\[1\]\.response\.id: expected the events of one response, 'a', got 'b'",
        ),
        (anthropic, [{"type": "content_block_delta", "index": 0, "delta": {}}], "expected a block that has started"),
        (anthropic, [TEXT_BLOCK, TEXT_BLOCK], r"\$\[1\]\.index: expected a block that has not started, got 0"),
        (
            anthropic,
            [TEXT_BLOCK, {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta"}}],
            r"\$\[1\]\.delta\.text: expected text, got nothing",
        ),
        (
            anthropic,
            [TEXT_BLOCK, {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta"}}],
            r"\$\[1\]\.delta\.type: expected a delta of a block of the type text, got thinking_delta",
        ),
        (anthropic, [{"type": "message_start", "message": {}}] * 2, "expected the events of one message, got a second"),
        (gemini, [{"candidates": [{"index": 1}]}], r"\$\[0\]\.candidates\[0\]\.index: expected one candidate"),
        (gemini, [{"candidates": [{"content": {"parts": [3]}}]}], r"content\.parts\[0\]: expected an object, got 3"),
    ],
)
def test_a_malformed_event_is_refused_with_its_place(vendor, streamed, complaint):
    with pytest.raises(pt.InvalidInput, match=complaint):
        fed(vendor, streamed)


# -- OpenAI, chat


def chunk(delta, **choice):
    return {"choices": [{"index": 0, "delta": delta, **choice}]}


def piece(index, arguments, **first):
    function = {"arguments": arguments} | ({"name": first.pop("name")} if "name" in first else {})
    return chunk({"tool_calls": [{"index": index, "function": function, **first}]})


def called(message):
    return [(call.id, call.name, call.arguments) for call in message.tool_calls]


def test_pieces_of_parallel_calls_find_their_call_by_its_index():
    streamed = [
        piece(1, "", id="b", name="stat"),
        piece(0, "", id="a", name="read"),
        piece(1, '{"x":'),
        piece(0, '{"y":'),
        piece(0, "1}"),
        piece(1, "2}"),
        chunk({}, finish_reason="tool_calls"),
    ]
    assert called(fed(openai_chat, streamed).message) == [("a", "read", '{"y":1}'), ("b", "stat", '{"x":2}')]


def test_calls_that_a_server_gives_one_index_are_told_apart_by_their_ids():
    streamed = [piece(0, '{"n":', id="a", name="read"), piece(0, "1}"), piece(0, '{"n":', id="b", name="read")]
    stream = fed(openai_chat, [*streamed, piece(0, "2}"), chunk({}, finish_reason="tool_calls")])
    assert called(stream.message) == [("a", "read", '{"n":1}'), ("b", "read", '{"n":2}')]


def test_a_server_that_repeats_ids_and_names_or_leaves_them_empty_changes_nothing():
    streamed = [
        piece(0, '{"n":', id="a", name="read"),
        piece(0, "1", id="", name=""),
        piece(0, "}", id="a", name="read"),
    ]
    assert called(fed(openai_chat, streamed).message) == [("a", "read", '{"n":1}')]


def test_half_a_call_is_left_out_and_said():
    streamed = [chunk({"content": "I look."}), piece(0, "{}", id="a", name="read"), piece(1, '{"x"', id="b", name="rm")]
    stream = fed(openai_chat, streamed)
    half = {"id": "b", "function": {"name": "rm", "arguments": '{"x"'}}
    assert stream.message.text == "I look."
    assert called(stream.message) == [("a", "read", "{}")]
    assert stream.incomplete == (half,)
    assert stream.message.metadata["stream"] == {"finished": False, "incomplete": [half]}


@pytest.mark.parametrize(("reason", "is_kept"), [("tool_calls", True), ("length", False), ("content_filter", False)])
@pytest.mark.parametrize("arguments", ["", '{"x"'])
def test_a_call_that_may_have_met_the_limit_is_half(reason, is_kept, arguments):
    stream = fed(openai_chat, [piece(0, arguments, id="a", name="read"), chunk({}, finish_reason=reason)])
    assert stream.is_finished
    assert called(stream.message) == ([("a", "read", arguments)] if is_kept else [])
    assert len(stream.incomplete) == (0 if is_kept else 1)
    assert stream.message.metadata["response"]["finish_reason"] == reason


def test_words_that_are_no_json_are_never_taken_for_a_whole_call_before_the_end():
    call = {"index": 0, "id": "a", "type": "custom", "custom": {"name": "patch", "input": '{"looks": "whole"}'}}
    stream = fed(openai_chat, [chunk({"tool_calls": [call]})])
    assert stream.message.tool_calls == ()
    stream.feed(chunk({}, finish_reason="tool_calls"))
    assert called(stream.message) == [("a", "patch", '{"looks": "whole"}')]


def test_a_call_without_arguments_or_with_a_null_name_in_a_later_piece():
    call = {"index": 0, "id": "a", "function": {"name": "now"}}
    again = {"index": 0, "function": {"name": None, "arguments": None}}
    streamed = [chunk({"tool_calls": [call]}), chunk({"tool_calls": [again]}), chunk({}, finish_reason="stop")]
    assert called(fed(openai_chat, streamed).message) == [("a", "now", "")]


def test_the_call_from_before_there_were_several():
    streamed = [
        chunk({"function_call": {"name": "read", "arguments": '{"a"'}}),
        chunk({"function_call": {"arguments": ":1}"}}),
    ]
    assert called(fed(openai_chat, streamed).message) == [("read", "read", '{"a":1}')]
    assert fed(openai_chat, streamed[:1]).message.tool_calls == ()
    assert fed(openai_chat, streamed[:1]).incomplete == ({"function_call": {"name": "read", "arguments": '{"a"'}},)


def test_details_of_reasoning_grow_by_their_index():
    details = [
        {"type": "reasoning.text", "index": 0, "format": "f", "text": "Two "},
        {"type": "reasoning.text", "index": 0, "format": "f", "text": "files."},
        {"type": "reasoning.text", "index": 0, "format": "f", "signature": "sig"},
        {"type": "reasoning.encrypted", "index": 1, "data": "x"},
    ]
    message = fed(openai_chat, [chunk({"reasoning_details": [each]}) for each in details]).message
    assert message.extra["openai_chat"]["reasoning_details"] == [
        {"type": "reasoning.text", "index": 0, "format": "f", "text": "Two files.", "signature": "sig"},
        {"type": "reasoning.encrypted", "index": 1, "data": "x"},
    ]


def test_a_content_of_parts_and_texts_loses_neither():
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "Two."}]}
    message = fed(
        openai_chat, [chunk({"content": [thinking]}), chunk({"content": "I "}), chunk({"content": "look."})]
    ).message
    assert message.content == (Native(vendor="openai_chat", item=thinking), Text(text="I look."))


@pytest.mark.parametrize("end", ["[DONE]", b" [DONE]\n"])
def test_the_payload_that_is_no_json_ends_a_chat(end):
    stream = fed(openai_chat, [json.dumps(chunk({"content": "x"}))])
    assert not stream.is_finished
    stream.feed(end)
    assert stream.is_finished
    assert not fed(anthropic, [end]).is_finished


def test_an_error_in_a_chat_is_said_and_what_came_is_kept():
    error = {"code": 502, "message": "Provider disconnected"}
    stream = fed(openai_chat, [chunk({"content": "I lo"}), {"error": error, **chunk({}, finish_reason="error")}])
    assert stream.message.text == "I lo"
    assert not stream.is_finished
    assert (stream.error.code, stream.error.message, stream.error.raw) == ("502", "Provider disconnected", error)
    assert stream.message.metadata["stream"] == {"finished": False, "error": error}
    assert fed(openai_chat, [{"error": "overloaded"}]).error.message == "overloaded"


# -- OpenAI, responses

STARTED = {"type": "response.created", "response": {"id": "r", "model": "gpt-5", "status": "in_progress", "output": []}}


def added(index, **item):
    return {"type": "response.output_item.added", "output_index": index, "item": {"status": "in_progress", **item}}


def done(index, **item):
    return {"type": "response.output_item.done", "output_index": index, "item": {"status": "completed", **item}}


def delta(index, name, text, **place):
    return {"type": f"response.{name}.delta", "output_index": index, "delta": text, **place}


CALL = {"type": "function_call", "id": "fc", "call_id": "c", "name": "read"}


def test_a_response_that_is_cut_gives_its_text_as_incomplete():
    streamed = [
        STARTED,
        added(0, type="message", id="m", role="assistant", content=[]),
        delta(0, "output_text", "I lo", content_index=0),
        delta(0, "output_text", "ok", content_index=0),
    ]
    message = fed(openai_responses, streamed).message
    assert message.text == "I look"
    assert message.content[0].extra["openai_responses"]["item"] == {"id": "m", "status": "incomplete"}
    assert message.metadata["response"]["id"] == "r"


@pytest.mark.parametrize(
    ("more", "is_kept"),
    [
        ([], False),
        ([delta(0, "function_call_arguments", '{"a"')], False),
        ([delta(0, "function_call_arguments", '{"a"'), delta(0, "function_call_arguments", ":1}")], True),
        ([{"type": "response.function_call_arguments.done", "output_index": 0, "arguments": ""}], False),
        ([done(0, **CALL, arguments=""), delta(0, "function_call_arguments", "x")], True),  # too late to change it
        ([done(0, **CALL, arguments="{")], True),
        ([done(0, **CALL, arguments="{", status="incomplete")], False),
    ],
)
def test_a_call_of_a_response_that_is_cut_is_kept_when_it_is_whole(more, is_kept):
    stream = fed(openai_responses, [STARTED, added(0, **CALL, arguments=""), *more])
    assert len(stream.message.tool_calls) == is_kept
    assert len(stream.incomplete) == (not is_kept)
    assert all("x" not in call.arguments for call in stream.message.tool_calls)


def test_items_that_the_last_event_does_not_repeat_are_those_that_came():
    search = {"type": "web_search_call", "id": "ws", "status": "completed", "action": {"type": "search", "query": "q"}}
    last = {"type": "response.completed", "response": {"id": "r", "status": "completed", "output": []}}
    stream = fed(
        openai_responses, [STARTED, added(0, **search), done(0, **search), done(1, **CALL, arguments=""), last]
    )
    assert stream.message.content[0] == Native(vendor="openai_responses", item=search, text="q")
    assert called(stream.message) == [("c", "read", "")]
    assert stream.is_finished


def test_what_a_completed_response_has_counts_whatever_came_before():
    output = [{**CALL, "arguments": ""}, {"type": "invented", "id": "i"}]
    response = {"id": "r", "model": "gpt-5", "status": "completed", "output": output}
    stream = fed(openai_responses, [STARTED, {"type": "response.completed", "response": response}])
    assert stream.message == openai_responses.load_reply(response)
    assert len(stream.message.content) == 2


def test_half_an_item_of_a_server_tool_and_reasoning_that_cannot_be_sent_back_are_left_out():
    searching = {"type": "web_search_call", "id": "ws", "status": "searching"}
    looked_up = {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "Two."}]}
    hidden = {**looked_up, "id": "rs_2", "encrypted_content": "x"}
    stream = fed(openai_responses, [STARTED, done(0, **looked_up), done(1, **hidden), added(2, **searching)])
    assert [part.redacted for part in stream.message.content] == ["x"]
    assert [item["id"] for item in stream.incomplete] == ["rs", "ws"]


def test_a_response_that_met_its_limit_says_so_and_has_no_half_call():
    output = [
        {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
        {**CALL, "arguments": '{"a"', "status": "incomplete"},
        {"type": "custom_tool_call", "call_id": "d", "name": "patch", "input": "half", "status": "incomplete"},
    ]
    response = {
        "id": "r",
        "status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens"},
        "output": output,
    }
    stream = fed(openai_responses, [STARTED, {"type": "response.incomplete", "response": response}])
    assert stream.is_finished
    assert stream.error.code == "max_output_tokens"
    assert stream.message.text == "I look."
    assert stream.message.tool_calls == ()
    assert list(stream.incomplete) == output[1:]


def test_a_response_that_failed_keeps_what_came():
    error = {"code": "server_error", "message": "The model failed."}
    failed = {"type": "response.failed", "response": {"id": "r", "status": "failed", "error": error, "output": []}}
    stream = fed(openai_responses, [STARTED, delta(0, "output_text", "I lo", content_index=0), failed])
    assert stream.message.text == "I lo"
    assert not stream.is_finished
    assert (stream.error.code, stream.error.message) == ("server_error", "The model failed.")


@pytest.mark.parametrize(
    "event",
    [
        {"type": "error", "code": "rate_limit_exceeded", "message": "Slow down.", "param": None, "sequence_number": 2},
        {"type": "error", "error": {"code": "rate_limit_exceeded", "message": "Slow down."}},
    ],
)
def test_an_error_event_of_a_response(event):
    stream = fed(openai_responses, [STARTED, event])
    assert (stream.error.code, stream.error.message) == ("rate_limit_exceeded", "Slow down.")
    assert stream.message.metadata["stream"]["error"]["message"] == "Slow down."


# -- Anthropic


def start(index, **block):
    return {"type": "content_block_start", "index": index, "content_block": block}


def input_json(index, text):
    return {"type": "content_block_delta", "index": index, "delta": {"type": "input_json_delta", "partial_json": text}}


def stop(index):
    return {"type": "content_block_stop", "index": index}


def ended(reason):
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 5}}


USE = {"type": "tool_use", "id": "t", "name": "read", "input": {}}


def test_blocks_of_which_the_pieces_are_interleaved():
    streamed = [
        start(0, **USE),
        start(1, **USE | {"id": "u"}),
        input_json(1, '{"b":'),
        input_json(0, '{"a": 1'),
        input_json(1, "2}"),
        input_json(0, "}"),
        stop(0),
        stop(1),
        ended("tool_use"),
    ]
    assert called(fed(anthropic, streamed).message) == [("t", "read", '{"a":1}'), ("u", "read", '{"b":2}')]


@pytest.mark.parametrize(
    ("streamed", "arguments"),
    [
        ([], None),
        ([input_json(0, "")], None),
        ([input_json(0, '{"a"')], None),
        ([input_json(0, '{"a":1}')], '{"a":1}'),
        ([input_json(0, ""), stop(0)], None),  # the limit may be what stopped it
        ([input_json(0, ""), stop(0), ended("max_tokens")], None),
        ([input_json(0, '{"a"'), stop(0), ended("max_tokens")], None),
        ([input_json(0, ""), stop(0), start(1, type="text", text="")], "{}"),
        ([input_json(0, ""), stop(0), ended("tool_use")], "{}"),
        ([input_json(0, '{"a"'), stop(0), ended("tool_use")], '{"a"'),  # the model's own mistake, for it to hear of
        ([input_json(0, "[1]"), stop(0), ended("tool_use")], "[1]"),
    ],
)
def test_a_call_is_kept_when_it_is_whole(streamed, arguments):
    stream = fed(anthropic, [start(0, **USE), *streamed])
    assert [call.arguments for call in stream.message.tool_calls] == ([] if arguments is None else [arguments])
    assert len(stream.incomplete) == (arguments is None)


def test_what_there_is_of_half_a_call_can_be_looked_at():
    stream = fed(anthropic, [start(0, **USE), input_json(0, '{"a'), input_json(0, '": 1')])
    assert stream.incomplete == ({**USE, "partial_json": '{"a": 1'},)


def test_a_call_of_a_server_tool_whose_result_did_not_come_is_left_out_of_a_cut_stream():
    search = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    found = {
        "type": "web_search_tool_result",
        "tool_use_id": "s",
        "content": [{"type": "web_search_result", "url": "u"}],
    }
    asked = [start(0, **search), input_json(0, '{"query": "q"}'), stop(0)]
    assert fed(anthropic, asked).message.content == ()
    assert [block["id"] for block in fed(anthropic, asked).incomplete] == ["s"]
    called_ = {**search, "input": {"query": "q"}}
    assert [part.item for part in fed(anthropic, [*asked, start(1, **found), stop(1)]).message.content] == [
        called_,
        found,
    ]
    assert [part.item for part in fed(anthropic, [*asked, ended("pause_turn")]).message.content] == [called_]


def test_thinking_that_was_cut_is_kept_and_does_not_go_back():
    think = {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Two fi"}}
    message = fed(anthropic, [start(0, type="thinking", thinking="", signature=""), think]).message
    assert message.content[0].text == "Two fi"
    assert "Two fi" not in str(anthropic.dump([pt.user("x"), message, pt.user("y")]))


def test_a_compaction_counts_when_it_is_whole():
    piece_ = {"type": "compaction_delta", "content": "All that was said.", "encrypted_content": "x"}
    streamed = [
        start(0, type="compaction", content=None),
        {"type": "content_block_delta", "index": 0, "delta": piece_},
        stop(0),
    ]
    assert fed(anthropic, streamed[:-1]).message.content == ()
    assert fed(anthropic, streamed).message.content[0].item == {**piece_, "type": "compaction"}


def test_the_last_usage_counts_and_what_it_does_not_say_stays():
    usage = {"input_tokens": 9, "cache_read_input_tokens": 4, "output_tokens": 1}
    begun = {"type": "message_start", "message": {"role": "assistant", "model": "m", "content": [], "usage": usage}}
    later = {**ended("end_turn"), "usage": {"output_tokens": 7, "input_tokens": None, "server_tool_use": {"n": 1}}}
    found = fed(anthropic, [begun, later]).message.usage
    assert (found.input_tokens, found.cache_read_tokens, found.output_tokens) == (13, 4, 7)
    assert found.extra == {"anthropic": {"server_tool_use": {"n": 1}}}


def test_an_error_event_of_anthropic():
    error = {"type": "overloaded_error", "message": "Overloaded"}
    text = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "I lo"}}
    stream = fed(anthropic, [TEXT_BLOCK, text, {"type": "error", "error": error}])
    assert (stream.error.code, stream.error.message) == ("overloaded_error", "Overloaded")
    assert stream.message.text == "I lo"
    assert not stream.is_finished
    assert stream.message.metadata["stream"] == {"finished": False, "error": error}


# -- Gemini


def gemini_chunk(*parts, **candidate):
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, **candidate}]}


def partial(*arguments, **call):
    return gemini_chunk({"functionCall": {"partialArgs": list(arguments), **call}})


def argument(path, **value):
    return {"jsonPath": path, **value}


PARTIAL = [
    gemini_chunk({"functionCall": {"name": "paint", "id": "c", "willContinue": True}, "thoughtSignature": "c2ln"}),
    partial(argument("$.size", numberValue=50), argument("$.wet", boolValue=False), willContinue=True),
    partial(argument("$.layers[0].name", stringValue="bl", willContinue=True), willContinue=True),
    partial(argument("$.layers[0].name", stringValue="ue"), willContinue=True),
    partial(argument("$.layers[1]", stringValue="x"), argument("$['a b']", nullValue=None), willContinue=True),
    gemini_chunk({"functionCall": {}}),
]


@pytest.mark.parametrize("of_client", [lambda event: event, as_gemini_chunk], ids=["dicts", "objects"])
def test_a_call_of_gemini_whose_arguments_come_in_pieces(of_client):
    streamed = [of_client(event) for event in PARTIAL]
    (call,) = fed(gemini, streamed).message.tool_calls
    assert (call.id, call.name, call.thought_signature) == ("c", "paint", "c2ln")
    assert call.parsed == {"size": 50, "wet": False, "layers": [{"name": "blue"}, "x"], "a b": None}
    assert '"size":50,' in call.arguments  # as it is without streaming
    for count in range(1, len(PARTIAL)):
        stream = fed(gemini, streamed[:count])
        assert stream.message.tool_calls == ()
        assert len(stream.incomplete) == 1


@pytest.mark.parametrize("path", ["", "x", "$", "$[0]", "$.a.", "$.size.x", "$.layers[7]", "$.layers.x"])
def test_a_path_into_the_arguments_that_leads_nowhere_is_refused(path):
    with pytest.raises(
        pt.InvalidInput, match=r"\$\[5\]\.candidates\[0\]\.content\.parts\[0\]\.function_call\.partial_args"
    ):
        fed(gemini, [*PARTIAL[:-1], partial(argument(path, stringValue="x"), willContinue=True)])


def test_citations_of_all_chunks_are_kept():
    streamed = [gemini_chunk({"text": "a"}, citationMetadata={"citations": [{"uri": uri}]}) for uri in "xy"]
    message = fed(gemini, [*streamed, gemini_chunk(finishReason="STOP")]).message
    assert message.metadata["response"]["citation_metadata"] == {"citations": [{"uri": "x"}, {"uri": "y"}]}


def test_a_blocked_prompt_is_the_end_of_a_stream():
    response = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 5}}
    stream = fed(gemini, [response])
    assert stream.is_finished
    assert stream.message == gemini.load_reply(response)


def test_an_error_chunk_of_gemini():
    error = {"code": 503, "status": "UNAVAILABLE", "message": "Overloaded."}
    stream = fed(gemini, [gemini_chunk({"text": "I lo"}), {"error": error}])
    assert (stream.error.code, stream.error.message) == ("UNAVAILABLE", "Overloaded.")
    assert stream.message.text == "I lo"
    assert not stream.is_finished
