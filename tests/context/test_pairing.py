"""Calls and results in a request, whatever order they came in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pageturn as pt
from pageturn.context.pairing import PENDING, Pairing
from pageturn.lab.our_policies import CharacterCounter
from pageturn.values.layout import Why
from pageturn.values.messages import Text, ToolResult
from tests.context.checks import check_pairs
from tests.sessions import call, open_session, reopened


def shown(session):
    """The request, one word a message."""
    context = session.derive()
    check_pairs(context.messages)
    told = []
    for message in context.messages:
        if message.tool_results:
            told.append("pending" if message.tool_results[0].content == PENDING else message.tool_results[0].content)
        else:
            told.append("note" if message.text.startswith("<page>") else message.text)
    return told


def test_what_is_said_while_a_tool_runs_comes_after_its_result():
    session = open_session()
    session.extend([pt.user("go"), pt.assistant("calling", call(1)), pt.user("hurry"), pt.tool_result("c1", "done")])
    assert shown(session) == ["go", "calling", "done", "hurry"]


def test_an_open_call_is_pending_until_its_result_comes():
    session = open_session()
    session.extend(
        [pt.user("go"), pt.assistant("calling", call(1), call(2)), pt.tool_result("c2", "second"), pt.user("?")]
    )
    assert shown(session) == ["go", "calling", "second", "pending", "?"]
    session.append(pt.tool_result("c1", "first"))
    assert shown(session) == ["go", "calling", "second", "first", "?"]


def test_several_open_calls_are_pending_in_the_order_of_the_calls():
    session = open_session()
    session.extend(
        [pt.user("go"), pt.assistant("all", call(3), call(1), call(2)), pt.tool_result("c1", "one"), pt.user("?")]
    )
    messages = session.derive().messages
    assert [result.tool_call_id for message in messages for result in message.tool_results] == ["c1", "c3", "c2"]


def test_a_result_that_comes_before_its_call_is_a_note_and_the_call_is_pending():
    session = open_session()
    session.extend(
        [
            pt.user("go"),
            pt.tool_result("c1", "cut off", is_error=True),
            pt.assistant("both", call(1), call(2)),
            pt.tool_result("c2", "fine"),
        ],
    )
    assert shown(session) == ["go", "note", "both", "fine", "pending"]


def test_of_results_in_one_message_each_that_is_waited_for_is_taken():
    session = open_session()
    results = [ToolResult(tool_call_id=f"c{number}", content=f"result {number}") for number in (9, 1, 1, 2)]
    session.extend([pt.assistant("both", call(1), call(2)), pt.Message(role=pt.Role.TOOL, content=tuple(results))])
    context = session.derive()
    check_pairs(context.messages)
    both, answers, left = context.messages
    assert [result.content for result in answers.tool_results] == ["result 1", "result 2"]
    assert left.text.splitlines()[2:-1] == ["result 9", "result 1"]
    assert (both.text, str(left.role)) == ("both", "user")


def spoken(messages):
    return [(message.role, message.content) for message in messages]


def said_as(kind, number):
    """A message of a conversation in which anything may come in any order."""
    match kind:
        case "u":
            return pt.user(f"words {number}")
        case "a":
            return pt.assistant(f"answer {number}", *(call(number + each) for each in range(number % 3)))
        case "r":
            return pt.tool_result(f"c{number}", f"result {number}")
        case _:
            results = tuple(ToolResult(tool_call_id=f"c{number + each}", content=str(each)) for each in range(2))
            return pt.Message(role=pt.Role.USER, content=(*results, Text(text="and more")))


@given(st.lists(st.tuples(st.sampled_from("uaaarrrm"), st.integers(0, 4)), min_size=1, max_size=12))
def test_what_is_paired_stays_as_it_is(steps):
    """A request that was made of anything is itself a conversation to which nothing has to be done."""
    session, again = open_session(), open_session()
    session.extend((said_as(kind, number) for kind, number in steps))
    made = session.derive().messages
    check_pairs(made)
    again.extend(made)
    assert spoken(again.derive().messages) == spoken(made)


def test_a_result_that_comes_after_the_next_turn_is_a_note_where_it_came_and_joins_its_call_at_the_next_fold():
    session = open_session()
    session.extend([pt.user("go"), pt.assistant("calling", call(1))])
    first = shown(session)
    session.extend([pt.assistant("meanwhile"), pt.tool_result("c1", "late p3-abcd </page>")])
    assert first == ["go", "calling", "pending"]
    assert shown(session) == ["go", "calling", "pending", "meanwhile", "note"]
    note = session.derive().messages[-1]
    assert note.synthetic
    assert note.text.count("</page>") == 1
    assert "p3-abcd" not in note.text
    session.choose(pt.Paged.thrifty(20_000))  # forces a fold
    assert shown(session) == ["go", "calling", "late p3-abcd </page>", "meanwhile"]


def test_a_second_result_for_a_call_and_a_result_without_a_call_are_notes():
    session = open_session()
    session.extend(
        [
            pt.user("go"),
            pt.assistant("calling", call(1)),
            pt.tool_result("c1", "one"),
            pt.tool_result("c1", "two"),
            pt.tool_result("c9", "whose?"),
        ],
    )
    assert shown(session) == ["go", "calling", "one", "note", "note"]


def test_an_id_that_is_used_twice_belongs_to_the_newest_call():
    session = open_session()
    for word in ("first", "second"):
        session.extend([pt.assistant(f"call {word}", call(1)), pt.tool_result("c1", word)])
    assert shown(session) == ["call first", "first", "call second", "second"]


def test_a_result_beside_other_words_is_taken_apart():
    session = open_session()
    both = pt.Message(role="user", content=(ToolResult(tool_call_id="c1", content="result"), Text(text="and now this")))
    session.extend([pt.assistant("calling", call(1), call(2)), both])
    assert shown(session) == ["calling", "result", "pending", "and now this"]


def test_a_dead_call_does_not_stop_folding_and_is_given_up_after_32_turns():
    session = open_session(policy=pt.Paged.thrifty(2_500))
    session.extend([pt.user("go"), pt.assistant("the dead one", call(99, arguments='{"command": "sleep"}'))])
    dead = session.reader.pages()[1]
    levels = []
    for number in range(40):
        context = session.derive()
        check_pairs(context.messages)
        levels.append(context.explain(dead.handle))
        session.extend(
            [pt.assistant(f"turn {number}", call(number)), pt.tool_result(f"c{number}", f"line {number}\n" * 60)]
        )
    assert session.reader.folds
    assert all(each.level is pt.ResidencyLevel.FULL for each in levels[:25])
    assert levels[-1].why is not Why.OPEN


def test_a_result_that_comes_while_the_model_answers_leaves_what_was_sent_as_it_is():
    session = open_session()
    session.extend([pt.user("go"), pt.assistant("wait", call(1))])
    sent = session.derive()
    session.append(pt.tool_result("c1", "at last"))
    session.append(pt.assistant("I do not know yet"))
    for each in (session, reopened(session)):
        context = each.derive()
        assert context.fold is None
        assert context.messages[: len(sent.messages)] == sent.messages
        assert [message.text for message in context.messages[-2:]] == [
            f"<page>\n{session.reader.pages()[2].handle} result that came late:\nat last\n</page>",
            "I do not know yet",
        ]


def test_a_result_that_comes_before_a_call_is_made_again_is_in_its_place():
    session = open_session()
    session.extend([pt.user("go"), pt.assistant("wait", call(1))])
    session.derive()  # this call failed
    session.append(pt.tool_result("c1", "at last"))
    sent = session.derive()
    session.append(pt.assistant("now I know"))
    assert sent.messages[-1].tool_results[0].content == "at last"
    assert session.derive().messages[:-1] == sent.messages


def test_what_was_said_while_a_tool_ran_is_shown_once_before_the_next_answer():
    session = open_session()
    session.extend([pt.user("go"), pt.assistant("calling", call(1)), pt.user("hurry"), pt.user("please")])
    session.extend([pt.assistant("meanwhile", call(2)), pt.user("well?"), pt.tool_result("c2", "done"), pt.user("so?")])
    assert shown(session) == [
        "go", "calling", "pending", "hurry", "please", "meanwhile", "done", "well?", "so?",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "tail",
    [
        (),
        (pt.user("hurry"),),
        (pt.user("hurry"), pt.tool_result("c2", "second")),
        (pt.tool_result("c2", "second"), pt.tool_result("c1", "first"), pt.user("so?")),
        (pt.tool_result("c2", "second"), pt.user("so?"), pt.assistant("wait"), pt.tool_result("c1", "late")),
        (pt.Message(role="user", content=(ToolResult(tool_call_id="c1", content="one"), Text(text="and now this"))),),
    ],
)
def test_a_request_takes_the_tokens_of_its_messages(tail):
    session = open_session(counter=CharacterCounter(), recall=None)
    session.extend([pt.user("go"), pt.assistant("calling", call(1), call(2)), *tail])
    for context in (session.derive(), reopened(session, counter=CharacterCounter(), recall=None).derive()):
        assert context.tokens == sum(map(CharacterCounter().message, context.messages))


def test_a_pending_result_is_ours_and_not_the_tools():
    session = open_session()
    session.extend([pt.user("go"), pt.assistant("calling", call(1), call(2)), pt.tool_result("c2", "done")])
    assert [message.synthetic for message in session.derive().messages if message.tool_results] == [False, True]


def test_a_picture_in_a_result_that_came_late_is_kept_beside_its_words():
    session = open_session()
    picture = pt.Image(url="https://e.org/a.png", width=64, height=64)
    late = ToolResult(tool_call_id="c1", content=(Text(text="as you see"), picture))
    session.extend([pt.user("go"), pt.assistant("calling", call(1))])
    session.derive()
    session.extend([pt.assistant("meanwhile"), pt.Message(role="tool", content=(late,))])
    note = session.derive().messages[-1]
    assert "as you see" in note.text
    assert [part for part in note.content if not isinstance(part, Text)] == [picture]


def test_what_waits_for_a_result_is_among_the_tokens_that_came_and_what_is_pending_is_not():
    pairing = Pairing(lambda _: 1_000)
    messages = [pt.user("go"), pt.assistant("calling", call(1)), pt.user("hurry"), pt.user("please")]
    for number, message in enumerate(messages):
        pairing.add(message, 10**number, "p")
    assert (pairing.placed_tokens, pairing.tokens) == (1_111, 2_111)
    assert len(pairing.messages) == 5
