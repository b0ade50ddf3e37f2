"""Counting: text, messages, tools, and what a session learns from reported usage."""

import base64
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pageturn as pt
from pageturn.encodings import encoding
from tests import strategies

MODELS = ["gpt-5.4", "gpt-4", "claude-opus-4-6", "gemini-3-flash", "my-own-model"]
models = st.sampled_from(MODELS)


@pytest.mark.parametrize(
    ("model", "name", "exact"),
    [
        ("gpt-5.4", "openai", True),
        ("openai/gpt-4o-mini", "openai", True),
        ("gpt-4.1", "openai", True),
        ("gpt-4-turbo", "openai-cl100k", True),
        ("gpt-3.5-turbo", "openai-cl100k", True),
        ("o3", "openai", True),
        ("anthropic.claude-sonnet-4-5", "anthropic", False),
        ("models/gemini-2.5-pro", "gemini", False),
        ("llama-4", "unknown", False),
        ("solar-pro1", "unknown", False),
        ("gpt-2", "unknown", False),
        ("gpt-neox-20b", "unknown", False),
        ("gpt-oss-120b", "openai", True),
        ("marco-o1", "unknown", False),
        ("o4-mini", "openai", True),
        ("openai/o1", "openai", True),
    ],
)
def test_a_model_is_counted_by_its_family(model, name, exact):
    counter = pt.counter_for(model)
    assert (counter.name, counter.exact) == (name, exact)


def test_a_counter_is_made_once():
    assert pt.counter_for("gpt-5.4") is pt.counter_for("gpt-5.4-codex")


@given(strategies.text)
def test_the_text_of_an_openai_model_is_counted_exactly(text):
    assert pt.counter_for("gpt-5.4").text(text) == encoding("o200k_base").count(text)
    assert pt.counter_for("gpt-4").text(text) == encoding("cl100k_base").count(text)


@given(strategies.text)
def test_an_estimate_is_the_fitted_multiple_of_the_exact_count(text):
    exact = encoding("o200k_base").count(text)
    for model, slope in (("claude-opus-4-6", 1.25), ("gemini-3-flash", 1.2), ("my-own-model", 1.1)):
        assert slope * exact <= pt.counter_for(model).text(text) < slope * exact + 1


def test_known_counts():
    counter = pt.counter_for("gpt-5.4")
    assert counter.text("") == 0
    assert counter.text("hello world") == 2
    assert counter.message(pt.user("hello world")) == 2 + 4
    assert counter.message(pt.assistant(pt.ToolCall(id="c", name="read", arguments="{}"))) == 1 + 1 + 25 + 4


@given(models, strategies.messages)
def test_every_message_has_a_positive_count(model, message):
    assert pt.counter_for(model).message(message) > 0


@given(models, strategies.messages, strategies.texts)
def test_a_part_more_never_costs_less(model, message, part):
    counter = pt.counter_for(model)
    longer = pt.Message(role=message.role, content=(*message.content, part))
    assert counter.message(longer) >= counter.message(message)


@given(models, st.text(max_size=80))
def test_any_text_can_be_counted_even_half_a_surrogate_pair(model, text):
    counter = pt.counter_for(model)
    assert counter.text(text + "\ud83d") >= counter.text(text.encode("utf-8", "ignore").decode()) - 2
    assert counter.message(pt.user(text + "\ud83d")) > 0


def test_claude_is_shown_the_values_of_a_call_and_not_its_json():
    quoted = 'say "hello world"\n' * 20
    call = pt.ToolCall(id="c", name="write", arguments=pt.to_json({"text": quoted, "n": [1]}).decode())
    shown = sum(map(encoding("o200k_base").count, ("write", "text", quoted, "n", "[1]")))
    assert pt.counter_for("claude-opus-4-6").message(pt.assistant(call)) == ceil(1.25 * shown) + 80 + 4


@pytest.mark.parametrize("arguments", ["", "{", "[1, 2]", "null", "[" * 100_000])
def test_arguments_that_are_no_object_are_counted_as_text(arguments):
    call = pt.ToolCall(id="c", name="n", arguments=arguments)
    assert pt.counter_for("claude-opus-4-6").message(pt.assistant(call)) >= 80


def test_an_image_costs_by_the_vendors_rule():
    picture = pt.Image(url="https://e.org/a.png", width=1024, height=1024)
    assert pt.counter_for("gpt-4o").message(pt.user(picture)) == 765 + 4
    assert pt.counter_for("claude-opus-4-6").message(pt.user(picture)) == 1399 + 4
    in_result = pt.tool_result("c", "see", picture)
    assert pt.counter_for("gpt-4o").message(in_result) == 1 + 765 + 4


def test_a_document_is_read_where_it_is_text_and_charged_flat_where_it_is_not():
    counter = pt.counter_for("gpt-5.4")
    data = base64.b64encode(b"hello world " * 100).decode()
    assert (
        counter.message(pt.user(pt.File(path=f"data:text/plain;base64,{data}")))
        == counter.text("hello world " * 100) + 4
    )
    assert counter.message(pt.user(pt.File(path="report.pdf"))) > 2_000
    assert counter.message(pt.user(pt.File(path="data:text/plain;base64,!"))) == 2_000 + 4
    assert counter.message(pt.user(pt.File(path="data:text/plain;base64,é"))) == 2_000 + 4
    assert counter.message(pt.user(pt.File(path="data:text/plain,hello%20world"))) == 2 + 4
    pdf = base64.b64encode(bytes(1_000_000)).decode()
    assert counter.message(pt.user(pt.File(path=f"data:application/pdf;base64,{pdf}"))) == 2_000 + 4


def test_thinking_counts_by_its_text_or_by_the_size_of_what_stands_for_it():
    counter = pt.counter_for("gpt-5.4")
    assert counter.message(pt.assistant(pt.Thinking(text="hello world", signature="s" * 900))) == 2 + 4
    assert counter.message(pt.assistant(pt.Thinking(text="", redacted="r" * 1000))) == 200 + 4


def test_tools_are_counted_as_their_json():
    tool = {"name": "read_file", "description": "Read a file.", "parameters": {"type": "object", "properties": {}}}
    counter = pt.counter_for("gpt-5.4")
    assert counter.tools(()) == 0
    assert counter.tools([tool, tool]) - counter.tools([tool]) >= counter.text("Read a file.")
    assert pt.counter_for("claude-opus-4-6").tools([tool]) > counter.tools([tool])
    loop = {}
    loop["loop"] = loop
    for bad in ({"name": object()}, {"name": "\ud800"}, {"x": float("nan")}, loop):
        with pytest.raises(pt.InvalidInput, match=r"\$\.tools: expected tool definitions as JSON"):
            counter.tools([bad])


@pytest.mark.parametrize(
    ("model", "once", "each"), [("gpt-5", 24, 6), ("claude-opus-4-6", 549, 53), ("gemini-3", 24, 6)]
)
def test_what_a_vendor_adds_for_tools(model, once, each):
    counter = pt.counter_for(model)
    assert counter.tools([{}]) == counter.text("[{}]") + once + each
    assert counter.tools([{}] * 9) == counter.text(str([{}] * 9).replace(" ", "")) + once + 9 * each


@pytest.mark.parametrize(("model", "call"), [("gpt-5", 25), ("claude-opus-4-6", 80), ("gemini-3", 0)])
def test_what_a_vendor_adds_for_a_call(model, call):
    counter = pt.counter_for(model)
    assert counter.message(pt.assistant(pt.ToolCall(id="c", name="", arguments=""))) == call + 4
