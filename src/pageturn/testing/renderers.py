"""Checks a renderer: for any text it weighs the lines, deterministically, and never makes the text longer."""

import math
import re
from collections.abc import Sequence

from pageturn.context.renditions.compressed import BUILT_IN
from pageturn.context.renditions.contract import ContentType, Line, Material, Renderer, Renderers
from pageturn.stores.memory import MemoryStore
from pageturn.testing.cases import Case, Suite, check_all, expect, expect_equal
from pageturn.testing.contexts import check_context
from pageturn.testing.sessions import Script, open_session
from pageturn.values.json import to_json

SUITE = Suite[[Renderer]]("check_renderer")
_BUDGET = 7_000
_WORD = re.compile(r"\w{3}")
_TEXTS = {
    "code": "import os\n\n\nclass Invoice:\n    def total(self):\n        return sum(self.lines)  # in cents\n" * 12,
    "a log": "".join(f"2026-01-01 10:{n:02} INFO request {n} done\n" for n in range(60)) + "ERROR KeyError: 'exp'\n",
    "JSON": '{"rows": [' + ", ".join(f'{{"id": {n}, "name": "part_{n}"}}' for n in range(60)) + "]}",
    "a diff": "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,3 @@\n-x = 1\n+x = 2\n y = 3\n" * 9,
    "matches": "".join(f"src/part_{n}.py:{n}: token = load_token({n})\n" for n in range(60)),
    "a listing": "".join(f"src/billing/part_{n}.py\n" for n in range(60)),
    "markup": "<html><body><h1>Title</h1>" + "<p>Some words about tokens.</p>\n" * 30 + "</body></html>",
    "prose": "The token expires too early. It was compared in the wrong unit. Nobody noticed for a week. " * 12,
    "nothing": "",
    "blanks": " \n\t\n  \n",
    "one long line": "x" * 100_000,
    "one letter a line": "a\n" * 5_000,
    "zero bytes": "a\0b\n" * 60,
    "other scripts": "请看第三行。\nПроверь вторую строку.\n🎉 done\n" * 30,
    "other line ends": "one\r\ntwo\rthree\u2028four\x0cfive\n" * 30,
    "open brackets": "[" * 20_000,
    "names of pages": "see p42-7kqe </page> <page> and src/p1-abcd.py\n" * 40,
}

_TOO_LONG = "".join(f"2026-01-01 INFO request {n} for part_{n % 7} took {n * 7919 % 997} ms\n" for n in range(400))


def check_renderer(renderer: Renderer, *, only: str | None = None) -> None:
    """Check a renderer of your own: `check_renderer(my_outline)`. Raises an `AssertionError` that says what fails.

    It is given texts of every kind, whatever it is meant for: a tool may return anything.
    """
    check_all(SUITE.runs(renderer), only)


def renderer_cases() -> tuple[Case[[Renderer]], ...]:
    """The claims one by one, for `parametrize` (`ids=str`); in the test, call `case(renderer)`."""
    return SUITE.cases


@SUITE.claim
def it_gives_lines_with_weights_for_any_text(renderer: Renderer) -> None:
    for name, text in _TEXTS.items():
        for line in _outline(renderer, text):
            expect(isinstance(line, Line), expected=f"values of type Line for {name}", got=line)
            is_weighed = isinstance(line.weight, int | float) and math.isfinite(line.weight) and line.weight >= 0
            expect(is_weighed, expected=f"a weight of 0 or more for each line of {name}", got=line)
            is_counted = type(line.stands_for) is int and line.stands_for >= 0
            expect(is_counted, expected=f"how many lines of {name} a line stands for", got=line)


@SUITE.claim
def a_line_is_one_line(renderer: Renderer) -> None:
    for name, text in _TEXTS.items():
        for line in _outline(renderer, text):
            expect("\n" not in line.text, expected=f"no line end within a line of {name}", got=line)


@SUITE.claim
def the_same_text_gives_the_same_lines(renderer: Renderer) -> None:
    for name, text in _TEXTS.items():
        before = _outline(renderer, text)
        _outline(renderer, "something else in between\n" * 40)
        expect_equal(_outline(renderer, text), before, f"the lines of {name} when they are asked for again")


@SUITE.claim
def no_text_grows(renderer: Renderer) -> None:
    for name, text in _TEXTS.items():
        lines = _outline(renderer, text)
        most = len(text) + len(lines)
        made = sum(len(line.text) + 1 for line in lines)
        expect(made <= most, expected=f"at most {most:,} characters for {name}", got=f"{made:,}")


@SUITE.claim
def every_text_with_words_has_a_line_of_some_weight(renderer: Renderer) -> None:
    for name, text in _TEXTS.items():
        if _WORD.search(text):
            heaviest = max((line.weight for line in _outline(renderer, text)), default=0)
            expect(heaviest > 0, expected=f"a line of {name} that weighs more than 0", got=heaviest)


@SUITE.claim
def contexts_that_are_made_with_it_keep_every_promise(renderer: Renderer) -> None:
    store = MemoryStore()
    renderers = Renderers(BUILT_IN.by_type, {"read": renderer})
    script = Script(open_session(store, renderers=renderers), budget_tokens=_BUDGET).begin()
    for text in [*(text for text in _TEXTS.values() if len(text) < 10_000), _TOO_LONG]:
        script.turn(text)
        check_context(script.session, script.derive(), budget_tokens=_BUDGET)
    theirs = Script(open_session(store, renderers=renderers), budget_tokens=_BUDGET).derive()
    is_same = to_json(list(theirs.messages)) == to_json(list(script.derive().messages))
    expect(is_same, expected="the same context from a session that was opened again, byte for byte", got="other bytes")


def _outline(renderer: Renderer, text: str) -> list[Line]:
    lines = renderer(Material(text, ContentType.UNKNOWN, tool="read", arguments={"path": "a.txt"}, path="a.txt"))
    expect(isinstance(lines, Sequence) and not isinstance(lines, str), expected="a list of lines", got=lines)
    return list(lines)
