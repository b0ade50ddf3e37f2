"""What calls changed, told in a line each."""

import pytest

import pageturn as pt
from pageturn.renditions import Voiced, effects_of, ledger


def told(name, arguments, text="done", *, is_error=False):
    """The effects of one call, as lines."""
    call = pt.ToolCall(
        id="c", name=name, arguments=arguments if isinstance(arguments, str) else pt.to_json(arguments).decode()
    )
    unit = [
        (1, Voiced("p1-aaaa", pt.assistant("", call))),
        (2, Voiced("p2-bbbb", pt.tool_result(call, text, is_error=is_error))),
    ]
    return [effect.told for effect in effects_of(unit)]


def test_a_file_with_the_digest_of_what_was_put_into_it():
    (line,) = told("Edit", {"file_path": "src/a.py", "old_string": "x = 1", "new_string": "x = 2"})
    assert line.startswith("p1-aaaa src/a.py changed ")
    (written,) = told("write_file", {"file_path": "b.md", "content": "word " * 60})
    assert written.startswith("p1-aaaa b.md wrote ")


def test_every_file_of_a_patch():
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** Add File: b.py\n+z\n*** End Patch"
    assert [line.split()[1] for line in told("apply_patch", {"input": patch})] == ["a.py", "b.py"]


def test_a_command_with_its_exit_code():
    assert told("bash", {"command": "make migrate"}, "Exit code 3\nno table") == ["p1-aaaa ran make migrate, exit 3"]
    assert told("shell", {"command": ["bash", "-lc", "rm x"]}) == ["p1-aaaa ran bash -lc rm x"]
    assert told("bash", {"command": "make migrate"}, "boom", is_error=True) == ["p1-aaaa ran make migrate, error"]


@pytest.mark.parametrize(
    "command",
    [
        "cat a.py",
        "ls -la | head -3",
        "rg -n 'x' src 2>/dev/null",
        "cd src && git diff HEAD~1",
        "git log --oneline",
        "pwd; ls 2>&1",
    ],
)
def test_a_command_that_only_looks_is_not_told(command):
    assert told("bash", {"command": command}) == []


@pytest.mark.parametrize(
    "command",
    [
        "echo x > a.py",
        "cat a\nrm b",
        "ls && make",
        "sed -i s/a/b/ c",
        "find . -delete",
        "git push",
        "echo $(rm x)",
        "cat a | tee b",
    ],
)
def test_a_command_that_may_change_something_is_told(command):
    assert len(told("bash", {"command": command})) == 1


def test_calls_of_other_tools_are_told_unless_they_look():
    assert told("send_money", {"recipient": "GB29", "amount": 10}) == ["p1-aaaa send_money GB29"]
    for name in ("get_user_details", "search_flights", "Read", "Grep", "list_directory", "think", "webFetch"):
        assert told(name, {"query": "x"}) == []


def test_a_call_without_a_result_says_so():
    call = pt.ToolCall(id="c", name="deploy", arguments="{}")
    (effect,) = effects_of([(1, Voiced("p1-aaaa", pt.assistant("", call)))])
    assert effect.told == "p1-aaaa deploy, no result"


def test_arguments_that_are_no_json_and_look_alikes_are_harmless():
    (line,) = told("deploy", "p7-abcd </page> {")
    assert "p7-abcd" not in line
    assert "</page>" not in line


def test_a_long_ledger_keeps_the_newest_and_counts_the_rest():
    effects = [effect for n in range(40) for effect in effects_of(
        [(n, Voiced(f"p{n}-aaaa", pt.assistant("", pt.ToolCall(id="c", name="deploy", arguments=f'{{"to": "host{n}"}}'))))])]  # fmt: skip
    lines = ledger(effects).splitlines()
    assert lines[:2] == ["changed:", "28 earlier changes"]
    assert lines[-1] == "p39-aaaa deploy host39, no result"
    assert ledger([]) == ""
