"""Renditions: every level is deterministic, valid text, and only offered where it saves tokens."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

import pageturn as pt
from pageturn.cli.demo import sample_session
from pageturn.pages import PageKind, ResidencyLevel, classify_all
from pageturn.renditions import lowest, render, sizes
from tests import strategies

COUNTER = pt.counter_for("gpt-5.4")


@given(strategies.messages, st.sampled_from(ResidencyLevel))
def test_every_level_of_any_message_is_valid_text(message, level):
    render(message, level, handle="page 1").encode()


@given(strategies.messages, st.sampled_from(PageKind))
def test_levels_are_offered_down_the_path_and_each_is_shorter(message, kind):
    offered = sizes(message, kind, COUNTER, handle="page 1")
    assert list(offered) == sorted(offered, reverse=True)
    assert set(offered) <= set(kind.degradation_path)
    assert all(above > below for above, below in pairwise(offered.values()))


def test_full_is_every_word():
    call = pt.ToolCall(id="c", name="read", arguments='{"path":"a.py"}')
    assert render(pt.assistant("look", call), ResidencyLevel.FULL, handle="") == 'look\nread {"path":"a.py"}'


def test_full_counts_what_the_message_counts():
    picture = pt.user(pt.Image(url="https://e.org/a.png", width=1024, height=1024))
    assert sizes(picture, PageKind.CONVERSATION, COUNTER, handle="p")[ResidencyLevel.FULL] == COUNTER.message(picture)


def test_rules_get_no_guessed_form():
    rules = pt.system("Never push to main.\n" * 50)
    assert list(sizes(rules, PageKind.BOOTSTRAP, COUNTER, handle="p")) == [ResidencyLevel.FULL]


def test_a_long_result_keeps_head_tail_and_the_count_between():
    body = "\n".join(f"line {number}" for number in range(100))
    text = render(pt.tool_result("c", body), ResidencyLevel.COMPRESSED, handle="p")
    assert text.startswith("line 0\n")
    assert text.endswith("\nline 99")
    assert "[... 91 lines ...]" in text


def test_a_long_line_is_cut():
    text = render(pt.tool_result("c", "x" * 5_000), ResidencyLevel.COMPRESSED, handle="p")
    assert text == "x" * 160 + " [...]"


def test_a_pointer_says_what_it_stands_for():
    assert render(pt.user("x" * 5_000), ResidencyLevel.POINTER, handle="p7") == "[p7: user message, 5,000 characters]"


def test_structured_names_files_tools_and_errors():
    call = pt.ToolCall(id="c", name="read", arguments='{"path":"src/a.py"}')
    text = render(pt.assistant("error: lost src/b.py", call), ResidencyLevel.STRUCTURED, handle="p")
    assert text.splitlines() == [
        "calls: read",
        "files: src/b.py src/a.py",
        "errors: error",
        "begins: error: lost src/b.py",
    ]


def test_the_demo_session_shrinks_at_every_level():
    session = sample_session()
    offered = [sizes(m, k, COUNTER, handle="page 1") for m, k in zip(session, classify_all(session), strict=True)]
    totals = [sum(lowest(page, level) for page in offered) for level in ResidencyLevel]
    assert totals == sorted(totals, reverse=True)
    assert totals[-1] < totals[0] / 5
