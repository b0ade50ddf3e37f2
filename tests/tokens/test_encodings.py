"""Encodings: the compiled and the portable tokenizer count the same, and as tiktoken does."""

import builtins
import hashlib
import sys
from base64 import b64encode
from functools import cache
from itertools import chain

import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st

from pageturn.tokens.encodings import encoding
from pageturn.tokens.encodings.native import NativeEncoding
from pageturn.tokens.encodings.portable import _PATTERNS, PortableEncoding, load_ranks
from pageturn.values.errors import MissingTokenizer
from tests.long import examples

VOCABULARIES = ("cl100k_base", "o200k_base")

# splintr does not fold the long s after an apostrophe as tiktoken does; see below.
characters = st.characters(exclude_categories=["Cs"], exclude_characters="\u017f")
mixed = st.lists(
    st.sampled_from(
        ["don't", "'LL", "  ", "\r\n", "\n\n", "12345", " the", "<|endoftext|>", "日本", "👨‍👩‍👧", "é", "\u0301"]
    )
    | st.text(characters, max_size=4)
).map("".join)


@cache
def native(name):
    return NativeEncoding(name)


@cache
def portable(name):
    return PortableEncoding(name)


@cache
def reference(name):
    return tiktoken.Encoding(name, pat_str=_PATTERNS[name], mergeable_ranks=load_ranks(name), special_tokens={})


@pytest.mark.long
@pytest.mark.parametrize("name", VOCABULARIES)
@settings(max_examples=examples(300, whole=20_000))
@given(text=mixed | st.text(characters, max_size=60))
def test_all_three_count_the_same(name, text):
    assert native(name).count(text) == portable(name).count(text) == len(reference(name).encode_ordinary(text))


@pytest.mark.parametrize("name", VOCABULARIES)
def test_every_character_is_cut_as_the_reference_cuts_it(name):
    step = examples(61, whole=1)  # all of them in the long run
    for code in chain(range(0, 0xD800, step), range(0xE000, 0x110000, step)):
        for text in (f'{chr(code)}"A', f"a{chr(code)}a"):
            if code != 0x17F:
                assert native(name).count(text) == portable(name).count(text), hex(code)


@pytest.mark.parametrize("name", VOCABULARIES)
@pytest.mark.parametrize(
    "text", ["a" * 50_000, " " * 50_000, "\n" * 50_000, "ab" * 25_000, "一" * 20_000, "=" * 50_000]
)
def test_long_runs_are_counted_without_trouble(name, text):
    assert native(name).count(text) == portable(name).count(text)


def test_a_known_difference_is_the_compiled_one_not_ours():
    text = "b\u200bÓ'ſ¿'ſ'ſ\x16"
    truth = len(reference("o200k_base").encode_ordinary(text))
    assert portable("o200k_base").count(text) == truth
    assert abs(native("o200k_base").count(text) - truth) <= 1


@pytest.mark.parametrize("name", VOCABULARIES)
def test_special_tokens_in_a_text_count_as_text(name):
    assert native(name).count("<|endoftext|>") == portable(name).count("<|endoftext|>") > 1


@pytest.mark.parametrize(
    ("name", "published"),
    [
        ("cl100k_base", "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"),
        ("o200k_base", "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"),
    ],
)
def test_the_ranks_that_we_ship_are_the_published_ones(name, published):
    lines = (b"%s %d\n" % (b64encode(token), rank) for token, rank in load_ranks(name).items())
    assert hashlib.sha256(b"".join(lines)).hexdigest() == published


@pytest.fixture
def without(monkeypatch):
    """Machines on which some packages are not installed."""

    def hide(*packages):
        genuine = builtins.__import__

        def fake(name, *args, **kwargs):
            if name.split(".")[0] in packages:
                raise ImportError(name)
            return genuine(name, *args, **kwargs)

        for module in (*packages, "pageturn.tokens.encodings.native", "pageturn.tokens.encodings.portable"):
            monkeypatch.delitem(sys.modules, module, raising=False)
        monkeypatch.setattr(builtins, "__import__", fake)
        encoding.cache_clear()

    yield hide
    encoding.cache_clear()


def test_without_the_compiled_tokenizer_the_portable_one_counts(without):
    without("splintr")
    assert type(encoding("o200k_base")).__name__ == "PortableEncoding"
    assert encoding("o200k_base").count("hello world") == 2


def test_without_any_tokenizer_the_error_says_what_to_install(without):
    without("splintr", "regex")
    with pytest.raises(MissingTokenizer, match="no tokenizer for o200k_base: pip install regex"):
        encoding("o200k_base")
