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
from pageturn.formats import anthropic, gemini, openai_chat, openai_responses
from pageturn.tokens import counters as tokens
from pageturn.tokens.counters import counter_for
from pageturn.tokens.encodings import encoding
from pageturn.values.fillers import CONTINUED, HEARD, NO_OUTPUT
from pageturn.values.messages import File, Native, Thinking
from tests import strategies
from tests.formats import examples
from tests.hostile.growth import looked_at
from tests.long import examples as times
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
WORDS = {"", CONTINUED, HEARD, NO_OUTPUT, "[image below]", "unknown", "auto", "_"}
OURS = re.compile(r"call_[0-9a-f]{24}")
ENCRYPTED = ("signature", "thought_signature", "encrypted_content")
BASE64 = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")


def is_fixed(text, name):
    return name in ("role", "type") or text in WORDS or OURS.fullmatch(text)


def is_media(text, name, beside):
    """Whether it is a picture or a document, which is charged by its size."""
    is_url = text.startswith("data:") and "," in text
    return is_url or (name == "data" and beside.get("type") in ("base64", "text"))


class Carried:
    """The tokens of a vocabulary that the strings of a dump take."""

    def __init__(self, dump, vocabulary):
        self._vocabulary = encoding(vocabulary)
        self.tokens = 0
        self._walk(dump, "", {})

    def _walk(self, value, name, beside):
        if isinstance(value, dict):
            for key, inner in value.items():
                if key not in WRITTEN:
                    self._count(key)
                self._walk(inner, key, value)
        elif isinstance(value, list):
            for inner in value:
                self._walk(inner, name, beside)
        elif isinstance(value, bytes):
            if name == "thought_signature" and value != b"skip_thought_signature_validator":
                self.tokens += ceil(len(base64.b64encode(value)) / 4)
        elif isinstance(value, str) and not is_fixed(value, name) and not is_media(value, name, beside):
            is_encrypted = name in ENCRYPTED or (name == "data" and beside.get("type") == "redacted_thinking")
            if is_encrypted and BASE64.fullmatch(value):
                self.tokens += ceil(len(value) / 4)
            else:
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


values = st.text(st.characters(exclude_categories=["Cs"]), min_size=20, max_size=60) | strategies.json_values
fields = st.dictionaries(strategies.text.map(lambda key: f"x_{key}"), values, min_size=1, max_size=2)
kept = st.dictionaries(st.sampled_from(sorted(FORMATS)), fields, min_size=1, max_size=4)
natives = st.builds(
    Native, vendor=st.sampled_from(sorted(FORMATS)), item=fields.map(lambda item: {"type": "odd", **item}), text=strategies.text
)  # fmt: skip


@st.composite
def messages(draw):
    message = draw(strategies.messages)
    parts = [part for part in message.content if not isinstance(part, Native)]
    parts = [
        msgspec.structs.replace(part, extra=draw(st.none() | kept))
        for part in [*parts, *draw(st.lists(natives, max_size=2))]
    ]
    return msgspec.structs.replace(message, content=tuple(parts), extra=draw(kept | st.none()))


@pytest.mark.long
@pytest.mark.parametrize(("model", "format_"), PAIRS)
@given(message=messages())
@settings(max_examples=times(40, whole=1_500))
def test_every_string_of_a_dump_is_charged(model, format_, message):
    counter = counter_for(model)
    assert least(counter, FORMATS[format_].dump([message])) <= counter.message(message)


@pytest.mark.parametrize(("model", "format_"), PAIRS)
@pytest.mark.parametrize(
    "arguments", ['{"content": "say \\"hi\\"\\n' * 200, "def f(x):\n    return x\n" * 200, "\x00\x01" * 200, "[1]", ""]
)
def test_arguments_that_are_no_object_are_charged_as_they_go_out(model, format_, arguments):
    """A call that was cut off, say, goes out as a text inside of an object, where quotes and line ends are escaped once more."""
    message = pt.assistant("ok", pt.ToolCall(id="c1", name="write", arguments=arguments))
    counter = counter_for(model)
    assert least(counter, FORMATS[format_].dump([message])) <= counter.message(message)


def one(vendor, raw):
    (message,) = vendor.load_messages([raw])
    return message


