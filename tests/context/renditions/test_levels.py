"""Every level is deterministic, valid text, says where the original is, and is only offered where it saves tokens."""

import json
import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pageturn as pt
from pageturn.context.forms import offers
from pageturn.context.renditions import PageMessage, Run, index, render
from pageturn.tokens.counters import counter_for
from pageturn.values.identifiers import Vocabulary
from pageturn.values.messages import File, Text, Thinking
from pageturn.values.pages import ResidencyLevel
from pageturn.values.units import units_of
from tests import strategies
from tests.context.renditions.sample import sample_session
from tests.sessions import journal_of, open_session, resolve_range, take_turn

COUNTER = counter_for("gpt-5.4")
HANDLE = "p7-abcd"


def unit(*messages):
    return [PageMessage(f"p{number}-abcd", message) for number, message in enumerate(messages, start=7)]


def told_in(message):
    """What a text of ours says between its tags."""
    opening, *lines, closing = message.text.split("\n")
    assert (opening, closing) == ("<page>", "</page>")
    return "\n".join(lines)


def text(messages):
    return "\n".join(
        told_in(message) if message.synthetic else message.text or "".join(str(r.content) for r in message.tool_results)
        for message in messages
    )


@given(st.lists(strategies.messages, min_size=1, max_size=3), st.sampled_from(ResidencyLevel))
def test_every_level_of_any_unit_is_valid_text(messages, level):
    for message in render(unit(*messages), level, Vocabulary()):
        pt.to_json(message)


def offered_by(*messages, pin=False):
    """The kind and the levels, each with its tokens, of every unit of a session."""
    session = open_session()
    for message in messages:
        page = session.append(message)
    if pin:
        session.pin(page, structured="In short.")
    journal = journal_of(session)
    units = units_of(journal.state.live_pages(), journal.state.turns)
    return [
        (
            journal.state.kind(unit[0]),
            {level: form.tokens for level, form in offers(journal, unit, COUNTER).items()},
        )
        for unit in units
    ]


@given(strategies.spoken, st.booleans())
def test_levels_are_offered_down_the_path_and_each_is_shorter(message, pin):
    for kind, offered in offered_by(message, pin=pin):
        assert list(offered) == sorted(offered, reverse=True)
        assert set(offered) <= set(kind.degradation_path)
        assert all(above > below for above, below in pairwise(offered.values()))


def test_full_is_the_messages_themselves():
    messages = sample_session()
    assert render(unit(*messages), ResidencyLevel.FULL, Vocabulary()) == messages


def test_rules_get_no_guessed_form():
    rules = pt.system("Never push to main.\n" * 50)
    ((_, offered),) = offered_by(rules)
    assert list(offered) == [ResidencyLevel.FULL]
    ((_, given),) = offered_by(rules, pin=True)
    assert list(given) == [ResidencyLevel.FULL, ResidencyLevel.STRUCTURED]


def test_compressed_keeps_calls_with_their_thinking_and_pairs():
    call = pt.ToolCall(id="c", name="write", arguments='{"content": "' + "x" * 5_000 + '"}')
    thought = Thinking(text="hm " * 500, signature="s")
    asked, answered = render(
        unit(pt.assistant(thought, "word " * 300, call), pt.tool_result(call, "line\n" * 900, is_error=True)),
        ResidencyLevel.COMPRESSED,
        Vocabulary(),
    )
    assert asked.tool_calls == (call,)
    assert [type(part) for part in asked.content] == [Thinking, Text, pt.ToolCall]
    (alone,) = render(unit(pt.assistant(thought, "word " * 300)), ResidencyLevel.COMPRESSED, Vocabulary())
    assert [type(part) for part in alone.content] == [Text]
    assert answered.tool_results[0].tool_call_id == "c"
    assert answered.tool_results[0].is_error
    assert len(answered.tool_results[0].content) < 2_000


def test_a_short_text_stays_as_it_is():
    message = pt.user("Fix src/auth/login.py, please.")
    assert render(unit(message), ResidencyLevel.COMPRESSED, Vocabulary()) == (message,)


def test_pictures_and_files_become_descriptions():
    picture = pt.Image(url="data:image/png;base64,AAAA", width=640, height=480)
    message = pt.user(picture, pt.Image(url="https://e.org/a.png"), File(path="notes/a.pdf"))
    (shown,) = render(unit(message), ResidencyLevel.COMPRESSED, Vocabulary())
    assert shown.text == "[image of 640 x 480]\n[image https://e.org/a.png]\n[file notes/a.pdf]"


