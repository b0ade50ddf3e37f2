"""Relevance: paths, tools, errors and references, and what must not be taken for them."""

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pageturn as pt
from pageturn.values.messages import Text
from pageturn.values.relevance import bucket_for_messages, extract, merge
from tests import strategies

Difficulty, Dependency, ToolUse = pt.Difficulty, pt.Dependency, pt.ToolUse


def files(text):
    return extract(pt.user(text)).files


def call(arguments, name="tool"):
    return pt.assistant(pt.ToolCall(id="c", name=name, arguments=arguments))


def test_paths_are_found_once_in_order():
    assert files("Edited src/lib.rs and src/lib.rs again, plus tests/a.rs") == ("src/lib.rs", "tests/a.rs")


def test_a_source_file_needs_no_slash():
    assert files("check lib.rs and index.tsx, see `README.md`.") == ("lib.rs", "index.tsx", "README.md")


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("at src/a.rs:12", "src/a.rs"),
        ("at src/a.rs:12:5 it broke", "src/a.rs"),
        ("src/a.rs#L12-L20", "src/a.rs"),
        ("(src/a.rs:10-20)", "src/a.rs"),
        ("'src/auth/login.py'", "src/auth/login.py"),
        ("see /etc/hosts:", "/etc/hosts"),
        ("./run.sh", "./run.sh"),
        ("../up/one", "../up/one"),
        ("~/.bashrc", "~/.bashrc"),
        (".github/workflows/ci.yml", ".github/workflows/ci.yml"),
        ("under src/auth there", "src/auth"),
        ("in docs/", "docs"),
        ("pkg/util/net", "pkg/util/net"),
        ("--file=src/a.py", "src/a.py"),
        ("tests/a.py::test_x", "tests/a.py"),
        ("src/a.py's end", "src/a.py"),
        ("one;two.css;three", "two.css"),
        ("in lib/core-2/x there", "lib/core-2/x"),
        ("Dateien in büro/größe.txt", "büro/größe.txt"),
    ],
)
def test_a_path_is_read_without_its_surroundings(text, path):
    assert files(text) == (path,)


@pytest.mark.parametrize(
    "text",
    [
        "and/or", "either/or this", "1/2", "24/7", "2026/11/16", "11/16/2026", "50%/50%", "he/she", "client/server",
        "https://example.org/a/b.html", "see http://x.y/z.py", "</thinking>", "<tag>a/b</tag>", "n/a", "w/o",
        "3.14", "e.g.", "...", "a/b", "4G/5G", "", "/", "./", "km/h", "v1.2.3", "TCP/IP", "[y/N]", "11/Nov/2026",
        "mm/dd/yyyy", "yes/no/maybe", "s/foo/bar/g", "e.g./i.e.", "either/ or", "a" * 500 + ".py",
    ],
)  # fmt: skip
def test_what_is_no_path_is_not_taken_for_one(text):
    assert files(text) == ()


def test_paths_in_the_arguments_of_a_call_count():
    assert extract(call('{"path":"src/auth/login.py","n":3}')).files == ("src/auth/login.py",)
    assert extract(call('{"edits":[{"file":"a.py"},{"file":"b.py"}]}')).files == ("a.py", "b.py")
    assert extract(call('{"command":"pytest tests/test_a.py -q"}')).files == ("tests/test_a.py",)


def test_the_content_that_a_call_writes_does_not_count():
    assert extract(call('{"path":"a.py","content":"x = 1\\nopen(\\"other/file.py\\")"}')).files == ("a.py",)


def test_arguments_that_are_not_json_are_read_as_text():
    assert extract(call('{"path": "src/cut.py')).files == ("src/cut.py",)
    assert extract(call("[" * 100_000)).files == ()


def test_tools_are_the_names_of_the_calls():
    first = pt.ToolCall(id="1", name="Shell", arguments="{}")
    again = pt.ToolCall(id="2", name="Shell", arguments="{}")
    assert extract(pt.assistant(first, again, pt.ToolCall(id="3", name="Read", arguments="{}"))).tools == (
        "Shell",
        "Read",
    )


@pytest.mark.parametrize(
    ("text", "classes"),
    [
        ("Error: file not found\n  panicked at main.rs:12", ("error", "panicked")),
        ("error[E0308]: mismatched", ("error[e",)),
        ("Traceback (most recent call last)", ("traceback",)),
        ("3 FAILED", ("failed",)),
        ("stack trace follows", ("stack trace",)),
        ("no errors here", ()),
    ],
)
def test_errors_are_tagged_in_text_and_in_results(text, classes):
    assert extract(pt.user(text)).error_classes == classes
    assert extract(pt.tool_result("c", text)).error_classes == classes
    assert extract(pt.tool_result("c", Text(text=text))).error_classes == classes