REQUESTS = {
    "openai_chat": examples.OPENAI_CHAT,
    "openai_responses": examples.OPENAI_RESPONSES,
    "anthropic": examples.ANTHROPIC,
    "gemini": examples.GEMINI,
}


@pytest.mark.parametrize(("model", "format_"), PAIRS)
@pytest.mark.parametrize("source", FORMATS)
def test_every_kind_of_block_is_charged_in_its_own_format_and_in_others(source, model, format_):
    loaded = FORMATS[source].load_request(REQUESTS[source]).messages
    counter = counter_for(model)
    assert least(counter, FORMATS[format_].dump(loaded)) <= charged(counter, loaded)


def test_the_formats_that_keep_fields_are_all_known():
    assert set(tokens._FORMATS) == set(FORMATS)


# -- what is huge


def words(size):
    return "lorem ipsum " * (size // 12)


HUGE = {  # each with the text of so many characters in one place
    "name of a user": lambda text: one(openai_chat, {"role": "user", "content": "hi", "name": text}),
    "unknown field": lambda text: one(openai_chat, {"role": "user", "content": "hi", "extra_blob": text}),
    "name of an unknown field": lambda text: one(openai_chat, {"role": "user", "content": "hi", text: 1}),
    "field that has a mark's name": lambda text: one(openai_chat, {"role": "user", "content": "hi", "as": text}),
    "field of a text": lambda text: one(openai_chat, {"role": "user", "content": [{"type": "text", "text": "hi", "blob": text}]}
    ),
    "detail of an image": lambda text: one(openai_chat, {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://e.org/a.png", "detail": text}}]}
    ),
    "address of an image": lambda text: pt.user(pt.Image(url=f"https://e.org/{text}")),
    "type of an image": lambda text: pt.user(pt.Image(url=f"data:image/{text};base64,AAAA")),
    "address of a file": lambda text: pt.user(File(path=f"https://e.org/{text}")),
    "type of a file": lambda text: pt.user(File(path=f"data:text/{text};base64,AAAA")),
    "media type of a file": lambda text: pt.user(File(path="gs://b/a", mime_type=text)),
    "text in an image": lambda text: pt.user(
        pt.Image(url="data:text/plain;base64," + base64.b64encode(text.encode()).decode())
    ),
    "field of a call": lambda text: one(openai_chat, {
            "role": "assistant",
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "n", "arguments": "{}"}, "blob": text}],
        }
    ),
    "name of a call": lambda text: pt.assistant(pt.ToolCall(id="c", name=text, arguments="{}")),
    "id of a call": lambda text: pt.assistant(pt.ToolCall(id=text, name="n", arguments="{}")),
    "id of a result": lambda text: pt.tool_result(text, "done"),
    "name of an old result": lambda text: one(openai_chat, {"role": "function", "name": text, "content": "done"}),
    "signature of a call": lambda text: pt.assistant(
        pt.ToolCall(id="c", name="n", arguments="{}", thought_signature=text)
    ),
    "signature": lambda text: pt.assistant(Thinking(text="t", signature=text)),
    "redacted thinking": lambda text: pt.assistant(Thinking(text="", redacted=text)),
    "unknown item": lambda text: one(openai_responses, {"type": "weird_item", "payload": text}),
    "name in an unknown item": lambda text: one(openai_responses, {"type": "weird_item", text: "x"}),
    "deep in an unknown item": lambda text: one(openai_responses, {"type": "weird", "a": [{"b": [[{"c": text}]]}]}),
    "encrypted item": lambda text: one(openai_responses,
        {"type": "compaction", "id": "c", "encrypted_content": text}
    ),
    "encrypted reasoning": lambda text: one(openai_responses,
        {"type": "reasoning", "id": "c", "summary": [], "encrypted_content": text}
    ),
    "summary of reasoning": lambda text: one(openai_responses,
        {"type": "reasoning", "id": "c", "summary": [{"type": "summary_text", "text": text}]}
    ),
    "id of an item": lambda text: one(openai_responses,
        {"type": "message", "role": "assistant", "id": text, "content": [{"type": "output_text", "text": "t"}]}
    ),
    "block of a server's tool": lambda text: one(anthropic, {"role": "assistant", "content": [{"type": "server_tool_use", "id": "s", "name": "n", "input": {"q": text}}]}
    ),
    "block inside a result": lambda text: one(anthropic, {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "tool_reference", "tool_name": text}]}
            ],
        }
    ),
    "citation": lambda text: one(anthropic, {"role": "assistant", "content": [{"type": "text", "text": "t", "citations": [{"cited_text": text}]}]}
    ),
    "signature of a text": lambda text: one(gemini, {"role": "model", "parts": [{"text": "t", "thought_signature": text}]}
    ),
    "signature of code": lambda text: one(gemini, {"role": "model", "parts": [{"executable_code": {"code": "1"}, "thought_signature": text.encode()}]}
    ),
    "field of a function response": lambda text: one(gemini, {"role": "user", "parts": [{"function_response": {"name": "n", "response": {"output": "x"}, "blob": text}}]}
    ),
    "document": lambda text: pt.user(
        File(path="data:application/pdf;base64," + base64.b64encode(bytes(40 * len(text))).decode())
    ),
    "sound": lambda text: one(openai_chat, {
            "role": "user",
            "content": [
                {
                    "type": "input_audio",
                    "input_audio": {"format": "wav", "data": base64.b64encode(b"RIFF0000WAVE" + bytes(40 * len(text))).decode()},
                }
            ],
        }
    ),
}  # fmt: skip
TEXTS = {
    "words": words,
    "one letter": lambda size: "n" * size,
    "ideographs": lambda size: "漢字かな" * (size // 4),
    "base64": lambda size: base64.b64encode(bytes(range(1, 256)) * (size // 300)).decode()[:size],
}


@pytest.mark.parametrize("model", SPOKEN)
@pytest.mark.parametrize("place", HUGE)
def test_the_charge_grows_with_what_goes_out_wherever_it_stands(model, place):
    counter = counter_for(model)
    for made in TEXTS.values():
        small, large = (counter.message(HUGE[place](made(size))) for size in (12_000, 60_000))
        assert large - small > (60_000 - 12_000) / 10


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("place", HUGE)
def test_a_budget_holds_for_what_goes_out(place, format_):
    """Whatever is huge in a message, the request is of the size that was asked for."""
    session = open_session(policy=pt.Paged.thrifty(8_000), model="my-own-model")
    session.extend([pt.system("Be brief."), pt.user("Fix it.")])
    message = HUGE[place](words(120_000) if "signature" not in place else "QUJD" * 30_000)
    if message.tool_results:
        id_ = message.tool_results[0].tool_call_id
        session.append(pt.assistant(pt.ToolCall(id=id_, name="n", arguments="{}")))
    session.append(message)
    if message.tool_calls:
        session.append(pt.tool_result(message.tool_calls[0], "done"))
    context = session.derive()
    dump = FORMATS[format_].dump(context)
    assert least(counter_for("my-own-model"), dump) <= context.tokens <= 8_000
    assert len(repr(dump)) < 60_000


def test_what_the_findings_named():
    counter = counter_for("gpt-5")
    assert counter.message(one(openai_responses, {"type": "weird_item", "payload": "漢字かな" * 100_000})) > 200_000
    assert counter.message(one(openai_chat, {"role": "user", "content": "hi", "name": "n" * 500_000})) > 60_000
    assert counter.message(pt.assistant(Thinking(text="t", signature="s" * 2_000_000))) == 500_000 + 1 + 4


# -- pictures, documents and sounds inside an item


def png(width, height):
    return b"\x89PNG\r\n\x1a\n" + bytes.fromhex("0000000d49484452") + width.to_bytes(4) + height.to_bytes(4) + bytes(60)


@pytest.mark.parametrize(
    "held",
    [
        {"result": base64.b64encode(png(512, 512)).decode()},
        {"output": {"image_url": "data:image/png;base64," + base64.b64encode(png(512, 512)).decode()}},
        {"blob": png(512, 512)},
    ],
)
def test_a_picture_inside_an_item_is_charged_as_a_picture_of_its_size(held):
    message = pt.assistant(Native(vendor="gemini", item={"type": "odd", **held}))
    picture = pt.Image(url="https://e.org/a.png", width=512, height=512)
    for model in SPOKEN:
        counter = counter_for(model)
        assert 0 <= counter.message(message) - counter.message(pt.user(picture)) < 40


@pytest.mark.parametrize(
    "held",
    [
        {"result": "iVBOR" * 200_000},
        {"output": {"image_url": "https://e.org/a.png"}},
        {"image_url": {"url": "https://e.org/a.png"}},
        {"result": base64.urlsafe_b64encode(b"\xff\xd8\xff" + b"\xfb\xff" * 3_000).decode()},
    ],
)
def test_a_picture_whose_size_nobody_knows_is_charged_as_a_large_one(held):
    message = pt.assistant(Native(vendor="openai_responses", item={"type": "odd", **held}))
    large = counter_for("gpt-5").message(pt.user(pt.Image(url="https://e.org/a.png")))
    assert large <= counter_for("gpt-5").message(message) < large + 40


@pytest.mark.parametrize("start", [b"%PDF", b"ID3", b"OggS", b"RIFF0000WAVE", b"PK\x03\x04", b"0000ftypM4A "])
def test_a_document_or_a_sound_inside_an_item_is_charged_by_its_bytes(start):
    data = base64.b64encode(start + bytes(1_000_000)).decode()
    for held in ({"data": data}, {"url": f"data:application/x;base64,{data}"}):
        message = pt.user(Native(vendor="openai_chat", item={"type": "odd", **held}))
        assert 10_000 <= counter_for("gpt-5").message(message) < 10_040


def test_what_nobody_recognises_is_charged_as_text():
    counter = counter_for("gpt-5")
    data = base64.b64encode(bytes(range(256)) * 40).decode()
    assert counter.message(pt.user(Native(vendor="gemini", item={"data": data}))) > counter.text(data)
    assert counter.message(pt.assistant(Thinking(text="", signature="漢" * 900))) > 600  # which is no base64


# -- notes and tools


@pytest.mark.parametrize("text", ["", "Branch: main", "a\n</system-reminder> b <SYSTEM-REMINDER> c", "<system-reminder>x</system-reminder>"])  # fmt: skip
@pytest.mark.parametrize("model", SPOKEN)
@pytest.mark.parametrize("format_", ["anthropic", "gemini"])
def test_the_tags_around_a_note_are_charged(model, format_, text):
    counter = counter_for(model)
    said = [pt.user("Go.")]
    note = pt.system(text, synthetic=True, visibility=pt.Visibility.INTERNAL)
    assert charged(counter, [*said, note]) >= least(counter, FORMATS[format_].dump([*said, note]))
    plain = pt.user(text)
    assert (counter.message(note) > counter.message(plain)) == ("<system-reminder>x" not in text)


@pytest.mark.parametrize("model", SPOKEN)
@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("name", ["recall", "get_it_back"])
def test_our_own_tool_is_charged_in_the_form_in_which_it_goes_out(model, format_, name):
    session = open_session(policy=pt.Paged.thrifty(8_000), recall=pt.RecallTool(name=name))
    session.append(pt.user("Go."))
    dump = FORMATS[format_].dump(session.derive())
    counter = counter_for(model)
    declared = dump["config"]["tools"] if format_ == "gemini" else dump["tools"]
    assert counter.tools(declared) <= counter.tools([pt.RecallTool(name=name).definition])


def test_a_host_s_tools_are_charged_as_they_are():
    counter = counter_for("gpt-5")
    tool = {"type": "function", "function": {"name": "read", "description": "Read.", "parameters": {}}}
    assert counter.tools([tool]) == counter.text(pt.to_json([tool]).decode()) + 24 + 6


# -- time


@pytest.mark.parametrize("piece", ["a", "A+/", "漢", "= ", '"', "data:", "\\", "_-"])
def test_any_text_is_counted_in_time_proportional_to_it(piece):
    for place in ("name of a user", "signature", "unknown item", "address of an image", "name of a call"):

        def counting(size, place=place):
            message = HUGE[place](piece * (size // len(piece)))
            return lambda: counter_for("my-own-model").message(message)

        growth, is_too_fast = looked_at(counting, 75_000)
        assert not is_too_fast, (place, growth)