def test_structured_tells_a_unit_as_fields():
    call = pt.ToolCall(id="c", name="bash", arguments='{"command":"pytest tests/test_login.py"}')
    output = "\n".join(
        [f"test_session_{n} PASSED" for n in range(40)] + ["E   KeyError: 'exp'", "src/auth/login.py:31"]
    )
    (shown,) = render(
        unit(pt.assistant("Let me see.", call), pt.tool_result(call, output, is_error=True)),
        ResidencyLevel.STRUCTURED,
        Vocabulary(),
    )
    first, second, *rest = told_in(shown).splitlines()
    assert first == "p7-abcd assistant: Let me see."
    assert second == "p8-abcd bash pytest tests/test_login.py: error, 42 lines"
    assert rest[0] == "! E   KeyError: 'exp'"
    assert "src/auth/login.py" in rest[-1]
    assert shown.role == "user"
    assert shown.synthetic


def test_structured_tells_how_a_huge_result_begins_and_ends():
    call = pt.ToolCall(id="c", name="dump", arguments="{}")
    rows = "".join(f"row {number} of it\n" for number in range(10_000))

    def told(body):
        return text(
            render(unit(pt.assistant(call), pt.tool_result(call, body)), ResidencyLevel.STRUCTURED, Vocabulary())
        )

    huge = told(f"The first </page> line\n{rows}The last p9-abcd line")
    assert "begins: The first <\\/page> line row 0 of it" in huge
    assert huge.splitlines()[-1].endswith("row 9999 of it The last p9\\-abcd line")
    assert len(huge) < 1_000
    assert "begins:" not in told(rows[:90_000])  # an outline of it has room in most windows


def test_structured_tells_how_a_long_message_ends():
    log = "".join(f"line {number} of the log\n" for number in range(2_000))
    (shown,) = render(unit(pt.user(f"{log}\nWhy did the job stop?")), ResidencyLevel.STRUCTURED, Vocabulary())
    assert told_in(shown).startswith("p7-abcd user: line 0 of the log")
    assert told_in(shown).splitlines()[1].endswith("line 1999 of the log Why did the job stop?")


def test_structured_tells_what_an_edit_changed():
    edit = pt.ToolCall(
        id="c", name="Edit", arguments='{"file_path":"a/b.py","old_string":"x = 1","new_string":"x = 2\\ny"}'
    )
    (shown,) = render(unit(pt.assistant(edit), pt.tool_result(edit, "ok")), ResidencyLevel.STRUCTURED, Vocabulary())
    assert told_in(shown).splitlines()[0].startswith("p7-abcd changed ")
    assert "(1 line) to" in shown.text
    assert "a/b.py" in shown.text


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (pt.user(pt.Image(url="data:image/png;base64,AAAA", width=900, height=900)), "p7-abcd user: [image]"),
        (pt.assistant(Thinking(text="hm " * 300, signature="s")), "p7-abcd assistant: [thinking]"),
        (pt.user(), "p7-abcd user: nothing"),
        (pt.tool_result("c", ""), "p7-abcd result: nothing"),
        (pt.tool_result("c", pt.Image(url="https://e.org/a.png")), "p7-abcd result: [image]"),
    ],
)
def test_a_page_without_words_is_told_and_can_be_had_back(message, told):
    (shown,) = render(unit(message), ResidencyLevel.STRUCTURED, Vocabulary())
    assert told_in(shown) == told
    assert all(
        each.content for each in render(unit(message), ResidencyLevel.COMPRESSED, Vocabulary()) if message.content
    )


def test_names_in_arguments_stand_as_their_json_spells_them():
    body = "import os\nparse_config()\n\ttoken_value = load_token(1)\n" * 20
    write = pt.ToolCall(id="c", name="Write", arguments=json.dumps({"file_path": "src/a.py", "content": body}))
    (shown,) = render(unit(pt.assistant(write), pt.tool_result(write, "ok")), ResidencyLevel.STRUCTURED, Vocabulary())
    assert told_in(shown).splitlines()[0].startswith("p7-abcd wrote ")
    assert set(told_in(shown).splitlines()[1].split()[1:]) == {
        "file_path",
        r"\nparse_config",
        r"\ttoken_value",
        "load_token",
    }


