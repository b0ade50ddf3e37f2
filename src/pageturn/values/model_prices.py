"""Knows the prices of models in dollars per million tokens, as of one date, and computes the cost of a call.

The table has the list prices that vendors publish. A model that is not in it has no price: none is guessed from a similar name, and an
unknown price never counts as 0. A user's own table takes precedence (`prices_from`).
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from pageturn.values.checks import require_finite, require_text
from pageturn.values.errors import InvalidInput, UnknownPrice, show
from pageturn.values.json import Closed
from pageturn.values.usage import Usage
from pageturn.values.vendors import Prices, Vendor, profile_of

AS_OF = "2026-11-18"
_MTOK = 1_000_000
_FIELDS = ("input", "output", "cached_read", "cache_write", "cache_write_1h")


class ModelPrice(Closed, omit_defaults=True):
    """Dollars per million tokens of one model: fresh input, output, input read from the cache, and input written to it."""

    model: str
    input: float
    output: float
    cached_read: float
    cache_write: float  # for the vendor's default time: five minutes with Anthropic, thirty with OpenAI
    cache_write_1h: float | None = None  # if a longer time has another price
    source: str = "given"  # where the price is published
    as_of: str = AS_OF

    def __post_init__(self) -> None:
        require_text("$.model", self.model)
        for name in ("input", "output"):
            require_finite(f"$.{name}", getattr(self, name), at_least=1e-9)
        for name in _FIELDS[2:]:
            if getattr(self, name) is not None:
                require_finite(f"$.{name}", getattr(self, name), at_least=0.0)

    def dollars(self, usage: Usage, *, is_1h: bool = False) -> float:
        """The cost of a call, by the usage that its provider reported."""
        write = self._write(is_1h=is_1h)
        fresh = max(0, usage.input_tokens - usage.cache_read_tokens - usage.cache_write_tokens)
        return (
            self.input * fresh
            + self.cached_read * usage.cache_read_tokens
            + write * usage.cache_write_tokens
            + self.output * usage.output_tokens
        ) / _MTOK

    def of_input(self, tokens: float) -> float:
        """The cost of this many tokens of fresh input, the unit of a replay's bills."""
        return self.input * tokens / _MTOK

    def vendor(self, rules: Vendor | None = None) -> Vendor:
        """How the model is billed relative to fresh input, with its vendor's cache rules unless others are given."""
        own = profile_of(self.model).billing
        write = self._write(is_1h=rules is not None and rules.name.endswith("-1h"))
        return (rules or own)._replace(
            name=self.label if rules is None else f"{self.label}, cache as {rules.name}",
            prices=Prices(round(self.cached_read / self.input, 6), round(write / self.input, 6)),
            output=round(self.output / self.input, 6),
        )

    def _write(self, *, is_1h: bool) -> float:
        return self.cache_write_1h if is_1h and self.cache_write_1h is not None else self.cache_write

    @property
    def label(self) -> str:
        """The name under which results of this price are stored: the model, and the prices themselves if they are not from the table."""
        if MODEL_PRICES.get(_key(self.model)) == self:
            return self.model
        return f"{self.model} at {self.input:g}/{self.output:g}/{self.cached_read:g}/{self.cache_write:g}"

    def __str__(self) -> str:
        prices = f"${self.input:g} in, ${self.output:g} out, ${self.cached_read:g} cached, ${self.cache_write:g} written to the cache"
        return f"{self.model}, {prices}, per million tokens as of {self.as_of}"


