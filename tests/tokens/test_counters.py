"""Counting: text, messages, tools, and what a session learns from reported usage."""

import base64
from math import ceil

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pageturn as pt
from pageturn.tokens.counters import counter_for
from pageturn.tokens.encodings import encoding
from pageturn.values.messages import File, Native, Thinking
from pageturn.values.vendors import profile_of
from tests import strategies

MODELS = ["gpt-5.4", "gpt-4", "claude-opus-4-6", "gemini-3-flash", "my-own-model"]
models = st.sampled_from(MODELS)
UNKNOWN = "unknown/o200k+cl100k/tiles-85-170+patches-2.46+pixels-750+tiles-258+patches-28/4"
OTHERS = [
    "grok-4",
    "deepseek-v3.2",
    "qwen3-coder",
    "mistral-large",
    "kimi-k2",
    "glm-5",
    "gemma-3",
    "nova-pro",
    "phi-4",
    "command-r",
    "",
]


@pytest.mark.parametrize(
    ("model", "name", "exact"),
    [
        ("gpt-5.4", "openai/o200k/tiles-70-140/4", True),
        ("openai/gpt-4o-mini", "openai/o200k/tiles-2833-5667/4", True),
        ("gpt-4o", "openai/o200k/tiles-85-170/4", True),
        ("gpt-4.1", "openai/o200k/tiles-85-170/4", True),
        ("gpt-4.1-nano", "openai/o200k/patches-2.46/4", True),
        ("gpt-4-turbo", "openai/cl100k/tiles-85-170/4", True),
        ("gpt-3.5-turbo", "openai/cl100k/tiles-85-170/4", True),
        ("o3", "openai/o200k/tiles-75-150/4", True),
        ("o5", "openai/o200k/tiles-75-150/4", True),
        ("anthropic.claude-sonnet-4-5", "anthropic/o200k/pixels-750/4", False),
        ("models/gemini-2.5-pro", "gemini/o200k/tiles-258/4", False),
        ("llama-4", UNKNOWN, False),
        ("solar-pro1", UNKNOWN, False),
        ("gpt-2", UNKNOWN, False),
        ("gpt-neox-20b", UNKNOWN, False),
        ("gpt-oss-120b", "openai/o200k/tiles-70-140/4", True),
        ("marco-o1", UNKNOWN, False),
        ("o4-mini", "openai/o200k/patches-1.72/4", True),
        ("openai/o1", "openai/o200k/tiles-75-150/4", True),
        *((model, UNKNOWN, False) for model in OTHERS),
    ],
)
def test_a_model_is_counted_by_its_family(model, name, exact):
    counter = counter_for(model)
    assert (counter.name, counter.exact) == (name, exact)


def test_a_counter_is_made_once():
    assert counter_for("gpt-5.4") is counter_for("gpt-5.4-codex")


@given(strategies.text)
def test_the_text_of_an_openai_model_is_counted_exactly(text):
    assert counter_for("gpt-5.4").text(text) == encoding("o200k_base").count(text)
    assert counter_for("gpt-4").text(text) == encoding("cl100k_base").count(text)


@given(strategies.text)
def test_an_estimate_is_the_fitted_multiple_of_the_exact_count(text):
    exact = encoding("o200k_base").count(text)
    for model, slope in (("claude-opus-4-6", 1.25), ("gemini-3-flash", 1.2)):
        assert slope * exact <= counter_for(model).text(text) < slope * exact + 1
    most = max(1.25 * exact, encoding("cl100k_base").count(text))
    assert most <= counter_for("my-own-model").text(text) < most + 2.25


# A model of each row of the table, in its order. gpt-4o-mini bills a picture 33 times, to fit its price per token.
KNOWN = ["claude-opus-4-6", "gemini-3", "gpt-oss-20b", "gpt-4o", "gpt-4.1-mini", "gpt-4.1-nano", "gpt-4.1", "gpt-4", "gpt-5-mini", "gpt-5-nano", "gpt-5.4", "o4-mini", "o3"]  # fmt: skip
DEFINITION = {"name": "read", "description": "Read a file.", "parameters": {"type": "object"}}