def test_structured_tells_what_failed_and_not_what_passed():
    call = pt.ToolCall(id="c", name="bash", arguments='{"command":"pytest"}')
    output = "\n".join(
        [f"tests/t.py::test_{word}_error PASSED" for word in "parse load save read write".split()]
        + ["tests/t.py::test_refund FAILED", "E   KeyError: KABOOM", "src/api.py:3: KeyError", "1 failed, 15 passed"]
    )
    (shown,) = render(unit(pt.assistant(call), pt.tool_result(call, output)), ResidencyLevel.STRUCTURED, Vocabulary())
    assert [line for line in shown.text.splitlines() if line.startswith("! ")] == [
        "! tests/t.py::test_refund FAILED",
        "! E   KeyError: KABOOM",
        "! src/api.py:3: KeyError",
        "! 1 failed, 15 passed",
    ]
    (green,) = render(
        unit(pt.assistant(call), pt.tool_result(call, "16 passed, 0 failed")), ResidencyLevel.STRUCTURED, Vocabulary()
    )
    assert "!" not in green.text


def test_a_heading_does_not_take_the_room_of_what_went_wrong():
    call = pt.ToolCall(id="c", name="bash", arguments='{"command":"pytest"}')
    output = [f"tests/t.py::test_{n} PASSED" for n in range(20)]
    ending = ["===== FAILURES =====", "E   KeyError: KABOOM", "FAIL", "=== 1 failed, 20 passed ==="]
    (shown,) = render(
        unit(pt.assistant(call), pt.tool_result(call, "\n".join(output + ending))),
        ResidencyLevel.STRUCTURED,
        Vocabulary(),
    )
    assert [line for line in shown.text.splitlines() if line.startswith("! ")] == [
        "! E   KeyError: KABOOM",
        "! 1 failed, 20 passed",
    ]
    (alone,) = render(unit(pt.tool_result("c", "FAIL", is_error=True)), ResidencyLevel.STRUCTURED, Vocabulary())
    assert "! FAIL" in alone.text


def test_what_a_call_named_before_comes_first():
    vocabulary = Vocabulary()
    vocabulary.hear(pt.assistant(pt.ToolCall(id="c", name="read", arguments='{"what":"rare_name_here"}')))
    body = " ".join(f"other_name_{n}" for n in range(400)) + " rare_name_here"
    (shown,) = render(unit(pt.tool_result("c", body)), ResidencyLevel.STRUCTURED, vocabulary)
    assert "names: rare_name_here " in shown.text


def test_a_pointer_says_what_it_stands_for():
    (shown,) = render(unit(pt.user("words " * 900)), ResidencyLevel.POINTER, Vocabulary())
    assert told_in(shown).startswith("p7-abcd user words words")
    assert told_in(shown).endswith(", 5,400 characters")
    call = pt.ToolCall(id="c", name="read", arguments='{"path":"src/a.py"}')
    (shown,) = render(unit(pt.assistant(call), pt.tool_result(call, "x" * 81)), ResidencyLevel.POINTER, Vocabulary())
    assert told_in(shown) == "p7-abcd..p8-abcd read src/a.py, 100 characters"


def test_an_index_line_hardly_grows_with_the_pages_behind_it():
    def run(pages):
        tools = {f"tool{n}": pages for n in range(9)}
        folders = {f"src/dir{n}": pages for n in range(20)}
        return Run("p1-abcd", f"p{pages}-abcd", pages, 500 * pages, tools, folders, 1, 60_000_001)

    short, long = (COUNTER.text(index(run(pages))) for pages in (40, 4_000))
    assert long < 1.3 * short
    assert index(run(40)).startswith(
        "p1-abcd..p40-abcd 40 pages, 20,000 bytes, 1970-01-01 00:00 to 1970-01-01 00:01: tool0 40, "
    )


@pytest.mark.parametrize("level", list(ResidencyLevel)[1:])
@pytest.mark.parametrize("body", ["see p42-7kqe </page> now", "请看p42-7kqe页。_p42-7kqe_ <Pages> "])
def test_nothing_that_was_said_passes_for_a_handle_or_a_tag_of_ours(level, body):
    shown = text(render(unit(pt.user(body * 60)), level, Vocabulary()))
    for look_alike in ("p42-7kqe", "</page>", "<Pages>"):
        assert look_alike not in shown


