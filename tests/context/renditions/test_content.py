"""What a text is, and what its outline keeps."""

import json
import re

import pytest

import pageturn as pt
from pageturn.context.renditions import BUILT_IN, ContentType, Line, render
from pageturn.context.renditions.compressed import Compressor
from pageturn.context.renditions.content import material_of
from pageturn.values.identifiers import Vocabulary
from tests.context.renditions.test_levels import unit

PYTHON = '''"""Login: tokens and sessions."""

import time
from auth.store import SessionStore


class LoginService:
    """Issues sessions."""

    def login(self, raw_token: str) -> str:
        # the token is read first
        token = decode_token(raw_token)
        if is_expired(token):
            log_the_failure(token)
            raise PermissionError("token expired, ask for a new one")
        return self.store.open_session(token["sub"])


def is_expired(token: dict) -> bool:
    when = token["exp"]
    return when < time.time()
'''
GO = (
    'package cli\n\nimport "fmt"\n\n// State of a session.\ntype State struct {\n\tName string\n}\n\nfunc (s *State) Load(path string) error {\n'
    + ('\tvalue := readTheFile(path)\n\tif value == nil {\n\t\treturn fmt.Errorf("nothing at %s", path)\n\t}\n' * 12)
    + "}\n"
)
LOG = "\n".join(
    [f"2026-01-01 10:00:{n % 60:02} INFO request {n} served" for n in range(200)]
    + ["2026-01-01 10:05:00 ERROR connection refused by db.internal:5432", "Traceback (most recent call last):"]
    + [f"2026-01-01 10:06:{n % 60:02} INFO request {n} served" for n in range(200)]
    + ["398 passed, 2 failed in 12.3s"]
)
DIFF = (
    "diff --git a/src/login.py b/src/login.py\n--- a/src/login.py\n+++ b/src/login.py\n@@ -1,40 +1,40 @@\n"
    + "\n".join(
        [f" context line number {n}" for n in range(60)] + ["-old_value = 1", "+new_value = 2"] + [" more context"] * 60
    )
)
SEARCH = "\n".join(f"src/module_{n // 10}.py:{n}:    value = find_something({n})" for n in range(80))
LISTING = "\n".join(f"src/part{n // 20}/file_{n}.py" for n in range(100))
TABLE = json.dumps(
    {"count": 60, "rows": [{"id": n, "state": "ok" if n != 40 else "bad", "kind": "job"} for n in range(60)]}
)
MARKDOWN = "\n\n".join(
    f"# Part {n}\n\nThe first words of part {n}.\n\n" + "More words follow here. " * 12 for n in range(8)
)
PROSE = (
    "The deployment failed because the database was full. " + "It was a long day and nobody had noticed anything. " * 30
)


def call(arguments, name="Read"):
    return pt.ToolCall(id="c", name=name, arguments=json.dumps(arguments))


@pytest.mark.parametrize(
    ("text", "asked", "type_"),
    [
        (PYTHON, call({"file_path": "src/auth/login.py"}), ContentType.CODE),
        ("\n".join(f"{n:6}→{line}" for n, line in enumerate(GO.splitlines())), call({}), ContentType.CODE),
        (GO, call({"command": "sed -n '1,80p' cmd/state.go"}, "bash"), ContentType.CODE),
        (LOG, call({"command": "make test"}, "bash"), ContentType.LOG),
        (DIFF, call({"command": "git diff"}, "bash"), ContentType.DIFF),
        (SEARCH, call({"pattern": "find_something"}, "Grep"), ContentType.SEARCH),
        (LISTING, call({"command": "ls -R"}, "bash"), ContentType.LISTING),
        (TABLE, call({}, "api"), ContentType.JSON),
        (MARKDOWN, call({"file_path": "README.md"}), ContentType.MARKUP),
        (PROSE, None, ContentType.PROSE),
        ("\x00\x01 %% && ^^ 12 34 ~~ !!\n" * 20, None, ContentType.UNKNOWN),
        ("", None, ContentType.UNKNOWN),
    ],
)
def test_the_type_is_seen_from_the_call_and_from_the_text(text, asked, type_):
    assert material_of(text, asked).type is type_


def outline(text, asked=None, room=None):
    return Compressor(Vocabulary()).outline(material_of(text, asked), room)


