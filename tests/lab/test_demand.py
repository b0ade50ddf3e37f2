"""What later calls name that was said before."""

import pytest

import pageturn as pt
from pageturn.lab.demand import covered, demand, old_lines
from pageturn.lab.traces import Trace
from pageturn.values.identifiers import names_in


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("read src/app/main.py now", ["src/app/main.py"]),
        ("~/notes/a.txt and ./x.py and a/b", ["~/notes/a.txt", "./x.py"]),
        ("commit 1a2b3c4 or deadbeef", ["1a2b3c4", "deadbeef"]),
        ("ABC-123 and AB-1", ["ABC-123"]),
        ("#1234 and #12", ["#1234"]),
        ("order20391x 1234 12345", ["order20391x", "12345"]),
        ("snake_case a_b some_1", ["snake_case", "some_1"]),
        ("camelCase aB useState", ["camelCase", "useState"]),
        ("UserService Ab AbCd HttpServer", ["UserService", "HttpServer"]),
        ("x" * 161 + "_1", []),
        ("plain words of any length, 123 and so on", []),
    ],
)
def test_identifiers_are_found(text, found):
    assert list(names_in(text)) == found


def call(**arguments):
    return pt.ToolCall(id="c", name="edit", arguments=pt.to_json(arguments).decode())


def trace(*messages):
    return Trace("t", "s", messages)


def test_only_what_was_said_before_is_demanded():
    (wanted,) = demand(
        trace(pt.user("see src/app/main.py"), pt.assistant(call(path="src/app/main.py", other="other_thing_1")))
    )
    assert wanted.identifiers == {"src/app/main.py"}
    assert wanted.turn == 1


def test_what_a_call_named_counts_as_said():
    first, second = demand(trace(pt.assistant(call(path="a/new_file.py")), pt.assistant(call(path="a/new_file.py"))))
    assert first.identifiers == frozenset()
    assert second.identifiers == {"a/new_file.py"}


def test_an_edit_demands_the_lines_that_it_replaces():
    shown = "     1→def is_expired(token):\n     2→    return token['exp'] < now()\n"
    edit = call(
        old_string="def is_expired(token):\n    return token['exp'] < now()\n", new_string="a line that is new here"
    )
    first, second = demand(
        trace(
            pt.assistant(pt.ToolCall(id="r", name="read", arguments="{}")),
            pt.tool_result("r", shown),
            pt.assistant(edit),
        )
    )
    assert first.lines == frozenset()
    assert second.lines == {"def is_expired(token):", "return token['exp'] < now()"}


def test_a_patch_demands_its_context():
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n context of twelve\n-removed of twelve\n+added of twelve\n*** End Patch"
    assert list(old_lines(call(input=patch))) == ["context of twelve", "removed of twelve"]
    assert list(old_lines(call(edits=[{"old_string": "one line of many\nshort"}]))) == ["one line of many"]


def test_coverage_is_by_substring():
    assert covered({"main.py", "other_thing"}, "src/main.pyx") == 1