def test_nothing_passes_for_a_handle_in_an_index_line_or_where_a_pointer_is_cut():
    call = pt.ToolCall(id="c", name="p9-abcd", arguments='{"path":"src/p3-abcd/<page>/x.py"}')
    told = index(Run("p7-abcd", "p8-abcd", 2, 9, {call.name: 1}, {"src/p3-abcd/<page>": 1}))
    assert told.startswith("p7-abcd..p8-abcd ")
    assert "p9-abcd" not in told
    assert "p3-abcd" not in told
    cut = pt.ToolCall(id="c", name="bash", arguments=json.dumps({"command": "x" * 46 + " p42-7kqexyz"}))
    (shown,) = render(unit(pt.assistant(cut)), ResidencyLevel.POINTER, Vocabulary())
    assert "p42-7kqe," not in shown.text


@pytest.mark.parametrize("level", list(ResidencyLevel)[1:])
def test_nothing_in_a_page_passes_for_a_handle_or_a_tag_of_ours(level):
    body = "see p42-7kqe and </page> <PAGES> and src/p1-abcd.py\n" * 60
    call = pt.ToolCall(id="c", name="p9-abcd", arguments='{"path":"p8-abcd </pages>"}')
    shown = text(render(unit(pt.assistant(call), pt.tool_result(call, body)), level, Vocabulary()))
    for look_alike in ("p42-7kqe", "</page>", "<PAGES>"):
        assert look_alike not in shown


@pytest.mark.parametrize("level", list(ResidencyLevel)[1:])
def test_a_real_handle_that_a_page_quotes_is_none_in_a_text_of_ours(level):
    session = open_session()
    secret = session.append(pt.user("secret"))
    call = pt.ToolCall(id="c", name="read", arguments=json.dumps({"path": f"src/{secret.handle}.py"}))
    body = (
        f"open {secret.handle}, ({secret.handle}) <page>{secret.handle}</page> {secret.handle}..{secret.handle}\n" * 40
    )
    shown = text(render(unit(pt.assistant(call), pt.tool_result(call, body)), level, Vocabulary()))
    words = set(re.split(r"[^\w\\-]+", shown))
    assert all(session.resolve(word) == pt.NoMatch() for word in words)
    assert any(word.startswith(f"p{secret.seq}\\") for word in words)


ROOT = Path(__file__).parents[3]


def test_every_level_is_the_same_in_every_process():
    program = (
        "import pageturn as pt\n"
        "from tests.context.renditions.sample import sample_session\n"
        "from pageturn.values.identifiers import Vocabulary\n"
        "from pageturn.context.renditions import PageMessage, render\n"
        "from tools.picture_samples import SAMPLES\n"
        "results = [pt.tool_result('c', sample.text) for sample in SAMPLES.values()]\n"
        "unit = [PageMessage(f'p{n}-abcd', m) for n, m in enumerate([*sample_session(), *results], start=1)]\n"
        "for level in pt.ResidencyLevel:\n"
        "    print([pt.to_json(m) for m in render(unit, level, Vocabulary())])\n"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            check=True,
            cwd=ROOT,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(told) == 1


def test_the_demo_session_shrinks_at_every_level():
    sizes = [offered for _, offered in offered_by(*sample_session())]
    totals = [
        sum(min(size for other, size in each.items() if other >= level) for each in sizes) for level in ResidencyLevel
    ]
    assert totals == sorted(totals, reverse=True)
    assert totals[-1] < totals[0] / 5


def test_every_pointer_and_index_line_of_a_session_leads_back_to_the_original_words():
    session = open_session()
    for number in range(5):
        take_turn(session, number)
    messages = {page.seq: PageMessage(page.handle, session.resolve(page).message) for page in session.reader.pages()}
    units = [
        [messages[page.seq] for page in pages] for pages in units_of(session.reader.pages(), session.reader.answers)
    ]
    for pages in units:
        (line,) = render(pages, ResidencyLevel.POINTER, Vocabulary())
        name = told_in(line).split()[0]
        found = resolve_range(session, name) if ".." in name else [session.resolve(name)]
        assert [each.message for each in found] == [each.message for each in pages]
    first, *_, last = session.reader.pages()
    line = index(Run(first.handle, last.handle, len(messages), 9, {}, {}))
    whole = resolve_range(session, line.split()[0])
    assert [each.message for each in whole] == [each.message for each in messages.values()]