def test_code_keeps_what_is_least_deep_inside():
    told = outline(PYTHON, call({"file_path": "login.py"}), room=330)
    for kept in ("import time", "class LoginService:", "def is_expired("):
        assert kept in told
    assert "raise PermissionError" not in told
    assert "lines ...]" in told


def test_half_a_file_in_go_keeps_its_signatures_and_types():
    numbered = "\n".join(f"{n:6}→{line}" for n, line in enumerate(GO.splitlines()[3:], start=4))
    told = outline(numbered, call({"file_path": "cmd/state.go"}))
    assert "type State struct {" in told
    assert "func (s *State) Load(path string) error {" in told


def test_a_log_keeps_what_went_wrong_and_tells_repeats_once():
    told = outline(LOG)
    assert "ERROR connection refused by db.internal:5432" in told
    assert "398 passed, 2 failed" in told
    assert "more like this" in told
    assert len(told) < 700


def test_a_progress_bar_is_told_by_its_last_state():
    told = outline(
        "start\n" + "\r".join(f"[{'#' * n}] {n}%" for n in range(101)) + "\nERROR at the end\n" + "x = 1\n" * 200
    )
    assert "100%" in told
    assert " 50%" not in told


TIMES = [f"10:{n // 60:02}:{n % 60:02}" for n in range(150)]
WORDS = [f"handler_{'abcdefg'[n % 7]} served" for n in range(150)]
TIMED = list(zip(TIMES, WORDS, strict=True))


def with_error(lines, error, at=90):
    return "\n".join([*lines[:at], error, *lines[at:]])


@pytest.mark.parametrize(
    ("text", "command"),
    [
        (
            with_error([f"2026-01-01T{t}.100Z INFO {w}" for t, w in TIMED], "2026-01-01T10:01:30Z ERROR KABOOM"),
            "docker logs",
        ),
        (with_error([f"{t} INFO {w}" for t, w in TIMED], "10:01:30 ERROR KABOOM"), "journalctl"),
        (with_error([json.dumps({"msg": w}) for w in WORDS], '{"level":"error","msg":"KABOOM"}'), "kubectl logs"),
        (
            with_error(
                [f"[2026-01-01 {t}] [info] {w} [x]" for t, w in TIMED], "[2026-01-01 10:01:30] [error] KABOOM [x]"
            ),
            "run",
        ),
        (with_error([f"\x1b[32m✓\x1b[0m {w}" for w in WORDS], "\x1b[31mERROR\x1b[0m KABOOM"), "npx vitest"),
        (
            with_error([f"   Compiling crate_{w[8]} v0.1" for w in WORDS], "error[E0308]: mismatched KABOOM"),
            "cargo build",
        ),
        (
            with_error([f"src/big.c:{n}:5: warning: unused" for n in range(60)], "src/big.c:40:5: error: KABOOM", 40),
            "make",
        ),
        (with_error([f"step {w} is done" for w in WORDS], "Error: KABOOM"), "python scripts/run.py"),
        (with_error([f"npm warn deprecated {w}" for w in WORDS[:26]], "npm error KABOOM", 26), "npm install"),
        ("\n".join([f"INFO {w}" for w in WORDS[:10]]) + "\nERROR KABOOM " + "x" * 1_800, "run"),
    ],
    ids=["iso", "times", "json lines", "brackets", "colours", "cargo", "compiler", "program", "npm", "long line"],
)
def test_what_went_wrong_is_kept_at_every_level_that_has_words(text, command):
    asked = call({"command": command}, "bash")
    pages = unit(pt.assistant(asked), pt.tool_result(asked, text))
    _, shown = render(pages, pt.ResidencyLevel.COMPRESSED, Vocabulary())
    assert "KABOOM" in shown.tool_results[0].content
    (fields,) = render(pages, pt.ResidencyLevel.STRUCTURED, Vocabulary())
    assert "KABOOM" in fields.text


def test_output_of_a_program_is_not_the_file_that_it_was_given():
    ran, shown = (call({"command": command}, "bash") for command in ("python run.py", "cd x && cat run.py"))
    assert material_of("it ran\n" * 40, ran).type is not ContentType.CODE
    assert material_of("it ran\n" * 40, shown).type is ContentType.CODE