@given(strategies.messages, strategies.text)
def test_an_unknown_model_is_charged_at_least_as_much_as_any_known(message, text):
    unknown = counter_for("my-own-model")
    for counter in map(counter_for, KNOWN):
        assert unknown.text(text) >= counter.text(text)
        assert unknown.message(message) >= counter.message(message)
        assert unknown.tools([{"name": text}]) >= counter.tools([{"name": text}])


@given(
    st.none() | st.tuples(st.integers(1, 9_000), st.integers(1, 9_000)), strategies.json_values, st.binary(max_size=60)
)
def test_so_are_pictures_calls_and_opaque_payloads(size, value, data):
    width, height = size or (None, None)
    payload = base64.b64encode(data).decode()
    message = pt.assistant(
        pt.Image(url="https://e.org/a.png", width=width, height=height),
        pt.ToolCall(id="c", name="n", arguments=pt.to_json({"x": value}).decode(), thought_signature=payload),
        Thinking(text="t", signature=payload),
        Native(vendor="gemini", item={"value": value, "signature": payload}),
    )
    unknown = counter_for("my-own-model").message(message)
    assert all(unknown >= counter_for(model).message(message) for model in KNOWN)


def test_a_counter_says_how_it_counts():
    assert counter_for("gpt-5").described == "exact for text in OpenAI's o200k vocabulary"
    assert counter_for("gpt-4").described == "exact for text in OpenAI's cl100k vocabulary"
    assert counter_for("claude-opus-4-6").described.startswith(
        "estimate: 1.25 x o200k, calibrated on 12,369 prompt sizes"
    )
    assert counter_for("gemini-3").described.startswith("estimate: 1.2 x o200k, calibrated on only 54 prompt sizes")
    assert counter_for("my-own-model").described.startswith("estimate for an unknown model: 1.25 x o200k")
    for model in [*KNOWN, "gpt-4o-mini", "my-own-model"]:
        counter = counter_for(model)
        assert counter.exact == counter.described.startswith("exact")


