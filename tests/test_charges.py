"""Everything that a dump carries is charged: texts, names, ids, unknown fields, signatures, whole items.

Not charged, because it is the same in every request and part of what a vendor adds to a message or a call: the names of the fields
that we write ourselves, the values of `role` and `type`, ids that we make up because a vendor would refuse the given one, and the few
fixed words of a format. A picture, a document and a sound are charged by their size, what is encrypted by a quarter of its characters.
"""

import base64
import re
from math import ceil

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pageturn as pt
from pageturn import tokens
from pageturn.encodings import encoding
from pageturn.formats import anthropic, gemini, openai_chat, openai_responses
from tests import strategies
from tests.formats import examples
from tests.formats.conftest import *  # noqa: F403
from tests.sessions import open_session

FORMATS = {each.VENDOR: each for each in (openai_chat, openai_responses, anthropic, gemini)}
OF_OPENAI = ("openai_chat", "openai_responses")
# A model, and the formats in which it is spoken to.
SPOKEN = {
    "gpt-5.4": OF_OPENAI,
    "gpt-4": OF_OPENAI,
    "claude-opus-4-6": ("anthropic",),
    "gemini-3-flash": ("gemini",),
    "my-own-model": tuple(FORMATS),
}
PAIRS = [(model, format_) for model in SPOKEN for format_ in SPOKEN[model]]

# -- what a dump carries

WRITTEN = {  # names of fields that the formats write
    *("messages", "contents", "config", "system", "system_instruction", "instructions", "input", "tools", "content", "parts"),
    *("role", "type", "text", "refusal", "thinking", "redacted_thinking", "signature", "data", "thought", "thought_signature"),
    *("tool_calls", "tool_call_id", "id", "call_id", "tool_use_id", "name", "arguments", "function", "custom", "function_call"),
    *("function_response", "response", "output", "error", "args", "is_error", "audio", "image_url", "url", "file", "file_id"),
    *("file_data", "file_url", "file_uri", "source", "media_type", "inline_data", "mime_type", "detail", "encrypted_content"),
    *("not_an_object", "reasoning_content", "reasoning", "summary", "output_text", "title", "annotations", "status", "phase"),
}  # fmt: skip
WORDS = {"", anthropic.CONTINUED, "[image below]", "unknown", "auto", "_"}
OURS = re.compile(r"call_[0-9a-f]{24}")
ENCRYPTED = ("signature", "thought_signature", "encrypted_content")
BASE64 = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")


class Carried:
    """The tokens of a vocabulary that the strings of a dump take."""

    def __init__(self, dump, vocabulary):
        self._vocabulary = encoding(vocabulary)
        self.tokens = 0
        self._walk(dump, "", {})

    def _walk(self, value, name, beside):
        match value:
            case dict():
                for key, inner in value.items():
                    if key not in WRITTEN:
                        self._count(key)
                    self._walk(inner, key, value)
            case list():
                for inner in value:
                    self._walk(inner, name, beside)
            case bytes():
                if name == "thought_signature" and value != gemini._UNSIGNED:
                    self.tokens += ceil(len(base64.b64encode(value)) / 4)
            case str() if name in ("role", "type") or value in WORDS or OURS.fullmatch(value):
                pass
            case str() if value.startswith("data:") and "," in value:
                pass  # a picture or a document
            case str() if name == "data" and beside.get("type") in ("base64", "text"):
                pass  # and here too
            case str() if BASE64.fullmatch(value) and (
                name in ENCRYPTED or (name == "data" and beside.get("type") == "redacted_thinking")
            ):
                self.tokens += ceil(len(value) / 4)
            case str():
                self._count(value)

    def _count(self, text):
        self.tokens += self._vocabulary.count(text)


def charged(counter, messages):
    return sum(map(counter.message, messages))


def least(counter, dump):
    """What the counter must charge for a dump at least."""
    profile = counter.profile
    return max(ceil(profile.slope * Carried(dump, profile.vocabularies[0]).tokens), *(Carried(dump, each).tokens for each in profile.vocabularies))  # fmt: skip


# -- any message


fields = st.dictionaries(
    strategies.text.map(lambda key: f"x_{key}"), strategies.json_values, min_size=1, max_size=2
)
kept = st.none() | st.dictionaries(st.sampled_from(sorted(FORMATS)), fields, min_size=1, max_size=2)
natives = st.builds(
    pt.Native, vendor=st.sampled_from(sorted(FORMATS)), item=fields.map(lambda item: {"type": "odd", **item}), text=strategies.text
)  # fmt: skip


@st.composite
def messages(draw):
    message = draw(strategies.messages)
    parts = [part for part in message.content if not isinstance(part, pt.Native)]
    parts = [msgspec.structs.replace(part, extra=draw(kept)) for part in [*parts, *draw(st.lists(natives, max_size=2))]]
    return msgspec.structs.replace(message, content=tuple(parts), extra=draw(kept))


@pytest.mark.parametrize(("model", "format_"), PAIRS)
@given(message=messages())
@settings(max_examples=60)
def test_every_string_of_a_dump_is_charged(model, format_, message):
    counter = pt.counter_for(model)
    assert least(counter, FORMATS[format_].dump([message])) <= counter.message(message)
