"""The tool by which a model gets back what its context only names."""

import json

import pytest

import pageturn as pt
from tests.derivation.checks import check_pairs
from tests.derivation.test_turns import work
from tests.sessions import call, open_session


def ask(session, number=0, **arguments):
    """Let the model call the tool; what it is told."""
    session.append(pt.assistant("hm", pt.ToolCall(id=f"ask{number}", name="recall", arguments=json.dumps(arguments))))
    assert session.answer()
    return session._journal.message(session.pages()[-1]).tool_results[0]


@pytest.fixture
def session():
    session = open_session(policy=pt.Paged(budget_tokens=4_000))
    session.append(pt.system("You are careful."), pt.user("Fix src/part_3.py."))
    work(session, 40)
    return session


def test_the_tool_is_offered_and_charged(session):
    context = session.derive()
    assert context.tools == (pt.RecallTool(),)
    assert context.tokens > sum(map(session._counter.message, context.messages))


def test_a_handle_gives_the_original_words(session):
    page = session.pages()[4]
    told = ask(session, handle=page.handle)
    assert told.content == session.resolve(page).text
    assert not told.is_error
    check_pairs(session.derive().messages)


def test_a_long_page_is_given_in_pieces_that_say_where_to_go_on():
    session = open_session(recall=pt.RecallTool(most_bytes=200))
    words = " ".join(f"word{n} 漢字" for n in range(60))
    page = session.append(pt.user(words))
    pieces, start = [], 0
    for number in range(20):
        told = ask(session, number, handle=page.handle, start=start).content
        piece, _, more = told.partition("\n[")
        pieces.append(piece)
        if not more:
            break
        start = int(more.rpartition("start ")[2].rstrip("]"))
    assert "".join(pieces) == words
    assert number > 1


def test_a_short_range_gives_every_page_and_a_long_one_a_list(session):
    pages = session.pages()
    short = ask(session, 1, handle=f"{pages[0].handle}..{pages[1].handle}").content
    assert "You are careful." in short
    assert "Fix src/part_3.py." in short
    long = ask(session, 2, handle=f"{pages[0].handle}..{pages[-1].handle}").content
    assert len(long) <= 13_000
    assert pages[3].handle in long


def test_every_index_line_of_a_context_can_be_asked_for(session):
    work(session, 80, start=100)
    lines = [each for each in session.derive().layout.placements if each.line]
    assert lines
    for number, placement in enumerate(lines):
        handles = session.derive().explain(session._journal.state.page(placement.first).handle).line
        assert not ask(session, number, handle=handles).is_error


def test_a_query_is_searched(session):
    told = ask(session, query="compute_7")
    assert "compute_7" in told.content
    assert told.content.startswith("p")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "give a handle"),
        ({"handle": "p3-aaaa"}, "no match"),
        ({"handle": "p3-aaaa..p9-aaaa"}, "no match"),
        ({"query": "zebra crossing"}, "no match"),
        ({"handle": 7, "start": "x"}, "give a handle"),
    ],
)
def test_what_cannot_be_had_is_said(session, arguments, said):
    told = ask(session, **arguments)
    assert told.is_error
    assert said in told.content


def test_arguments_that_are_no_json_are_answered_too(session):
    session.append(pt.assistant("hm", pt.ToolCall(id="ask", name="recall", arguments="{broken")))
    assert session.answer()


def test_an_erased_page_is_denied(session):
    page = session.pages()[4]
    session.erase(page)
    told = ask(session, handle=page.handle)
    assert (told.content, told.is_error) == (f"{page.handle}: denied: erased", True)


def test_calls_of_other_tools_beside_it_are_left_to_the_host(session):
    ours = pt.ToolCall(id="ask", name="recall", arguments='{"query": "compute_7"}')
    session.append(pt.assistant("both", ours, call(900)))
    assert not session.answer()
    results = [result.call for page in session.pages()[-2:] for result in page.results]
    assert results == ["ask"]
    session.append(pt.tool_result("c900", "mine"))
    assert not session.answer()
    check_pairs(session.derive().messages)


def test_without_a_call_of_it_there_is_nothing_to_answer(session):
    before = len(session.pages())
    assert not session.answer()
    assert len(session.pages()) == before
    assert not open_session(id="empty").answer()