SAMPLES = [
    pt.system("Be brief.", synthetic=True, visibility=pt.Visibility.INTERNAL),
    pt.user("Grüße, 世界! नमस्ते", File(path="a.pdf"), extra={"openai_chat": {"name": "ada", "id": "x" * 40}}),
    *(pt.user(pt.Image(url="https://e.org/a.png", width=side, height=side // 3)) for side in (30, 900, 2_500, 9_000)),
    pt.user(pt.Image(url="https://e.org/a.png")),
    pt.assistant(
        Thinking(text="Hm.", signature="QUJD" * 30, redacted="QUJD" * 9),
        pt.ToolCall(id="call_abcdefgh", name="read file", arguments='{"path": "a.py", "lines": [1, 2]}', thought_signature="QUJD"),
        Native(vendor="gemini", item={"executable_code": {"code": "print(1)"}, "blob": "JVBERi0x" * 30_000}),
    ),
    pt.tool_result("call_abcdefgh", "x = 1"),
]  # fmt: skip


def counts(counter):
    return (*map(counter.message, SAMPLES), counter.tools([DEFINITION]), counter.tools([{}]))


def test_counters_of_one_name_count_the_same_and_others_do_not():
    found = {}
    for model in [*KNOWN, "gpt-4o-mini", "my-own-model"]:
        counter = counter_for(model)
        assert found.setdefault(counter.name, counts(counter)) == counts(counter)
    assert len(set(found.values())) == len(found) == 11


def test_a_count_never_changes_under_the_same_name():
    """Sizes are stored under the name of the counter. If this fails on purpose, raise VERSION in profiles.py."""
    found = {
        counter_for(model).name: counts(counter_for(model))
        for model in ("gpt-5", "gpt-4", "claude-opus-4-6", "gemini-3", "my-own-model")
    }
    assert found == {
        "openai/o200k/tiles-70-140/4": (16, 2025, 214, 354, 1194, 1194, 1194, 2113, 8, 59, 33),
        "openai/cl100k/tiles-85-170/4": (16, 2032, 259, 429, 1449, 1449, 1449, 2111, 8, 59, 32),
        "anthropic/o200k/pixels-750/4": (19, 2032, 28, 364, 1097, 1097, 1604, 2181, 9, 639, 606),
        "gemini/o200k/tiles-258/4": (19, 2031, 262, 2068, 2584, 12388, 3100, 2116, 9, 65, 34),
        UNKNOWN: (30, 2048, 273, 2079, 3587, 16399, 4085, 2202, 9, 639, 606),
    }


@pytest.mark.parametrize(
    ("model", "vendor"),
    [
        ("claude-opus-4-6", "anthropic"),
        ("us.anthropic.Claude-sonnet-4-5-v1:0", "anthropic"),
        ("models/gemini-2.5-pro", "gemini"),
        ("gpt-5.4", "openai"),
        ("openai.gpt-5", "openai"),
        ("gpt-35-turbo", "openai"),
        ("gpt-10", "openai"),
        ("chatgpt-4o-latest", "openai"),
        ("o1", "openai"),
        ("openai/o4-mini", "openai"),
        ("gpt-oss-120b", "openai"),
        ("gpt-2", None),
        ("gpt-neox-20b", None),
        ("marco-o1", None),
        ("yolo3", None),
        *((model, None) for model in OTHERS),
    ],
)
def test_the_vendor_of_a_model(model, vendor):
    assert profile_of(model).vendor == vendor
    assert counter_for(model).name.startswith(f"{vendor or 'unknown'}/")
    assert profile_of(model).vendor == vendor
    assert counter_for(model).name.startswith(f"{vendor or 'unknown'}/")


def test_known_counts():
    counter = counter_for("gpt-5.4")
    assert counter.text("") == 0
    assert counter.text("hello world") == 2
    assert counter.message(pt.user("hello world")) == 2 + 4
    assert counter.message(pt.assistant(pt.ToolCall(id="c", name="read", arguments="{}"))) == 1 + 1 + 25 + 4


@given(models, strategies.messages)
def test_every_message_has_a_positive_count(model, message):
    assert counter_for(model).message(message) > 0


@given(models, strategies.messages, strategies.texts)
def test_a_part_more_never_costs_less(model, message, part):
    counter = counter_for(model)
    longer = msgspec.structs.replace(message, content=(*message.content, part))
    assert counter.message(longer) >= counter.message(message)


@given(models, st.text(max_size=80))
def test_any_text_can_be_counted_even_half_a_surrogate_pair(model, text):
    counter = counter_for(model)
    assert counter.text(text + "\ud83d") >= counter.text(text.encode("utf-8", "ignore").decode()) - 2
    assert counter.message(pt.user(text + "\ud83d")) > 0


def test_claude_is_shown_the_values_of_a_call_and_not_its_json():
    quoted = 'say "hello world"\n' * 20
    call = pt.ToolCall(id="c", name="write", arguments=pt.to_json({"text": quoted, "n": [1]}).decode())
    shown = sum(map(encoding("o200k_base").count, ("write", "text", quoted, "n", "[1]")))
    assert counter_for("claude-opus-4-6").message(pt.assistant(call)) == ceil(1.25 * shown) + 80 + 4


@pytest.mark.parametrize("arguments", ["", "{", "[1, 2]", "null", "[" * 100_000])
def test_arguments_that_are_no_object_are_counted_as_text(arguments):
    call = pt.ToolCall(id="c", name="n", arguments=arguments)
    assert counter_for("claude-opus-4-6").message(pt.assistant(call)) >= 80


def test_an_image_costs_by_the_vendors_rule():
    picture = pt.Image(url="https://e.org/a.png", width=1024, height=1024)
    assert counter_for("gpt-4o").message(pt.user(picture)) == 765 + 4
    assert counter_for("claude-opus-4-6").message(pt.user(picture)) == 1399 + 4
    in_result = pt.tool_result("c", "see", picture)
    assert counter_for("gpt-4o").message(in_result) == 1 + 765 + 4


def test_a_document_is_read_where_it_is_text_and_charged_by_its_bytes_where_it_is_not():
    counter = counter_for("gpt-5.4")
    data = base64.b64encode(b"hello world " * 100).decode()
    assert (
        counter.message(pt.user(File(path=f"data:text/plain;base64,{data}"))) == counter.text("hello world " * 100) + 4
    )
    assert counter.message(pt.user(File(path="report.pdf"))) > 2_000
    assert counter.message(pt.user(File(path="data:text/plain;base64,!"))) == 2_000 + 4
    assert counter.message(pt.user(File(path="data:text/plain;base64,é"))) == 2_000 + 4
    assert counter.message(pt.user(File(path="data:text/plain,hello%20world"))) == 2 + 4
    for size, tokens in ((100_000, 2_000), (1_000_000, 10_000)):
        pdf = base64.b64encode(bytes(size)).decode()
        assert counter.message(pt.user(File(path=f"data:application/pdf;base64,{pdf}"))) == tokens + 4


def test_thinking_counts_by_its_text_or_by_the_size_of_what_stands_for_it():
    counter = counter_for("gpt-5.4")
    assert counter.message(pt.assistant(Thinking(text="hello world"))) == 2 + 4
    assert counter.message(pt.assistant(Thinking(text="hello world", signature="s" * 900))) == 2 + 225 + 4
    assert counter.message(pt.assistant(Thinking(text="", redacted="r" * 1000))) == 250 + 4


def test_tools_are_counted_as_their_json():
    tool = {"name": "read_file", "description": "Read a file.", "parameters": {"type": "object", "properties": {}}}
    counter = counter_for("gpt-5.4")
    assert counter.tools(()) == 0
    assert counter.tools([tool, tool]) - counter.tools([tool]) >= counter.text("Read a file.")
    assert counter_for("claude-opus-4-6").tools([tool]) > counter.tools([tool])
    loop = {}
    loop["loop"] = loop
    for bad in ({"name": object()}, {"name": "\ud800"}, {"x": float("nan")}, loop):
        with pytest.raises(pt.InvalidInput, match=r"\$\.tools: expected tool definitions as JSON"):
            counter.tools([bad])


@pytest.mark.parametrize(
    ("model", "once", "each"), [("gpt-5", 24, 6), ("claude-opus-4-6", 549, 53), ("gemini-3", 24, 6)]
)
def test_what_a_vendor_adds_for_tools(model, once, each):
    counter = counter_for(model)
    assert counter.tools([{}]) == counter.text("[{}]") + once + each
    assert counter.tools([{}] * 9) == counter.text(str([{}] * 9).replace(" ", "")) + once + 9 * each


@pytest.mark.parametrize(("model", "call"), [("gpt-5", 25), ("claude-opus-4-6", 80), ("gemini-3", 0)])
def test_what_a_vendor_adds_for_a_call(model, call):
    counter = counter_for(model)
    assert counter.message(pt.assistant(pt.ToolCall(id="c", name="", arguments=""))) == call + 4


def test_what_a_vendor_adds_covers_ids_up_to_its_size():
    counter = counter_for("gpt-5")
    id_ = "call_0Zq8vXw3RtY6uIoP1aSdFg"
    size = counter.text(id_)
    assert 4 < size < 25
    assert counter.message(pt.assistant(pt.ToolCall(id=id_, name="n", arguments=""))) == 1 + 25 + 4
    assert counter.message(pt.tool_result(id_, "hello world")) == 2 + size
    assert counter.message(pt.tool_result("c", "hello world")) == 2 + 4
