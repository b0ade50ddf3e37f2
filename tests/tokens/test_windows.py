"""Windows of models, and what a prompt may fill of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pageturn.tokens.windows import input_capacity, window_of

CAPACITIES = {
    32_000: 19_756,
    128_000: 105_984,
    131_072: 108_748,
    200_000: 170_784,
    256_000: 221_184,
    272_000: 235_584,
    1_000_000: 890_784,
    2_000_000: 1_790_784,
}


@pytest.mark.parametrize(("window", "capacity"), CAPACITIES.items())
def test_the_capacity_of_a_window(window, capacity):
    assert input_capacity(window) == capacity


@given(st.integers(0, 3_000_000))
def test_a_capacity_is_never_negative_and_leaves_room_for_the_answer(window):
    assert 0 <= input_capacity(window) <= max(0, window - min(8_192, window // 4))


@given(st.integers(0, 3_000_000))
def test_a_larger_window_never_has_a_smaller_capacity(window):
    assert input_capacity(window) <= input_capacity(window + 1)


WINDOWS = {
    "claude-opus-5": 1_000_000,
    "claude-opus-4-7": 1_000_000,
    "claude-4.7-opus": 1_000_000,
    "claude-sonnet-4-5-20250929": 200_000,
    "glm-5.2": 1_000_000,
    "glm-5": 200_000,
    "kimi-k2-thinking": 256_000,
    "openai.gpt-5": 272_000,
    "gpt-5.4": 256_000,
    "GPT-4o": 128_000,
    "gemini-2.5-pro": 2_000_000,
    "gemini-3-flash-preview": 1_000_000,
    "minimax-m3": 1_000_000,
    "MiniMax-M2.5": 256_000,
    "qwen3-coder": 131_072,
    "qwq-32b": 131_072,
    "deepseek-v4": 1_048_576,
    "deepseek-reasoner": 128_000,
    "llama-4-maverick": 256_000,
    "nova-pro": 300_000,
    "nova-micro": 128_000,
    "moonshot-v1": 200_000,
    "mistral-large": 128_000,
    "mistral-7b": 32_000,
    "jamba-1.5": 256_000,
    "something-new": 128_000,
    "claude-opus-4.7": 1_000_000,
    "magistral-medium": 128_000,
    "nova-lite": 300_000,
    "nova-premier": 300_000,
    "k1.5": 200_000,
}


@pytest.mark.parametrize(("model", "window"), WINDOWS.items())
def test_the_window_of_a_model(model, window):
    assert window_of(model) == window
