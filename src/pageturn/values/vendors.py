"""Knows the vendor of a model by its name, and that vendor's rules.

Everything about a vendor's prompt cache and requests is here: what cached input costs and how long it is kept, what happens to
reasoning, and what a request may contain. How a vendor counts tokens is in `pageturn.tokens`. An unknown name gets the strictest rules.
"""

import re
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

MOST_BREAKPOINTS = 4  # ends of a prefix that a request to Anthropic may mark


class Prices(NamedTuple):
    """Of a token that the cache has, and of one that it gets; fresh input is 1."""

    read: float = 0.1
    write: float = 1.25


class Vendor(NamedTuple):
    """How a vendor bills and remembers."""

    name: str
    prices: Prices = Prices()
    output: float = 5.0  # of a token that the model writes
    ttl_seconds: float | None = None  # how long a prompt is remembered after its last use; for ever without it
    breakpoints: int | None = None  # how many ends of a prefix a request may mark; any prefix is found without it
    lookback_blocks: int | None = None  # how far before a mark the end of an earlier request is found
    least_tokens: int = 0  # shorter prefixes are not kept
    step_tokens: int = 1  # in which prefixes are kept

    def kept(self, tokens: int) -> int:
        """The tokens of a prefix that are read from the cache, where the request before had it, too."""
        return tokens // self.step_tokens * self.step_tokens if tokens >= self.least_tokens else 0


IDEAL_CACHE = Vendor("ideal-cache")  # as policies are compared: any prefix, for ever
# The least is 512 to 4,096 for some models.
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
_BILLED_OTHERWISE = Vendor("unknown", ttl_seconds=300)  # as most do


class ReasoningRule(StrEnum):
    """What a model wants of the reasoning behind a change."""

    NONE_BEHIND_A_CHANGE = "none behind a change"
    OPEN_LOOP_STAYS = "open loop stays"  # a call without its reasoning is refused while its results are new


class ModelProfile(NamedTuple):
    """What is known of a model by its name."""

    vendor: str | None  # that made it: `anthropic`, `gemini`, `openai`, or None for any other
    billing: Vendor
    reasoning: ReasoningRule
    is_openai: bool  # whether OpenAI itself serves it, or else a chat template may read the messages, which has rules of its own
    takes_system_messages: bool  # among the others, with Anthropic
    checks_signatures: bool  # and refuses a call without one, with Google
    ids: str  # of calls behind the chat format, as a pattern
    made_ids: tuple[str, int]  # the prefix and the number of digits of an id that stands for one that does not fit


_MADE_BY = {
    "anthropic": re.compile("claude"),
    "gemini": re.compile("gemini"),
    # gpt-2, GPT-J and GPT-NeoX are not OpenAI's own any more; names such as marco-o1 only end like one of its models.
    "openai": re.compile(r"chatgpt|gpt-(?:oss|[3-9]|\d\d)|(?<![a-z0-9-])o[1-9]\b"),
}
# gpt-oss has OpenAI's name, but is served by others with a chat template that leaves later instructions out.
_SERVED_BY_OPENAI = re.compile(r"(?:^|[/:.])(?:(?:chat)?gpt-(?!oss|j\b|neo)|o\d+(?:-|$)|codex-|computer-use)")
_MISTRAL = re.compile(r"mi[sx]tral|magistral|ministral|codestral|devstral|pixtral")
_SYSTEM_IN_MESSAGES = re.compile(
    r"(?:(?:fable|mythos)-5(?:[-.]1)?|opus-4[-.]8|opus-5(?:[-.]5)?|(?:sonnet|haiku)-5[-.]5)(?![-.]?\d(?!\d{3}))"
)
# Claude before 5.5 does not check the prefix, but asks for the thinking of the tool loop that it is in, and so does DeepSeek; the others
# refuse, or drop, what stands behind a change.
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
    elif not is_openai and "kimi" in name:  # which writes functions.read:0 and wants it back
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
    """Whether two names of Google's may mean one model: `gemini-3-flash` and `gemini-3-flash-001` do, and an alias may."""
    found = [_GEMINI.search((name or "").lower()) for name in (model, other)]
    names = [match[0] for match in found if match is not None]
    return len(names) < 2 or names[0].startswith(names[1]) or names[1].startswith(names[0])
