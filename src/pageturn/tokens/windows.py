"""Knows the context window of each model, and how much of it a prompt may fill."""

from pageturn.values.checks import require_instance

DEFAULT_MODEL = "gpt-5"  # for a model that is not named
DEFAULT_WINDOW_TOKENS = 128_000

# The first entry that the model name contains wins, so special ones come before general ones.
_WINDOWS: tuple[tuple[str, int], ...] = (
    ("opus-5", 1_000_000),
    ("opus-4-7", 1_000_000),
    ("opus-4.7", 1_000_000),
    ("4.7-opus", 1_000_000),
    ("glm-5.2", 1_000_000),
    ("glm-5", 200_000),
    ("kimi-k2", 256_000),
    ("openai.gpt-5", 272_000),
    ("gpt-5", 256_000),
    ("gpt-4", 128_000),
    ("claude", 200_000),
    ("gemini-2.5-pro", 2_000_000),
    ("gemini-2-pro", 2_000_000),
    ("gemini", 1_000_000),
    ("minimax-m3", 1_000_000),
    ("minimax", 256_000),
    ("m2.5", 256_000),
    ("qwen", 131_072),
    ("qwq", 131_072),
    ("deepseek-v4", 1_048_576),
    ("deepseek", 128_000),
    ("llama-4", 256_000),
    ("nova-pro", 300_000),
    ("nova-lite", 300_000),
    ("nova-premier", 300_000),
    ("nova", 128_000),
    ("moonshot", 200_000),
    ("k1.", 200_000),
    ("mistral-large", 128_000),
    ("magistral", 128_000),
    ("mistral", 32_000),
    ("jamba", 256_000),
)


def window_of(model: str) -> int:
    """The window of a model in tokens, by its name; an unknown one gets the default."""
    require_instance("model", model, str)
    name = model.lower()
    return next((tokens for part, tokens in _WINDOWS if part in name), DEFAULT_WINDOW_TOKENS)


def input_capacity(window_tokens: int, *, completion_tokens: int = 8_192) -> int:
    """The most tokens of a prompt: the window less the completion, a reserve, and a tenth for what is not counted."""
    completion = min(completion_tokens, window_tokens // 4)
    return max(0, window_tokens - (completion + 2_048)) * 90 // 100


def budget_within(budget_tokens: int, window_tokens: int) -> int:
    """A budget that fits the window: 0 means the input capacity, and no budget exceeds it."""
    capacity = input_capacity(window_tokens)
    return min(budget_tokens or capacity, capacity)
