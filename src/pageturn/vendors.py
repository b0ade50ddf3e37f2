"""Vendors of models: whose rules a model goes by."""

import re

_VENDORS = (
    ("anthropic", re.compile("claude")),
    ("gemini", re.compile("gemini")),
    # gpt-2, GPT-J and GPT-NeoX are not served by OpenAI; names such as marco-o1 only end like one of its models.
    ("openai", re.compile(r"chatgpt|gpt-(?:oss|[3-9]|[1-9]\d)|(?<![a-z0-9-])o[1-9]\b")),
)


def vendor_of(model: str) -> str | None:
    """The vendor of a model by its name: `anthropic`, `gemini`, `openai`, or None for any other."""
    name = model.lower()
    return next((vendor for vendor, pattern in _VENDORS if pattern.search(name)), None)