_ANTHROPIC = "platform.claude.com/docs/en/about-claude/pricing"
_OPENAI = "developers.openai.com/api/docs/pricing"
_GOOGLE = "ai.google.dev/gemini-api/docs/pricing"
# Standard tier and short prompts: above 100,000 (Haiku 5.5), 200,000 (Gemini Pro) or 272,000 tokens (GPT-5.4 and later) a request costs more,
# so savings by shorter requests are understated. OpenAI bills cache writes since GPT-5.6; before, they cost the same as fresh input.
_TABLE = (
    # model, input, output, cached read, cache write, cache write for an hour, source
    ("claude-fable-5-1", 10, 50, 0.25, 12.5, 20, _ANTHROPIC),
    ("claude-mythos-5-1", 10, 50, 0.25, 12.5, 20, _ANTHROPIC),
    ("claude-fable-5", 10, 50, 1, 12.5, 20, _ANTHROPIC),
    ("claude-mythos-5", 10, 50, 1, 12.5, 20, _ANTHROPIC),
    ("claude-opus-5-5", 4, 20, 0.2, 5, 8, _ANTHROPIC),
    ("claude-opus-5", 5, 25, 0.5, 6.25, 10, _ANTHROPIC),
    ("claude-opus-4-8", 5, 25, 0.5, 6.25, 10, _ANTHROPIC),
    ("claude-opus-4-7", 5, 25, 0.5, 6.25, 10, _ANTHROPIC),
    ("claude-opus-4-6", 5, 25, 0.5, 6.25, 10, _ANTHROPIC),
    ("claude-opus-4-5", 5, 25, 0.5, 6.25, 10, _ANTHROPIC),
    ("claude-opus-4-1", 15, 75, 1.5, 18.75, 30, _ANTHROPIC),
    ("claude-opus-4", 15, 75, 1.5, 18.75, 30, _ANTHROPIC),
    ("claude-sonnet-5-5", 2, 10, 0.1, 2.5, 4, _ANTHROPIC),
    ("claude-sonnet-5", 2, 10, 0.2, 2.5, 4, _ANTHROPIC),
    ("claude-sonnet-4-6", 3, 15, 0.3, 3.75, 6, _ANTHROPIC),
    ("claude-sonnet-4-5", 3, 15, 0.3, 3.75, 6, _ANTHROPIC),
    ("claude-sonnet-4", 3, 15, 0.3, 3.75, 6, _ANTHROPIC),
    ("claude-haiku-5-5", 0.1, 0.5, 0.01, 0.125, 0.2, _ANTHROPIC),
    ("claude-haiku-4-5", 1, 5, 0.1, 1.25, 2, _ANTHROPIC),
    ("gpt-6.1-terra", 1, 5, 0.05, 1.25, None, _OPENAI),
    ("gpt-6-astra", 10, 50, 1, 12.5, None, _OPENAI),
    ("gpt-6-sol", 2, 10, 0.2, 2.5, None, _OPENAI),
    ("gpt-6-luna", 0.1, 0.5, 0.01, 0.125, None, _OPENAI),
    ("gpt-5.6-sol", 5, 30, 0.5, 6.25, None, _OPENAI),
    ("gpt-5.6", 5, 30, 0.5, 6.25, None, _OPENAI),  # another name of sol
    ("gpt-5.6-terra", 2, 12, 0.2, 2.5, None, _OPENAI),
    ("gpt-5.6-luna", 0.2, 1.2, 0.02, 0.25, None, _OPENAI),
    ("gpt-5.5", 5, 30, 0.5, 5, None, _OPENAI),
    ("gpt-5.4", 2.5, 15, 0.25, 2.5, None, _OPENAI),
    ("gpt-5.4-mini", 0.75, 4.5, 0.075, 0.75, None, _OPENAI),
    ("gpt-5.4-nano", 0.2, 1.25, 0.02, 0.2, None, _OPENAI),
    ("gpt-5.1", 1.25, 10, 0.125, 1.25, None, _OPENAI),
    ("gpt-5", 1.25, 10, 0.125, 1.25, None, _OPENAI),
    ("gpt-5-mini", 0.25, 2, 0.025, 0.25, None, _OPENAI),
    ("gpt-5-nano", 0.05, 0.4, 0.005, 0.05, None, _OPENAI),
    ("gpt-4.1", 2, 8, 0.5, 2, None, _OPENAI),
    ("gpt-4.1-mini", 0.4, 1.6, 0.1, 0.4, None, _OPENAI),
    ("gpt-4o", 2.5, 10, 1.25, 2.5, None, _OPENAI),
    ("gpt-4o-mini", 0.15, 0.6, 0.075, 0.15, None, _OPENAI),
    ("gemini-3.8-flash", 0.75, 3.75, 0.075, 0.75, None, _GOOGLE),  # until the end of 2026, then twice as much
    ("gemini-2.5-pro", 1.25, 10, 0.125, 1.25, None, _GOOGLE),
    ("gemini-2.5-flash", 0.3, 2.5, 0.03, 0.3, None, _GOOGLE),
)
# The parts of a name that say where a model runs, and which release it is: neither changes the list price.
_BEFORE = re.compile(r"^(?:.*/|(?:[a-z]{2,6}\.)?anthropic\.)")
_RELEASE = re.compile(r"(?:-latest|-preview|[-@]\d{8}|-\d{4}-\d{2}-\d{2}|-v\d{1,3}(?::\d{1,3})?)$")
_MOST_RELEASES = 3  # such as a date and a version


