"""Texts that were made to take long: every level of each is made in one pass, whatever it holds."""

import pytest

import pageturn as pt
from pageturn.context.renditions import PageMessage, render
from pageturn.values.identifiers import Vocabulary
from tests.long import examples

SIZE = examples(1_000_000, whole=10_000_000)
TEXTS = {
    "one letter": "a" * SIZE,
    "blanks": " " * SIZE,
    "line ends": "\n" * SIZE,
    "carriage returns": "\r" * SIZE,
    "slashes": "a/" * (SIZE // 2),
    "dashes": "a-" * (SIZE // 2),
    "digits": "1" * SIZE,
    "look-alikes of matches": "a.py:" * (SIZE // 5),
    "look-alikes of handles": "p1-abcd" * (SIZE // 7),
    "tags": "<page" * (SIZE // 5),
    "brackets": "[" * (SIZE // 2) + "]" * (SIZE // 2),
    "objects": '{"a":' * (SIZE // 12) + "1" + "}" * (SIZE // 12),
    "a long log": "\n".join(f"2026-01-01 INFO request {n}" for n in range(SIZE // 30)),
    "many rows": "[" + ",".join(f'{{"id":{n},"b":"x"}}' for n in range(SIZE // 20)) + "]",
    "many definitions": "def f(x):\n    return x\n" * (SIZE // 24),
    "one line of code": "x=1;" * (SIZE // 4),
    "open brackets": "(" * SIZE,
    "headings": "# a\n" * (SIZE // 4),
    "changes": "diff --git a b\n" + "+a\n" * (SIZE // 3),
    "sentences": "This is one. " * (SIZE // 13),
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("arguments", ["{}", '{"path":"a.py"}'])
def test_every_level_of_a_text_that_was_made_to_take_long_is_short(name, arguments):
    call = pt.ToolCall(id="c", name="read", arguments=arguments)
    unit = [PageMessage("p1-abcd", pt.assistant(call)), PageMessage("p2-efgh", pt.tool_result(call, TEXTS[name]))]
    _, compressed = render(unit, pt.ResidencyLevel.COMPRESSED, Vocabulary())
    assert len(compressed.tool_results[0].content) < 100_000
    for level in (pt.ResidencyLevel.STRUCTURED, pt.ResidencyLevel.POINTER):
        (shown,) = render(unit, level, Vocabulary())
        assert len(shown.text) < 10_000
