"""Knows the vendor of a model by its name, and that vendor's rules.

Everything about a vendor's prompt cache and requests is here: what cached input costs and how long it is kept, what happens to
reasoning, and what a request may contain. How a vendor counts tokens is in `pageturn.tokens`. An unknown name gets the strictest rules.
"""

import re
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

MOST_BREAKPOINTS = 4  # cache marks that a request to Anthropic may have


class Prices(NamedTuple):
    """The price of a cached token, and of one written to the cache, relative to fresh input."""

    read: float = 0.1
    write: float = 1.25


class Vendor(NamedTuple):
    """How a vendor bills and caches."""

    name: str
    prices: Prices = Prices()
    output: float = 5.0  # of an output token
    ttl_seconds: float | None = None  # how long a prompt is cached after its last use; None: forever
    breakpoints: int | None = None  # how many marks a request may have; None: any prefix is found
    lookback_blocks: int | None = None  # how far before a mark the end of an earlier request is found
    least_tokens: int = 0  # shorter prefixes are not cached
    step_tokens: int = 1  # the step in which prefixes are cached

    def kept(self, tokens: int) -> int:
        """The tokens of a prefix that are read from the cache, if the last request had it too."""
        return tokens // self.step_tokens * self.step_tokens if tokens >= self.least_tokens else 0

    def is_warm_after(self, seconds: float) -> bool:
        """Whether a prompt is still cached so long after its last use."""
        return self.ttl_seconds is None or seconds <= self.ttl_seconds


IDEAL_CACHE = Vendor("ideal-cache")  # for comparing policies: any prefix, forever
# The minimum is 512 to 4,096 for some models.
_ANTHROPIC = Vendor("", output=5.0, breakpoints=MOST_BREAKPOINTS, lookback_blocks=20, least_tokens=1_024)
VENDORS = {
    vendor.name: vendor
    for vendor in (
        IDEAL_CACHE,
        _ANTHROPIC._replace(name="anthropic-5m", prices=Prices(0.1, 1.25), ttl_seconds=300),
        _ANTHROPIC._replace(name="anthropic-1h", prices=Prices(0.1, 2.0), ttl_seconds=3_600),
        Vendor("openai", Prices(0.1, 1.0), output=8.0, ttl_seconds=300, least_tokens=1_024, step_tokens=128),
        Vendor("no-cache", Prices(1.0, 1.0), output=5.0),
    )
}
_BILLED = {"anthropic": VENDORS["anthropic-5m"], "openai": VENDORS["openai"]}
_BILLED_OTHERWISE = Vendor("unknown", ttl_seconds=300)  # true of most


class ReasoningRule(StrEnum):
    """What a model requires of reasoning after a change."""

    NONE_BEHIND_A_CHANGE = "none behind a change"
    OPEN_LOOP_STAYS = "open loop stays"  # a call without its reasoning is rejected while its results are new


class ModelProfile(NamedTuple):
    """What is known about a model by its name."""

    vendor: str | None  # the maker: `anthropic`, `gemini`, `openai`, or None for any other
    billing: Vendor
    reasoning: ReasoningRule
    is_openai: (
        bool  # whether OpenAI itself serves it; if not, a chat template with rules of its own may read the messages
    )
    takes_system_messages: bool  # among others, with Anthropic
    checks_signatures: bool  # and rejects a call without one, with Google
    ids: str  # of calls in the chat format, as a pattern
    made_ids: tuple[str, int]  # the prefix and the number of digits of an id that replaces one that does not match


_MADE_BY = {
    "anthropic": re.compile("claude"),
    "gemini": re.compile("gemini"),
    # gpt-2, GPT-J and GPT-NeoX are no longer OpenAI's own; names such as marco-o1 only end like one of its models.
    "openai": re.compile(r"chatgpt|gpt-(?:oss|[3-9]|\d\d)|(?<![a-z0-9-])o[1-9]\b"),
}
# gpt-oss has OpenAI's name, but others serve it, with a chat template that drops later instructions.
_SERVED_BY_OPENAI = re.compile(r"(?:^|[/:.])(?:(?:chat)?gpt-(?!oss|j\b|neo)|o\d+(?:-|$)|codex-|computer-use)")
_MISTRAL = re.compile(r"mi[sx]tral|magistral|ministral|codestral|devstral|pixtral")
_SYSTEM_IN_MESSAGES = re.compile(
    r"(?:(?:fable|mythos)-5(?:[-.]1)?|opus-4[-.]8|opus-5(?:[-.]5)?|(?:sonnet|haiku)-5[-.]5)(?![-.]?\d(?!\d{3}))"
)
# Claude before 5.5 does not check the prefix, but requires the thinking of the current tool loop, as DeepSeek does; the others
# reject or drop reasoning after a change.
_CHECKS_PREFIX = re.compile(r"fable|mythos|(?:opus|sonnet|haiku)-5[.-]5|5[.-]5-(?:opus|sonnet|haiku)")
_ASKS_FOR_ITS_LOOP = re.compile("claude|deepseek")
_UNSIGNED = re.compile(r"gemini-[12](?!\d)")  # since Gemini 3, all check
_GEMINI = re.compile(r"gemini-\d[\w.-]*")


@lru_cache(maxsize=256)
def profile_of(model: str | None) -> ModelProfile:
    """The profile of a model; None is an unknown model."""
    name = (model or "").lower()
    vendor = next((vendor for vendor, pattern in _MADE_BY.items() if pattern.search(name)), None)
    keeps_loop = _ASKS_FOR_ITS_LOOP.search(name) and not _CHECKS_PREFIX.search(name)
    is_openai = _SERVED_BY_OPENAI.search(name) is not None
    ids, made_ids = r"[a-zA-Z0-9_-]{1,40}", ("call_", 24)
    if not is_openai and _MISTRAL.search(name):
        ids, made_ids = r"[a-zA-Z0-9]{9}", ("", 9)
    elif not is_openai and "kimi" in name:  # it writes functions.read:0 and requires it back
        ids = r"[a-zA-Z0-9_.:-]{1,40}"
    return ModelProfile(
        vendor=vendor,
        billing=_BILLED.get(vendor or "", _BILLED_OTHERWISE),
        reasoning=ReasoningRule.OPEN_LOOP_STAYS if keeps_loop else ReasoningRule.NONE_BEHIND_A_CHANGE,
        is_openai=is_openai,
        takes_system_messages=_SYSTEM_IN_MESSAGES.search(name) is not None,
        checks_signatures=_UNSIGNED.search(name) is None,
        ids=ids,
        made_ids=made_ids,
    )


def may_be_same(model: str | None, other: str | None) -> bool:
    """Whether two of Google's model names may mean one model: `gemini-3-flash` and `gemini-3-flash-001` do, and an alias may."""
    found = [_GEMINI.search((name or "").lower()) for name in (model, other)]
    names = [match[0] for match in found if match is not None]
    return len(names) < 2 or names[0].startswith(names[1]) or names[1].startswith(names[0])
