"""What goes in comes out: requests through messages and back, messages through requests and back, from vendor to vendor."""

from types import ModuleType

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pageturn as pt
from pageturn.formats import anthropic, gemini, openai_chat, openai_responses
from pageturn.values.json import from_json, to_json
from pageturn.values.messages import Text, ToolResult
from tests.formats import examples
from tests.formats.for_model import dump_for
from tests.long import examples as number_of
from tests.strategies import json_values

FORMATS: tuple[ModuleType, ...] = (openai_chat, openai_responses, anthropic, gemini)
EXAMPLES = {
    openai_chat: examples.OPENAI_CHAT,
    openai_responses: examples.OPENAI_RESPONSES,
    anthropic: examples.ANTHROPIC,
    gemini: examples.GEMINI,
}
MODELS = {  # of the vendors themselves, which take more than others
    openai_chat: "gpt-5",
    openai_responses: "gpt-5",
    anthropic: "claude-opus-5",
    gemini: "gemini-3-flash",
}
WHOLE = {vendor: examples.whole(vendor.VENDOR, MODELS[vendor]) for vendor in FORMATS}
by_name = pytest.mark.parametrize("vendor", FORMATS, ids=lambda vendor: vendor.VENDOR)


@by_name
def test_a_request_comes_back_as_it_was(vendor):
    assert vendor.dump(vendor.load_request(WHOLE[vendor])) == WHOLE[vendor]


def dumped(vendor, messages):
    return dump_for(vendor, messages, MODELS[vendor])


@by_name
def test_a_request_comes_back_as_it_was_from_a_journal(vendor):
    with pt.Session.open() as session:
        session.extend(vendor.load_request(EXAMPLES[vendor]).messages)
        assert dumped(vendor, list(session.reader.messages())) == EXAMPLES[vendor]


@by_name
def test_messages_of_a_vendor_are_values_like_any_other(vendor):
    for message in vendor.load_request(EXAMPLES[vendor]).messages:
        assert from_json(pt.Message, to_json(message)) == message


@by_name
def test_an_unknown_field_survives_and_goes_to_nobody_else(vendor):
    known = EXAMPLES[vendor]
    name = next(iter(known.keys() & {"messages", "input", "contents"}))
    marked = {**known, name: [_with_unknown(item) for item in known[name]]}
    messages = vendor.load_request(marked).messages
    assert dumped(vendor, messages) == marked
    for other in FORMATS:
        if other is not vendor:
            assert b"x_unknown" not in msgspec.json.encode(other.dump(messages))


def _with_unknown(item):
    """The item with a field that no vendor has, on itself and on the parts of its content."""
    item = {**item, "x_unknown": {"deep": [1]}}
    for name in ("content", "parts"):
        if isinstance(item.get(name), list):
            item[name] = [{**part, "x_unknown": 2} for part in item[name]]
    return item


# -- any conversation

words = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=30).filter(
    str.strip
)
said = words.map(lambda text: Text(text=text))
pictures = st.sampled_from([f"data:image/png;base64,{examples.PNG}", "https://example.org/a.png"]).map(
    lambda url: pt.Image(url=url)
)
arguments = st.dictionaries(st.text("abc", min_size=1), json_values, max_size=2).map(
    lambda value: msgspec.json.encode(value).decode()
)


@st.composite
def conversations(draw, *, pictures_too):
    """Messages that every vendor can take, as its own `load_messages` would give them."""
    messages = [pt.system(draw(words))] if draw(st.booleans()) else []
    for turn in range(draw(st.integers(1, 4))):
        heard = (
            st.lists(said | pictures, min_size=1, max_size=3)
            if pictures_too
            else st.lists(said, min_size=1, max_size=3)
        )
        messages.append(pt.user(*draw(heard)))
        calls = [
            pt.ToolCall(
                id=f"call_{turn}_{number}", name=draw(st.sampled_from(["read", "grep"])), arguments=draw(arguments)
            )
            for number in range(draw(st.integers(0, 3)))
        ]
        texts = draw(st.lists(said, min_size=0 if calls else 1, max_size=2))
        messages.append(pt.assistant(*texts, *calls))
        messages += [pt.tool_result(call, draw(words), is_error=draw(st.booleans())) for call in calls]
    return messages


def essence(messages):
    """What must survive any vendor: who said what, which calls with which arguments, which answers."""
    kept = []
    for message in messages:
        role = "system" if message.role is pt.Role.DEVELOPER else str(message.role)
        for part in message.content:
            match part:
                case Text(text=text):
                    kept.extend((role, text))
                case pt.Image(url=url):
                    kept.extend((role, url))
                case pt.ToolCall(name=name, parsed=parsed):
                    kept.extend((role, name, parsed))
                case ToolResult(parts=parts):
                    kept.extend(("result", [inner.text for inner in parts if isinstance(inner, Text)]))
    return kept


def pairs(messages):
    """Which call each result answers, by the place of the call."""
    calls = [call.id for message in messages for call in message.tool_calls]
    return [calls.index(result.tool_call_id) for message in messages for result in message.tool_results]


@pytest.mark.parametrize("vendor", [openai_chat, openai_responses, anthropic], ids=lambda vendor: vendor.VENDOR)
@settings(max_examples=number_of(60, whole=600))
@given(messages=conversations(pictures_too=True))
def test_any_conversation_comes_back_as_the_same_messages(vendor, messages):
    loaded = loaded_again(vendor, messages)
    keeps_errors = vendor is anthropic
    assert [plainly(message, keeps_errors) for message in loaded] == [
        plainly(message, keeps_errors) for message in messages
    ]


def loaded_again(vendor, messages):
    return vendor.load_request(dumped(vendor, messages)).messages


def plainly(message, keeps_errors):
    """A message without what this vendor cannot say, and without the mark that results of one batch get."""
    content = tuple(
        msgspec.structs.replace(part, is_error=part.is_error and keeps_errors, extra=None)
        if isinstance(part, ToolResult)
        else msgspec.structs.replace(part, extra=None)
        for part in message.content
    )
    return msgspec.structs.replace(message, content=content, joined=False, synthetic=False, extra=None)


@settings(max_examples=number_of(60, whole=600))
@given(messages=conversations(pictures_too=False), data=st.data())
def test_a_session_goes_from_vendor_to_vendor_and_back(messages, data):
    route = data.draw(st.lists(st.sampled_from(FORMATS), min_size=1, max_size=4))
    travelled = messages
    for vendor in route:
        travelled = loaded_again(vendor, travelled)
        assert dumped(vendor, travelled) == dumped(vendor, loaded_again(vendor, travelled))
    assert essence(travelled) == essence(messages)
    assert pairs(travelled) == pairs(messages)


@by_name
def test_a_foreign_request_is_taken_whole(vendor):
    for other, request in EXAMPLES.items():
        dumped = vendor.dump(other.load_request(request))
        texts = msgspec.json.encode(dumped).decode()
        for expected in (
            ("What is this?", "x = 1", "Go on.") if other is not openai_chat else ("What is this?", "x = 1")
        ):
            assert expected in texts, (other.VENDOR, expected)
