"""Vendors: what is known of a model by its name, all of it from one table."""

import pytest

import pageturn as pt
from pageturn.formats import anthropic, openai_chat
from pageturn.tokens.families import family_of
from pageturn.values.prompt import Prompt
from pageturn.values.vendors import MOST_BREAKPOINTS, VENDORS, ReasoningRule, may_be_same, profile_of

NONE, LOOP = ReasoningRule.NONE_BEHIND_A_CHANGE, ReasoningRule.OPEN_LOOP_STAYS

MODELS = {  # the vendor, how it bills, its rule for reasoning, whether OpenAI serves it, takes system messages, checks signatures
    "claude-sonnet-4-5": ("anthropic", "anthropic-5m", LOOP, False, False, True),
    "anthropic/claude-opus-5.5": ("anthropic", "anthropic-5m", NONE, False, True, True),
    "gpt-5": ("openai", "openai", NONE, True, False, True),
    "azure/o3-pro": ("openai", "openai", NONE, True, False, True),
    "gpt-oss-120b": ("openai", "openai", NONE, False, False, True),
    "codex-mini-latest": (None, "unknown", NONE, True, False, True),
    "gemini-2.5-pro": ("gemini", "unknown", NONE, False, False, False),
    "models/gemini-3-flash": ("gemini", "unknown", NONE, False, False, True),
    "deepseek-reasoner": (None, "unknown", LOOP, False, False, True),
    "marco-o1": (None, "unknown", NONE, False, False, True),
    None: (None, "unknown", NONE, False, False, True),
}


@pytest.mark.parametrize("model", MODELS)
def test_the_profile_of_a_model(model):
    known = profile_of(model)
    told = (known.vendor, known.billing.name, known.reasoning, known.is_openai, known.takes_system_messages)
    assert (*told, known.checks_signatures) == MODELS[model]


@pytest.mark.parametrize(
    ("model", "fits", "made"),
    [
        ("gpt-5", "call_x-1", ("call_", 24)),
        ("mistral-large", "Abc123xyz", ("", 9)),
        ("kimi-k2", "functions.read:0", ("call_", 24)),
        ("gpt-4-on-mistral", "call_x-1", ("call_", 24)),
    ],
)
def test_the_ids_of_calls_that_a_model_takes(model, fits, made):
    assert profile_of(model).made_ids == made
    ask = pt.ToolCall(id=fits, name="read", arguments="{}")
    dumped = openai_chat.dump(
        Prompt(messages=(pt.user("go"), pt.assistant(ask), pt.tool_result(ask, "done")), model=model)
    )
    assert dumped["messages"][-1]["tool_call_id"] == fits


@pytest.mark.parametrize("model", [model for model in MODELS if model])
def test_a_model_counts_as_its_vendors_models_do(model):
    counts_as, _ = family_of(model)
    assert counts_as.name == (profile_of(model).vendor or "unknown")


def test_a_request_marks_as_many_ends_as_the_vendor_finds():
    """Of a caller's many places, of a prompt's own, and of a bill: the same number."""
    messages = [pt.user("one"), *(pt.assistant(str(at)) if at % 2 else pt.user(str(at)) for at in range(1, 12))]
    dumped = anthropic.dump(Prompt(messages=tuple(messages), marks=tuple(range(12))))
    marked = [block for message in dumped["messages"] for block in message["content"] if "cache_control" in block]
    assert len(marked) == MOST_BREAKPOINTS == VENDORS["anthropic-5m"].breakpoints


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("gemini-3-flash", "models/gemini-3-flash-001", True),
        ("gemini-3-flash", "gemini-3-pro", False),
        ("gemini-flash-latest", "gemini-3-pro", True),
        (None, "gemini-3-pro", True),
    ],
)
def test_two_names_may_mean_one_model(one, other, same):
    assert may_be_same(one, other) is may_be_same(other, one) is same