@pytest.mark.parametrize(
    ("text", "refs"),
    [
        ("as you said in turn 12", (12,)),
        ("see messages 3-5 and Turn #7", (3, 5, 7)),
        ("turns 2 and 4", (2, 4)),
        ("return 12 items, saturn 5, in turn", ()),
        ("error message 404, turn 180 degrees", ()),
        ("x" * 100 + " see turn 8", (8,)),
    ],
)
def test_turns_that_are_named_by_number_are_references(text, refs):
    assert extract(pt.user(text)).explicit_refs == refs


@pytest.mark.parametrize(
    ("count", "difficulty"),
    [(0, Difficulty.EASY), (1, Difficulty.MEDIUM), (2, Difficulty.MEDIUM), (3, Difficulty.HARD)],
)
def test_the_ladder_of_difficulty(count, difficulty):
    errors = ("error", "failed", "panicked")[:count]
    assert pt.RelevanceMeta(error_classes=errors).project_bucket().difficulty is difficulty


def test_a_path_with_a_slash_or_two_files_are_chained():
    def dependency(*paths):
        return pt.RelevanceMeta(files=paths).project_bucket().dependency

    assert dependency("src/a.rs") is dependency("a.rs", "b.rs") is Dependency.CHAINED
    assert dependency("a.rs") is dependency() is Dependency.ISOLATED


def test_calls_make_tool_use():
    assert pt.RelevanceMeta(tools=("Shell",)).project_bucket().tool_use is ToolUse.YES
    assert pt.RelevanceMeta().project_bucket().tool_use is ToolUse.NO


def test_the_bucket_looks_at_the_last_eight_messages():
    old = [pt.tool_result("c", "error: x failed, panicked, traceback")]
    assert bucket_for_messages([*old, *[pt.user("hi")] * 7]).difficulty is Difficulty.HARD
    assert bucket_for_messages([*old, *[pt.user("hi")] * 8]).difficulty is Difficulty.EASY
    assert bucket_for_messages([]) == pt.Bucket(Difficulty.EASY, Dependency.ISOLATED, ToolUse.NO)


@given(st.lists(strategies.messages, max_size=5))
def test_merging_keeps_every_signal_once(messages):
    metas = [extract(message) for message in messages]
    merged = merge(metas)
    for field in pt.RelevanceMeta.__struct_fields__:
        values = getattr(merged, field)
        assert len(values) == len(set(values))
        assert set(values) == {item for meta in metas for item in getattr(meta, field)}


@given(st.text(max_size=200) | st.text("src/.:py-12 ,", max_size=200))
def test_a_found_path_stands_in_the_text(text):
    assert all(path in text for path in files(text))


def test_of_a_huge_text_the_beginning_and_the_end_are_read_and_no_word_that_was_cut():
    middle = "".join(f"src/part_{number}.py see " for number in range(200_000))
    meta = extract(pt.user(f"first/a.py {middle} last/b.py in turn 9"))
    assert meta.files[0] == "first/a.py"
    assert len(meta.files) == 64
    assert meta.explicit_refs == (9,)
    padding = "x " * 100_000
    assert extract(pt.user(f"first/a.py {padding} last/b.py")).files == ("first/a.py", "last/b.py")
    for at in range(15_980, 16_001):  # wherever the cut falls
        assert set(extract(pt.user(f"{'x' * at} src/login.py {padding}")).files) <= {"src/login.py"}


def test_errors_are_found_at_both_ends_of_a_huge_result():
    noise = "fine\n" * 400_000
    assert extract(pt.tool_result("c", f"Traceback\n{noise}\nerror: gone")).error_classes == ("error", "traceback")


@pytest.mark.parametrize("text", ["a/b.py ", "turn 1 ", "/", "a.", ",;=", "\u4e2d/", "turn" * 3 + " ", "'s" * 9 + " "])
def test_the_time_of_an_extraction_does_not_grow_with_the_text(text):
    def seconds(size):
        message = pt.user(text * (size // len(text)))
        start = process_time()
        extract(message)
        return process_time() - start

    seconds(40_000)
    assert min(seconds(8_000_000) for _ in range(3)) < 10 * max(min(seconds(40_000) for _ in range(3)), 0.001)
