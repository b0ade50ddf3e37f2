"""What holds for every reader: it judges anything, changes nothing, and shares no code with the library."""

import ast
import json
from collections.abc import Iterable
from copy import deepcopy
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from tests.long import examples
from tests.strict import anthropic, gemini, openai_chat, openai_responses
from tests.strict import test_anthropic as of_anthropic
from tests.strict import test_gemini as of_gemini
from tests.strict import test_openai_chat as of_chat
from tests.strict import test_openai_responses as of_responses

CASES = {
    "anthropic": (anthropic, of_anthropic),
    "gemini": (gemini, of_gemini),
    "openai_chat": (openai_chat, of_chat),
    "openai_responses": (openai_responses, of_responses),
}
each_reader = pytest.mark.parametrize("name", CASES)

scalars = (
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", " ", "x", "user", "text", "object", "type"])
)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["type", "content", "x"]), inner),
)


def places(value, path=()):
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, each in inner:
        yield from places(each, (*path, step))


def replaced(value, path, new):
    if not path:
        return new
    copied = dict(value) if isinstance(value, dict) else list(value)
    copied[path[0]] = replaced(value[path[0]], path[1:], new)
    return copied


@each_reader
@settings(max_examples=examples(150, whole=2_000))
@given(data=st.data())
def test_whatever_stands_anywhere_in_a_request_it_is_judged(name, data):
    reader, cases = CASES[name]
    path = data.draw(st.sampled_from([place for place in places(cases.GOOD) if place]))
    request = replaced(cases.GOOD, path, data.draw(anything))
    for problem in reader.problems(request, previous=[cases.GOOD, request], whole=True):
        assert problem.code in reader.CODES
        assert problem.path.startswith("$")
        assert problem.sentence.endswith(".")


@each_reader
def test_a_request_is_not_changed(name):
    reader, cases = CASES[name]
    before = deepcopy(cases.GOOD)
    reader.problems(cases.GOOD, previous=[cases.GOOD])
    assert before == cases.GOOD


@each_reader
def test_a_problem_says_where_and_what(name):
    reader, cases = CASES[name]
    for bad in cases.KINDS:
        request = cases.edited(cases.GOOD, bad.edit)
        assert all(str(problem).startswith(problem.path) for problem in reader.problems(request, **bad.options))
        assert bad.documented


@each_reader
def test_requests_are_read_as_they_come_off_the_wire(name):
    reader, cases = CASES[name]
    assert reader.problems(json.loads(json.dumps(cases.GOOD))) == []


@each_reader
def test_what_is_taken_has_the_types_that_the_vendors_publish(name):
    _, cases = CASES[name]
    openai, anthropic_types, genai = (
        pytest.importorskip(module) for module in ("openai.types", "anthropic.types.beta", "google.genai.types")
    )
    published = {
        "anthropic": (("messages", anthropic_types.BetaMessageParam), ("tools", anthropic_types.BetaToolUnionParam)),
        "gemini": (("contents", genai.Content), ("tools", genai.Tool)),
        "openai_chat": (
            ("messages", openai.chat.ChatCompletionMessageParam),
            ("tools", openai.chat.ChatCompletionToolUnionParam),
        ),
        "openai_responses": (("input", openai.responses.ResponseInputItemParam), ("tools", openai.responses.ToolParam)),
    }[name]
    for field, type_ in published:
        adapter = TypeAdapter(list[type_])
        for title, (request, _) in cases.TAKEN.items():
            if title not in getattr(cases, "UNTYPED", ()) and isinstance(request.get(field), list):
                look_through(adapter.validate_python(request[field]))


def look_through(value):
    """Look at all of a value: what a vendor calls an iterable is checked only when somebody does."""
    if isinstance(value, dict):
        value = value.values()
    if not isinstance(value, str | bytes) and isinstance(value, Iterable) and not hasattr(value, "model_dump"):
        for inner in value:
            look_through(inner)


def test_no_reader_uses_the_library_that_it_judges():
    imported = set()
    for path in Path(__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add(str(node.module).partition(".")[0])
    assert "tests" in imported
    assert "pageturn" not in imported
