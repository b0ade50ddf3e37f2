"""Counting: text, messages, tools, and what a session learns from reported usage."""

import base64
from math import ceil

import pytest
from hypothesis import given, settings
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
@settings(deadline=None)
def test_every_message_has_a_positive_count(model, message):
    assert pt.counter_for(model).message(message) > 0


@given(models, strategies.messages, strategies.texts)
@settings(deadline=None)
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
    assert counter.message(pt.user(pt.File(path="data:text/plain;base64,!"))) > 2_000


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
    with pytest.raises(pt.InvalidInput, match=r"\$\.tools: expected tool definitions as JSON"):
        counter.tools([{"name": object()}])


def test_a_fresh_calibration_changes_nothing():
    assert (pt.Calibration().factor, pt.Calibration().hidden_tokens) == (1.0, 0)
    assert pt.Calibration().expected(1_000) == pt.Calibration().room(1_000) == 1_000


def test_one_report_gives_the_plain_ratio():
    learned = pt.Calibration().observe(counted=1_000, reported=1_300)
    assert (learned.factor, learned.hidden_tokens) == (1.3, 0)


@given(
    factor=st.floats(0.7, 2.5),
    hidden=st.integers(0, 40_000),
    start=st.integers(500, 20_000),
    steps=st.lists(st.integers(200, 4_000), min_size=8, max_size=40),
    noise=st.floats(-0.01, 0.01),
)
def test_a_growing_session_teaches_factor_and_hidden_tokens(factor, hidden, start, steps, noise):
    learned, counted = pt.Calibration(), start
    for index, step in enumerate(steps):
        counted += step
        reported = round(hidden + factor * counted * (1 + noise * (-1) ** index))
        learned = learned.observe(counted=counted, reported=reported)
    truth = hidden + factor * counted
    assert abs(learned.expected(counted) - truth) <= 0.05 * truth


@given(st.lists(st.tuples(st.integers(1, 500_000), st.integers(1, 900_000)), max_size=20), st.integers(0, 10**6))
def test_the_room_is_the_largest_count_that_stays_within_the_budget(usage, budget):
    learned = pt.Calibration()
    for counted, reported in usage:
        learned = learned.observe(counted=counted, reported=reported)
    room = learned.room(budget)
    assert room == 0 or learned.expected(room) <= budget
    assert learned.expected(room + 3) > budget


@pytest.mark.parametrize(("counted", "reported"), [(0, 5), (5, 0), (-1, 1)])
def test_usage_without_tokens_is_refused(counted, reported):
    with pytest.raises(pt.InvalidInput, match=r"\$\.usage: expected token counts above 0"):
        pt.Calibration().observe(counted=counted, reported=reported)
