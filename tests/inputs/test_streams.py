"""Whatever the events of a stream hold, each is taken or refused with an error of ours, and what came before it stays."""

import json

import pytest

import pageturn as pt
from pageturn.formats import anthropic, gemini, openai_chat, openai_responses
from tests.inputs.values import HOSTILE, nested
from tests.long import examples

FORMATS = (anthropic, gemini, openai_chat, openai_responses)
EVENTS = {
    anthropic: [
        {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": [], "usage": {"a": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "", "citations": []}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "said"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "other_delta", "more": "x"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "a", "name": "f", "input": {"a": 1}}},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 2}},
        {"type": "error", "error": {"type": "overloaded_error", "message": "m", "code": 5}},
    ],
    gemini: [
        {"candidates": [{"content": {"parts": [{"text": "said"}]}}], "usageMetadata": {"promptTokenCount": 1}},
        {"candidates": [{"citationMetadata": {"citations": [{"uri": "u"}]}, "content": {"parts": [{"functionCall": {"id": "1", "name": "f", "partialArgs": [{"jsonPath": "$.a[0]", "stringValue": "q"}], "willContinue": True}}]}}]},
        {"candidates": [{"content": {"parts": [{"functionCall": {"id": "1", "partialArgs": [{"jsonPath": "$.a[0]", "stringValue": "r"}]}}]}}]},
        {"candidates": [{"content": {"parts": [{"functionCall": {"name": "f", "args": {"a": 1}}}]}, "finishReason": "STOP"}]},
        {"error": {"code": 429, "message": "m", "status": "S"}},
    ],
    openai_chat: [
        {"model": "m", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "said", "reasoning_details": [{"type": "reasoning.text", "text": "x", "index": 0}]}}]},
        {"choices": [{"index": 0, "delta": {"content": [{"type": "text", "text": "t"}]}, "logprobs": {"content": [{"token": "a"}]}}]},
        {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}], "usage": {"prompt_tokens": 1}},
        {"error": {"code": 429, "message": "m"}},
    ],
    openai_responses: [
        {"type": "response.created", "response": {"id": "r", "model": "m", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": ""}]}},
        {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "said"},
        {"type": "response.output_text.annotation.added", "output_index": 0, "content_index": 0, "annotation": {"type": "url"}},
        {"type": "response.output_item.done", "output_index": 1, "item": {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}},
        {"type": "response.output_item.done", "output_index": 2, "item": {"type": "code_interpreter_call", "id": "c", "output": ["x"], "action": {"query": ["q"]}}},
        {"type": "response.incomplete", "response": {"id": "r", "error": None, "incomplete_details": {"reason": "max_output_tokens"}}},
    ],
}  # fmt: skip
REPLIES = {
    anthropic: {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {"a": 1}}]},
    gemini: {"candidates": [{"content": {"parts": [{"functionCall": {"name": "f", "args": {"a": 1}}}]}}]},
    openai_chat: {"choices": [{"message": {"role": "assistant", "content": "x", "reasoning_details": [{"a": 1}]}}]},
    openai_responses: {"output": [{"type": "shell_call", "action": {"command": ["ls"]}, "output": ["x"], "id": "s"}]},
}
REQUESTS = {
    anthropic: {"messages": [{"role": "user", "content": "x"}], "tool_choice": {"type": "auto"}, "thinking": {"a": 1}},
    gemini: {"contents": [{"parts": [{"text": "x"}]}], "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}}},
    openai_chat: {"messages": [{"role": "user", "content": "x"}], "tool_choice": "auto", "tools": [{"a": 1}]},
    openai_responses: {"input": "x", "reasoning": {"effort": "low"}, "tools": [{"type": "web_search"}]},
}
EACH = examples(6, whole=len(HOSTILE) + 10)  # values at each place
DEPTHS = (150, 300, 600, 3_000)


def places(value, path=()):
    """The path of everything inside a JSON value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in inside:
        yield (*path, name)
        yield from places(inner, (*path, name))


def put(value, path, new):
    """The value with something else at a place."""
    if not path:
        return new
    inner = put(value[path[0]], path[1:], new)
    if isinstance(value, dict):
        return {**value, path[0]: inner}
    return [*value[: path[0]], inner, *value[path[0] + 1 :]]


def pairs(value, values):
    """Each place with some values, or all in the long run; a sample goes round, so that each value is somewhere."""
    named = [*values.items()]
    for at, path in enumerate(places(value)):
        yield from ((path, *named[(at * EACH + more) % len(named)]) for more in range(min(EACH, len(named))))


def require_words(error):
    if not str(error).strip():
        raise AssertionError(f"{type(error).__name__} without words") from error


def has_words(error):
    assert str(error).strip()


def take(stream, events):
    """Feed events and look at everything; what is refused is refused with words."""
    for event in events:
        try:
            stream.feed(event)
        except pt.PageturnError as error:
            require_words(error)
    for look in ("message", "incomplete", "error", "is_finished"):
        try:
            getattr(stream, look)
        except pt.PageturnError as error:
            require_words(error)


@pytest.mark.parametrize("format_", FORMATS, ids=lambda each: each.VENDOR)
def test_any_value_anywhere_in_an_event_is_taken_or_refused(format_):
    for path, name, make in pairs(EVENTS[format_], HOSTILE):
        try:
            take(format_.Stream(), put(EVENTS[format_], path, make()))
        except Exception as error:
            raise AssertionError(f"{name} at {path}: {type(error).__name__}") from error


@pytest.mark.parametrize("levels", DEPTHS)
@pytest.mark.parametrize("format_", FORMATS, ids=lambda each: each.VENDOR)
def test_an_event_of_any_depth_is_taken_or_refused_with_its_place(format_, levels):
    for path in places(EVENTS[format_]):
        for deep in (nested(levels), {"a": nested(levels)}):
            events = put(EVENTS[format_], path, deep)
            take(format_.Stream(), events)
            if levels < 900:  # beyond that, Python itself does not write it
                take(format_.Stream(), [json.dumps(event) for event in events])


@pytest.mark.parametrize("format_", FORMATS, ids=lambda each: each.VENDOR)
def test_what_came_before_an_event_that_is_too_deep_is_still_there(format_):
    stream = format_.Stream()
    for event in EVENTS[format_][:3]:
        stream.feed(event)
    with pytest.raises(pt.InvalidInput, match=r"\$\[3\]: expected objects and lists in a limited number of levels"):
        stream.feed(deep_event(format_))
    assert "said" in stream.message.text


def deep_event(format_):
    deep = nested(3_000)
    return {
        anthropic: {"type": "content_block_start", "index": 9, "content_block": {"type": "tool_use", "input": deep}},
        gemini: {"candidates": [{"content": {"parts": [{"functionCall": {"name": "f", "args": {"a": deep}}}]}}]},
        openai_chat: {"choices": [{"delta": {"reasoning_details": deep}}]},
        openai_responses: {"type": "response.output_item.added", "output_index": 9, "item": {"type": "x", "a": deep}},
    }[format_]


@pytest.mark.parametrize("format_", FORMATS, ids=lambda each: each.VENDOR)
@pytest.mark.parametrize(("load", "given"), [("load_reply", REPLIES), ("load_request", REQUESTS)])
def test_any_value_anywhere_in_a_reply_or_a_request_is_read_or_refused(format_, load, given):
    values = {**HOSTILE, **{f"{levels} levels": lambda levels=levels: nested(levels) for levels in DEPTHS}}
    for path, name, make in pairs(given[format_], values):
        try:
            read = getattr(format_, load)(put(given[format_], path, make()))
            format_.dump([read] if isinstance(read, pt.Message) else read)
        except pt.PageturnError as error:
            require_words(error)
        except Exception as error:
            raise AssertionError(f"{name} at {path}: {type(error).__name__}") from error
