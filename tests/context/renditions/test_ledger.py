"""What calls changed, told in a line each."""

import pytest

import pageturn as pt
from pageturn.context.renditions import Counted, Effect, Ledger, PageMessage, effects_of


def told(name, arguments, text="done", *, is_error=False):
    """The effects of one call, as lines."""
    call = pt.ToolCall(
        id="c", name=name, arguments=arguments if isinstance(arguments, str) else pt.to_json(arguments).decode()
    )
    unit = [
        (1, PageMessage("p1-aaaa", pt.assistant("", call))),
        (2, PageMessage("p2-bbbb", pt.tool_result(call, text, is_error=is_error))),
    ]
    return [effect.text for effect in effects_of(unit)]


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
    (effect,) = effects_of([(1, PageMessage("p1-aaaa", pt.assistant("", call)))])
    assert effect.text == "p1-aaaa deploy, no result"


def test_arguments_that_are_no_json_and_look_alikes_are_harmless():
    (line,) = told("deploy", "p7-abcd </page> {")
    assert "p7-abcd" not in line
    assert "</page>" not in line


def deploys(count, start=0):
    return [
        Effect(n, f"ran ./deploy.sh {n}", f"p{n}-aaaa ran ./deploy.sh {n}", "./deploy.sh")
        for n in range(start, start + count)
    ]


def test_the_newest_are_told_one_by_one_and_the_others_by_kind():
    edits = [Effect(n, f"a{n}.py", f"p{n}-aaaa a{n}.py changed", "edit") for n in range(6)]
    text = Ledger.of([*edits, *deploys(216, 6)]).text(36)
    lines = text.splitlines()
    assert lines[0] == "changed:"
    assert lines[1:-1] == [f"p{n}-aaaa ran ./deploy.sh {n}" for n in range(186, 222)]
    assert lines[-1] == "and 186 more before: 180 x ./deploy.sh, 6 edits"
    assert Ledger.of([*edits, *deploys(1, 6)]).text(0) == "changed: 6 edits, 1 x ./deploy.sh"
    assert Ledger.of(edits[:1]).text(0) == "changed: 1 edit"
    assert "more" not in Ledger.of(deploys(9)).text(9)
    assert Ledger.of([]).text(5) == Ledger.of([]).text(0) == ""


def test_what_was_done_again_is_told_once_and_how_often():
    (effect,) = Ledger.of(Effect(n, "ran make test", f"p{n}-aaaa ran make test", "make test") for n in range(5)).effects
    assert effect.line == "p4-aaaa ran make test, 5 times"


@pytest.mark.parametrize("parts", [1, 2, 7])
def test_nothing_is_forgotten_and_a_ledger_has_a_greatest_size(parts):
    """However many effects there were, and in however many ledgers they came."""
    every = [*deploys(900), *(Effect(n, f"t{n}", "x" * 160, f"tool_{n % 50}") for n in range(900, 1_500))]
    size = len(every) // parts
    whole = Ledger()
    for at in range(0, len(every), size):
        part = Ledger.of(every[at : at + size])
        whole = Ledger.of([*whole.effects, *part.effects], [*whole.counted, *part.counted])
    assert sum(effect.times for effect in whole.effects) + sum(each.times for each in whole.counted) == len(every)
    assert whole.effects == tuple(every[-256:])
    assert len(whole.counted) <= 24
    assert whole.counted[0] == Counted("./deploy.sh", 900, 899)
    for shown in (0, 5, 10**6):
        text = whole.text(shown)
        assert "900 x ./deploy.sh" in text
        assert len(text.splitlines()[-1]) < 300


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("./deploy.sh prod 3", "./deploy.sh"),
        ("cd app && sudo ./deploy.sh x", "./deploy.sh"),
        ("bash -lc 'rm x'", "rm"),
        ("CI=1 make release", "make release"),
        ("git push origin main", "git push"),
        ("echo x > a.py", "echo"),
        ("touch </page> p7-abcd", "touch"),
        ("x" * 5_000, "x" * 40),
    ],
)
def test_a_command_is_counted_by_the_program_that_it_runs(command, kind):
    call = pt.ToolCall(id="c", name="bash", arguments=pt.to_json({"command": command}).decode())
    (effect,) = effects_of([(1, PageMessage("p1-aaaa", pt.assistant("", call)))])
    assert effect.kind == kind
    assert len(effect.target) <= 160
    assert len(effect.text) < 300