def _key(model: str) -> str:
    """A model's name without its release and hosting provider; Anthropic's versions are written with dots or dashes."""
    name = _BEFORE.sub("", model.strip().lower())
    for _ in range(_MOST_RELEASES):
        name = _RELEASE.sub("", name)
    return name.replace(".", "-") if name.startswith("claude") else name


def _rows() -> Iterator[tuple[str, ModelPrice]]:
    for model, fresh, output, read, write, hour, source in _TABLE:
        yield _key(model), ModelPrice(model, fresh, output, read, write, hour, source)


MODEL_PRICES: Mapping[str, ModelPrice] = dict(_rows())
REFERENCE = MODEL_PRICES["claude-sonnet-5"]  # its cache costs what the replays assume: .1 to read and 1.25 to write


def price_of(model: str, own: Mapping[str, ModelPrice] | None = None) -> ModelPrice:
    """The price of a model, from the user's table before ours; raises `UnknownPrice` if it is in neither."""
    key = _key(model)
    found = (own or {}).get(key) or MODEL_PRICES.get(key)
    if found is None:
        raise UnknownPrice(model, as_of=AS_OF)
    return found


def given_price(model: str, text: str) -> ModelPrice:
    """A price from text: `3,15`, or `3,15,0.3,3.75` with cached reads and writes, in dollars per million tokens.

    Without cache prices, the cache saves nothing and costs nothing.
    """
    try:
        numbers = [float(part.strip().removeprefix("$")) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not 2 <= len(numbers) <= len(_FIELDS):
        raise InvalidInput(
            "--price", expected="INPUT,OUTPUT[,READ[,WRITE[,WRITE 1H]]] in dollars per million tokens", got=show(text)
        )
    fresh, output, *cache = numbers
    read, write = (*cache[:2], *[fresh] * (2 - len(cache[:2])))
    return ModelPrice(model, fresh, output, read, write, cache[2] if len(cache) > 2 else None)


def prices_from(text: str, path: str = "prices") -> dict[str, ModelPrice]:
    """A user's own table, in TOML or JSON: under each model's name `input`, `output`, and optionally the cache prices."""
    try:
        raw: Any = json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(path, expected="TOML or JSON", got=str(error)) from error
    as_of = raw.pop("as_of", "the date of your table")
    known = (*_FIELDS, "source")
    own = {}
    for model, row in raw.items():
        if not isinstance(row, dict) or not {"input", "output"} <= row.keys() <= set(known):
            raise InvalidInput(
                f"{path}: {model}", expected=f"input and output, perhaps {', '.join(known[2:])}", got=show(row)
            )
        fields = {"cached_read": row["input"], "cache_write": row["input"], "source": path, **row}
        try:
            own[_key(model)] = ModelPrice(model=model, as_of=str(as_of), **fields)
        except InvalidInput as error:
            raise InvalidInput(f"{path}: {model}", expected=error.expected, got=error.got) from error
    return own


def money(dollars: float) -> str:
    """An amount of dollars with a sensible number of digits."""
    if dollars >= 100:
        return f"${dollars:,.0f}"
    digits = 2
    while 0 < dollars < 10 ** (1 - digits) and digits < 6:
        digits += 1
    return f"${dollars:.{digits}f}"
