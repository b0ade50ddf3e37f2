"""Defines how each family of models counts tokens, and which model belongs to which family."""

import re
from typing import Literal

from pageturn.tokens import images
from pageturn.tokens.images import ImageRule
from pageturn.values.json import Closed
from pageturn.values.vendors import profile_of


class Profile(Closed):
    """How one family of models counts: tokens = slope x vocabulary count + what the vendor adds."""

    name: str
    described: str
    vocabularies: tuple[str, ...] = ("o200k_base",)
    exact: bool = False
    slope: float = 1.0
    per_message: int = 4
    per_call: int = 25
    per_tool: int = 6  # these two: published constants of the package ai-tokenizer (MIT), not measured here
    tools_once: int = 24
    # What the model sees of a call: its JSON text, or its values.
    arguments: Literal["text", "values", "larger"] = "text"
    names_results: bool = False  # whether a result is sent with the name of its tool
    is_template: bool = False  # whether a chat template that requires turns in order may read the messages


# Increase it whenever a constant or a rule here, in `images` or in `opaque` changes a count: it is part of every counter's name.
VERSION = 4

# Slope, per_message and per_call are checked by `make calibrate`; the figures are in docs/tokens.md.
_OPENAI = Profile("openai", "exact for text in OpenAI's o200k vocabulary", exact=True)
_OPENAI_OLD = Profile(
    "openai", "exact for text in OpenAI's cl100k vocabulary", vocabularies=("cl100k_base",), exact=True
)
_ANTHROPIC = Profile(
    "anthropic",
    "estimate: 1.25 x o200k, calibrated on 12,369 prompt sizes reported for Claude models",
    slope=1.25,
    per_call=80,
    per_tool=53,
    tools_once=549,
    arguments="values",
)
_GEMINI = Profile(
    "gemini",
    "estimate: 1.2 x o200k, calibrated on only 54 prompt sizes reported for one Gemini model",
    slope=1.2,
    per_call=0,
    names_results=True,
)
# At least what any of the above charges, for every kind of content.
_UNKNOWN = Profile(
    "unknown",
    "estimate for an unknown model: 1.25 x o200k, or cl100k where that is more, and the largest additions of any known vendor",
    vocabularies=("o200k_base", "cl100k_base"),
    slope=1.25,
    per_call=80,
    per_tool=53,
    tools_once=549,
    arguments="larger",
    names_results=True,
    is_template=True,
)

_PATCHES = images.openai_patches(2.46)
# Without the tiles of gpt-4o-mini, whose price per picture is raised 33 times to fit its price per token.
_MOST_EXPENSIVE = images.largest(images.openai_tiles(85, 170), _PATCHES, images.anthropic, images.gemini, images.qwen)

# By vendor; the first pattern that occurs in the model's name wins, so special ones come before general ones.
_PROFILES: dict[str, tuple[tuple[str, Profile, ImageRule], ...]] = {
    "anthropic": (("", _ANTHROPIC, images.anthropic),),
    "gemini": (("", _GEMINI, images.gemini),),
    "openai": (
        ("gpt-oss", _OPENAI, images.openai_tiles(70, 140)),
        ("gpt-4o-mini", _OPENAI, images.openai_tiles(2_833, 5_667)),
        ("gpt-4o", _OPENAI, images.openai_tiles(85, 170)),
        (r"gpt-4\.1-mini", _OPENAI, images.openai_patches(1.62)),
        (r"gpt-4\.1-nano", _OPENAI, _PATCHES),
        (r"gpt-4\.", _OPENAI, images.openai_tiles(85, 170)),
        ("gpt-[34]", _OPENAI_OLD, images.openai_tiles(85, 170)),
        ("gpt-5-mini", _OPENAI, images.openai_patches(1.62)),
        ("gpt-5-nano", _OPENAI, _PATCHES),
        (r"gpt-[5-9]|gpt-\d\d", _OPENAI, images.openai_tiles(70, 140)),
        (r"(?<![a-z0-9-])o4-mini", _OPENAI, images.openai_patches(1.72)),
        (r"(?<![a-z0-9-])o[1-9]\b", _OPENAI, images.openai_tiles(75, 150)),
    ),
}


def family_of(model: str) -> tuple[Profile, ImageRule]:
    """The profile of a model, by its name; an unknown one is charged the most that any known one would be."""
    name = model.lower()
    known = _PROFILES.get(profile_of(model).vendor or "", ())
    found = ((profile, rule) for pattern, profile, rule in known if re.search(pattern, name))
    return next(found, (_UNKNOWN, _MOST_EXPENSIVE))