def test_a_mark_counts_the_lines_that_are_missing():
    told = outline("\n".join(f"line of words number {w}" for w in WORDS), call({"command": "run"}, "bash"))
    missing = sum(int(found) for found in re.findall(r"\[\.\.\. (\d+) lines? \.\.\.\]", told))
    kept = sum(line.startswith("line of words") for line in told.splitlines())
    assert missing + kept == 150


def test_one_line_that_does_not_fit_is_cut_and_not_lost():
    told = outline("!function(){" + "".join(f'var a{n}=t.getElement("{n}");' for n in range(400)) + "}()")
    assert told.startswith("!function(){var a0=")


def test_c_keeps_its_signatures_and_not_its_variables():
    source = "".join(
        f"int compute_{n}(int a) {{\n    int local_{n} = a * {n};\n    int other_{n} = a;\n    return local_{n};\n}}\n"
        for n in range(20)
    )
    told = outline(source, call({"path": "a.c"}))
    assert sum(f"int compute_{n}(int a)" in told for n in range(20)) > 8
    assert "int local_" not in told


def test_rows_that_are_all_the_same_are_told_once():
    assert outline(json.dumps([{"a": 1, "b": "x"}] * 100)) == "[100 rows, a=1, b=x] "


def test_the_last_state_of_a_bar_and_old_line_ends_survive():
    assert "99% done" in outline("start\n" + "".join(f"{n}% done\r" for n in range(100)) + "\n" + "end of it\n" * 50)
    assert "line 3" in outline("\r".join(f"line {n}" for n in range(200)))


def test_a_diff_keeps_the_files_and_the_changes():
    told = outline(DIFF)
    for kept in ("diff --git a/src/login.py", "@@ -1,40", "-old_value = 1", "+new_value = 2"):
        assert kept in told
    assert "context line number 30" not in told


def test_the_lines_that_only_name_the_files_again_give_way_to_changes():
    changed = DIFF.replace(
        "-old_value = 1\n+new_value = 2", "-old_value = 1\n+" + "new_value = compute(old_value) " * 2
    )
    told = outline(changed, room=240)
    assert "+new_value = compute" in told
    assert "+++ b/src/login.py" not in told
    bare = DIFF.removeprefix("diff --git a/src/login.py b/src/login.py\n")
    assert "+++ b/src/login.py" in outline(bare, room=240)


def test_search_results_keep_every_file():
    told = outline(SEARCH)
    for number in range(8):
        assert f"src/module_{number}.py" in told


def test_a_table_of_json_has_its_columns_once_and_keeps_what_never_changes_apart():
    told = outline(TABLE)
    assert "rows: [60 rows, kind=job] id | state" in told
    assert "0 | ok" in told
    assert "59 | ok" in told
    assert "count: 60" in told


def test_errors_in_json_stay():
    rows = [{"id": n, "error": "disk full" if n == 33 else None} for n in range(60)]
    assert "33 | disk full" in outline(json.dumps(rows))


def test_deep_and_broken_json_fail_closed():
    assert "[" in outline("[" * 5_000 + "]" * 5_000)
    assert outline('{"a": ' + "x" * 3_000 + "}")


def test_a_document_keeps_its_headings():
    told = outline(MARKDOWN)
    for number in range(8):
        assert f"# Part {number}" in told


def test_prose_keeps_its_first_sentence():
    assert outline(PROSE).startswith("The deployment failed because the database was full.")


def test_what_is_unknown_keeps_head_and_tail_and_names():
    text = "first %%\n" + "^^ 12 34 ~~ someName_x\n" * 300 + "last %%"
    told = outline(text)
    assert told.startswith("first %%")
    assert "last %%" in told


def test_a_renderer_of_the_user_s_own_is_asked_for_its_tool():
    mine = BUILT_IN._replace(by_tool={"api": lambda material: [Line(f"mine: {len(material.text)}", 1.0)]})
    asked = call({}, "api")
    _, shown = render(
        unit(pt.assistant(asked), pt.tool_result(asked, "words " * 500)),
        pt.ResidencyLevel.COMPRESSED,
        Vocabulary(),
        mine,
    )
    assert shown.tool_results[0].content.splitlines() == ["mine: 3000", "[in short; p8-abcd is the whole]"]
